//! [`Synthetic`]: synthetic links.

mod cox;
mod departures;
mod population;
mod presets;
mod schedule;

pub use cox::Cox;

use crate::{MAX_TIME, Trace};
use cox::{Wander, per_second};
use departures::Departures;
use exm_random::{Distribution, Purpose, Stream};
use exm_units::{Instant, Rate, Span};
use schedule::{Absences, Regimes};

/// The interval between changes of the rate: Sprout's tick (Winstein, Sivaraman & Balakrishnan, NSDI 2013,
/// section 3.1).
const TICK: Span = Span::from_millis(20);

/// The most opportunities that are generated, so that a typing error does not fill the memory.
const MOST: f64 = crate::MAX_OPPORTUNITIES as f64;

/// The most stages of a gap between opportunities.
const MOST_STAGES: u32 = 1000;

/// The most retransmissions of a block, and the longest time of one.
const MOST_RETRIES: u32 = 100;
const MOST_STEP: Span = Span::from_secs(10);

/// The longest trace that is generated, 30 days: traces repeat anyway.
const MAX_LENGTH: Span = Span::from_secs(30 * 86_400);

/// A synthetic link: a Poisson process of delivery opportunities, or a more even one, whose rate is itself random.
///
/// The rate follows one [`Cox`] process or several in turn, the *regimes*, for a user who stands, walks and
/// drives. In addition the link may be interrupted from time to time, whatever its rate, as by handovers,
/// tunnels or changes of satellite. [`Synthetic::generate`] makes traces from it, the same on every machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Synthetic {
    /// The regimes of the rate; the first one is the initial one.
    pub regimes: Vec<Regime>,
    /// The interruptions of the link, independent of each other.
    pub interruptions: Vec<Interruption>,
    /// If set, opportunities occur only at multiples of this time, as many at once as were due since the last
    /// one: the slots of a radio.
    pub slot: Option<Span>,
    /// How even its opportunities are: each gap between two is the mean of this many exponential ones (an Erlang
    /// distribution). One makes a Poisson process, many a regular one.
    pub stages: u32,
    /// If set, opportunities are used in frames, as on Wi-Fi.
    pub frames: Option<Frames>,
    /// If set, the opportunities of each slot are a block that may fail. Needs slots.
    pub block_errors: Option<BlockErrors>,
}

/// Frames, each of which is transmitted after a time of medium access (IEEE 802.11-2020, section 10). The
/// opportunities within a frame are used together at its end, and those within medium access are lost.
#[derive(Clone, Debug, PartialEq)]
pub struct Frames {
    /// How long a frame takes.
    pub airtime: Span,
    /// The seconds of medium access before each frame.
    pub access: Distribution,
}

/// Blocks that fail and are retransmitted (HARQ: 3GPP TS 38.321, section 5.3.2), while those after them wait, since
/// packets are delivered in order.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockErrors {
    /// The probability that a transmission fails, below 1.
    pub probability: f64,
    /// The time that a retransmission takes.
    pub step: Span,
    /// The most retransmissions, at most 100; the last always succeeds.
    pub retries: u32,
}

/// A rate process that is in effect for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Regime {
    /// The rate process.
    pub rate: Cox,
    /// How many seconds it lasts each time, in whole ticks of 20 ms; forever if none.
    pub dwell: Option<Distribution>,
    /// The relative probability that this is the next regime, by the weights of all; a regime may follow
    /// itself.
    pub weight: f64,
}

/// A recurring event that removes all opportunities for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Interruption {
    /// The seconds from the start of one interruption to the start of the next, and from the start of the
    /// trace to the first. Interruptions that would overlap follow each other; less than 20 ms counts as 20
    /// ms.
    pub every: Distribution,
    /// How many seconds it lasts.
    pub lasts: Distribution,
}

/// An error that prevents generating a trace.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SyntheticError {
    /// There is no regime.
    #[error("a synthetic trace needs at least one regime, which sets how its rate moves")]
    NoRegime,
    /// The rates are not in order.
    #[error("a synthetic trace needs rates with 0 < mean <= max, not {mean} and {max}")]
    Rates {
        /// The mean rate.
        mean: Rate,
        /// The highest rate.
        max: Rate,
    },
    /// The volatility is not a valid number.
    #[error("the volatility of a synthetic trace is a number from 0 up, not {0}")]
    Volatility(f64),
    /// There are no stages, or too many.
    #[error("the gaps of a synthetic trace have 1 to {MOST_STAGES} stages, not {0}")]
    Stages(u32),
    /// No weight is above zero.
    #[error("the weights of regimes are numbers from 0 up, at least one of them above")]
    Weights,
    /// Blocks cannot fail so.
    #[error("the block errors of a synthetic trace {0}")]
    Blocks(&'static str),
    /// A length of time is zero.
    #[error("the {0} of a synthetic trace must last longer than zero")]
    Time(&'static str),
    /// A distribution of times is invalid.
    #[error("the times of {what} cannot be drawn: {problem}")]
    Times {
        /// Which times.
        what: &'static str,
        /// The problem.
        problem: &'static str,
    },
    /// The trace would be too long.
    #[error(
        "a synthetic trace of {duration} at up to {max} is too long: make it shorter, since it is \
         repeated anyway"
    )]
    TooLong {
        /// The requested length.
        duration: Span,
        /// The highest rate.
        max: Rate,
    },
}

impl From<Cox> for Synthetic {
    /// A link with a single rate process and no interruptions.
    fn from(rate: Cox) -> Synthetic {
        let regime = Regime { rate, dwell: None, weight: 1.0 };
        Synthetic { regimes: vec![regime], ..Synthetic::EMPTY }
    }
}

