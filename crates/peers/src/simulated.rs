//! The transfer as the simulator has it.

use crate::record::{Record, Window};
use crate::{MTU, Scenario};
use exm_link::{Limit, Service};
use exm_random::Distribution;
use exm_sim::controllers::AnyController;
use exm_sim::engine::{FlowSample, LinkSample, Observer, Pace, run_observed};
use exm_sim::network::{FlowSpec, LinkSpec, Network, NetworkError, TCP_HEADER, Transport};
use exm_sim::traffic::{OnFor, OnOff};
use exm_tcp::{DelayedAcks, Settings};
use exm_units::{Bytes, Span};

/// What the kernel does unless it is told otherwise.
pub fn kernel_settings() -> Settings {
    Settings { handshake: true, delayed_acks: Some(DelayedAcks::default()), ..Settings::default() }
}

/// Simulates `scenario` with a sender of `settings` run by `controller`.
///
/// # Errors
/// Where the scenario is none that can be simulated.
pub fn transfer(
    scenario: &Scenario,
    controller: AnyController,
    settings: Settings,
) -> Result<Record, NetworkError> {
    let one_way = scenario.rtt / 2;
    let service = Service::Fixed(scenario.rate);
    let bottleneck = LinkSpec {
        delay: one_way,
        ..LinkSpec::bottleneck(service, Limit::Packets(scenario.buffer))
    };
    let flow = FlowSpec {
        name: "flow".to_owned(),
        path: vec![0],
        back: Vec::new(),
        extra_delay: scenario.rtt - one_way,
        packet_size: Bytes::new(u64::from(MTU)),
        traffic: OnOff { on: OnFor::Ever, off: Distribution::Fixed(0.0) }.into(),
        transport: Transport::Tcp { controller, settings },
    };
    let network = Network::new(vec![bottleneck], vec![flow], scenario.duration)?;
    let mut recorder = Recorder::default();
    let report = run_observed(&network, 1, &mut recorder);
    let mut record = recorder.record;
    record.drops = report.links[0].dropped;
    record.mean_wait = report.flows[0].queueing_delay.mean().unwrap_or(Span::ZERO);
    Ok(record)
}

#[derive(Default)]
struct Recorder {
    record: Record,
}

impl Observer for Recorder {
    fn pace(&self) -> Pace {
        Pace::EachEvent
    }

    fn flow(&mut self, sample: &FlowSample) {
        let payload = u64::from(MTU) - TCP_HEADER.get();
        self.record.delivered.push((sample.at, sample.delivered * payload));
        let window = Window { at: sample.at, cwnd: sample.cwnd.get(), ssthresh: None };
        self.record.windows.push(window);
    }

    fn link(&mut self, sample: &LinkSample) {
        self.record.queue.push((sample.at, sample.packets, sample.bytes));
    }
}
