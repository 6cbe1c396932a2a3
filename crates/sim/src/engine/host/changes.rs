//! What is changed of a [`Host`] while a simulation runs.

use super::{Host, Transport, end_delays};
use crate::controllers::AnyController;
use crate::engine::agenda::{Due, Turn};
use crate::network::{FlowSpec, LinkSpec};
use crate::traffic::Traffic;
use exm_cc::Decision;
use exm_units::Instant;

impl Host {
    /// The propagation delays of its path have changed.
    pub(in crate::engine) fn set_delays(&mut self, spec: &FlowSpec, links: &[LinkSpec]) {
        self.path.propagation = spec.propagation(links);
        (self.last_delay, self.back_delay) = end_delays(spec, links);
        if let Transport::Tcp(tcp) = &mut self.transport {
            tcp.set_propagation(self.path.propagation);
        }
    }

    /// `controller` takes over, as at the start of a flow.
    pub(in crate::engine) fn set_controller(&mut self, now: Instant, controller: AnyController) {
        let open = self.is_open();
        match &mut self.transport {
            Transport::Bare(bare) => bare.set_controller(now, controller, open),
            Transport::Tcp(tcp) => tcp.set_controller(now, controller),
            Transport::Sprout(_) => {}
        }
        // The previous controller's request no longer holds.
        self.plan.wake = Due::NEVER;
        self.plan_frame();
    }

    /// `decision` takes effect, as if its controller had just made it.
    pub(in crate::engine) fn set_decision(&mut self, decision: Decision) {
        match &mut self.transport {
            Transport::Bare(bare) => bare.adopt(decision),
            Transport::Tcp(tcp) => tcp.set_decision(decision),
            Transport::Sprout(_) => {}
        }
    }

    /// The controller, if there is one, to be changed in place.
    pub(in crate::engine) fn controller_mut(&mut self) -> Option<&mut AnyController> {
        match &mut self.transport {
            Transport::Bare(bare) => Some(&mut bare.cc),
            Transport::Tcp(tcp) => Some(&mut tcp.cc),
            Transport::Sprout(_) => None,
        }
    }

    /// Replaces the traffic by `traffic`. If the sender is off, its next flow is planned.
    pub(in crate::engine) fn set_traffic(&mut self, now: Instant, traffic: Traffic) {
        self.source.set_traffic(traffic);
        if !self.on {
            self.plan.switch = Due::new(self.source.next_start(now), Turn::Switch);
        }
    }
}
