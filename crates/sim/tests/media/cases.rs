//! Test cases of RFC 8867, with the rates of all flows in intervals of 200 ms (RFC 8868, section 3).
//!
//! Flows start as in Cisco's module for ns-3, by the authors of NADA. Packets of 1200 bytes, all of which is payload to the
//! bare host, so that the encoder's 150 kbps to 1.5 Mbps are rates on the link.

use super::{bottleneck, network, video};
use exm_measure::coarser;
use exm_sim::controllers::AnyController;
use exm_sim::engine::Simulation;
use exm_sim::metrics::Report;
use exm_sim::network::{FlowSpec, Host, Network};
use exm_sim::series::Rates;
use exm_sim::traffic::{OnFor, Traffic};
use exm_sim::video::Video;
use exm_units::{Instant, Rate, Span};

/// The interval of rates, in seconds: RFC 8868, section 3, item 1.
const INTERVAL: f64 = 0.2;
/// How many of them a second has.
pub(crate) const SECOND: usize = 5;
/// The encoder's greatest rate, in Mbps.
pub(crate) const MOST: f64 = 1.5;
/// Section 5.1: from each of these seconds on, this capacity in Mbps; the last ends at 100 s.
pub(crate) const CAPACITY: [(usize, f64); 4] = [(0, 1.0), (40, 2.5), (60, 0.6), (80, 1.0)];
/// The end of each of those phases, in seconds.
pub(crate) const ENDS: [usize; 4] = [40, 60, 80, 100];
/// Section 5.5: one-way propagation delays in ms; the flows start ten seconds after each other.
pub(crate) const ONE_WAY: [u64; 5] = [10, 25, 50, 100, 150];

/// What happened in a case.
pub(crate) struct Outcome {
    pub(crate) report: Report,
    /// What each flow sent in each interval, in Mbps.
    pub(crate) sent: Vec<Vec<f64>>,
    /// What arrived of it.
    pub(crate) received: Vec<Vec<f64>>,
}

impl Outcome {
    /// The rate of all flows together in each interval between two seconds.
    pub(crate) fn sum(rates: &[Vec<f64>], (from, to): (usize, usize)) -> Vec<f64> {
        let all = |at: usize| rates.iter().map(|flow| flow[at]).sum();
        (from * SECOND..to * SECOND).map(all).collect()
    }

    /// The 95th percentile of the queueing delay of `flow`, in ms.
    pub(crate) fn queueing(&self, flow: usize) -> f64 {
        let delay = &self.report.flows[flow].queueing_delay;
        delay.percentile(95.0).map_or(0.0, Span::as_millis_f64)
    }

    /// The packets of `flow` that were dropped, in percent.
    pub(crate) fn lost(&self, flow: usize) -> f64 {
        let flow = &self.report.flows[flow];
        flow.dropped_in_all() as f64 * 100.0 / flow.sent as f64
    }
}

/// The part of `rates` between two seconds.
pub(crate) fn between(rates: &[f64], (from, to): (usize, usize)) -> &[f64] {
    &rates[from * SECOND..to * SECOND]
}

/// The rate over each whole second.
pub(crate) fn seconds(rates: &[f64]) -> Vec<f64> {
    coarser(rates, SECOND)
}

/// Times, in seconds, and the rate over the `width` seconds from then on: each 200 ms.
pub(crate) fn moving(rates: &[f64], width: usize) -> Vec<(f64, f64)> {
    let windows = rates.windows(width * SECOND).enumerate();
    let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len() as f64;
    windows.map(|(at, rates)| (at as f64 * INTERVAL, mean(rates))).collect()
}

fn observe(network: Network, seed: u64, capacity: &[(usize, f64)]) -> Outcome {
    let (flows, duration) = (network.flows().len(), network.duration());
    let rates = Rates::every(Span::from_secs_f64(INTERVAL));
    let mut simulation = Simulation::observed(network, seed, rates);
    for &(second, mbps) in capacity {
        simulation.run_until(Instant::ZERO + Span::from_secs(second as u64));
        simulation.set_rate(0, Rate::from_mbps(mbps)).expect("it is a rate");
    }
    simulation.run_until(simulation.end());
    let rates = simulation.observer();
    let of = |rate: &dyn Fn(usize) -> Vec<f64>| (0..flows).map(rate).collect();
    Outcome {
        sent: of(&|flow| rates.sent(flow, duration)),
        received: of(&|flow| rates.received(flow, duration)),
        report: simulation.report(),
    }
}

fn from(flow: FlowSpec, second: u64, on: OnFor) -> FlowSpec {
    let visits = vec![(Instant::ZERO + Span::from_secs(second), None)];
    flow.traffic(Traffic::Schedule { visits, on })
}

fn video_from(controller: &str, one_way: u64, second: u64) -> FlowSpec {
    from(video(controller, one_way), second, OnFor::Video(Video::default()))
}

/// Section 5.1: one flow, whose capacity changes.
pub(crate) fn variable_capacity(controller: &str, seed: u64) -> Outcome {
    observe(network(bottleneck(1.0), vec![video(controller, 50)], 100), seed, &CAPACITY)
}

/// The same of an encoder whose frames all have the same size and interval.
pub(crate) fn even_frames(controller: &str) -> Outcome {
    let on = OnFor::Video(Video { error: 0.0, jitter: 0.0, ..Video::default() });
    let flow = from(video(controller, 50), 0, on);
    observe(network(bottleneck(1.0), vec![flow], 100), 1, &CAPACITY)
}

/// Section 5.5: five flows of different propagation delays on 4 Mbps, until 300 s.
pub(crate) fn unequal_delays(controller: &str, seed: u64) -> Outcome {
    let flows = ONE_WAY.iter().zip(0..);
    let flows = flows.map(|(&one_way, turn)| video_from(controller, one_way, 10 * turn));
    observe(network(bottleneck(4.0), flows.collect(), 300), seed, &[])
}

/// Section 5.6: a video from 5 s on beside a long TCP flow, on 2 Mbps, until 120 s. The TCP flow is the second.
pub(crate) fn beside_tcp(controller: &str, seed: u64) -> Outcome {
    let cubic = AnyController::named("cubic").expect("it is built in");
    let tcp = FlowSpec::new(Host::Tcp.transport(cubic)).extra_delay(Span::from_millis(100));
    let flows = vec![video_from(controller, 50, 5), from(tcp, 0, OnFor::Always)];
    observe(network(bottleneck(2.0), flows, 120), seed, &[])
}
