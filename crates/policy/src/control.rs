//! [`ControlLoop`]: a flow that is measured in intervals, at whose ends an action is due.

use crate::action::Actuator;
use crate::interface::Interface;
use crate::monitor::{Measurement, Monitor};
use exm_cc::{Ack, Congestion, Decision, Needs, Sent, Start};
use exm_units::{Instant, Packets, Span};

/// How long an interval lasts before the first ACK.
const FIRST: Span = Span::from_secs(1);

/// A flow between two policies' decisions. The first interval lasts until the first interval's length after the first
/// ACK, so that an action is not due before its sender knows something.
///
/// Its methods return what is in force: the host's controller passes that on.
#[derive(Clone, Debug)]
pub struct ControlLoop {
    interface: Interface,
    monitor: Monitor,
    actuator: Actuator,
    /// The features of the last intervals, the oldest first.
    features: Vec<f32>,
    measured: Measurement,
    /// When an action is due.
    end: Instant,
    decision: Decision,
}

impl ControlLoop {
    /// The loop of a sender before its first flow.
    pub fn new(interface: Interface) -> ControlLoop {
        let start = Start::new(Instant::ZERO);
        let actuator = Actuator::new(interface.action, interface.change, &start);
        let width = interface.observation.width();
        let mut features = vec![0.0; interface.inputs()];
        for (feature, initial) in features
            .chunks_exact_mut(width)
            .flat_map(|of| of.iter_mut().zip(interface.observation.initial()))
        {
            *feature = initial;
        }
        ControlLoop {
            interface,
            monitor: Monitor::default(),
            actuator,
            features,
            measured: Measurement::default(),
            end: Instant::MAX,
            decision: Decision { cwnd: Packets::ZERO, intersend: Span::ZERO, wake_at: None },
        }
    }

    /// A flow starts.
    pub fn on_start(&mut self, start: &Start) -> Decision {
        *self = ControlLoop::new(self.interface);
        self.monitor = Monitor::new(start.now);
        self.actuator = Actuator::new(self.interface.action, self.interface.change, start);
        self.decision = self.actuator.initial(start);
        self.set_end(start.now.saturating_add(FIRST))
    }

    /// An ACK arrived.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack) -> Decision {
        let knew_rtt = !self.monitor.smoothed_rtt().is_zero();
        self.monitor.on_ack(ack);
        let rtt = self.monitor.smoothed_rtt();
        if !knew_rtt && !rtt.is_zero() {
            let end = self.interface.interval.end(ack.now, rtt);
            return self.set_end(end);
        }
        self.decision
    }

    /// The host inferred congestion.
    pub fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        self.monitor.on_congestion(congestion);
        self.decision
    }

    /// A packet was sent.
    #[inline]
    pub fn on_sent(&mut self, sent: &Sent) {
        self.monitor.on_sent(sent.in_flight);
    }

    /// Whether the interval ends now: then its features are in [`ControlLoop::features`], the next one has begun, and
    /// [`ControlLoop::act`] is due.
    pub fn on_tick(&mut self, now: Instant) -> bool {
        if now < self.end {
            return false;
        }
        self.measured = self.monitor.close(now);
        let width = self.interface.observation.width();
        self.features.rotate_left(width);
        let last = self.features.len() - width;
        self.interface.observation.fill(&mut self.features[last..], &self.measured, &self.decision);
        let rtt = self.monitor.smoothed_rtt();
        let rtt = if rtt.is_zero() { FIRST } else { rtt };
        self.set_end(self.interface.interval.end(now, rtt));
        true
    }

    /// Takes `action`.
    pub fn act(&mut self, action: &[f32]) -> Decision {
        let decision =
            self.actuator.apply(action, self.monitor.smoothed_rtt(), self.measured.throughput());
        self.decision = Decision { wake_at: self.decision.wake_at, ..decision };
        self.decision
    }

    fn set_end(&mut self, end: Instant) -> Decision {
        self.end = end;
        self.decision.wake_at = Some(end);
        self.decision
    }

    /// What is in force.
    pub fn decision(&self) -> Decision {
        self.decision
    }

    /// The features of the last intervals, the oldest first.
    pub fn features(&self) -> &[f32] {
        &self.features
    }

    /// The last interval that has ended.
    pub fn measured(&self) -> &Measurement {
        &self.measured
    }

    /// The interval that has not ended, as if it did at `now`.
    pub fn unfinished(&self, now: Instant) -> Measurement {
        self.monitor.clone().close(now)
    }

    /// When the present interval ends.
    pub fn end(&self) -> Instant {
        self.end
    }

    /// What a controller of this loop asks of its host.
    pub fn needs() -> Needs {
        let mut needs = Needs::default();
        // The policy alone sets the window: in loss recovery, too.
        (needs.sent, needs.own_recovery, needs.restart) = (true, true, true);
        needs
    }
}
