//! A single bottleneck as ns-3 was run on it, and its measurements.

#![allow(dead_code, unreachable_pub, reason = "each test uses its part of this")]

use exm_link::{Limit, QueueKind, Service};
use exm_measure::median;
use exm_sim::controllers::AnyController;
use exm_sim::engine;
use exm_sim::metrics::{FlowReport, Report};
use exm_sim::network::{FlowSpec, LinkSpec, Network, Transport};
use exm_sim::traffic::Traffic;
use exm_tcp::Settings;
use exm_units::{Packets, Probability, Rate, Span};

/// Senders of 1500-byte packets, of which 1448 bytes are payload, on one link.
#[derive(Clone, Debug)]
pub struct Bottleneck {
    pub controller: &'static str,
    pub settings: Settings,
    pub rate: Rate,
    /// Each sender's round-trip propagation delay.
    pub rtts: Vec<Span>,
    /// Each sender's traffic.
    pub traffic: Vec<Traffic>,
    pub queue: QueueKind,
    pub packets: u64,
    pub loss: Probability,
    pub duration: Span,
}

impl Bottleneck {
    /// ns-3's standard network: 15 Mbps, 150 ms and a drop-tail queue of 1000 packets for 100 s.
    pub fn new(
        controller: &'static str,
        settings: Settings,
        traffic: impl Into<Traffic>,
    ) -> Bottleneck {
        Bottleneck {
            controller,
            settings,
            rate: Rate::from_mbps(15.0),
            rtts: vec![Span::from_millis(150)],
            traffic: vec![traffic.into()],
            queue: QueueKind::default(),
            packets: 1000,
            loss: Probability::ZERO,
            duration: Span::from_secs(100),
        }
    }

    /// The same for `senders` equal senders.
    #[must_use]
    pub fn shared_by(self, senders: usize) -> Bottleneck {
        let (rtts, traffic) = (vec![self.rtts[0]; senders], vec![self.traffic[0].clone(); senders]);
        Bottleneck { rtts, traffic, ..self }
    }

    pub fn network(&self) -> Network {
        let limit = Limit::Packets(Packets::new(self.packets));
        let link = LinkSpec::bottleneck(Service::Fixed(self.rate), limit)
            .queue(self.queue.clone())
            .loss(self.loss);
        let controller = AnyController::named(self.controller).expect("a known controller");
        let transport = Transport::Tcp { controller, settings: self.settings };
        let flows = self.rtts.iter().zip(&self.traffic).map(|(&rtt, traffic)| {
            FlowSpec::new(transport.clone()).extra_delay(rtt).traffic(traffic.clone())
        });
        Network::new(vec![link], flows.collect(), self.duration).expect("a sound network")
    }

    /// The reports of `runs` runs, with seeds from 1 on.
    pub fn reports(&self, runs: u64) -> Vec<Report> {
        let network = self.network();
        (1..=runs).map(|seed| engine::run(&network, seed)).collect()
    }
}

/// Goodput in Mbps and queueing delay in ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    pub mbps: f64,
    pub wait_ms: f64,
}

/// Medians over senders and runs of throughput over on-time and of mean queueing delay.
pub fn medians(reports: &[Report]) -> Measured {
    let flows = || reports.iter().flat_map(|report| &report.flows);
    let rates = flows().filter_map(|flow| flow.throughput().map(Rate::as_mbps));
    let waits = flows().filter_map(|flow| flow.queueing_delay.mean().map(Span::as_millis_f64));
    let middle = |values: Vec<f64>| median(&values).expect("some sender was on");
    Measured { mbps: middle(rates.collect()), wait_ms: middle(waits.collect()) }
}

/// Means over runs of the total goodput of all senders and of all packets' queueing delay.
pub fn totals(reports: &[Report]) -> Measured {
    let runs = reports.len() as f64;
    let rate = |report: &Report| -> f64 {
        report.flows.iter().filter_map(|flow| flow.throughput().map(Rate::as_mbps)).sum()
    };
    let wait = |report: &Report| {
        let waits = report.flows.iter().map(|flow| &flow.queueing_delay);
        let (nanos, packets) = waits
            .fold((0.0, 0.0), |sum, w| (sum.0 + w.sum_nanos() as f64, sum.1 + w.count() as f64));
        nanos / packets / 1e6
    };
    Measured {
        mbps: reports.iter().map(rate).sum::<f64>() / runs,
        wait_ms: reports.iter().map(wait).sum::<f64>() / runs,
    }
}

/// The throughput of a flow in Mbps.
pub fn mbps(flow: &FlowReport) -> f64 {
    flow.throughput().map_or(0.0, Rate::as_mbps)
}

/// A percentile of the queueing delay of a flow, in ms.
pub fn percentile(flow: &FlowReport, percent: f64) -> f64 {
    flow.queueing_delay.percentile(percent).map_or(0.0, Span::as_millis_f64)
}
