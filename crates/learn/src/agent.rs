//! [`Agent`]: the controller of a learning flow, which waits for actions.

use exm_cc::{Ack, Congestion, Controller, Decision, Needs, Sent, Start};
use exm_policy::{ControlLoop, Interface};
use exm_units::Instant;

/// A controller that waits for an action at the end of each interval.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) flow: ControlLoop,
    /// Whether an action is due.
    pub(crate) is_waiting: bool,
}

impl Agent {
    pub(crate) fn new(interface: Interface) -> Agent {
        Agent { flow: ControlLoop::new(interface), is_waiting: false }
    }

    /// Takes the action that was due.
    pub(crate) fn act(&mut self, action: &[f32]) -> Decision {
        self.is_waiting = false;
        self.flow.act(action)
    }
}

impl Controller for Agent {
    fn on_start(&mut self, start: &Start) -> Decision {
        self.is_waiting = false;
        self.flow.on_start(start)
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack) -> Decision {
        self.flow.on_ack(ack)
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        self.flow.on_congestion(congestion)
    }

    fn on_tick(&mut self, now: Instant) -> Decision {
        self.is_waiting |= self.flow.on_tick(now);
        self.flow.decision()
    }

    #[inline]
    fn on_sent(&mut self, sent: &Sent) -> Option<Decision> {
        self.flow.on_sent(sent);
        None
    }

    fn needs(&self) -> Needs {
        ControlLoop::needs()
    }
}
