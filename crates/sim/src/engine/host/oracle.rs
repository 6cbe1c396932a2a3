//! [`Oracle`]: forecasts by knowing what comes.

use crate::network::{FlowSpec, Network};
use exm_link::Service;
use exm_sprout::{Forecaster, HORIZON, Observation, Settings, TICK};
use exm_trace::Trace;
use exm_units::{Bytes, Instant, Span};
use std::sync::Arc;

/// Knows what a link delivers for some time ahead. For what lies beyond, it forecasts as a receiver that has seen all
/// of what it knows.
#[derive(Clone, Debug)]
pub(super) struct Oracle {
    trace: Arc<Trace>,
    /// How long packets travel from the link to the receiver.
    travel: Span,
    /// The ticks that it knows ahead.
    ahead: u64,
    /// The forecaster of what lies beyond, and the time until which it knows the link.
    forecaster: Forecaster,
    known_until: Instant,
}

impl Oracle {
    /// The oracle of the receiver of `spec` from `start` on, if it has one.
    pub(super) fn of(network: &Network, spec: &FlowSpec, settings: Settings) -> Option<Oracle> {
        let links = || spec.path.iter().map(|&link| &network.links()[link]);
        let Service::Trace(trace) = &links().next()?.service else { return None };
        let last = if spec.back.is_empty() { spec.extra_delay } else { Span::ZERO };
        Some(Oracle {
            trace: Arc::clone(trace),
            travel: links().map(|link| link.delay).sum::<Span>() + last,
            ahead: spec.foresight?.as_nanos() / TICK.as_nanos(),
            forecaster: Forecaster::new(settings.method, settings.packet),
            known_until: Instant::ZERO,
        })
    }

    /// It begins to know at `now`.
    pub(super) fn start(&mut self, now: Instant, settings: Settings) {
        self.forecaster = Forecaster::new(settings.method, settings.packet);
        self.known_until = now;
    }

    /// It is `now` the end of a tick: it knows a time ahead of that.
    pub(super) fn advance(&mut self, now: Instant) {
        let until = now + TICK * self.ahead;
        while self.known_until < until {
            let next = self.known_until + TICK;
            let bytes = self.arrive(self.known_until, next);
            self.forecaster.tick(Some(Observation { bytes, busy: 1.0, free: 0.0 }));
            self.known_until = next;
        }
    }

    /// What will have arrived by the end of each of the next ticks, from `now` on: the end of the tick to which it has
    /// advanced.
    pub(super) fn forecast(&self, now: Instant) -> [Bytes; HORIZON] {
        let beyond = self.forecaster.forecast();
        std::array::from_fn(|tick| {
            let ticks = tick as u64 + 1;
            let known = self.arrive(now, now + TICK * ticks.min(self.ahead));
            match ticks.checked_sub(self.ahead + 1) {
                None => known,
                Some(past) => known + beyond[past as usize],
            }
        })
    }

    /// What a saturated link lets arrive between two times.
    fn arrive(&self, from: Instant, to: Instant) -> Bytes {
        let at_link = |time: Instant| {
            Instant::from_nanos(time.as_nanos().saturating_sub(self.travel.as_nanos()))
        };
        self.trace.capacity(at_link(from), at_link(to))
    }
}
