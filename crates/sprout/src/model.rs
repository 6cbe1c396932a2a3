//! [`Model`]: what Sprout believes of a link, and the numbers that follow from it.

use crate::HORIZON;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of rates told apart (thesis, section 2.3.2).
pub const RATES: usize = 256;
/// The largest of them, in packets a second.
pub const TOP_RATE: f64 = 1000.0;
/// The length of a tick, in seconds.
const TICK_SECS: f64 = 0.020;
/// Between two neighbouring rates, in packets a second.
const STEP: f64 = TOP_RATE / (RATES - 1) as f64;
/// Cumulative counts up to this are told apart: eight ticks of the top rate are 160 packets, and
/// five standard deviations more are 223.
pub(crate) const COUNTS: usize = 256;
/// From rates less likely than this no step is taken: what reaches further than [`REACH`] is likelier.
const UNLIKELY: f64 = 1e-9;
/// A step of the Brownian motion is cut off at so many standard deviations.
const REACH: f64 = 5.0;

/// A tick counts for no less than this part, though there was nothing to send for the rest: a sender is
/// not believed to have seen a link that could carry more than four times what it sent.
const SPARING: f64 = 0.25;

/// The tables of so many models are kept, of 2 MB each.
const MOST_KEPT: usize = 16;

/// What is believed of a link: packets are delivered by a Poisson process whose rate wanders, and
/// which, once it stands still, tends to go on standing still.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// How far a rate of [`REFERENCE_RATE`] wanders: packets a second, per square root of a second.
    pub sigma: f64,
    /// How that changes with the rate: as this power of it, down to a rate of [`LEAST_RATE`].
    pub power: f64,
    /// How fast an outage ends: the rate of escape from a rate of zero, per second.
    pub escape: f64,
    /// How much of a tick counts in which the sender's window left the link idle for a part: the part
    /// in which it was not, to this power. At 0 all of any tick counts, as if what came in it were all
    /// that the link could have delivered; at 1 only the time in which something waited does.
    pub idleness: f64,
    /// Whether it is learnt how evenly the link delivers. A Poisson process does so as unevenly at any
    /// rate.
    pub evenness: bool,
    /// Whether sigma and the rate of escape are learnt slowly from the link, beginning with these.
    pub learns: bool,
}

/// The rate at which [`Model::sigma`] holds, in packets a second.
pub const REFERENCE_RATE: f64 = 200.0;
/// Below this rate, in packets a second, rates wander as far as this one.
pub const LEAST_RATE: f64 = 4.0;

impl Model {
    /// The paper's: Brownian motion of 200 packets a second per square root of a second at any rate,
    /// outages of a second, and every tick counts whole (thesis, section 2.3.1).
    pub const PAPER: Model = Model {
        sigma: 200.0,
        power: 0.0,
        escape: 1.0,
        idleness: 0.0,
        evenness: false,
        learns: false,
    };

    /// How much of a tick counts in which something waited at the link for the part `busy`, which is
    /// above zero, and the sender had nothing to send for the part `free`.
    pub(crate) fn share(&self, busy: f64, free: f64) -> f64 {
        if self.idleness == 0.0 {
            return 1.0;
        }
        let told = (1.0 - free).max(busy).max(SPARING);
        told * libm::pow(busy / told, self.idleness)
    }

    fn deviation(&self, rate: usize) -> f64 {
        let relative = (rate as f64 * STEP).max(LEAST_RATE) / REFERENCE_RATE;
        let by = self.sigma * libm::pow(relative, self.power) * TICK_SECS.sqrt() / STEP;
        // A rate that never wanders would leave no step at all: a thousandth of a rate is none.
        by.max(1e-3)
    }
}

impl Default for Model {
    /// Ours: slower links wander by less, but more beside what they are; a tick in which the sender
    /// left the link idle for a part counts for less; and what is regular about a link is made use
    /// of. `docs/deviations.md` tells what that gains.
    fn default() -> Model {
        Model {
            sigma: 182.0,
            power: 0.65,
            escape: 1.0,
            idleness: 0.28,
            evenness: true,
            learns: false,
        }
    }
}

/// What follows from a [`Model`] and is needed at every tick.
pub(crate) struct Tables {
    /// For each rate: how likely a tick's step leads to which rate, from as far below as above.
    kernels: Vec<Vec<f32>>,
    /// The probability that an outage lasts a tick longer.
    stay: f64,
    /// How likely a step that ends an outage leads to rate 1, 2, ...
    escapes: Vec<f64>,
    /// For each horizon and count, by the rate at its start: the probability that no more than the count
    /// is delivered by then.
    cumulative: Vec<f32>,
}

/// The rate of index `index`, in packets a tick.
pub(crate) fn per_tick(index: usize) -> f64 {
    index as f64 * STEP * TICK_SECS
}

