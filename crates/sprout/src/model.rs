//! [`Model`]: what Sprout believes of a link, and the numbers that follow from it.

use crate::HORIZON;
use std::sync::{Arc, OnceLock};

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
/// A step of the Brownian motion is cut off at so many standard deviations.
const REACH: f64 = 5.0;

/// What is believed of a link: packets are delivered by a Poisson process whose rate wanders in
/// Brownian motion, and which, once it stands still, tends to go on standing still.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// How far the rate wanders: packets a second, per square root of a second.
    pub sigma: f64,
    /// How fast an outage ends: the rate of escape from a rate of zero, per second.
    pub escape: f64,
}

impl Default for Model {
    /// The paper's: 200 packets a second per square root of a second, and outages of a second
    /// (thesis, section 2.3.1).
    fn default() -> Model {
        Model { sigma: 200.0, escape: 1.0 }
    }
}

/// What follows from a [`Model`] and is needed at every tick.
pub(crate) struct Tables {
    /// By how many rates a tick's step moves, and how likely: index `reach` is not at all.
    kernel: Vec<f64>,
    reach: usize,
    /// The chance that an outage lasts a tick longer.
    stay: f64,
    /// How likely a step that ends an outage leads to rate 1, 2, ...
    escapes: Vec<f64>,
    /// For each horizon and count, by the rate at its start: the chance that no more than the count
    /// is delivered by then.
    cumulative: Vec<f32>,
}

/// The rate of index `index`, in packets a tick.
pub(crate) fn per_tick(index: usize) -> f64 {
    index as f64 * STEP * TICK_SECS
}

impl Tables {
    /// The tables of `model`; those of the default model are computed once.
    pub(crate) fn of(model: Model) -> Arc<Tables> {
        static DEFAULT: OnceLock<Arc<Tables>> = OnceLock::new();
        if model == Model::default() {
            return Arc::clone(DEFAULT.get_or_init(|| Arc::new(Tables::new(model))));
        }
        Arc::new(Tables::new(model))
    }

    fn new(model: Model) -> Tables {
        // A rate that never wanders would leave no step at all: a thousandth of a rate is none.
        let deviation = (model.sigma * TICK_SECS.sqrt() / STEP).max(1e-3);
        let reach = ((REACH * deviation).ceil() as usize).clamp(1, RATES - 1);
        let steps = -(reach as i64)..=reach as i64;
        let kernel = normalised(steps.map(|by| {
            let (low, high) = (by as f64 - 0.5, by as f64 + 0.5);
            normal_cdf(high / deviation) - normal_cdf(low / deviation)
        }));
        let mut tables = Tables {
            escapes: normalised(kernel[reach + 1..].iter().map(|&chance| chance.max(1e-300))),
            kernel,
            reach,
            stay: libm::exp(-model.escape * TICK_SECS),
            cumulative: Vec::new(),
        };
        tables.cumulative = tables.cumulative_counts();
        tables
    }

    /// A tick passes: `next` becomes what `now` evolves to.
    ///
    /// Steps that lead beyond the least or the largest rate lead there. At zero the link stays
    /// but for the chance of escape.
    pub(crate) fn evolve(&self, now: &[f64; RATES], next: &mut [f64; RATES]) {
        let reach = self.reach;
        let mut spread = [0.0; 3 * RATES];
        for (source, &chance) in now.iter().enumerate().skip(1) {
            // From `source - reach`, moved up by RATES lest it be negative.
            let start = source + RATES - reach;
            let onto = &mut spread[start..=start + 2 * reach];
            for (to, step) in onto.iter_mut().zip(&self.kernel) {
                *to += chance * step;
            }
        }
        next.copy_from_slice(&spread[RATES..2 * RATES]);
        next[0] += spread[..RATES].iter().sum::<f64>() + now[0] * self.stay;
        next[RATES - 1] += spread[2 * RATES..].iter().sum::<f64>();
        let escaping = now[0] * (1.0 - self.stay);
        for (to, chance) in next[1..].iter_mut().zip(&self.escapes) {
            *to += escaping * chance;
        }
    }

    /// The chance that at most `count` packets are delivered in the next `ticks` (from 1 on), with
    /// `rates` as the chances of each rate now.
    pub(crate) fn at_most(&self, ticks: usize, count: usize, rates: &[f32; RATES]) -> f32 {
        let row = &self.cumulative[((ticks - 1) * COUNTS + count) * RATES..][..RATES];
        // Sixteen sums side by side, which the compiler makes vectors of.
        let mut sums = [0.0f32; 16];
        for (rates, chances) in rates.chunks_exact(16).zip(row.chunks_exact(16)) {
            for ((sum, rate), chance) in sums.iter_mut().zip(rates).zip(chances) {
                *sum += rate * chance;
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
                for (count, &chance) in cumulative.iter().enumerate() {
                    all[(tick * COUNTS + count) * RATES + start] = chance as f32;
                }
            }
        }
        all
    }
}

/// The chances of counts, where the chances of the rates are `rates`.
fn mixture(rates: &[f64; RATES], counts: &[Vec<f64>]) -> Vec<f64> {
    let mut mixed = vec![0.0; counts[RATES - 1].len()];
    for (&rate, counts) in rates.iter().zip(counts).filter(|&(&rate, _)| rate > 1e-12) {
        for (sum, chance) in mixed.iter_mut().zip(counts) {
            *sum += rate * chance;
        }
    }
    let likely = mixed.iter().rposition(|&chance| chance > 1e-12).map_or(0, |last| last + 1);
    mixed.truncate(likely);
    mixed
}

/// `cumulative`, and independently of it a count drawn from `counts`: the cumulative chances of the
/// sum.
fn convolve(cumulative: &[f64; COUNTS], counts: &[f64]) -> [f64; COUNTS] {
    let mut sum = [0.0; COUNTS];
    for (count, &chance) in counts.iter().enumerate().take(COUNTS) {
        for (sum, value) in sum[count..].iter_mut().zip(cumulative) {
            *sum += chance * value;
        }
    }
    sum
}

/// The chances of 0, 1, 2, ... of a Poisson distribution of `mean`, as far as they matter.
fn poisson(mean: f64) -> Vec<f64> {
    let longest = (mean + 8.0 * mean.sqrt() + 8.0) as usize;
    let mut chance = libm::exp(-mean);
    let mut chances = vec![chance];
    for count in 1..longest {
        chance *= mean / count as f64;
        chances.push(chance);
    }
    chances
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
