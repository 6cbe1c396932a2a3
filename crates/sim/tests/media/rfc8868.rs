//! The metrics of RFC 8868, section 3, of the controllers for media in test cases of RFC 8867.
//!
//! The RFCs name the metrics and the intervals of rates (200 ms; 1, 5 and 20 s for fairness), and set few bounds. What is
//! stated here comes from them and from the documents of the controllers; which controller is held to which of them was
//! decided after measuring:
//! - A rate has settled once the mean over a second stays within 20 % of the fair share for 5 s. An encoder whose frames miss
//!   their size by a Laplace distribution of scale 0.15 (RFC 8593) has a deviation of 0.15 sqrt(2 / 30) = 4 % in a second of 30 frames,
//!   and GCC falls to 0.85 of what arrives (draft-ietf-rmcat-gcc-02, section 5.5): both are steady.
//! - Watermarks for oscillation are half and twice the fair share: a factor of four, within 500 ms (RFC 8868, item 9).
//! - Flows should be within a factor of three of each other (RFC 8868, item 7; there for similar RTTs). Jain's index is
//!   then at least 4 * 3 / (1 + 3)^2 = 0.75.
//!
//! Where a controller misses them, a test says so, and the page `results/media.md` by how much.

use super::CONTROLLERS;
use super::cases::{
    CAPACITY, ENDS, MOST, Outcome, SECOND, beside_tcp, between, even_frames, moving, seconds,
    unequal_delays, variable_capacity,
};
use exm_measure::{
    Utilisation, interval_fairness, mean, relative_deviation, settling_time, swings, utilisation,
};

/// How far from the fair share a rate that has settled may be, relative to it.
const TOLERANCE: f64 = 0.2;
/// For how many seconds it stays there.
const HOLD: f64 = 5.0;
/// The timescales of fairness, in seconds: RFC 8868, item 7.
pub(super) const TIMESCALES: [usize; 3] = [1, 5, 20];
/// How much more one flow may have than another: RFC 8868, item 7.
const FACTOR: f64 = 3.0;
/// Seconds of section 5.5 in which all flows are there: from the start of the last one on, and after a minute.
pub(super) const ALL: (usize, usize) = (40, 300);
pub(super) const LATER: (usize, usize) = (100, 300);
/// Seconds of section 5.6 that count: fifteen after the video's start.
pub(super) const BESIDE: (usize, usize) = (20, 120);

/// One phase of section 5.1.
pub(super) struct Phase {
    /// Seconds until its rate settled.
    pub(super) settled: Option<f64>,
    /// Seconds until it exceeded its share no longer: it may be below by any amount.
    pub(super) yielded: Option<f64>,
    /// The deviation of its rate in the second half of the phase, in intervals of 1 s and of 200 ms.
    pub(super) deviation: [f64; 2],
    /// Swings between the watermarks, in the second half.
    pub(super) swings: usize,
    /// Its rate over what it could have sent, in the second half.
    pub(super) used: Utilisation,
    /// The part of the intervals in which it sent more than the capacity, in the whole phase and in its second half.
    pub(super) over: [f64; 2],
}

pub(super) fn phase(outcome: &Outcome, index: usize) -> Phase {
    let ((from, capacity), to) = (CAPACITY[index], ENDS[index]);
    let share = capacity.min(MOST);
    let sent = between(&outcome.sent[0], (from, to));
    let steady = between(&outcome.sent[0], (from.midpoint(to), to));
    let band = (share * (1.0 - TOLERANCE), share * (1.0 + TOLERANCE));
    let of = |rates: &[f64], capacity: f64| {
        utilisation(rates.iter().map(|&rate| (rate, capacity))).expect("there is a capacity")
    };
    let times = (0..).map(|at| f64::from(at) / SECOND as f64);
    let series: Vec<(f64, f64)> = times.zip(steady.iter().copied()).collect();
    Phase {
        settled: settling_time(&moving(sent, 1), band, HOLD),
        yielded: settling_time(&moving(sent, 1), (0.0, band.1), HOLD),
        deviation: [&seconds(steady), steady].map(|r| relative_deviation(r).expect("it sends")),
        swings: swings(&series, (share / 2.0, share * 2.0), 0.5),
        used: of(between(&outcome.received[0], (from.midpoint(to), to)), share),
        over: [of(sent, capacity).over, of(steady, capacity).over],
    }
}

