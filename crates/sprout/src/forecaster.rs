//! [`Forecaster`]: from what arrived in each tick to what will.

use crate::bank::Bank;
use crate::regularity::Regularity;
use crate::{HORIZON, Model};
use exm_units::Bytes;

/// How a receiver forecasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// By Bayes' rule, with caution.
    Bayes {
        /// What is believed of the link.
        model: Model,
        /// The probability taken that less is delivered than forecast: the paper's is 0.05.
        risk: f64,
    },
    /// Sprout-EWMA: a moving average of what was delivered, without caution (thesis, section 2.4.5).
    Ewma,
}

impl Default for Method {
    fn default() -> Method {
        Method::Bayes { model: Model::default(), risk: 0.05 }
    }
}

/// What a tick let see of the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// What it delivered.
    pub bytes: Bytes,
    /// For how much of the tick it had something to deliver, from 0 to 1.
    pub busy: f64,
    /// For how much of it there was nothing to send; for the rest the window kept it idle.
    pub free: f64,
}

/// Shorter than this part of a tick no time is measured that something waited: the clocks' and the
/// least delay's own errors are a fraction of a millisecond.
const LEAST_BUSY: f64 = 0.01;

/// How much the average moves towards a tick's count.
const GAIN: f64 = 1.0 / 8.0;

/// A [`Method`] at work.
///
/// The filter tells rates of up to [`TOP_RATE`](crate::TOP_RATE) packets apart. On a faster link it
/// counts in twos, fours and so on: the model is the paper's, of larger packets. On a link that
/// delivers evenly it counts in halves, quarters or eighths, where the model
/// [lets it](Model::evenness).
#[derive(Clone, Debug)]
pub struct Forecaster {
    state: State,
    packet: Bytes,
}

#[derive(Clone, Debug)]
enum State {
    Bayes(Box<Bayes>),
    /// The average, in bytes a tick.
    Ewma(f64),
}

#[derive(Clone, Debug)]
struct Bayes {
    bank: Bank,
    risk: f64,
    model: Model,
    regularity: Regularity,
    /// Packets are counted in units of two to this power.
    unit: i32,
}

/// Above so many units a tick packets are counted in larger units, below it in smaller ones.
const CROWDED: f64 = 14.0;
const SPARSE: f64 = 5.0;
/// Below this the filter's rates are too coarse, however unevenly the link delivers; above the other
/// they are not.
const SCARCE: f64 = 1.0;
const PLENTY: f64 = 2.0;
/// Units of more than a thousand million bytes are not needed, nor of less than an eighth of a
/// packet.
const LARGEST: i32 = 20;
const SMALLEST: i32 = -3;
/// The unit is changed when it is wrong by more than this power of two.
const MARGIN: f64 = 0.75;

impl Forecaster {
    /// A forecaster by `method` that knows nothing, where a full packet is of `packet` bytes.
    pub fn new(method: Method, packet: Bytes) -> Forecaster {
        let state = match method {
            Method::Bayes { model, risk } => {
                let (bank, regularity) = (Bank::new(model), Regularity::default());
                State::Bayes(Box::new(Bayes { bank, risk, model, regularity, unit: 0 }))
            }
            // From nothing at all it would never start: it probes with a packet a tick.
            Method::Ewma => State::Ewma(packet.get() as f64),
        };
        Forecaster { state, packet }
    }

    /// A tick has passed, of which nothing is learnt unless something was `seen` of the link.
    pub fn tick(&mut self, seen: Option<Seen>) {
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

    /// How many bytes will have been delivered by the end of each of the next ticks.
    pub fn forecast(&self) -> [Bytes; HORIZON] {
        match &self.state {
            State::Bayes(bayes) => {
                let unit = bayes.unit() * self.packet.get() as f64;
                let forecast = bayes.bank.best().forecast_fluid(bayes.risk);
                forecast.map(|count| Bytes::new((count * unit) as u64))
            }
            State::Ewma(average) => {
                std::array::from_fn(|tick| Bytes::new((average * (tick + 1) as f64) as u64))
            }
        }
    }

    /// The rate expected, in bytes a tick.
    pub fn mean(&self) -> f64 {
        match &self.state {
            State::Bayes(bayes) => {
                bayes.bank.best().mean() * bayes.unit() * self.packet.get() as f64
            }
            State::Ewma(average) => *average,
        }
    }
}

/// How many units of `unit` packets `packets` are: the nearest whole number, but where there are some
/// at least one packet and at least a unit, whichever is less, for then the link is at work.
fn count(packets: f64, unit: f64) -> f64 {
    let least = if packets > 0.0 { (1.0 / unit).min(1.0) } else { 0.0 };
    libm::round(packets / unit).max(least)
}

impl Bayes {
    /// How many packets a unit is.
    fn unit(&self) -> f64 {
        libm::exp2(f64::from(self.unit))
    }

    fn observe(&mut self, packets: f64, seen: &Seen) {
        let busy = seen.busy.clamp(LEAST_BUSY, 1.0);
        let share = self.model.share(busy, seen.free);
        self.bank.observe(count(packets, self.unit()), share);
        self.regularity.observe(packets, busy);
    }

    /// Counts in larger or smaller units from now on, where those are too small or too large.
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