impl Tables {
    /// The tables of `model`. Those used last are kept.
    pub(crate) fn of(model: Model) -> Arc<Tables> {
        static KEPT: Mutex<Vec<([f64; 3], Arc<Tables>)>> = Mutex::new(Vec::new());
        let key = [model.sigma, model.power, model.escape];
        // Held while tables are computed, lest two threads compute the same.
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|(of, _)| *of == key);
        let tables = match place {
            Some(place) => kept.remove(place).1,
            None => Arc::new(Tables::new(model)),
        };
        kept.insert(0, (key, Arc::clone(&tables)));
        kept.truncate(MOST_KEPT);
        tables
    }

    fn new(model: Model) -> Tables {
        let kernels: Vec<_> = (0..RATES).map(|rate| kernel(model.deviation(rate))).collect();
        let single =
            |kernel: &Vec<f64>| kernel.iter().map(|&probability| probability as f32).collect();
        // How far an outage ends from zero is how far a step leads up from it.
        let up = &kernels[0][kernels[0].len() / 2 + 1..];
        let mut tables = Tables {
            escapes: normalised(up.iter().map(|&probability| probability.max(1e-300))),
            kernels: kernels.iter().map(single).collect(),
            stay: libm::exp(-model.escape * TICK_SECS),
            cumulative: Vec::new(),
        };
        tables.cumulative = tables.cumulative_counts();
        tables
    }

    /// A tick passes: `next` becomes what `now` evolves to.
    ///
    /// Steps that lead beyond the least or the largest rate lead there. At zero the link stays
    /// but for the probability of escape.
    pub(crate) fn evolve(&self, now: &[f64; RATES], next: &mut [f64; RATES]) {
        let mut spread = [0.0f32; 3 * RATES];
        let likely =
            now.iter().enumerate().skip(1).filter(|&(_, &probability)| probability > UNLIKELY);
        for (source, &probability) in likely {
            let kernel = &self.kernels[source];
            // Its lowest step, moved up by RATES lest it be negative.
            let lowest = source + RATES - kernel.len() / 2;
            for (to, step) in spread[lowest..lowest + kernel.len()].iter_mut().zip(kernel) {
                *to += probability as f32 * step;
            }
        }
        let sum =
            |range: &[f32]| range.iter().map(|&probability| f64::from(probability)).sum::<f64>();
        for (to, &probability) in next.iter_mut().zip(&spread[RATES..2 * RATES]) {
            *to = f64::from(probability);
        }
        next[0] += sum(&spread[..RATES]) + now[0] * self.stay;
        next[RATES - 1] += sum(&spread[2 * RATES..]);
        let escaping = now[0] * (1.0 - self.stay);
        for (to, probability) in next[1..].iter_mut().zip(&self.escapes) {
            *to += escaping * probability;
        }
    }

    /// The probability that at most `count` packets are delivered in the next `ticks` (from 1 on), with
    /// `rates` as the probabilities of each rate now.
    pub(crate) fn at_most(&self, ticks: usize, count: usize, rates: &[f32; RATES]) -> f32 {
        let row = &self.cumulative[((ticks - 1) * COUNTS + count) * RATES..][..RATES];
        // Sixteen sums side by side, which the compiler makes vectors of.
        let mut sums = [0.0f32; 16];
        for (rates, probabilities) in rates.chunks_exact(16).zip(row.chunks_exact(16)) {
            for ((sum, rate), probability) in sums.iter_mut().zip(rates).zip(probabilities) {
                *sum += rate * probability;
            }
        }
        sums.iter().sum()
    }

    /// As if what is delivered in one tick told nothing of what is in the next, given the rate they
    /// all start from: so did the original, whose forecasts these are.
    fn cumulative_counts(&self) -> Vec<f32> {
        let poisson: Vec<Vec<f64>> = (0..RATES).map(|rate| poisson(per_tick(rate))).collect();
        let mut all = vec![0.0; HORIZON * COUNTS * RATES];
        for start in 0..RATES {
            let mut rates = [0.0; RATES];
            rates[start] = 1.0;
            // In no time nothing is delivered, so that any count is enough.
            let mut cumulative = [1.0; COUNTS];
            for tick in 0..HORIZON {
                let before = rates;
                self.evolve(&before, &mut rates);
                cumulative = convolve(&cumulative, &mixture(&rates, &poisson));
                for (count, &probability) in cumulative.iter().enumerate() {
                    all[(tick * COUNTS + count) * RATES + start] = probability as f32;
                }
            }
        }
        all
    }
}

/// The probabilities of steps by numbers of rates, from as far down as up, for normal steps of `deviation`.
fn kernel(deviation: f64) -> Vec<f64> {
    let reach = ((REACH * deviation).ceil() as i64).clamp(1, RATES as i64 - 1);
    normalised((-reach..=reach).map(|by| {
        let (low, high) = (by as f64 - 0.5, by as f64 + 0.5);
        normal_cdf(high / deviation) - normal_cdf(low / deviation)
    }))
}

/// The probabilities of counts, where the probabilities of the rates are `rates`.
fn mixture(rates: &[f64; RATES], counts: &[Vec<f64>]) -> Vec<f64> {
    let mut mixed = vec![0.0; counts[RATES - 1].len()];
    for (&rate, counts) in rates.iter().zip(counts).filter(|&(&rate, _)| rate > 1e-12) {
        for (sum, probability) in mixed.iter_mut().zip(counts) {
            *sum += rate * probability;
        }
    }
    let likely =
        mixed.iter().rposition(|&probability| probability > 1e-12).map_or(0, |last| last + 1);
    mixed.truncate(likely);
    mixed
}

/// `cumulative`, and independently of it a count drawn from `counts`: the cumulative probabilities of the
/// sum.
fn convolve(cumulative: &[f64; COUNTS], counts: &[f64]) -> [f64; COUNTS] {
    let mut sum = [0.0; COUNTS];
    for (count, &probability) in counts.iter().enumerate().take(COUNTS) {
        for (sum, value) in sum[count..].iter_mut().zip(cumulative) {
            *sum += probability * value;
        }
    }
    sum
}

/// The probabilities of 0, 1, 2, ... of a Poisson distribution of `mean`, as far as they matter.
fn poisson(mean: f64) -> Vec<f64> {
    let longest = (mean + 8.0 * mean.sqrt() + 8.0) as usize;
    let mut probability = libm::exp(-mean);
    let mut probabilities = vec![probability];
    for count in 1..longest {
        probability *= mean / count as f64;
        probabilities.push(probability);
    }
    probabilities
}

fn normalised(weights: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut weights: Vec<f64> = weights.collect();
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    weights
}

fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}
