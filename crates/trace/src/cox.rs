//! [`Cox`]: synthetic traces of a cellular link.

use crate::{MAX_TIME, OPPORTUNITY, Trace};
use exm_random::{Purpose, Stream};
use exm_units::{Instant, Rate, Span};

/// How often the rate changes: Sprout's tick (Winstein, Sivaraman & Balakrishnan, NSDI 2013,
/// section 3.1).
const TICK: Span = Span::from_millis(20);

/// The most opportunities that are made up, so that a slip of the pen does not fill the memory.
const MAX_OPPORTUNITIES: f64 = 1e8;

/// A doubly stochastic (Cox) process of delivery opportunities: the model by which Sprout forecasts
/// (NSDI 2013, section 3.1), run forwards.
///
/// The rate takes a Brownian motion between zero and `max`. Opportunities come by a Poisson process
/// of that rate. A rate of zero is an outage, and lasts an exponential time. Nothing in the model
/// keeps Brownian motion near a mean; `pull` does (an Ornstein-Uhlenbeck process), and without it
/// every rate up to `max` is as likely in the long run, outages apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Cox {
    /// The rate at the start, to which it is pulled back: its mean, but for outages, which lower
    /// it, and for what zero and `max` cut off.
    pub mean: Rate,
    /// The highest rate.
    pub max: Rate,
    /// The standard deviation of the rate after a second, in opportunities a second: Sprout's
    /// sigma, 200 packets/s per sqrt(s).
    pub volatility: f64,
    /// In what time the pull undoes a deviation, down to 1/e; [`Span::MAX`] for no pull, as in
    /// Sprout.
    pub pull: Span,
    /// How long an outage lasts on average: Sprout's escape rate of 1/s.
    pub outage: Span,
}

/// Why no trace can be made up.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CoxError {
    /// The rates are not in order.
    #[error("a synthetic trace needs rates with 0 < mean <= max, not {mean} and {max}")]
    Rates {
        /// The mean rate.
        mean: Rate,
        /// The highest rate.
        max: Rate,
    },
    /// The volatility is no such number.
    #[error("the volatility of a synthetic trace is a number from 0 up, not {0}")]
    Volatility(f64),
    /// A length of time is zero.
    #[error("the {0} of a synthetic trace must last longer than zero")]
    Time(&'static str),
    /// More than fits.
    #[error(
        "a synthetic trace of {duration} at up to {max} is too long: make it shorter, since it is \
         repeated anyway"
    )]
    TooLong {
        /// How long it should be.
        duration: Span,
        /// The highest rate.
        max: Rate,
    },
}

impl Cox {
    /// The names of the links that [`Cox::named`] knows.
    pub const NAMES: &'static [&'static str] = &["lte-like", "umts-like"];

    /// The link called `name`: constants chosen once, so that experiments that use them agree.
    ///
    /// With their outages they offer on average 5.0 and 2.0 Mbps, as the published traces of the
    /// Verizon LTE and the T-Mobile UMTS downlink do; the former is rarely in an outage, the latter
    /// often.
    pub fn named(name: &str) -> Option<Cox> {
        let (mean, max, pull) = match name {
            "lte-like" => (5.35, 12.0, Span::from_secs(2)),
            "umts-like" => (2.7, 7.0, Span::from_secs(1)),
            _ => return None,
        };
        let (mean, max) = (Rate::from_mbps(mean), Rate::from_mbps(max));
        Some(Cox { mean, max, volatility: 200.0, pull, outage: Span::from_secs(1) })
    }

    /// Whether a trace of `duration` can be made up.
    ///
    /// # Errors
    /// Says what is impossible.
    pub fn check(&self, duration: Span) -> Result<(), CoxError> {
        let Cox { mean, max, volatility, .. } = *self;
        if mean.as_bps() == 0 || mean > max {
            return Err(CoxError::Rates { mean, max });
        }
        if !volatility.is_finite() || volatility < 0.0 {
            return Err(CoxError::Volatility(volatility));
        }
        for (time, what) in [(duration, "whole"), (self.pull, "pull"), (self.outage, "outages")] {
            if time.is_zero() {
                return Err(CoxError::Time(what));
            }
        }
        if Instant::ZERO.saturating_add(duration) > MAX_TIME
            || per_second(max) * duration.as_secs_f64() > MAX_OPPORTUNITIES
        {
            return Err(CoxError::TooLong { duration, max });
        }
        Ok(())
    }

    /// A trace of `duration`, made up from `seed`: the same on every machine. Its last opportunity
    /// is at its very end, so that it repeats after `duration`.
    ///
    /// # Errors
    /// As [`Cox::check`].
    pub fn generate(&self, seed: u64, duration: Span) -> Result<Trace, CoxError> {
        self.check(duration)?;
        let mut stream = Stream::new(seed, Purpose::Trace, 0);
        let mut rate = Wander::new(self);
        let mut times = Vec::new();
        // Opportunities come when the integral of the rate has grown by an exponential number.
        let mut wanted = stream.exponential();
        let mut start = Span::ZERO;
        while start < duration {
            let length = TICK.min(duration - start);
            let seconds = length.as_secs_f64();
            let offered = rate.current * seconds;
            let mut used = 0.0;
            while wanted <= offered - used {
                used += wanted;
                let within = Span::from_secs_f64(used / rate.current).min(length);
                times.push(Instant::ZERO + start + within);
                wanted = stream.exponential();
            }
            wanted -= offered - used;
            rate.go_on(seconds, &mut stream);
            start += length;
        }
        times.push(Instant::ZERO + duration);
        Ok(Trace::new(times).expect("times in order, the last of them after zero"))
    }
}

