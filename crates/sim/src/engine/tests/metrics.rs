//! Samples show what controllers show of themselves, and only samples ask for it.

use super::*;
use crate::controllers::AnyController;
use exm_cc::{Ack, Congestion, Controller, Decision, Metrics, Start};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Keeps five packets in flight, and counts how often its metrics are asked for.
#[derive(Clone, Default)]
struct Five(Arc<AtomicU64>);

const DECISION: Decision = Decision { cwnd: Packets::new(5), intersend: Span::ZERO, wake_at: None };

impl Controller for Five {
    fn on_start(&mut self, _: &Start) -> Decision {
        DECISION
    }

    fn on_ack(&mut self, _: &Ack) -> Decision {
        DECISION
    }

    fn on_congestion(&mut self, _: &Congestion) -> Decision {
        DECISION
    }

    fn on_tick(&mut self, _: Instant) -> Decision {
        DECISION
    }

    fn metrics(&self) -> Metrics {
        self.0.fetch_add(1, Ordering::Relaxed);
        Metrics::new(5.0).state("steady")
    }
}

#[derive(Default)]
struct Seen(Vec<Metrics>);

impl Observer for Seen {
    fn pace(&self) -> Pace {
        Pace::Every(Span::from_millis(10))
    }

    fn flow(&mut self, sample: &FlowSample) {
        self.0.push(sample.metrics);
    }
}

fn network(controller: AnyController) -> Network {
    let link = LinkSpec::new(Service::Fixed(Rate::from_mbps(12.0)))
        .buffer(Limit::Packets(Packets::new(100)));
    let flow = FlowSpec::new(crate::network::Host::Tcp.transport(controller));
    let flows = vec![flow.extra_delay(Span::from_millis(40))];
    Network::new(vec![link], flows, Span::from_secs(4)).expect("a sound network")
}

fn seen(controller: AnyController) -> Vec<Metrics> {
    let mut seen = Seen::default();
    run_observed(&network(controller), 1, &mut seen);
    seen.0
}

#[test]
fn metrics_are_asked_for_by_samples_alone() {
    let five = Five::default();
    run(&network(AnyController::own(five.clone())), 1);
    assert_eq!(five.0.load(Ordering::Relaxed), 0);
    let seen = seen(AnyController::own(five.clone()));
    assert_eq!(five.0.load(Ordering::Relaxed), seen.len() as u64);
    assert!(seen.iter().all(|metrics| *metrics == Metrics::new(5.0).state("steady")));
}

#[test]
fn the_controllers_show_their_states() {
    let states = |name: &str| {
        let seen = seen(AnyController::named(name).expect("a known controller"));
        let mut states: Vec<&str> = seen.iter().filter_map(|metrics| metrics.state).collect();
        states.dedup();
        (states, seen)
    };
    let (cubic, seen) = states("cubic");
    assert_eq!(cubic[..2], ["slow start", "congestion avoidance"]);
    assert!(seen.last().is_some_and(|metrics| metrics.ssthresh.is_some()));
    let (bbr, seen) = states("bbr");
    assert_eq!(bbr[..2], ["Startup", "Drain"]);
    assert!(bbr[2].starts_with("ProbeBW_"), "{bbr:?}");
    // 12 Mbps are 1000 packets of 1500 bytes a second.
    let rate = seen.last().and_then(|metrics| metrics.pacing_rate).expect("BBR paces");
    assert!((700.0..1400.0).contains(&rate), "{rate}");
    assert!(AnyController::NAMES.iter().all(|name| {
        AnyController::named(name).is_some_and(|controller| controller.metrics().cwnd.is_some())
    }));
}
