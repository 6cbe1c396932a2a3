//! A controller of your own beside Cubic: it grows while its packets wait for less than 25 ms, and
//! shrinks while they wait for longer.
//!
//! `cargo run --release -p exm-sim --example own_controller`

use exm_cc::{Ack, Congestion, Controller, Cubic, Decision, Start};
use exm_link::{Limit, Service};
use exm_sim::controllers::AnyController;
use exm_sim::engine;
use exm_sim::network::{FlowSpec, Host, LinkSpec, Network, NetworkError};
use exm_units::{Instant, Packets, Rate, Span};

/// The target queueing delay.
const TARGET: Span = Span::from_millis(25);

#[derive(Clone)]
struct Patient {
    cwnd: f64,
    min_rtt: Span,
}

impl Patient {
    fn decision(&self) -> Decision {
        let cwnd = Packets::new(self.cwnd.max(2.0) as u64);
        Decision { cwnd, intersend: Span::ZERO, wake_at: None }
    }
}

impl Controller for Patient {
    fn on_start(&mut self, start: &Start) -> Decision {
        *self = Patient { cwnd: start.initial_window.get() as f64, min_rtt: Span::MAX };
        self.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        self.min_rtt = self.min_rtt.min(ack.rtt());
        // One packet more or less per round trip.
        let step = ack.acked.get() as f64 / self.cwnd;
        self.cwnd += if ack.rtt() - self.min_rtt < TARGET { step } else { -step };
        self.decision()
    }

    fn on_congestion(&mut self, _congestion: &Congestion) -> Decision {
        self.cwnd /= 2.0;
        self.decision()
    }

    fn on_tick(&mut self, _now: Instant) -> Decision {
        self.decision()
    }
}

fn flow(name: &str, controller: AnyController) -> FlowSpec {
    FlowSpec::new(Host::Tcp.transport(controller)).name(name).extra_delay(Span::from_millis(50))
}

fn main() -> Result<(), NetworkError> {
    let patient = || AnyController::own(Patient { cwnd: 0.0, min_rtt: Span::MAX });
    for (beside, other) in [("itself", patient()), ("Cubic", Cubic::new().into())] {
        let rate = Service::Fixed(Rate::from_mbps(20.0));
        let link = LinkSpec::bottleneck(rate, Limit::Packets(Packets::new(200)));
        let flows = vec![flow("patient", patient()), flow(beside, other)];
        let report = engine::run(&Network::new(vec![link], flows, Span::from_secs(60))?, 1);
        println!("beside {beside}:");
        for flow in &report.flows {
            let (rate, rtt) = (flow.throughput().unwrap_or(Rate::from_bps(0)), flow.rtt.mean());
            println!("  {rate}, mean RTT {}", rtt.unwrap_or(Span::ZERO));
        }
    }
    Ok(())
}
