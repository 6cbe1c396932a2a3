//! The transfer by the simulator.

use super::record::{Flow, Record, Window};
use super::{MTU, Scenario};
use exm_link::{Limit, Service};
use exm_random::{Purpose, Stream};
use exm_sim::controllers::AnyController;
use exm_sim::engine::{FlowSample, LinkSample, Observer, Pace, run, run_observed};
use exm_sim::metrics::Histogram;
use exm_sim::network::{FlowSpec, LinkSpec, Network, NetworkError, TCP_HEADER, Transport};
use exm_sim::traffic::{OnFor, Traffic};
use exm_tcp::{DelayedAcks, Settings};
use exm_units::{Bytes, Instant, Span};

/// Flows that should start at the same time start within this, as threads of a real machine do.
/// Senders that start at the same simulated nanosecond would stay in lockstep.
const START_JITTER: Span = Span::from_millis(1);

/// The kernel's defaults.
pub(crate) fn kernel_settings() -> Settings {
    Settings { handshake: true, delayed_acks: Some(DelayedAcks::default()), ..Settings::default() }
}

/// Simulates `scenario` with senders of `settings`, each with its own `controller`. The controllers'
/// random choices, and the additional start delays of up to a millisecond of each flow but the first,
/// come from `seed`.
///
/// # Errors
/// The scenario cannot be simulated.
pub(crate) fn transfer(
    scenario: &Scenario,
    controller: &AnyController,
    settings: Settings,
    seed: u64,
) -> Result<Record, NetworkError> {
    let network = |duration| {
        let flows = scenario.starts.iter().enumerate().map(|(index, &start)| {
            let jitter = Stream::new(seed, Purpose::Traffic, index).uniform();
            let jitter = Span::from_secs_f64(jitter * START_JITTER.as_secs_f64());
            let start = start + if index == 0 { Span::ZERO } else { jitter };
            flow(scenario, Transport::Tcp { controller: controller.clone(), settings }, start)
        });
        Network::new(vec![bottleneck(scenario)], flows.collect(), duration)
    };
    let whole = network(scenario.duration)?;
    let mut recorder = Recorder::new(scenario);
    let report = run_observed(&whole, seed, &mut recorder);
    // The beginning of a simulation does not depend on its end.
    let early = run(&network(scenario.settled)?, seed);
    let mut record = recorder.record;
    let mut waits = Histogram::default();
    for (number, flow) in record.flows.iter_mut().enumerate() {
        flow.drops = report.flows[number].dropped_in_all();
        flow.early_drops = early.flows[number].dropped_in_all();
        record.retransmissions += report.flows[number].retransmitted;
        waits.merge(&report.flows[number].queueing_delay);
    }
    record.mean_wait = waits.mean().unwrap_or(Span::ZERO);
    Ok(record)
}

fn bottleneck(scenario: &Scenario) -> LinkSpec {
    let service = Service::Fixed(scenario.rate);
    LinkSpec::bottleneck(service, Limit::Packets(scenario.buffer)).delay(scenario.rtt / 2)
}

/// A flow that starts at `start`, and does not end.
fn flow(scenario: &Scenario, transport: Transport, start: Span) -> FlowSpec {
    let visits = vec![(Instant::ZERO + start, None)];
    FlowSpec::new(transport)
        .extra_delay(scenario.rtt - scenario.rtt / 2)
        .packet_size(Bytes::new(u64::from(MTU)))
        .traffic(Traffic::Schedule { visits, on: OnFor::Always })
}

struct Recorder {
    record: Record,
}

impl Recorder {
    fn new(scenario: &Scenario) -> Recorder {
        let flows = vec![Flow::default(); scenario.starts.len()];
        Recorder { record: Record { flows, ..Record::default() } }
    }
}

impl Observer for Recorder {
    fn pace(&self) -> Pace {
        Pace::EachEvent
    }

    fn flow(&mut self, sample: &FlowSample) {
        let payload = u64::from(MTU) - TCP_HEADER.get();
        let flow = &mut self.record.flows[sample.flow];
        flow.delivered.push((sample.at, sample.delivered * payload));
        flow.windows.push(Window { at: sample.at, cwnd: sample.cwnd.get(), ssthresh: None });
    }

    fn link(&mut self, sample: &LinkSample) {
        self.record.queue.push((sample.at, sample.packets, sample.bytes));
    }
}