impl Synthetic {
    /// A link without a regime, which it needs, and with nothing else.
    pub const EMPTY: Synthetic = Synthetic {
        regimes: Vec::new(),
        interruptions: Vec::new(),
        slot: None,
        stages: 1,
        frames: None,
        block_errors: None,
    };

    /// Checks that a trace of `duration` can be generated.
    ///
    /// # Errors
    /// The first impossible parameter.
    pub fn check(&self, duration: Span) -> Result<(), SyntheticError> {
        self.regimes.iter().try_for_each(Regime::check)?;
        let highest = self.regimes.iter().map(|regime| regime.rate.max).max();
        let max = highest.ok_or(SyntheticError::NoRegime)?;
        if !(1..=MOST_STAGES).contains(&self.stages) {
            return Err(SyntheticError::Stages(self.stages));
        }
        let weights = self.regimes.iter().map(|regime| regime.weight);
        if !weights.clone().all(|weight| (0.0..1e9).contains(&weight))
            || weights.sum::<f64>() == 0.0
        {
            return Err(SyntheticError::Weights);
        }
        for Interruption { every, lasts } in &self.interruptions {
            let what = "interruptions";
            let failed = |problem| SyntheticError::Times { what, problem };
            every.check().and(lasts.check()).map_err(failed)?;
        }
        let airtime = self.frames.as_ref().map_or(TICK, |frames| frames.airtime);
        let slot = self.slot.unwrap_or(TICK);
        for (time, what) in [(duration, "whole"), (slot, "slots"), (airtime, "frames")] {
            if time.is_zero() {
                return Err(SyntheticError::Time(what));
            }
        }
        if let Some(frames) = &self.frames {
            let what = "medium access";
            let failed = |problem| SyntheticError::Times { what, problem };
            frames.access.check().map_err(failed)?;
        }
        self.check_blocks()?;
        if duration > MAX_LENGTH || per_second(max) * duration.as_secs_f64() > MOST {
            return Err(SyntheticError::TooLong { duration, max });
        }
        Ok(())
    }

    fn check_blocks(&self) -> Result<(), SyntheticError> {
        let Some(blocks) = &self.block_errors else { return Ok(()) };
        let problem = if self.slot.is_none() {
            "need slots, which are the blocks: give slot"
        } else if !(0.0..1.0).contains(&blocks.probability) {
            "need a probability from 0 to below 1"
        } else if blocks.retries > MOST_RETRIES {
            "need at most 100 retries"
        } else if blocks.step > MOST_STEP {
            "need a step of at most 10 s"
        } else {
            return Ok(());
        };
        Err(SyntheticError::Blocks(problem))
    }

    /// A synthetic trace of `duration`, generated from `seed`: the same on every machine. Its last opportunity
    /// is at its very end, so it repeats with period `duration`.
    ///
    /// # Errors
    /// As [`Synthetic::check`].
    pub fn generate(&self, seed: u64, duration: Span) -> Result<Trace, SyntheticError> {
        self.check(duration)?;
        let mut streams = (0..).map(|index| Stream::new(seed, Purpose::Trace, index));
        let mut stream = || streams.next().expect("the iterator is endless");
        let mut random = stream();
        let mut regimes = Regimes::new(&self.regimes, stream());
        let mut absences: Vec<Absences<'_>> =
            self.interruptions.iter().map(|kind| Absences::new(kind, stream())).collect();
        let mut departures = Departures::new(self, stream(), stream());
        let mut rate = Wander::new(&self.regimes[0].rate);
        let mut times = Vec::new();
        // An opportunity occurs when the integral of the rate has grown by a random number.
        let mut wanted = self.gap(&mut random);
        let mut start = Span::ZERO;
        while start < duration {
            let length = TICK.min(duration - start);
            let seconds = length.as_secs_f64();
            let offered = rate.current * seconds;
            let mut used = 0.0;
            while wanted <= offered - used {
                used += wanted;
                let time = start + Span::from_secs_f64(used / rate.current).min(length);
                let is_absent =
                    absences.iter_mut().any(|absence| absence.covers(time.as_secs_f64()));
                if !is_absent && let Some(at) = departures.at(time) {
                    times.push(Instant::ZERO + at.min(duration));
                }
                wanted = self.gap(&mut random);
            }
            wanted -= offered - used;
            rate.go_on(seconds, &mut random);
            start += length;
            if let Some(regime) = regimes.entered(start.as_secs_f64()) {
                rate.steer(&regime.rate);
            }
        }
        times.push(Instant::ZERO + duration);
        Ok(Trace::new(times).expect("times are in order and end after zero"))
    }

    /// A gap between two opportunities, in units of its mean.
    fn gap(&self, random: &mut Stream) -> f64 {
        let stages = (0..self.stages).map(|_| random.exponential());
        stages.sum::<f64>() / f64::from(self.stages)
    }
}

impl Regime {
    fn check(&self) -> Result<(), SyntheticError> {
        let Cox { mean, max, volatility, pull, outage } = self.rate;
        if mean.as_bps() == 0 || mean > max {
            return Err(SyntheticError::Rates { mean, max });
        }
        if !volatility.is_finite() || volatility < 0.0 {
            return Err(SyntheticError::Volatility(volatility));
        }
        for (time, what) in [(pull, "pull"), (outage, "outages")] {
            if time.is_zero() {
                return Err(SyntheticError::Time(what));
            }
        }
        let failed = |problem| SyntheticError::Times { what: "a regime", problem };
        self.dwell.as_ref().map_or(Ok(()), Distribution::check).map_err(failed)
    }
}

// The longest trace is within the longest time.
const _: () = assert!(MAX_LENGTH.as_nanos() < MAX_TIME.as_nanos());

#[cfg(test)]
mod tests;
