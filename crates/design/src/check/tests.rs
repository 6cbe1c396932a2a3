use super::*;
use crate::harden::{Brake, Guards};
use crate::shipped;
use exm_remy::{Action, Signal, SignalSet};

fn model() -> Model {
    Model::shipped("general-delta1").unwrap()
}

fn single(multiple: f64, increment: i32, intersend_ms: f64) -> RuleTable {
    let action = Action { multiple, increment, intersend_ms };
    RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, action)
}

#[test]
fn a_collapse_names_the_rule_and_why() {
    let table = single(1.0, 1, 15.3);
    let check = check(&model(), 0, &table, 1);
    assert_eq!(check.verdict(), Verdict::Collapses);
    let words = check.findings[0].to_string();
    assert!(words.starts_with("three times the senders, always on: RTT "), "{words}");
    let why = "Rule 0 is at fault: it enlarges the window to 1000000 packets and sends one every 15.3 ms; if its \
               window were 1 packet, the RTT would be 1.0 times the minimum. At this pace, 14.142 Mbps suffice for 18 \
               senders";
    assert!(words.contains(why) && words.ends_with(", not for 48"), "{words}");
}

/// Two rules fire as often, but the window of one of them alone fills the queue.
#[test]
fn the_rule_at_fault_is_not_the_one_that_fires_most() {
    let mut table = single(0.0, 2, 0.0);
    assert!(table.split(0, Signal::RttRatio, 1.5));
    let above = table.find(&[1.0, 1.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    table.set_action(above, Action { multiple: 0.0, increment: 60, intersend_ms: 0.0 });
    let findings = check(&model(), 0, &table, 1).findings;
    assert!(!findings.is_empty());
    for finding in findings {
        assert_eq!((finding.rule, finding.without < 4.0), (above, true), "{finding}");
        assert!(finding.without < finding.trial.rtt_over_least, "{finding}");
    }
}

#[test]
fn a_table_of_three_packets_holds_everywhere() {
    let table = single(0.0, 3, 0.0);
    let check = check(&model(), 0, &table, 1);
    assert_eq!((check.verdict(), check.findings.len()), (Verdict::Holds, 0));
    assert!(check.starvations.is_empty(), "{:?}", check.starvations);
    let robustness = check.robustness(&table);
    assert_eq!(robustness.rules_hash, TableFile::rules_hash(&table));
    assert_eq!(robustness.near.collapses, 0);
}

/// The brake of former versions: it paces by the time between ACKs, and so slows down ever more where the RTT is long
/// through others.
#[test]
fn a_brake_that_feeds_itself_is_found() {
    let mut table = single(0.0, 20, 0.0);
    let slow = table.rules().len();
    assert!(table.split(0, Signal::RttRatio, 1.2));
    let mut rung = slow;
    for end in (0..12).map(|power| f64::from(1 << power)) {
        table.set_action(rung, Action { multiple: 0.0, increment: 3, intersend_ms: 1.2 * end });
        assert!(table.split(rung, Signal::AckEwma, end));
        rung = table.rules().len() - 1;
    }
    table.set_action(rung, Action { multiple: 0.0, increment: 1, intersend_ms: 4000.0 });
    let check = check(&model(), 0, &table, 1);
    assert!(check.foreign.starved > 0, "{:?}", check.near);
    assert_ne!(check.verdict(), Verdict::Holds);
}

/// By hand: windows of 20 packets, one ACK every 5 ms.
#[test]
fn a_standing_queue_is_as_long_as_the_window() {
    let bound = |table: &RuleTable, spacing| fluid_bound(table, spacing);
    let table = single(0.5, 10, 2.0);
    assert_eq!(bound(&table, 5.0), FluidBound::Ms { rtt: 100.0, rule: 0 });
    // Slower than its ACKs: it drains the queue, but for the packet that each sender has in it.
    assert_eq!(bound(&table, 1.0), FluidBound::Ms { rtt: 1.0, rule: 0 });
    assert_eq!(bound(&single(1.0, 1, 2.0), 5.0), FluidBound::Unbounded { rule: 0 });
    // Of several rules only those for the spacing count.
    let mut table = single(1.0, 1, 2.0);
    table.split(0, Signal::AckEwma, 10.0);
    table.set_action(1, Action { multiple: 0.0, increment: 2, intersend_ms: 0.0 });
    assert_eq!(bound(&table, 20.0), FluidBound::Ms { rtt: 40.0, rule: 1 });
    assert_eq!(bound(&table, 1e9), FluidBound::Ms { rtt: 2e9, rule: 1 });
}

/// What is proven is never less than what a simulation shows: senders that are always on, on a link that they
/// have filled long since, with the largest of all windows.
#[test]
fn no_simulation_exceeds_what_is_proven() {
    use exm_sim::dumbbell::{self, Dumbbell};
    use exm_sim::traffic::OnOff;
    use exm_units::{Bytes, Probability, Span};
    for senders in [2, 8, 40] {
        let table = single(0.8, 4, 0.5);
        let network = Dumbbell {
            rate: Rate::from_mbps(12.0),
            packet: Bytes::PACKET,
            buffer: None,
            loss: Probability::ZERO,
            delays: vec![Span::from_millis(10); senders],
            traffic: OnOff::always(),
            duration: Span::from_secs(20),
        };
        let outcomes = dumbbell::run(&network, Prepared::new(&table).rules(), 1);
        let delivered: u64 = outcomes.iter().map(|outcome| outcome.delivered).sum();
        let sum: f64 = outcomes.iter().map(|outcome| outcome.rtt_sum.as_millis_f64()).sum();
        let FluidBound::Ms { rtt, .. } = fluid_bound(&table, senders as f64) else {
            panic!("its window is bounded");
        };
        let mean = sum / delivered as f64;
        // The packet in service is in flight, too.
        assert!(mean <= rtt.max(10.0) + 1.0, "{mean} ms, proven {rtt} ms");
    }
}

/// The words of the verdict's file, and what the file of a table without hardening has.
#[test]
fn guards_bound_what_the_table_alone_does_not() {
    let table = shipped::table("general-delta10").unwrap().table;
    let brake =
        |ratio: f64| Brake { ratio, from_ms: 0.01, horizon_ms: 50.0, window: 1.0, pace: 1.0 };
    let guards = Guards {
        start_window: 16.0,
        growth: 8.0,
        horizon_ms: 300.0,
        reference_ms: 10.0,
        equality: 0.0,
        least_window: 1.0,
        youth: 1.0,
        brakes: [brake(1.5), brake(2.0), brake(3.0)],
    };
    let guarded = guards.apply(&table).unwrap();
    for spacing in [1.0, 10.0, 50.0, 200.0, 290.0] {
        let FluidBound::Ms { rtt, .. } = fluid_bound(&guarded, spacing) else {
            panic!("unbounded at {spacing} ms");
        };
        assert!(rtt <= 601.0_f64.max(spacing), "{rtt} ms at {spacing} ms");
    }
}
