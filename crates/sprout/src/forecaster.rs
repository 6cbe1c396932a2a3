//! [`Forecaster`]: predicts deliveries from those in past ticks.

use crate::bank::Bank;
use crate::model::STEP;
use crate::regularity::Regularity;
use crate::{Belief, HORIZON, Model, Predicted, TICK};
use exm_units::Bytes;

/// How a receiver forecasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Bayesian inference, with caution.
    Bayes {
        /// The model of the link.
        model: Model,
        /// The accepted probability that less is delivered than forecast: 0.05 in the paper. On a slow link it is
        /// larger, as [`Model::slow`] says.
        risk: f64,
    },
    /// Sprout-EWMA: a moving average of deliveries, without caution (thesis, section 2.4.5).
    Ewma,
}

impl Default for Method {
    fn default() -> Method {
        Method::Bayes { model: Model::default(), risk: 0.05 }
    }
}

/// The observation of the link in a tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The bytes it delivered.
    pub bytes: Bytes,
    /// The fraction of the tick in which it had packets to deliver, from 0 to 1.
    pub busy: f64,
    /// The fraction in which there was nothing to send; for the rest the window kept it idle.
    pub free: f64,
}

/// The shortest measurable waiting time, as a fraction of a tick: clocks and the minimum delay are
/// only accurate to a fraction of a millisecond.
const LEAST_BUSY: f64 = 0.01;

/// The weight of a tick's count in the average.
const GAIN: f64 = 1.0 / 8.0;

/// The state of a [`Method`].
///
/// The filter distinguishes rates up to [`TOP_RATE`](crate::TOP_RATE) packets per second. On a faster
/// link it counts in units of two, four or more packets: the paper's model with larger packets. On a
/// link that delivers evenly it counts in halves, quarters or eighths, if the model [allows
/// it](Model::evenness).
#[derive(Clone, Debug)]
pub struct Forecaster {
    state: State,
    packet: Bytes,
}

#[derive(Clone, Debug)]
enum State {
    Bayes(Box<Bayes>),
    /// The average, in bytes per tick.
    Ewma(f64),
}

#[derive(Clone, Debug)]
struct Bayes {
    bank: Bank,
    risk: f64,
    model: Model,
    regularity: Regularity,
    /// The unit of counting is two to this power packets.
    unit: i32,
}

/// Above the first count per tick a larger unit is used, below the second a smaller one.
const CROWDED: f64 = 14.0;
const SPARSE: f64 = 5.0;
/// Below this count the filter's rates are too coarse even for an uneven link; above the second they
/// are fine enough.
const SCARCE: f64 = 1.0;
const PLENTY: f64 = 2.0;
/// The limits of the unit: a thousand million bytes, and an eighth of a packet.
const LARGEST: i32 = 20;
const SMALLEST: i32 = -3;
/// The unit changes when it is off by more than this power of two.
const MARGIN: f64 = 0.75;

/// The power of the rate by which the risk grows on a slow link, to at most so many times itself and at most a half.
const EASING: f64 = 1.5;
const MOST_EASING: f64 = 4.0;
const MOST_RISK: f64 = 0.5;

impl Forecaster {
    /// A forecaster by `method` without observations, for full packets of `packet` bytes.
    pub fn new(method: Method, packet: Bytes) -> Forecaster {
        let state = match method {
            Method::Bayes { model, risk } => {
                let (bank, regularity) = (Bank::new(model), Regularity::default());
                State::Bayes(Box::new(Bayes { bank, risk, model, regularity, unit: 0 }))
            }
            // A forecast of zero would never let a sender start: it probes with a packet per tick.
            Method::Ewma => State::Ewma(packet.get() as f64),
        };
        Forecaster { state, packet }
    }

    /// A tick has passed; `seen` is the observation of the link, if there was one.
    pub fn tick(&mut self, seen: Option<Observation>) {
        let packets = seen.map(|seen| seen.bytes.get() as f64 / self.packet.get() as f64);
        match &mut self.state {
            State::Bayes(bayes) => {
                bayes.bank.evolve();
                if let (Some(packets), Some(seen)) = (packets, seen) {
                    bayes.observe(packets, &seen);
                }
                bayes.choose_unit();
            }
            State::Ewma(average) => {
                if let Some(packets) = packets {
                    let bytes = count(packets, 1.0) * self.packet.get() as f64;
                    *average += GAIN * (bytes - *average);
                }
            }
        }
    }

