//! [`Watched`]: a controller whose states a test can observe between events.

use crate::controller::{Ack, Congestion, Controller, Decision, Needs, Start};
use exm_units::Instant;
use std::fmt::Debug;

/// A controller whose state can be observed.
pub(crate) trait Staged: Controller {
    type State: Copy + PartialEq + Debug;

    fn state(&self) -> Self::State;

    /// Whether it drains the queue to measure the minimum RTT.
    fn probes_rtt(&self) -> bool;
}

/// A controller and the states it has been in, each with the time it was entered.
#[derive(Clone)]
pub(crate) struct Watched<C: Staged> {
    pub(crate) bbr: C,
    pub(crate) states: Vec<(Instant, C::State)>,
    pub(crate) min_cwnd_in_probe_rtt: u64,
}

impl<C: Staged> Watched<C> {
    pub(crate) fn new(bbr: C) -> Watched<C> {
        Watched { bbr, states: Vec::new(), min_cwnd_in_probe_rtt: u64::MAX }
    }

    pub(crate) fn sequence(&self) -> Vec<C::State> {
        self.states.iter().map(|&(_, state)| state).collect()
    }

    fn watch(&mut self, now: Instant, decision: Decision) -> Decision {
        let state = self.bbr.state();
        if self.states.last().is_none_or(|&(_, last)| last != state) {
            self.states.push((now, state));
        }
        if self.bbr.probes_rtt() {
            self.min_cwnd_in_probe_rtt = self.min_cwnd_in_probe_rtt.min(decision.cwnd.get());
        }
        decision
    }
}

impl<C: Staged> Controller for Watched<C> {
    fn on_start(&mut self, start: &Start) -> Decision {
        let decision = self.bbr.on_start(start);
        self.watch(start.now, decision)
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        let decision = self.bbr.on_ack(ack);
        self.watch(ack.now, decision)
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        self.bbr.on_congestion(congestion)
    }

    fn on_tick(&mut self, now: Instant) -> Decision {
        self.bbr.on_tick(now)
    }

    fn needs(&self) -> Needs {
        self.bbr.needs()
    }
}
