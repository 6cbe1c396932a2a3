//! [`Model`]: Sprout's model of a link, and the tables computed from it.

use crate::HORIZON;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of discrete rates (thesis, section 2.3.2).
pub const RATES: usize = 256;
/// The largest of them, in packets a second.
pub const TOP_RATE: f64 = 1000.0;
/// The length of a tick, in seconds.
const TICK_SECS: f64 = 0.020;
/// The distance between two neighbouring rates, in packets a second.
pub(crate) const STEP: f64 = TOP_RATE / (RATES - 1) as f64;
/// The largest cumulative count in the tables: eight ticks of the top rate are 160 packets, and five
/// standard deviations more are 223.
pub(crate) const COUNTS: usize = 256;
/// Rates less likely than this are skipped in a step: beyond [`REACH`] it would be neglected anyway.
const UNLIKELY: f64 = 1e-9;
/// Steps of the Brownian motion are truncated at this many standard deviations.
const REACH: f64 = 5.0;

/// The minimum weight of a tick in which there was nothing to send for a part: a sender cannot conclude
/// that the link could carry more than four times what it sent.
const SPARING: f64 = 0.25;

/// How many models' tables are cached, 2 MB each.
const MOST_KEPT: usize = 16;

/// A model of a link: packets are delivered by a Poisson process whose rate wanders and which, at a rate of
/// zero, tends to stay there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// How far a rate of [`REFERENCE_RATE`] wanders: packets a second, per square root of a second.
    pub sigma: f64,
    /// The exponent by which that depends on the rate, down to a rate of [`LEAST_RATE`].
    pub power: f64,
    /// How fast an outage ends: the rate of escape from a rate of zero, per second.
    pub escape: f64,
    /// The weight of a tick in which the sender's window left the link idle for a part: the fraction in
    /// which it was not idle, to this power. At 0 every tick counts fully, as if the link could not have
    /// delivered more; at 1 only the time in which packets waited counts.
    pub idleness: f64,
    /// The rate, in packets a second, below which a link counts as slow: the accepted risk grows by the power 1.5 of
    /// how much slower it is believed to be, up to four times. A link that delivers six packets in 100 ms delivers
    /// at least two with 95 % certainty, one that delivers fifty, 39: at the same risk the slow link is left idle. At 0
    /// the risk is the same everywhere, as in the paper.
    pub slow: f64,
    /// Whether the evenness of the link's deliveries is learnt. A Poisson process has a fixed evenness at
    /// any rate.
    pub evenness: bool,
    /// Whether sigma and the escape rate are slowly learnt from the link, starting from these values.
    pub learns: bool,
}

/// The rate at which [`Model::sigma`] holds, in packets a second.
pub const REFERENCE_RATE: f64 = 200.0;
/// Below this rate, in packets a second, sigma is that of this rate.
pub const LEAST_RATE: f64 = 4.0;

impl Model {
    /// The paper's model: Brownian motion of 200 packets a second per square root of a second at any rate,
    /// outages of a second, and full weight for every tick (thesis, section 2.3.1).
    pub const PAPER: Model = Model {
        sigma: 200.0,
        power: 0.0,
        escape: 1.0,
        idleness: 0.0,
        slow: 0.0,
        evenness: false,
        learns: false,
    };

    /// The weight of a tick in which packets waited at the link for the fraction `busy`, which is above
    /// zero, and the sender had nothing to send for the fraction `free`.
    pub(crate) fn share(&self, busy: f64, free: f64) -> f64 {
        if self.idleness == 0.0 {
            return 1.0;
        }
        let known = (1.0 - free).max(busy).max(SPARING);
        known * libm::pow(busy / known, self.idleness)
    }

    fn deviation(&self, rate: usize) -> f64 {
        let relative = (rate as f64 * STEP).max(LEAST_RATE) / REFERENCE_RATE;
        let by = self.sigma * libm::pow(relative, self.power) * TICK_SECS.sqrt() / STEP;
        // Without any wandering there would be no step at all; a thousandth of a rate is negligible.
        by.max(1e-3)
    }
}

impl Default for Model {
    /// Our model: slower links wander less, but more in proportion to their rate; a tick in which the
    /// sender left the link idle for a part has less weight; more risk is taken on slow links; and the
    /// regularity of a link is used.
    /// `docs/deviations.md` has the gains.
    fn default() -> Model {
        Model {
            sigma: 182.0,
            power: 0.65,
            escape: 1.0,
            idleness: 0.28,
            slow: 160.0,
            evenness: true,
            learns: false,
        }
    }
}