/// Flows that share a link.
pub(super) struct Sharing {
    /// Jain's index, at each of the timescales.
    pub(super) jain: [f64; 3],
    /// The mean rate at which each flow receives, in Mbps.
    pub(super) rates: Vec<f64>,
    /// The mean of their deviations, in intervals of 1 s.
    pub(super) deviation: f64,
    /// What arrives of all flows over the capacity, and the part of the intervals in which more was sent.
    pub(super) used: f64,
    pub(super) over: f64,
}

pub(super) fn sharing(outcome: &Outcome, capacity: f64, span: (usize, usize)) -> Sharing {
    let flows: Vec<&[f64]> = outcome.received.iter().map(|flow| between(flow, span)).collect();
    let of = |rates: Vec<f64>| {
        utilisation(rates.into_iter().map(|rate| (rate, capacity))).expect("there is a capacity")
    };
    let average = |values: Vec<f64>| mean(values).expect("there are rates");
    let deviations = flows.iter().filter_map(|flow| relative_deviation(&seconds(flow)));
    Sharing {
        jain: TIMESCALES.map(|scale| average(interval_fairness(&flows, scale * SECOND))),
        rates: flows.iter().map(|flow| average(flow.to_vec())).collect(),
        deviation: average(deviations.collect()),
        used: of(Outcome::sum(&outcome.received, span)).mean,
        over: of(Outcome::sum(&outcome.sent, span)).over,
    }
}

/// Seconds from the start of the last flow of section 5.5 until the rates over 5 s are within a factor of three of each other,
/// and stay there for 20 s.
pub(super) fn even_after(outcome: &Outcome) -> Option<f64> {
    let flows: Vec<_> = outcome.received.iter().map(|flow| moving(between(flow, ALL), 5)).collect();
    let ratio = |at: usize| {
        let rates = || flows.iter().map(|flow| flow[at].1);
        rates().fold(0.0, f64::max) / rates().fold(f64::INFINITY, f64::min)
    };
    let series: Vec<_> = (0..flows[0].len()).map(|at| (flows[0][at].0, ratio(at))).collect();
    settling_time(&series, (1.0, FACTOR), 20.0)
}

/// NADA at 0.6 Mbps: it does not settle, but swings between the encoder's least and greatest rate (docs/deviations.md).
fn swings_by_losses(controller: &str, capacity: f64) -> bool {
    controller == "nada" && capacity == 0.6
}

