use super::*;
use proptest::prelude::*;

fn named(name: &str) -> Synthetic {
    Synthetic::named(name).expect("a known preset")
}

fn lte() -> Cox {
    named("lte-like").regimes[0].rate.clone()
}

fn generate(synthetic: impl Into<Synthetic>, seed: u64, seconds: u64) -> Trace {
    synthetic.into().generate(seed, Span::from_secs(seconds)).expect("a trace")
}

fn dwelling(rate: Cox, seconds: f64) -> Regime {
    Regime { rate, dwell: Some(Distribution::Fixed(seconds)), weight: 1.0 }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let trace = generate(lte(), 1, 10);
    assert_eq!(trace, generate(lte(), 1, 10));
    assert_ne!(trace, generate(lte(), 2, 10));
    assert_eq!(trace.period(), Span::from_secs(10));
    // Pinned, so that old experiments can be repeated exactly.
    let first: Vec<u64> = trace.times()[..3].iter().map(|time| time.as_nanos()).collect();
    assert_eq!((trace.times().len(), first), (5733, vec![157_381, 863_024, 1_106_099]));
}

/// The variance of counts in a second over their mean: one for a Poisson process, a twentieth with twenty stages.
#[test]
fn stages_make_gaps_even() {
    let dispersion = |stages| {
        let rate = Cox { volatility: 0.0, ..lte() };
        let trace = generate(Synthetic { stages, ..rate.into() }, 1, 400);
        let mut counts = [0.0; 400];
        for time in trace.times() {
            counts[(time.as_nanos() / 1_000_000_000).min(399) as usize] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / 400.0;
        counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 400.0 / mean
    };
    let (poisson, even) = (dispersion(1), dispersion(20));
    assert!((0.8..1.2).contains(&poisson) && (0.03..0.08).contains(&even), "{poisson} {even}");
}

/// Forty networks of the population are diverse: every decade of rates, even and bursty links, steady ones and ones with
/// outages; the second direction is no faster than the first.
#[test]
fn the_population_is_diverse() {
    let links: Vec<Synthetic> =
        (1..=80).map(|seed| Synthetic::seeded("any", seed).expect("a name")).collect();
    let mean = |link: &Synthetic| link.regimes[0].rate.mean.as_mbps();
    for decade in [0.1, 1.0, 10.0, 100.0] {
        let inside = links.iter().filter(|link| (decade..decade * 10.0).contains(&mean(link)));
        assert!(inside.count() >= 8, "{decade}");
    }
    for pair in links.chunks(2) {
        assert!(mean(&pair[1]) <= mean(&pair[0]) && mean(&pair[1]) >= 0.19 * mean(&pair[0]));
        assert_eq!((pair[0].slot, pair[0].stages), (pair[1].slot, pair[1].stages));
    }
    let some = |is: fn(&Synthetic) -> bool| links.iter().filter(|link| is(link)).count();
    assert!(some(|link| link.stages > 1) > 20 && some(|link| link.slot.is_none()) > 5);
    assert!(
        some(|link| link.regimes.len() > 1) > 30 && some(|link| link.interruptions.is_empty()) > 10
    );
    for (seed, link) in (1..).zip(&links) {
        assert!(link.generate(seed, Span::from_secs(1)).is_ok(), "{seed}");
    }
}

/// Opportunities in 100 s, the hundredth, and the longest time without one.
#[test]
fn presets_are_stable() {
    let pinned: Vec<String> = Synthetic::PRESETS
        .iter()
        .map(|(name, _)| {
            let trace = generate(named(name), 1, 100);
            let summary = trace.summary();
            let (hundredth, longest) = (trace.times()[99], summary.longest_gap);
            format!("{name}: {}, {hundredth}, {longest}", summary.opportunities)
        })
        .collect();
    let expected = [
        "3g: 15158, 456 ms, 3.254 s",
        "umts: 14864, 560 ms, 1.62 s",
        "lte: 55682, 147 ms, 286 ms",
        "5g: 4005361, 3 ms, 69 ms",
        "5g-mid: 1272924, 10 ms, 9.5 ms",
        "wifi: 854703, 14942.792 us, 13274.077 us",
        "satellite: 1134253, 13333.33 us, 99999.975 us",
        "geo: 168716, 68836.607 us, 7345.436 us",
        "cox: 36734, 245442.933 us, 3115769.609 us",
        "lte-like: 45990, 234807.675 us, 3666819.339 us",
        "umts-like: 23102, 455201.356 us, 2967395.397 us",
        "any: 22527, 492 ms, 47 ms",
    ];
    assert_eq!(pinned, expected);
}

#[test]
fn the_links_have_their_stated_rates() {
    for (name, mbps) in [("lte-like", 5.0), ("umts-like", 2.0)] {
        let trace = generate(named(name), 7, 20_000);
        let highest = named(name).regimes[0].rate.max.as_mbps();
        let mean = trace.mean_rate().as_mbps();
        assert!((mean / mbps - 1.0).abs() < 0.05, "{name}: {mean}");
        let longest = trace.summary().longest_gap;
        assert!(longest > Span::from_secs(1) && longest < Span::from_secs(20), "{longest}");
        let end = Instant::ZERO + trace.period();
        let windows: Vec<Rate> = trace.rates(Instant::ZERO, end, Span::from_secs(1)).collect();
        let above = windows.iter().filter(|rate| rate.as_mbps() > highest * 1.2).count();
        assert_eq!(above, 0, "{name}");
    }
    assert_eq!(Synthetic::named("no such link"), None);
}

/// Without volatility it is a Poisson process: as much variance as mean.
#[test]
fn a_constant_rate_gives_a_poisson_process() {
    let cox = Cox { volatility: 0.0, ..lte() };
    let trace = generate(cox.clone(), 3, 1000);
    let end = Instant::ZERO + trace.period();
    let counts: Vec<f64> = trace
        .rates(Instant::ZERO, end, Span::from_millis(20))
        .map(|rate| per_second(rate) * 0.02)
        .collect();
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let squares = counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>();
    let variance = squares / counts.len() as f64;
    assert!((mean / (per_second(cox.mean) * 0.02) - 1.0).abs() < 0.01, "{mean}");
    assert!((variance / mean - 1.0).abs() < 0.03, "{variance} {mean}");
}

/// Without pull, every rate is equally likely: half the maximum on average, less the outages.
#[test]
fn brownian_motion_alone_wanders_everywhere() {
    let trace = generate(Cox::SPROUT, 5, 20_000);
    let share = trace.mean_rate().as_mbps() / Cox::SPROUT.max.as_mbps();
    assert!((0.3..0.5).contains(&share), "{share}");
}

#[test]
fn regimes_last_as_long_as_specified() {
    let still = |mbps| {
        let rate = Rate::from_mbps(mbps);
        Cox { mean: rate, max: rate, volatility: 0.0, pull: Span::from_millis(20), ..lte() }
    };
    let regimes = vec![dwelling(still(12.0), 10.0), dwelling(still(1.2), 10.0)];
    let trace = generate(Synthetic { regimes, ..lte().into() }, 1, 4000);
    let end = Instant::ZERO + trace.period();
    let fast = trace
        .rates(Instant::ZERO, end, Span::from_secs(10))
        .map(|rate| match rate.as_mbps() {
            11.0..13.0 => true,
            0.9..1.5 => false,
            other => panic!("{other} Mbps is the rate of neither regime"),
        })
        .collect::<Vec<bool>>();
    assert!(fast[0], "it begins with the first");
    let count = fast.iter().filter(|fast| **fast).count();
    assert!((150..250).contains(&count), "{count} of 400");
}

#[test]
fn there_are_no_opportunities_during_interruptions() {
    let every_15_s = Interruption {
        every: Distribution::Fixed(15.0),
        lasts: Distribution::Uniform { low: 0.5, high: 1.0 },
    };
    let synthetic = Synthetic { interruptions: vec![every_15_s], ..lte().into() };
    let (with, without) = (generate(synthetic, 1, 100), generate(lte(), 1, 100));
    for start in (15..100).step_by(15).map(|s| Instant::ZERO + Span::from_secs(s)) {
        assert_eq!(with.count(start, start + Span::from_millis(500)), 0);
    }
    // Everything else is unchanged: each process has a random stream of its own.
    assert!(with.times().iter().all(|time| without.times().binary_search(time).is_ok()));
    let lost = without.times().len() - with.times().len();
    assert!(lost > 500 && lost < 6 * 1000, "{lost}");
}

#[test]
fn slots_hold_several_opportunities() {
    let slot = Span::from_micros(500);
    let trace = generate(Synthetic { slot: Some(slot), ..lte().into() }, 1, 10);
    assert!(trace.times().iter().all(|time| time.as_nanos() % slot.as_nanos() == 0));
    let free = generate(lte(), 1, 10);
    assert_eq!(trace.times().len(), free.times().len());
    let late = |(slotted, free): (&Instant, &Instant)| *slotted - *free < slot;
    assert!(trace.times().iter().zip(free.times()).all(late));
}

/// Frames of 4 ms after medium access of 1 ms: four fifths of the opportunities, at the ends of frames.
#[test]
fn frames_hold_what_is_due_in_their_air_time() {
    let (airtime, access) = (Span::from_millis(4), Distribution::Fixed(0.001));
    let frames = Some(Frames { airtime, access });
    let rate = Cox { volatility: 0.0, ..lte() };
    let framed = generate(Synthetic { frames, ..rate.clone().into() }, 1, 100);
    let all = generate(rate, 1, 100);
    assert!(framed.times().iter().all(|time| time.as_nanos() % 5_000_000 == 0));
    let part = framed.times().len() as f64 / all.times().len() as f64;
    assert!((0.79..0.81).contains(&part), "{part}");
}

/// Blocks arrive in order and none is lost; a block that fails n times delays those after it until it has arrived.
#[test]
fn failed_blocks_arrive_later_and_in_order() {
    let (slot, step) = (Span::from_millis(1), Span::from_millis(8));
    let slotted = Synthetic { slot: Some(slot), ..lte().into() };
    let with = |probability, retries| {
        let block_errors = Some(BlockErrors { probability, step, retries });
        generate(Synthetic { block_errors, ..slotted.clone() }, 1, 100)
    };
    let free = generate(slotted.clone(), 1, 100);
    assert_eq!(with(0.0, 3), free);
    // All fail twice: all are two steps late, but for those that the end of the trace holds.
    let late = with(1.0 - 1e-12, 2);
    for (late, free) in late.times().iter().zip(free.times()) {
        assert!(*late == (*free + step * 2).min(Instant::ZERO + Span::from_secs(100)));
    }
    let some = with(0.1, 3);
    assert_eq!(some.times().len(), free.times().len());
    let delay = |(late, free): (&Instant, &Instant)| (*late - *free).as_millis_f64();
    let delays: Vec<f64> = some.times().iter().zip(free.times()).map(delay).collect();
    // A block is on time if it and the eight before it succeed at once, most of which hold opportunities.
    let on_time = delays.iter().filter(|delay| **delay == 0.0).count() as f64;
    let part = on_time / delays.len() as f64;
    assert!((0.4..0.8).contains(&part), "{part}");
    assert!(delays.iter().all(|delay| (0.0..=24.0).contains(delay)));
}

#[test]
fn impossible_parameters_are_rejected() {
    let second = Span::from_secs(1);
    let cox = Cox { mean: Rate::from_mbps(20.0), ..lte() };
    let error = Synthetic::from(cox).check(second).expect_err("impossible").to_string();
    assert_eq!(
        error,
        "a synthetic trace needs rates with 0 < mean <= max, not 20 Mbps and 12 Mbps"
    );
    let refused = |cox: Cox| Synthetic::from(cox).check(second).is_err();
    assert!(refused(Cox { volatility: f64::NAN, ..lte() }));
    assert!(refused(Cox { outage: Span::ZERO, ..lte() }));
    let plain = || Synthetic::from(lte());
    for seconds in [0, 31 * 86_400, 1 << 30] {
        assert!(plain().check(Span::from_secs(seconds)).is_err());
    }
    assert!(plain().check(Span::MAX).is_err());
    let short = plain().generate(1, Span::from_nanos(1));
    assert_eq!(short.map(|trace| trace.times().len()), Ok(1));
    assert_eq!(
        Synthetic { regimes: vec![], ..plain() }.check(second),
        Err(SyntheticError::NoRegime)
    );
    let weightless = Regime { weight: 0.0, ..dwelling(lte(), 1.0) };
    assert_eq!(
        Synthetic { regimes: vec![weightless], ..plain() }.check(second),
        Err(SyntheticError::Weights)
    );
    assert!(Synthetic { regimes: vec![dwelling(lte(), -1.0)], ..plain() }.check(second).is_err());
    assert!(Synthetic { slot: Some(Span::ZERO), ..plain() }.check(second).is_err());
    let framed = |airtime, access| {
        let frames = Some(Frames { airtime, access: Distribution::Fixed(access) });
        Synthetic { frames, ..plain() }.check(second)
    };
    assert!(framed(second, 0.0).is_ok());
    assert!(framed(second, -1.0).is_err() && framed(Span::ZERO, 0.0).is_err());
    let blocks = |slot, probability, retries| {
        let block_errors = Some(BlockErrors { probability, step: second, retries });
        Synthetic { slot, block_errors, ..plain() }.check(second)
    };
    assert!(blocks(Some(second), 0.0, 100).is_ok());
    let impossible = [(None, 0.1, 1), (Some(second), 1.0, 1), (Some(second), 0.1, 101)];
    for (slot, probability, retries) in impossible {
        assert!(blocks(slot, probability, retries).is_err(), "{slot:?} {probability} {retries}");
    }
    for stages in [0, 1001] {
        let error = Synthetic { stages, ..plain() }.check(second).expect_err("impossible");
        assert_eq!(error, SyntheticError::Stages(stages));
    }
    let (every, lasts) = (Distribution::Fixed(f64::NAN), Distribution::Fixed(1.0));
    let interruptions = vec![Interruption { every, lasts }];
    let error = Synthetic { interruptions, ..plain() }.check(second).expect_err("impossible");
    assert!(error.to_string().starts_with("the times of interruptions cannot be drawn: the value"));
}

proptest! {
    /// Everything that passes the check is generated, within its duration and rates.
    #[test]
    fn everything_possible_is_generated(
        seed in any::<u64>(),
        mbps in (0.01f64..50.0, 1.0f64..4.0),
        volatility in 0.0f64..2000.0,
        times in (0.0f64..3.0, 0.0f64..0.5, 0.0f64..2.0),
        slot in prop::option::of(1u64..50_000_000),
        frames in prop::option::of(1_000u64..50_000_000),
        blocks in (0.0f64..1.0, 0u64..50_000_000),
    ) {
        let (mean, max) = (Rate::from_mbps(mbps.0), Rate::from_mbps(mbps.0 * mbps.1));
        let pull = Span::from_millis(700);
        let rate = Cox { mean, max, volatility, pull, ..lte() };
        let synthetic = Synthetic {
            regimes: vec![dwelling(rate, times.0), dwelling(Cox::SPROUT, times.0)],
            interruptions: vec![Interruption {
                every: Distribution::Exponential { mean: times.1 },
                lasts: Distribution::Pareto { scale: 0.01, shape: 1.1, shift: 0.0, cap: times.2 },
            }],
            slot: slot.map(Span::from_nanos),
            frames: frames.map(|airtime| Frames {
                airtime: Span::from_nanos(airtime),
                access: Distribution::Exponential { mean: 0.001 },
            }),
            block_errors: slot.map(|_| BlockErrors {
                probability: blocks.0,
                step: Span::from_nanos(blocks.1),
                retries: 3,
            }),
            ..Synthetic::EMPTY
        };
        let trace = generate(synthetic, seed, 5);
        prop_assert_eq!(trace.period(), Span::from_secs(5));
        let highest = max.max(Cox::SPROUT.max).as_mbps();
        prop_assert!(trace.mean_rate().as_mbps() < highest * 1.5 + 1.0);
    }
}