    /// The bytes that will have been delivered by the end of each of the next ticks.
    pub fn forecast(&self) -> [Bytes; HORIZON] {
        match &self.state {
            State::Bayes(bayes) => {
                let unit = bayes.unit() * self.packet.get() as f64;
                let forecast = bayes.bank.best().forecast_fluid(bayes.risk());
                forecast.map(|count| Bytes::new((count * unit) as u64))
            }
            State::Ewma(average) => {
                std::array::from_fn(|tick| Bytes::new((average * (tick + 1) as f64) as u64))
            }
        }
    }

    /// What the link delivers within the next `ticks` ticks, with all probabilities: [`Forecaster::forecast`] without
    /// its caution. [`Method::Ewma`] is certain of its mean.
    ///
    /// # Panics
    /// If `ticks` is not 1 to [`HORIZON`].
    pub fn predict(&self, ticks: usize) -> Predicted {
        assert!((1..=HORIZON).contains(&ticks), "forecasts are for 1 to {HORIZON} ticks: {ticks}");
        match &self.state {
            State::Bayes(bayes) => Predicted {
                unit: bayes.unit() * self.packet.get() as f64,
                at_most: bayes.bank.best().cumulative(ticks),
            },
            State::Ewma(average) => {
                Predicted { unit: average * ticks as f64, at_most: vec![0.0, 1.0] }
            }
        }
    }

    /// The accepted probability that less is delivered than forecast: on a slow link it is larger than the method's. A
    /// half for [`Method::Ewma`], which has no caution.
    pub fn risk(&self) -> f64 {
        match &self.state {
            State::Bayes(bayes) => bayes.risk(),
            State::Ewma(_) => 0.5,
        }
    }

    /// The probability of each rate of the link, from which forecasts are made (NSDI 2013, section 3.2);
    /// none for [`Method::Ewma`], which only has a mean.
    pub fn belief(&self) -> Option<Belief> {
        match &self.state {
            State::Bayes(bayes) => Some(Belief {
                spacing: STEP * bayes.unit(),
                probabilities: *bayes.bank.best().rates(),
            }),
            State::Ewma(_) => None,
        }
    }

    /// The expected rate, in bytes per tick.
    pub fn mean(&self) -> f64 {
        match &self.state {
            State::Bayes(bayes) => {
                bayes.bank.best().mean() * bayes.unit() * self.packet.get() as f64
            }
            State::Ewma(average) => *average,
        }
    }
}

/// The number of units of `unit` packets in `packets`: the nearest whole number, but if there are any
/// at least one packet or one unit, whichever is less, since the link is then not in an outage.
fn count(packets: f64, unit: f64) -> f64 {
    let least = if packets > 0.0 { (1.0 / unit).min(1.0) } else { 0.0 };
    libm::round(packets / unit).max(least)
}

impl Bayes {
    /// The size of a unit, in packets.
    fn unit(&self) -> f64 {
        libm::exp2(f64::from(self.unit))
    }

    /// The accepted risk, which is larger on a slow link if the model [eases](Model::slow) there.
    fn risk(&self) -> f64 {
        let rate = self.bank.best().mean() * self.unit() / TICK.as_secs_f64();
        let more = libm::pow(self.model.slow / rate.max(1.0), EASING).clamp(1.0, MOST_EASING);
        (self.risk * more).min(MOST_RISK.max(self.risk))
    }

    fn observe(&mut self, packets: f64, seen: &Observation) {
        let busy = seen.busy.clamp(LEAST_BUSY, 1.0);
        let share = self.model.share(busy, seen.free);
        self.bank.observe(count(packets, self.unit()), share);
        self.regularity.observe(packets, busy);
    }

    /// Switches to larger or smaller units if the present ones are too small or too large.
    fn choose_unit(&mut self) {
        let mean = self.bank.best().mean();
        let unit = f64::from(self.unit);
        let (even, smallest) =
            if self.model.evenness { (self.regularity.unit(), SMALLEST) } else { (0.0, 0) };
        let too_small = mean > PLENTY && self.unit < 0 && even > unit + MARGIN;
        let too_large = mean < SCARCE || mean < SPARSE && even < unit - MARGIN;
        if (mean > CROWDED || too_small) && self.unit < LARGEST {
            self.bank.halve();
            self.unit += 1;
        } else if too_large && self.unit > smallest {
            self.bank.double();
            self.unit -= 1;
        }
    }
}
