//! The extended signals of RemyCCs, on each host.

use super::*;
use crate::metrics::LinkReport;
use exm_link::QueueKind;
use exm_remy::{Point, Signal};
use exm_tcp::Settings;

/// The memories at the ACKs of one flow.
#[derive(Default)]
struct Memories(Vec<Point>);

impl Observer for Memories {
    fn pace(&self) -> Pace {
        Pace::EachEvent
    }

    fn flow(&mut self, sample: &FlowSample) {
        self.0.extend(sample.signals);
    }
}

impl Memories {
    /// The mean of `signal` but for the first half.
    fn mean(&self, signal: Signal) -> f64 {
        let settled = &self.0[self.0.len() / 2..];
        settled.iter().map(|point| point[signal.index()]).sum::<f64>() / settled.len() as f64
    }
}

/// A window of `packets` by a table on `signals`.
fn window_by(signals: &[Signal], packets: i32) -> AnyController {
    let signals = SignalSet::new(signals.iter().copied()).expect("a signal");
    let action = Action { multiple: 0.0, increment: packets, intersend_ms: 0.0 };
    RemyCc::new(&RuleTable::single(signals, 16384.0, action)).into()
}

/// A packet a millisecond, a propagation RTT of 20 ms and twice as many packets in flight, on each host.
fn on_each_host(link: &LinkSpec, signals: &[Signal]) -> [(Memories, LinkReport); 2] {
    let controller = || window_by(signals, 40);
    let hosts = [
        Transport::Bare { controller: controller(), timer: true },
        Transport::Tcp { controller: controller(), settings: Settings::default() },
    ];
    hosts.map(|transport| {
        let flow = FlowSpec { transport, ..flow(20, controller(), ever()) };
        let mut memories = Memories::default();
        let network = network(vec![link.clone()], vec![flow], Span::from_secs(20));
        let mut report = run_observed(&network, 1, &mut memories);
        (memories, report.links.remove(0))
    })
}

#[test]
fn a_table_that_looks_at_marks_is_marked_and_not_dropped() {
    let queue = QueueKind::named("red").expect("is built in");
    let link = LinkSpec { queue, ..packet_a_ms(Limit::Unlimited, 0.0) };
    for (memories, report) in on_each_host(&link, &[Signal::RttRatio, Signal::Ecn]) {
        let marked = report.marked as f64 / report.arrived as f64;
        assert!(marked > 0.01, "{marked}");
        assert_eq!(report.dropped, 0);
        assert!((memories.mean(Signal::Ecn) / marked - 1.0).abs() < 0.2, "{marked}");
    }
    for (memories, report) in on_each_host(&link, &[Signal::RttRatio]) {
        assert_eq!(report.marked, 0);
        assert!(report.dropped > 0);
        assert_eq!(memories.mean(Signal::Ecn), 0.0);
    }
}

#[test]
fn the_share_of_lost_packets_is_that_of_the_link() {
    let link = packet_a_ms(Limit::Unlimited, 0.1);
    for (memories, _) in on_each_host(&link, &[Signal::Loss]) {
        let loss = memories.mean(Signal::Loss);
        assert!((0.06..0.14).contains(&loss), "{loss}");
    }
}

#[test]
fn the_receive_rate_is_that_of_the_link() {
    let link = packet_a_ms(Limit::Unlimited, 0.0);
    for (memories, _) in on_each_host(&link, &[Signal::ReceiveRate]) {
        let rate = memories.mean(Signal::ReceiveRate);
        assert!((rate - 1.0).abs() < 0.01, "{rate}");
    }
}
