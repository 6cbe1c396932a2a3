//! The TCP host against ns-3 (release build of 2026-11-21, SACK, an acknowledgement for every
//! packet), on its standard network: 15 Mbps, 150 ms, a queue of 1000 packets.
//!
//! A 1500-byte packet carries 1448 bytes; throughput is payload in order over on-time; a packet's
//! queueing delay is its wait at the bottleneck; rows are medians over senders and runs. Behaviour
//! is compared, not individual packets: the random numbers differ from ns-3's.

mod common;

use common::{Bottleneck, Measured, medians};
use exm_random::Distribution;
use exm_sim::engine::{self, FlowSample, LinkSample, Observer, Pace};
use exm_sim::traffic::{OnFor, OnOff};
use exm_tcp::{MinRto, Settings};
use exm_units::{Packets, Span};

/// The granularity of ns-3's timestamps, with which its senders measure RTTs. Only Vegas is
/// affected.
const TICK: Option<Span> = Some(Span::from_millis(1));

/// A row of the table of short flows: the controller, the initial window, whether the handshake
/// counts, and ns-3's medians in Mbps and ms.
type Row = (&'static str, u64, bool, f64, f64);

const SHORT_FLOWS: [Row; 9] = [
    ("reno", 10, false, 1.610, 16.7),
    ("reno", 3, false, 1.135, 13.2),
    ("reno", 10, true, 1.237, 15.0),
    ("cubic", 10, false, 1.625, 16.8),
    ("cubic", 3, false, 1.132, 13.0),
    ("cubic", 10, true, 1.242, 14.8),
    ("vegas", 10, false, 1.593, 11.9),
    ("vegas", 3, false, 1.115, 8.5),
    ("vegas", 10, true, 1.221, 10.6),
];

const RUNS: u64 = 64;

#[test]
fn eight_senders_of_100_kb_agree_with_ns_3() {
    let mut wrong = Vec::new();
    for (controller, initial, handshake, mbps, delay) in SHORT_FLOWS {
        for timestamps in if controller == "vegas" { &[None, TICK][..] } else { &[None] } {
            let settings = Settings {
                initial_window: Packets::new(initial),
                handshake,
                floor: MinRto::Timer(Span::from_millis(200)),
                timestamps: *timestamps,
                ..Settings::default()
            };
            let traffic = OnOff {
                on: OnFor::Bytes(Distribution::Exponential { mean: 100_000.0 }),
                off: Distribution::Exponential { mean: 0.5 },
            };
            let flows = Bottleneck::new(controller, settings, traffic).shared_by(8);
            let Measured { mbps: ours, wait_ms } = medians(&flows.reports(RUNS));
            println!(
                "{controller:6} IW{initial:<2} {} {} {ours:.3} Mbps (ns-3 {mbps:.3}, {:+.1} %)  \
                 {wait_ms:.2} ms (ns-3 {delay:.1}, {:+.2} ms)",
                if handshake { "handshake  " } else { "established" },
                if timestamps.is_some() { "1 ms " } else { "exact" },
                (ours / mbps - 1.0) * 100.0,
                wait_ms - delay,
            );
            if (ours / mbps - 1.0).abs() > 0.03 || (wait_ms - delay).abs() > 1.0 {
                wrong.push((controller, initial, handshake, timestamps));
            }
        }
    }
    assert!(wrong.is_empty(), "beyond 3 % or 1 ms of ns-3: {wrong:?}");
}

/// When the queue was first full, in seconds, and the largest window.
#[derive(Default)]
struct Watch {
    first_full: Option<f64>,
    peak: u64,
}

impl Observer for Watch {
    fn pace(&self) -> Pace {
        Pace::EachEvent
    }

    fn flow(&mut self, sample: &FlowSample) {
        self.peak = self.peak.max(sample.cwnd.get());
    }

    fn link(&mut self, sample: &LinkSample) {
        if sample.packets >= 1000 && self.first_full.is_none() {
            self.first_full = Some(sample.at.as_nanos() as f64 / 1e9);
        }
    }
}

/// A row of the table of long flows: the controller, the timer's floor, the tick of timestamps, and
/// ns-3's goodput in Mbps, mean queueing delay in ms, first drop in s and largest window. Vegas with
/// ns-3's timestamps switched off was measured with ns-3.44.
type Long = (&'static str, MinRto, Option<Span>, f64, f64, Option<f64>, u64);

#[test]
fn one_long_flow_agrees_with_ns_3() {
    let timer = MinRto::Timer(Span::from_millis(200));
    let rows: [Long; 4] = [
        ("reno", timer, None, 14.31, 402.0, Some(1.60), 2377),
        ("cubic", MinRto::default(), None, 14.28, 655.0, Some(11.95), 1255),
        ("vegas", timer, TICK, 13.59, 1.1, None, 190),
        ("vegas", timer, None, 13.68, 2.1, None, 190),
    ];
    for (controller, floor, timestamps, mbps, delay, drop, peak) in rows {
        let traffic = OnOff { on: OnFor::Always, off: Distribution::Fixed(0.0) };
        let settings = Settings { floor, timestamps, ..Settings::default() };
        let network = Bottleneck::new(controller, settings, traffic).network();
        let mut watch = Watch::default();
        let report = engine::run_observed(&network, 1, &mut watch);
        let flow = &report.flows[0];
        let ours = flow.throughput().expect("it was on").as_mbps();
        let wait = flow.queueing_delay.mean().expect("it sent").as_millis_f64();
        println!(
            "{controller:6} {ours:.2} Mbps (ns-3 {mbps})  {wait:.2} ms ({delay})  first drop {:?} s \
             ({drop:?})  peak {} ({peak})  dropped {} retransmitted {} timeouts {}",
            watch.first_full,
            watch.peak,
            report.links[0].dropped,
            flow.retransmitted,
            flow.timeouts,
        );
        let near = |ours: f64, theirs: f64, part: f64| (ours / theirs - 1.0).abs() < part;
        assert!(near(ours, mbps, 0.01), "goodput");
        // Half a packet where the queue is nearly empty.
        assert!(near(wait, delay, 0.05) || (wait - delay).abs() < 0.4, "queue");
        assert!(near(watch.peak as f64, peak as f64, 0.02), "peak");
        assert_eq!(watch.first_full.is_some(), drop.is_some());
        if let (Some(full), Some(drop)) = (watch.first_full, drop) {
            assert!(near(full, drop, 0.05), "first drop");
        }
    }
}