fn per_second(rate: Rate) -> f64 {
    rate.as_bps() as f64 / (OPPORTUNITY.get() * 8) as f64
}

/// The rate of a [`Cox`] process, in opportunities a second.
struct Wander {
    current: f64,
    mean: f64,
    max: f64,
    volatility: f64,
    pull: f64,
    outage: f64,
    /// How long the outage still lasts, in seconds; zero where there is none.
    remaining: f64,
}

impl Wander {
    fn new(cox: &Cox) -> Wander {
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

    /// Lets `seconds` pass.
    fn go_on(&mut self, seconds: f64, stream: &mut Stream) {
        self.remaining -= seconds;
        if self.remaining > 0.0 {
            return;
        }
        self.remaining = 0.0;
        let noise = self.volatility * seconds.sqrt() * stream.normal();
        let drift = (self.mean - self.current) * (seconds / self.pull).min(1.0);
        // Out of an outage, the only way is up.
        let noise = if self.current == 0.0 { noise.abs() } else { noise };
        self.current = (self.current + drift + noise).clamp(0.0, self.max);
        if self.current == 0.0 {
            self.remaining = self.outage * stream.exponential();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lte() -> Cox {
        Cox::named("lte-like").expect("a name we know")
    }

    #[test]
    fn the_same_seed_gives_the_same_trace() {
        let trace = lte().generate(1, Span::from_secs(10)).expect("a trace");
        assert_eq!(trace, lte().generate(1, Span::from_secs(10)).expect("a trace"));
        assert_ne!(trace, lte().generate(2, Span::from_secs(10)).expect("a trace"));
        assert_eq!(trace.period(), Span::from_secs(10));
        // Pinned, so that an experiment of years ago still meets the same link.
        let first: Vec<u64> = trace.times()[..3].iter().map(|time| time.as_nanos()).collect();
        assert_eq!((trace.times().len(), first), (5733, vec![157_381, 863_024, 1_106_099]));
    }

    #[test]
    fn the_links_offer_what_they_are_named_for() {
        for (name, mbps) in [("lte-like", 5.0), ("umts-like", 2.0)] {
            let cox = Cox::named(name).expect("a name we know");
            let trace = cox.generate(7, Span::from_secs(20_000)).expect("a trace");
            let (mean, highest) = (trace.mean_rate().as_mbps(), cox.max.as_mbps());
            assert!((mean / mbps - 1.0).abs() < 0.05, "{name}: {mean}");
            let longest = trace.summary().longest_gap;
            assert!(longest > Span::from_secs(1) && longest < Span::from_secs(20), "{longest}");
            let end = Instant::ZERO + trace.period();
            let windows: Vec<Rate> = trace.rates(Instant::ZERO, end, Span::from_secs(1)).collect();
            let above = windows.iter().filter(|rate| rate.as_mbps() > highest * 1.2).count();
            assert_eq!(above, 0, "{name}");
        }
        assert!(Cox::NAMES.iter().all(|name| Cox::named(name).is_some()));
    }

    /// Without volatility it is a Poisson process: as much variance as mean.
    #[test]
    fn a_still_rate_gives_a_poisson_process() {
        let cox = Cox { volatility: 0.0, ..lte() };
        let trace = cox.generate(3, Span::from_secs(1000)).expect("a trace");
        let end = Instant::ZERO + trace.period();
        let counts: Vec<f64> = trace
            .rates(Instant::ZERO, end, Span::from_millis(20))
            .map(|rate| per_second(rate) * 0.02)
            .collect();
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let squares = counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>();
        let variance = squares / counts.len() as f64;
        assert!((mean / (per_second(cox.mean) * 0.02) - 1.0).abs() < 0.01, "{mean}");
        assert!((variance / mean - 1.0).abs() < 0.03, "{variance} {mean}");
    }

    /// Without pull, every rate is as likely: half of the most on average, less the outages.
    #[test]
    fn brownian_motion_alone_wanders_everywhere() {
        let cox = Cox { pull: Span::MAX, ..lte() };
        let trace = cox.generate(5, Span::from_secs(20_000)).expect("a trace");
        let share = trace.mean_rate().as_mbps() / cox.max.as_mbps();
        assert!((0.3..0.5).contains(&share), "{share}");
    }

    #[test]
    fn the_impossible_is_refused() {
        let cox = Cox { mean: Rate::from_mbps(20.0), ..lte() };
        let error = cox.generate(1, Span::from_secs(1)).expect_err("impossible").to_string();
        assert_eq!(
            error,
            "a synthetic trace needs rates with 0 < mean <= max, not 20 Mbps and 12 Mbps"
        );
        let second = Span::from_secs(1);
        assert!(Cox { volatility: f64::NAN, ..lte() }.generate(1, second).is_err());
        assert!(Cox { outage: Span::ZERO, ..lte() }.generate(1, second).is_err());
        assert!(lte().generate(1, Span::ZERO).is_err());
        assert!(lte().generate(1, Span::from_secs(1 << 30)).is_err());
        assert!(lte().generate(1, Span::MAX).is_err());
        assert_eq!(lte().generate(1, Span::from_nanos(1)).map(|trace| trace.times().len()), Ok(1));
    }
}
