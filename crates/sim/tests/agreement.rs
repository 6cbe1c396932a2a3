//! The event engine and the fast path give bit-identical results.

use exm_link::{Limit, Service};
use exm_random::Distribution;
use exm_remy::{Action, CompiledAction, Grid, RemyCc, RuleTable, Signal, SignalSet};
use exm_sim::dumbbell::{self, Rules};
use exm_sim::engine;
use exm_sim::network::{FlowSpec, Host, LinkSpec, Network};
use exm_sim::traffic::{OnFor, OnOff};
use exm_units::{Bytes, Packets, Probability, Rate, Span};
use proptest::prelude::*;
use proptest::sample::select;

/// The fast path's network as one of the engine.
fn as_network(dumbbell: &dumbbell::Dumbbell, table: &RuleTable) -> Network {
    let limit = dumbbell.buffer.map_or(Limit::Unlimited, Limit::Packets);
    let link = LinkSpec::bottleneck(Service::Fixed(dumbbell.rate), limit).loss(dumbbell.loss);
    let controller = RemyCc::new(table);
    let flows = dumbbell.delays.iter().map(|&delay| {
        FlowSpec::new(Host::Bare.transport(controller.clone().into()))
            .extra_delay(delay)
            .packet_size(dumbbell.packet)
            .traffic(dumbbell.traffic.clone())
    });
    Network::new(vec![link], flows.collect(), dumbbell.duration).expect("a sound network")
}

/// A table of three rules, split on two signals.
fn tables() -> impl Strategy<Value = RuleTable> {
    let multiples = select(vec![0.0, 0.5, 0.9, 1.0, 1.02]);
    let actions = (multiples, 0i32..6, select(vec![0.0, 0.01, 0.25, 1.0, 3.0]));
    prop::collection::vec(actions, 3).prop_map(|actions| {
        let mut table = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, Action::INITIAL);
        assert!(table.split(0, Signal::RttRatio, 1.5));
        assert!(table.split(1, Signal::AckEwma, 2.0));
        for (index, (multiple, increment, intersend_ms)) in actions.into_iter().enumerate() {
            table.set_action(index, Action { multiple, increment, intersend_ms });
        }
        table
    })
}

fn traffics() -> impl Strategy<Value = OnOff> {
    let off = select(vec![
        Distribution::Exponential { mean: 0.5 },
        Distribution::Fixed(0.2),
        Distribution::Uniform { low: 0.01, high: 0.3 },
    ]);
    let on = select(vec![
        OnFor::Always,
        OnFor::Time(Distribution::Exponential { mean: 0.7 }),
        OnFor::Time(Distribution::Fixed(0.1)),
        OnFor::Packets(Distribution::Exponential { mean: 30.0 }),
        OnFor::Packets(Distribution::Fixed(1.0)),
    ]);
    (on, off).prop_map(|(on, off)| OnOff { on, off })
}

fn dumbbells() -> impl Strategy<Value = dumbbell::Dumbbell> {
    let rates = 1u64..60;
    let buffers = prop::option::of((1u64..300).prop_map(Packets::new));
    let losses = select(vec![0.0, 0.0, 0.01, 0.2]);
    let delays = prop::collection::vec((1u64..250).prop_map(Span::from_millis), 1..9);
    (rates, buffers, losses, delays, traffics()).prop_map(
        |(mbps, buffer, loss, delays, traffic)| dumbbell::Dumbbell {
            rate: Rate::from_bps(mbps * 1_000_000),
            packet: Bytes::new(1500),
            buffer,
            loss: Probability::new(loss).expect("a probability"),
            delays,
            traffic,
            duration: Span::from_secs(8),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn engine_and_fast_path_agree(
        dumbbell in dumbbells(),
        table in tables(),
        seed in any::<u64>(),
    ) {
        let report = engine::run(&as_network(&dumbbell, &table), seed);
        let grid = Grid::new(&table);
        let actions: Vec<CompiledAction> =
            table.rules().iter().map(|rule| rule.action.compile()).collect();
        let rules = Rules { grid: &grid, actions: &actions };
        let outcomes = dumbbell::run(&dumbbell, rules, seed);
        prop_assert_eq!(report.flows.len(), outcomes.len());
        for (flow, outcome) in report.flows.iter().zip(&outcomes) {
            prop_assert_eq!(flow.sent, outcome.sent);
            prop_assert_eq!(flow.delivered, outcome.delivered);
            prop_assert_eq!(flow.lost + flow.dropped_in_all(), outcome.lost);
            prop_assert_eq!(flow.rtt.sum_nanos(), u128::from(outcome.rtt_sum.as_nanos()));
            prop_assert_eq!(flow.on_time, outcome.on_time);
            prop_assert_eq!(flow.active_time, outcome.active_time);
            prop_assert_eq!(flow.share_time, outcome.share_time);
            prop_assert_eq!(flow.active_share_time, outcome.active_share_time);
            // No sender has more than the link, and all together no more than it could carry; the time
            // of a packet is rounded to a nanosecond.
            let packet_s = dumbbell.rate.service_time(dumbbell.packet).as_secs_f64() - 1e-9;
            let carried_s = outcome.delivered as f64 * packet_s;
            prop_assert!(carried_s <= outcome.active_time.as_secs_f64() * (1.0 + 1e-12));
        }
        let all_s: f64 = outcomes.iter().map(|o| o.active_share_time).sum();
        let carried: u64 = outcomes.iter().map(|o| o.delivered).sum();
        let packet_s = dumbbell.rate.service_time(dumbbell.packet).as_secs_f64() - 1e-9;
        prop_assert!(carried as f64 * packet_s <= all_s * (1.0 + 1e-9));
        if let [alone] = report.flows.as_slice() {
            prop_assert!(alone.normalised_throughput().unwrap_or(0.0) <= 1.0 + 1e-4);
        }
    }
}
