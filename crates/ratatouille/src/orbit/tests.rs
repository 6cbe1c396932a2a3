use super::recursion::Recursion;
use super::*;
use exm_remy::{Action, Signal, SignalSet};
use exm_sim::engine::{self, FlowSample, Observer, Pace};
use exm_table::TableFile;
use proptest::prelude::*;

const END: f64 = 16_384.0;

fn single(multiple: f64, increment: i32, intersend_ms: f64) -> RuleTable {
    RuleTable::single(SignalSet::FIRST_FOUR, END, Action { multiple, increment, intersend_ms })
}

fn link(mbps: f64, rtt_ms: u64) -> IdealLink {
    IdealLink::new(Rate::from_mbps(mbps), Span::from_millis(rtt_ms), Bytes::PACKET)
        .expect("neither is zero")
}

fn shipped(name: &str) -> RuleTable {
    let path = format!("{}/../../remyccs/{name}.json", env!("CARGO_MANIFEST_DIR"));
    TableFile::load(std::path::Path::new(&path)).expect("it is shipped").table
}

/// Windows and signals after each ACK, as the engine has them.
#[derive(Default)]
struct Acks(Vec<(Instant, u64, [f64; Signal::COUNT])>);

impl Observer for Acks {
    fn pace(&self) -> Pace {
        Pace::EachEvent
    }

    fn flow(&mut self, sample: &FlowSample) {
        let Some(signals) = sample.signals.filter(|_| sample.delivered > 0) else { return };
        self.0.push((sample.at, sample.cwnd.get(), signals));
    }
}

fn simulated(link: &IdealLink, table: &RuleTable) -> Acks {
    let mut acks = Acks::default();
    engine::run_observed(&link.network(table, 1).expect("possible"), 1, &mut acks);
    acks
}

fn recursive(link: &IdealLink, table: &RuleTable) -> Acks {
    let (mut recursion, mut acks) = (Recursion::new(link, table), Acks::default());
    while let Some(step) = recursion.step()
        && step.at < Instant::ZERO + link.duration()
    {
        if step.is_ack {
            acks.0.push((step.at, recursion.window(), recursion.signals()));
        }
    }
    acks
}

/// The window w becomes trunc(w/2 + 20): 39 of 39. The BDP is 20 packets, and each RTT begins with a service.
#[test]
fn a_window_of_one_rule_comes_to_rest() {
    let orbit = link(12.0, 20).predict(&single(0.5, 20, 0.0));
    assert_eq!((orbit.kind(), orbit.packets), (OrbitKind::Rest, 0));
    assert_eq!(orbit.in_flight, 39.0 / 20.0);
    let exact = orbit.exact.expect("it repeats");
    assert_eq!((exact.acks, exact.rtts), (1, 1.0 / 20.0), "an ACK each millisecond");
}

/// A packet each 3 ms, each acknowledged after 21 ms: seven in flight.
#[test]
fn a_pace_of_one_rule_comes_to_rest() {
    let orbit = link(12.0, 20).predict(&single(1.0, 1, 3.0));
    assert_eq!((orbit.kind(), orbit.packets), (OrbitKind::Rest, 0));
    assert!((orbit.in_flight - 7.0 / 20.0).abs() < 1e-3, "{}", orbit.in_flight);
    assert_eq!(orbit.exact.expect("it repeats").acks, 1);
}

/// Below a ratio of 1.5 two packets are sent in the service of one, above it a packet in two.
#[test]
fn a_switch_at_a_ratio_is_a_cycle() {
    let mut table = single(1.0, 1, 0.5);
    assert!(table.split(0, Signal::RttRatio, 1.5));
    let upper = table.find(&[0.0, 0.0, 1.6, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    table.set_action(upper, Action { multiple: 1.0, increment: 1, intersend_ms: 2.0 });
    let link = link(12.0, 20);
    let orbit = link.predict(&table);
    assert_eq!(orbit.kind(), OrbitKind::Cycle);
    let exact = orbit.exact.expect("all times are multiples of half a millisecond");
    let period = orbit.period.expect("a cycle has one");
    let times = exact.rtts / period;
    assert!((times - times.round()).abs() < 0.05, "{} RTTs, {period} RTTs", exact.rtts);
    let balance = link.balance(&table).expect("it shrinks above");
    assert!((balance - 1.5 * 21.0 / 20.0).abs() < 0.02, "{balance}");
}

#[test]
fn nothing_sent_is_at_rest() {
    let orbit = link(12.0, 20).predict(&single(0.0, 0, 0.0));
    assert_eq!((orbit.kind(), orbit.in_flight, orbit.exact), (OrbitKind::Rest, 0.0, None));
}

#[test]
fn impossible_links_are_none() {
    let new = |rate, rtt| IdealLink::new(Rate::from_bps(rate), rtt, Bytes::PACKET);
    assert_eq!(new(0, Span::from_millis(1)), None);
    assert_eq!(new(1_000_000, Span::ZERO), None);
    assert_eq!(new(1, Span::MAX), None);
}

/// ACK by ACK, to the nanosecond and to the bit.
#[test]
fn the_recursion_is_the_simulation() {
    for name in ["learn-100x", "general-delta1", "general-delta0.1"] {
        let table = shipped(name);
        for (mbps, rtt) in [(3.7, 150), (11.3, 97), (15.0, 150), (48.9, 40)] {
            let link = link(mbps, rtt);
            let (simulated, recursive) = (simulated(&link, &table), recursive(&link, &table));
            assert!(recursive.0.len() > 1_000, "{name} sends");
            assert_eq!(simulated.0, recursive.0, "{name} at {mbps} Mbps, {rtt} ms");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever one rule does, the prediction agrees with the simulation: the period, and the amplitude but for what
    /// happens between samples.
    #[test]
    fn one_rule_is_predicted(
        (multiple, increment, pace) in (0.0..1.1_f64, 0..50_i32, 0.0..5.0_f64),
        (mbps, rtt) in (1.0..20.0_f64, 5..200_u64),
    ) {
        let (link, table) = (link(mbps, rtt), single(multiple, increment.min(20), pace.max(0.3)));
        let (predicted, simulated) = (link.predict(&table), link.simulate(&table, 1).expect("possible"));
        prop_assert_eq!(predicted.period, simulated.period);
        prop_assert!(simulated.packets <= predicted.packets);
        prop_assert!((predicted.in_flight - simulated.in_flight).abs() <= 0.02 + 0.1 * simulated.in_flight);
    }
}