#[test]
fn rates_follow_the_capacity_without_swings() {
    for controller in CONTROLLERS {
        for (index, (start, capacity)) in CAPACITY.into_iter().enumerate() {
            let of = |seed| phase(&variable_capacity(controller, seed), index);
            let all: Vec<Phase> = (1..=5).map(of).collect();
            let average = |of: fn(&Phase) -> f64| mean(all.iter().map(of)).expect("phases");
            let settled: Vec<_> = all.iter().map(|phase| phase.settled).collect();
            let yielded: Vec<_> = all.iter().map(|phase| phase.yielded).collect();
            let (deviation, over) = (average(|p| p.deviation[0]), average(|p| p.over[1]));
            let used = average(|phase| phase.used.mean);
            let what = format!("{controller}, {capacity} Mbps from {start} s");
            println!("{what}: {settled:.1?} {yielded:.1?} s, {deviation:.3} {used:.2} {over:.2}");
            // GCC leaves 0.85 of what arrives at overuse, and after two in a row 0.72; the others aim at a queue.
            let least = if controller == "gcc" { 0.85 * 0.85 } else { 1.0 - TOLERANCE };
            assert!(used > least, "{what}: {used}");
            // A rate about the capacity is above it in half of at least 50 intervals: three deviations of 7 % more.
            assert!(over < 0.71, "{what}: {over}");
            if swings_by_losses(controller, capacity) {
                continue;
            }
            assert!(all.iter().all(|phase| phase.swings == 0), "{what}");
            assert!(deviation < TOLERANCE, "{what}: {deviation}");
            // Notice comes after a round trip of 100 ms and a queue of 300; the encoder follows after up to 400, and GCC judges
            // by what arrived in 500: 1.3 s, and as much again for a second step.
            let in_time = yielded.iter().all(|time| time.is_some_and(|time| time < 2.6));
            assert!(capacity != 0.6 || in_time, "{what}: {yielded:?}");
            // NADA ramps up by half of what arrives (RFC 8698, figure 3), SCReAM without a queue by half its rate a second:
            // both reach the encoder's greatest rate in a few steps. GCC takes ln 2 / ln 1.08 = 9 s to double.
            let in_time = settled.iter().all(|time| time.is_some_and(|time| time < 10.0));
            assert!(capacity < MOST || controller == "gcc" || in_time, "{what}: {settled:?}");
        }
    }
}

/// Without the randomness of frames GCC comes back to its draft: from 300 kbps it grows by 1.08 a second (section 5.5), to 0.8 of 1 Mbps
/// in ln(0.8 / 0.3) / ln 1.08 = 12.7 s. The second that is measured begins half a second before its mean, the encoder follows 0.2 to 0.4 s late.
#[test]
fn gcc_settles_as_its_draft_grows_if_frames_are_even() {
    let outcome = even_frames("gcc");
    let settled = phase(&outcome, 0).settled.expect("it settles");
    assert!((settled - 12.7).abs() < 1.0, "{settled} s");
    for index in 0..CAPACITY.len() {
        // A saw's teeth from 0.85 to 1 have a mean of 0.92, and are in the band.
        let Phase { settled, used, .. } = phase(&outcome, index);
        println!("{index}: {settled:?} s, {used:.3?}");
        assert!(settled.is_some() && used.mean > 0.85, "{index}: {settled:?} {used:?}");
    }
}

#[test]
fn flows_of_unequal_delays_come_within_a_factor_of_three() {
    for controller in CONTROLLERS {
        for seed in 1..=2 {
            let outcome = unequal_delays(controller, seed);
            let Sharing { jain, rates, deviation, used, over } = sharing(&outcome, 4.0, LATER);
            let after = even_after(&outcome);
            let what = format!("{controller}, seed {seed}");
            println!(
                "{what}: {after:?} s, {jain:.3?} {rates:.2?} {deviation:.2} {used:.2} {over:.2}"
            );
            // The RFC's bound is for similar RTTs: SCReAM, whose window grows once in a round trip, is outside it with these.
            assert!(after.is_some() || controller == "scream", "{what}");
            assert!(jain.iter().all(|&index| index >= 0.75), "{what}: {jain:?}");
            assert!(used > 1.0 - TOLERANCE && used <= 1.001, "{what}: {used}");
        }
    }
}

#[test]
fn a_call_does_not_starve_a_download() {
    for controller in CONTROLLERS {
        for seed in 1..=3 {
            let outcome = beside_tcp(controller, seed);
            let Sharing { jain, rates, deviation, used, .. } = sharing(&outcome, 2.0, BESIDE);
            let what = format!("{controller}, seed {seed}");
            println!("{what}: {jain:.3?} {rates:.3?} {deviation:.2} {used:.2}");
            assert!(rates[0] < FACTOR * rates[1], "{what}: {rates:?}");
            // What Cubic leaves in the queue keeps the link busy.
            assert!(used > 0.95, "{what}: {used}");
        }
    }
}