/// The tables of a [`Model`] that are needed in every tick.
pub(crate) struct Tables {
    /// For each rate, the probabilities of a tick's step to rates below and above.
    kernels: Vec<Vec<f32>>,
    /// The probability that an outage lasts a tick longer.
    stay: f64,
    /// The probabilities that a step that ends an outage leads to rate 1, 2, ...
    escapes: Vec<f64>,
    /// For each horizon and count, by initial rate: the probability that no more than the count is
    /// delivered by then.
    cumulative: Vec<f32>,
}

/// Rate number `index`, in packets per tick.
pub(crate) fn per_tick(index: usize) -> f64 {
    index as f64 * STEP * TICK_SECS
}

impl Tables {
    /// The tables of `model`. The most recently used ones are cached.
    pub(crate) fn of(model: Model) -> Arc<Tables> {
        static KEPT: Mutex<Vec<([f64; 3], Arc<Tables>)>> = Mutex::new(Vec::new());
        let key = [model.sigma, model.power, model.escape];
        // Held while tables are computed, so that two threads do not compute the same ones.
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
        // The rates after an outage are distributed as the upward steps from zero.
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

    /// Advances by a tick: computes `next` from `now`.
    ///
    /// Steps beyond the smallest or largest rate end there. A rate of zero stays, except with the
    /// probability of escape.
    pub(crate) fn evolve(&self, now: &[f64; RATES], next: &mut [f64; RATES]) {
        let mut spread = [0.0f32; 3 * RATES];
        let likely =
            now.iter().enumerate().skip(1).filter(|&(_, &probability)| probability > UNLIKELY);
        for (source, &probability) in likely {
            let kernel = &self.kernels[source];
            // The index of its lowest step, plus RATES so that it is not negative.
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

    /// The probability that at most `count` packets are delivered in the next `ticks` (from 1 on), where
    /// `rates` are the present probabilities of the rates.
    pub(crate) fn at_most(&self, ticks: usize, count: usize, rates: &[f32; RATES]) -> f32 {
        let row = &self.cumulative[((ticks - 1) * COUNTS + count) * RATES..][..RATES];
        // Sixteen separate sums, which the compiler vectorises.
        let mut sums = [0.0f32; 16];
        for (rates, probabilities) in rates.chunks_exact(16).zip(row.chunks_exact(16)) {
            for ((sum, rate), probability) in sums.iter_mut().zip(rates).zip(probabilities) {
                *sum += rate * probability;
            }
        }
        sums.iter().sum()
    }

    /// Treats the deliveries of different ticks as independent given the initial rate, as the original
    /// does; its forecasts are reproduced.
    fn cumulative_counts(&self) -> Vec<f32> {
        let poisson: Vec<Vec<f64>> = (0..RATES).map(|rate| poisson(per_tick(rate))).collect();
        let mut all = vec![0.0; HORIZON * COUNTS * RATES];
        for start in 0..RATES {
            let mut rates = [0.0; RATES];
            rates[start] = 1.0;
            // At a horizon of zero nothing is delivered, so every count suffices.
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

/// The probabilities of steps by numbers of rates, downwards and upwards, for normal steps of `deviation`.
fn kernel(deviation: f64) -> Vec<f64> {
    let reach = ((REACH * deviation).ceil() as i64).clamp(1, RATES as i64 - 1);
    normalised((-reach..=reach).map(|by| {
        let (low, high) = (by as f64 - 0.5, by as f64 + 0.5);
        normal_cdf(high / deviation) - normal_cdf(low / deviation)
    }))
}

/// The probabilities of counts, given the probabilities `rates`.
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

/// The cumulative distribution of the sum of a count distributed as `cumulative` and an independent one
/// distributed as `counts`.
fn convolve(cumulative: &[f64; COUNTS], counts: &[f64]) -> [f64; COUNTS] {
    let mut sum = [0.0; COUNTS];
    for (count, &probability) in counts.iter().enumerate().take(COUNTS) {
        for (sum, value) in sum[count..].iter_mut().zip(cumulative) {
            *sum += probability * value;
        }
    }
    sum
}

/// The probabilities of 0, 1, 2, ... of a Poisson distribution of `mean`, as far as they are significant.
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
