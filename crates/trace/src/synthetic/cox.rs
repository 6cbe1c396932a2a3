//! [`Cox`]: Sprout's model of the rate of a cellular link.

use exm_random::Stream;
use exm_units::{Rate, Span};

/// The rate of a doubly stochastic (Cox) process of delivery opportunities: the model by which
/// Sprout forecasts (NSDI 2013, section 3.1), used to generate traces.
///
/// The rate is a Brownian motion between zero and `max`. Opportunities form a Poisson process of
/// that rate. A rate of zero is an outage of exponentially distributed length. Brownian motion
/// alone has no mean; `pull` adds one (an Ornstein-Uhlenbeck process). Without it, every rate up to
/// `max` is equally likely in the long run, outages apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Cox {
    /// The rate at the start, to which the process reverts: its mean, except for the effects of
    /// outages and of the bounds at zero and `max`.
    pub mean: Rate,
    /// The highest rate.
    pub max: Rate,
    /// The standard deviation of the rate after a second, in opportunities a second: Sprout's
    /// sigma, 200 packets/s per sqrt(s).
    pub volatility: f64,
    /// The time in which a deviation from the mean decays to 1/e; [`Span::MAX`] for no pull, as in
    /// Sprout.
    pub pull: Span,
    /// The mean length of an outage: the inverse of Sprout's escape rate of 1/s.
    pub outage: Span,
}

impl Cox {
    /// Sprout's own model: rates up to 1000 packets a second, sigma 200, outages of a second on
    /// average, and no pull (NSDI 2013, section 3.1). It starts at half the maximum rate.
    pub const SPROUT: Cox = Cox {
        mean: Rate::from_bps(6_000_000),
        max: Rate::from_bps(12_000_000),
        volatility: 200.0,
        pull: Span::MAX,
        outage: Span::from_secs(1),
    };
}

/// `rate` in opportunities a second.
pub(super) fn per_second(rate: Rate) -> f64 {
    rate.as_bps() as f64 / (crate::OPPORTUNITY.get() * 8) as f64
}

/// The rate of a [`Cox`] process, in opportunities a second.
pub(super) struct Wander {
    pub(super) current: f64,
    mean: f64,
    max: f64,
    volatility: f64,
    pull: f64,
    outage: f64,
    /// The remaining time of the current outage, in seconds; zero if there is none.
    remaining: f64,
}

impl Wander {
    pub(super) fn new(cox: &Cox) -> Wander {
        Wander {
            current: per_second(cox.mean),
            mean: per_second(cox.mean),
            max: per_second(cox.max),
            volatility: cox.volatility,
            pull: cox.pull.as_secs_f64(),
            outage: cox.outage.as_secs_f64(),
            remaining: 0.0,
        }
    }

    /// The process continues from its present rate with the parameters `cox`.
    pub(super) fn steer(&mut self, cox: &Cox) {
        let current = self.current.min(per_second(cox.max));
        *self = Wander { current, remaining: self.remaining, ..Wander::new(cox) };
    }

    /// Advances by `seconds`.
    pub(super) fn go_on(&mut self, seconds: f64, stream: &mut Stream) {
        self.remaining -= seconds;
        if self.remaining > 0.0 {
            return;
        }
        self.remaining = 0.0;
        let noise = self.volatility * seconds.sqrt() * stream.normal();
        let drift = (self.mean - self.current) * (seconds / self.pull).min(1.0);
        // After an outage the rate can only rise.
        let noise = if self.current == 0.0 { noise.abs() } else { noise };
        self.current = (self.current + drift + noise).clamp(0.0, self.max);
        if self.current == 0.0 {
            self.remaining = self.outage * stream.exponential();
        }
    }
}
