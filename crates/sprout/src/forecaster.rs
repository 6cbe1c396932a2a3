//! [`Forecaster`]: from what arrived in each tick to what will.

use crate::{Filter, HORIZON, Model};
use exm_units::Bytes;

/// How a receiver forecasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// By Bayes' rule, with caution.
    Bayes {
        /// What is believed of the link.
        model: Model,
        /// The chance taken that less is delivered than forecast: the paper's is 0.05.
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
}

/// Shorter than this part of a tick no time is measured that something waited: the clocks' and the
/// least delay's own errors are a fraction of a millisecond.
const LEAST_BUSY: f64 = 0.01;

/// How much the average moves towards a tick's count.
const GAIN: f64 = 1.0 / 8.0;

/// A [`Method`] at work.
///
/// The filter tells rates of up to [`TOP_RATE`](crate::TOP_RATE) packets apart. On a faster link it
/// counts in twos, fours and so on: the model is the paper's, of larger packets.
#[derive(Clone, Debug)]
pub struct Forecaster {
    state: State,
    packet: Bytes,
}

#[derive(Clone, Debug)]
enum State {
    Bayes {
        filter: Box<Filter>,
        risk: f64,
        /// [`Model::idleness`].
        idleness: f64,
        /// Packets are counted in units of two to this power.
        doublings: u32,
    },
    /// The average, in bytes a tick.
    Ewma(f64),
}

/// Above so many units a tick packets are counted in larger units, below it in smaller ones.
const CROWDED: f64 = 14.0;
const SPARSE: f64 = 5.0;
/// Units of more than a thousand million bytes are not needed.
const MOST_DOUBLINGS: u32 = 20;

impl Forecaster {
    /// A forecaster by `method` that knows nothing, where a full packet is of `packet` bytes.
    pub fn new(method: Method, packet: Bytes) -> Forecaster {
        let state = match method {
            Method::Bayes { model, risk } => {
                let (filter, idleness) = (Box::new(Filter::new(model)), model.idleness);
                State::Bayes { filter, risk, idleness, doublings: 0 }
            }
            // From nothing at all it would never start: it probes with a packet a tick.
            Method::Ewma => State::Ewma(packet.get() as f64),
        };
        Forecaster { state, packet }
    }

    /// A tick has passed, of which nothing is learnt unless something was `seen` of the link.
    pub fn tick(&mut self, seen: Option<Seen>) {
        match &mut self.state {
            State::Bayes { filter, idleness, doublings, .. } => {
                filter.evolve();
                if let Some(Seen { bytes, busy }) = seen {
                    let packets = count(bytes, self.packet.get() << *doublings);
                    filter.observe_part(packets, libm::pow(busy.clamp(LEAST_BUSY, 1.0), *idleness));
                }
                rescale(filter, doublings);
            }
            State::Ewma(average) => {
                if let Some(Seen { bytes, .. }) = seen {
                    let bytes = count(bytes, self.packet.get()) * self.packet.get();
                    *average += GAIN * (bytes as f64 - *average);
                }
            }
        }
    }

    /// How many bytes will have been delivered by the end of each of the next ticks.
    pub fn forecast(&self) -> [Bytes; HORIZON] {
        match &self.state {
            State::Bayes { filter, risk, doublings, .. } => {
                let unit = (self.packet.get() << doublings) as f64;
                filter.forecast_fluid(*risk).map(|count| Bytes::new((count * unit) as u64))
            }
            State::Ewma(average) => {
                std::array::from_fn(|tick| Bytes::new((average * (tick + 1) as f64) as u64))
            }
        }
    }

    /// The rate expected, in bytes a tick.
    pub fn mean(&self) -> f64 {
        match &self.state {
            State::Bayes { filter, doublings, .. } => {
                filter.mean() * (self.packet.get() << doublings) as f64
            }
            State::Ewma(average) => *average,
        }
    }
}

/// How many packets of `unit` bytes `bytes` are: the nearest number, but not none where there are
/// some, for then the link is at work.
fn count(bytes: Bytes, unit: u64) -> u64 {
    let bytes = bytes.get();
    ((bytes + unit / 2) / unit).max(u64::from(bytes > 0))
}

fn rescale(filter: &mut Filter, doublings: &mut u32) {
    let mean = filter.mean();
    if mean > CROWDED && *doublings < MOST_DOUBLINGS {
        filter.halve();
        *doublings += 1;
    } else if mean < SPARSE && *doublings > 0 {
        filter.double();
        *doublings -= 1;
    }
}
