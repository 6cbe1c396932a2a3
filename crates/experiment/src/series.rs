//! A recorded run of a case.

use crate::case::Case;
use exm_sim::engine::{self, Event, EventKind, FlowSample, LinkSample, Observer, Pace};
use exm_sim::metrics::Report;
use exm_units::{Instant, Span};

/// How many samples are taken of each flow and link: more than the pixels of a figure's width.
const SAMPLES: u64 = 1000;

/// The state of a flow at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sampled {
    /// In seconds.
    pub(crate) time: f64,
    pub(crate) is_on: bool,
    /// Packets in flight.
    pub(crate) in_flight: u64,
    /// Packets delivered so far.
    pub(crate) delivered: u64,
    /// Bytes received after the warm-up, and the end-to-end delay in ms, if ACKs cross links.
    pub(crate) received: Option<(u64, Option<f64>)>,
}

/// Flows and links over time.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) flows: Vec<Vec<Sampled>>,
    /// For each link, times in seconds and queued packets.
    pub(crate) links: Vec<Vec<(f64, u64)>>,
    /// The time between samples; the first is at the start.
    pub(crate) pace: Span,
}

/// Records a run of `case` with as many samples as a figure shows.
pub(crate) fn pace(case: &Case) -> Span {
    Span::from_nanos(case.network.duration().as_nanos().div_ceil(SAMPLES))
}

/// Executes the run of `case` with this seed, with a sample each `pace`.
pub(crate) fn record(case: &Case, seed: u64, pace: Span) -> (Report, Recording) {
    let network = &case.network;
    let mut recording = Recording {
        flows: vec![Vec::new(); network.flows().len()],
        links: vec![Vec::new(); network.links().len()],
        pace,
    };
    let report = engine::run_observed(network, seed, &mut recording);
    (report, recording)
}

/// The seconds at which the queue of the first link drops packets in the run of `case` with this seed.
pub(crate) fn drops(case: &Case, seed: u64) -> Vec<f64> {
    let mut drops = Drops(Vec::new());
    engine::run_observed(&case.network, seed, &mut drops);
    drops.0
}

struct Drops(Vec<f64>);

impl Observer for Drops {
    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, event: &Event) {
        if matches!(event.kind, EventKind::Dropped { link: 0, .. }) {
            self.0.push(secs(event.at));
        }
    }
}

fn secs(at: Instant) -> f64 {
    at.as_nanos() as f64 * 1e-9
}

impl Observer for Recording {
    fn pace(&self) -> Pace {
        Pace::Every(self.pace)
    }

    fn flow(&mut self, sample: &FlowSample) {
        self.flows[sample.flow].push(Sampled {
            time: secs(sample.at),
            is_on: sample.on,
            in_flight: sample.in_flight.get(),
            delivered: sample.delivered,
            received: sample
                .received
                .map(|(bytes, delay)| (bytes.get(), delay.map(Span::as_millis_f64))),
        });
    }

    fn link(&mut self, sample: &LinkSample) {
        self.links[sample.link].push((secs(sample.at), sample.packets));
    }
}
