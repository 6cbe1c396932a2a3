//! Several Vegas flows on one link: each keeps 2 to 4 packets in the queue (Brakmo, O'Malley & Peterson,
//! SIGCOMM 1994, section 4.2) above the minimum RTT that it has measured. A flow that has never found
//! the queue empty takes the packets of others for part of the path.

mod common;

use common::Bottleneck;
use exm_sim::engine::{self, FlowSample, LinkSample, Observer, Pace};
use exm_sim::traffic::{OnFor, Traffic};
use exm_tcp::Settings;
use exm_units::{Instant, Rate, Span};

/// The initial window, which is sent as one burst.
const BURST: u32 = 10;

/// The mean queue in the second half of 100 s.
#[derive(Default)]
struct Watch {
    packets: u64,
    samples: u64,
}

impl Observer for Watch {
    fn pace(&self) -> Pace {
        Pace::EachEvent
    }

    fn flow(&mut self, _: &FlowSample) {}

    fn link(&mut self, sample: &LinkSample) {
        if sample.at > Instant::ZERO + Span::from_secs(50) {
            self.packets += sample.packets;
            self.samples += 1;
        }
    }
}

/// The mean queue in packets, and each flow's goodput in Mbps, for `flows` flows that begin `gap` apart.
fn share(flows: u64, gap: Span) -> (f64, Vec<f64>) {
    let start = |n: u64| vec![(Instant::ZERO + gap * n, None)];
    let traffic = |n| Traffic::Schedule { visits: start(n), on: OnFor::Always };
    let one = Bottleneck::new("vegas", Settings::default(), traffic(0));
    let rtts = vec![one.rtts[0]; flows as usize];
    let network = Bottleneck { traffic: (0..flows).map(traffic).collect(), rtts, ..one }.network();
    let mut watch = Watch::default();
    let report = engine::run_observed(&network, 1, &mut watch);
    let goodput = report.flows.iter().filter_map(|flow| flow.throughput().map(Rate::as_mbps));
    (watch.packets as f64 / watch.samples as f64, goodput.collect())
}

/// The queue when each flow found one burst more than the flow before, and keeps `own` packets of its
/// own: with windows of `own / (1 - base / rtt)`, which add up to the rate times the RTT.
fn predicted(flows: u64, own: f64) -> f64 {
    let burst = f64::from(BURST);
    let rate = |queue: f64| (0..flows).map(|n| own / (queue - burst * n as f64)).sum::<f64>();
    // The rate is one packet per transmission time.
    let (mut low, mut high) = (burst * (flows - 1) as f64, 1000.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if rate(middle) > 1.0 { low = middle } else { high = middle }
    }
    high
}

#[test]
fn flows_that_find_no_queue_keep_two_to_four_packets_each_and_share_alike() {
    for flows in [2, 4, 8] {
        let (queue, goodput) = share(flows, Span::from_millis(150) / flows);
        println!("{flows} flows: {queue:.2} packets, {goodput:.3?} Mbps");
        let each = queue / flows as f64;
        assert!((2.0..=4.0).contains(&each), "{flows} flows keep {each} packets each");
        let (low, high) = bounds(&goodput);
        assert!(high < 1.1 * low, "{goodput:?}");
    }
}

#[test]
fn flows_that_begin_behind_others_take_their_packets_for_the_path() {
    for flows in [4, 8] {
        let (queue, goodput) = share(flows, Span::ZERO);
        let (least, most) = (predicted(flows, 2.0), predicted(flows, 4.0));
        println!("{flows} flows: {queue:.2} packets ({least:.2} to {most:.2}), {goodput:.3?} Mbps");
        assert!(queue > least - 1.0 && queue < most + 1.0, "{queue}: {least} to {most}");
        assert!(goodput.is_sorted(), "flows that begin later should have more: {goodput:?}");
    }
}

fn bounds(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, 0.0), |(low, high), &v| (low.min(v), high.max(v)))
}
