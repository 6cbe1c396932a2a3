//! A separable covariance-matrix-adaptation evolution strategy (sep-CMA-ES).
//!
//! Ros & Hansen, "A Simple Modification in CMA-ES Achieving Linear Time and Space Complexity",
//! PPSN 2008: candidates are drawn around a mean with a standard deviation of its own on each
//! coordinate; the better half moves the mean and shapes the deviations. Only the order of the
//! candidates counts, never their scores, so no step or margin must be tuned to an objective.

use exm_random::Stream;
use std::ops::Range;

/// The state of a strategy, as needed in a checkpoint.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Strategy {
    /// The centre of the search.
    pub(crate) mean: Vec<f64>,
    /// The deviation of each coordinate, to be multiplied by `step`.
    deviation: Vec<f64>,
    /// The overall step, sigma.
    step: f64,
    /// Evolution path of the step.
    step_path: Vec<f64>,
    /// Evolution path of the deviations.
    deviation_path: Vec<f64>,
    /// Generations since the paths were last cleared.
    age: u32,
}

/// Constants of the strategy for a number of coordinates and candidates (Ros & Hansen, table 1).
struct Rates {
    weights: Vec<f64>,
    mass: f64,
    step: f64,
    damping: f64,
    path: f64,
    rank_one: f64,
    rank_mu: f64,
    /// The expected length of a standard normal vector.
    length: f64,
}

impl Rates {
    fn new(coordinates: usize, candidates: usize) -> Rates {
        let n = coordinates as f64;
        let parents = candidates / 2;
        let raw: Vec<f64> = (1..=parents)
            .map(|rank| libm::log(parents as f64 + 0.5) - libm::log(rank as f64))
            .collect();
        let total: f64 = raw.iter().sum();
        let weights: Vec<f64> = raw.iter().map(|weight| weight / total).collect();
        let mass = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
        let step = (mass + 2.0) / (n + mass + 5.0);
        let damping = 1.0 + step + 2.0 * (((mass - 1.0) / (n + 1.0)).sqrt() - 1.0).max(0.0);
        let path = (4.0 + mass / n) / (n + 4.0 + 2.0 * mass / n);
        // The separable form learns (n + 2) / 3 times as fast as the full matrix.
        let speed = (n + 2.0) / 3.0;
        let rank_one = (speed * 2.0 / ((n + 1.3) * (n + 1.3) + mass)).min(1.0);
        let rank_mu = speed * 2.0 * (mass - 2.0 + 1.0 / mass) / ((n + 2.0) * (n + 2.0) + mass);
        let rank_mu = rank_mu.min(1.0 - rank_one);
        let length = n.sqrt() * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n));
        Rates { weights, mass, step, damping, path, rank_one, rank_mu, length }
    }
}

/// A strategy's limits: a step past them would only lead to numbers that are not finite.
const STEPS: std::ops::RangeInclusive<f64> = 1e-6..=1e3;

/// One candidate: the standard normal numbers it was drawn by.
pub(crate) struct Draw(Vec<f64>);

impl Strategy {
    /// A strategy around `mean`, with steps of `step` on every coordinate.
    pub(crate) fn new(mean: Vec<f64>, step: f64) -> Strategy {
        let n = mean.len();
        Strategy {
            mean,
            deviation: vec![1.0; n],
            step,
            step_path: vec![0.0; n],
            deviation_path: vec![0.0; n],
            age: 0,
        }
    }

    /// How many candidates a generation should have.
    pub(crate) fn population(&self) -> usize {
        // Twice Hansen's default, 4 + 3 ln n: scores are noisy, and the weighted mean of more
        // parents is less so. On "general16" once the default stalls where twice goes on.
        let n = self.mean.len() as f64;
        (4.0 + 3.0 * libm::log(n)).ceil() as usize * 2
    }

    /// Adds a coordinate.
    pub(crate) fn add(&mut self, mean: f64) {
        self.mean.push(mean);
        self.deviation.push(1.0);
        self.step_path.push(0.0);
        self.deviation_path.push(0.0);
    }

    /// Adds coordinates that begin as copies of others.
    pub(crate) fn repeat(&mut self, coordinates: Range<usize>) {
        let added = coordinates.len();
        self.mean.extend_from_within(coordinates.clone());
        self.deviation.extend_from_within(coordinates);
        self.step_path.extend(std::iter::repeat_n(0.0, added));
        self.deviation_path.extend(std::iter::repeat_n(0.0, added));
    }

    /// Whether a strategy read from a file has `coordinates` coordinates and can continue.
    pub(crate) fn is_sound(&self, coordinates: usize) -> bool {
        let vectors = [&self.mean, &self.deviation, &self.step_path, &self.deviation_path];
        vectors.iter().all(|v| v.len() == coordinates && v.iter().all(|x| x.is_finite()))
            && self.deviation.iter().chain([&self.step]).all(|&d| d.is_finite() && d > 0.0)
    }

    /// Starts over with a step of `step` and forgets the paths; the deviations' proportions stay,
    /// their mean becomes 1.
    pub(crate) fn restart(&mut self, step: f64) {
        let logs: f64 = self.deviation.iter().map(|&d| libm::log(d)).sum();
        let scale = libm::exp(-logs / self.deviation.len() as f64);
        for deviation in &mut self.deviation {
            // A coordinate that looked settled may be in play again.
            *deviation = (*deviation * scale).clamp(0.4, 2.5);
        }
        self.step = step;
        self.step_path.fill(0.0);
        self.deviation_path.fill(0.0);
        self.age = 0;
    }

    /// Draws `count` candidates.
    pub(crate) fn draw(&self, count: usize, random: &mut Stream) -> Vec<Draw> {
        let n = self.mean.len();
        (0..count).map(|_| Draw((0..n).map(|_| random.normal()).collect())).collect()
    }

    /// Where a candidate is.
    pub(crate) fn place(&self, draw: &Draw) -> Vec<f64> {
        let moved = self.mean.iter().zip(&self.deviation).zip(&draw.0);
        moved.map(|((mean, deviation), z)| mean + self.step * deviation * z).collect()
    }

    /// Learns from candidates in the order of their scores, the best first.
    pub(crate) fn learn(&mut self, ranked: &[&Draw]) {
        let rates = Rates::new(self.mean.len(), ranked.len());
        let parents = || rates.weights.iter().zip(ranked);
        self.age += 1;
        let shift: Vec<f64> = (0..self.mean.len())
            .map(|i| parents().map(|(weight, draw)| weight * draw.0[i]).sum())
            .collect();
        let keep = 1.0 - rates.step;
        let gain = (rates.step * (2.0 - rates.step) * rates.mass).sqrt();
        for (path, shift) in self.step_path.iter_mut().zip(&shift) {
            *path = keep * *path + gain * shift;
        }
        let length = self.step_path.iter().map(|p| p * p).sum::<f64>().sqrt();
        // While the path is still short of history, its length is less informative.
        let settled = (1.0 - libm::pow(keep, 2.0 * f64::from(self.age))).sqrt();
        let n = self.mean.len() as f64;
        let stalled = length / settled >= (1.4 + 2.0 / (n + 1.0)) * rates.length;
        let gain = (rates.path * (2.0 - rates.path) * rates.mass).sqrt();
        for (i, shift) in shift.iter().enumerate() {
            let deviation = self.deviation[i];
            self.mean[i] += self.step * deviation * shift;
            let pull = if stalled { 0.0 } else { gain * deviation * shift };
            let path = (1.0 - rates.path) * self.deviation_path[i] + pull;
            self.deviation_path[i] = path;
            let spread: f64 = parents()
                .map(|(weight, draw)| weight * deviation * deviation * draw.0[i] * draw.0[i])
                .sum();
            let kept = (1.0 - rates.rank_one - rates.rank_mu) * deviation * deviation;
            let variance = kept + rates.rank_one * path * path + rates.rank_mu * spread;
            self.deviation[i] = variance.sqrt();
        }
        let step =
            self.step * libm::exp(rates.step / rates.damping * (length / rates.length - 1.0));
        self.step = step.clamp(*STEPS.start(), *STEPS.end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_random::Purpose;

    /// Minimises `cost` from all ones for some generations; returns the cost of the mean.
    fn minimise(n: usize, generations: usize, cost: impl Fn(&[f64]) -> f64) -> f64 {
        let mut strategy = Strategy::new(vec![1.0; n], 0.5);
        let mut random = Stream::new(1, Purpose::Search, 0);
        for _ in 0..generations {
            let draws = strategy.draw(strategy.population(), &mut random);
            let mut ranked: Vec<&Draw> = draws.iter().collect();
            ranked.sort_by(|a, b| cost(&strategy.place(a)).total_cmp(&cost(&strategy.place(b))));
            strategy.learn(&ranked);
        }
        cost(&strategy.mean)
    }

    #[test]
    fn finds_the_bottom_of_a_sphere() {
        let cost = minimise(10, 300, |x| x.iter().map(|x| x * x).sum());
        assert!(cost < 1e-10, "{cost}");
    }

    #[test]
    fn learns_that_coordinates_differ_in_scale() {
        // A condition number of 10^6 would stall a strategy of one step for all.
        let scale = |i: usize| libm::pow(1e6, i as f64 / 9.0);
        let cost = minimise(10, 800, |x| x.iter().enumerate().map(|(i, x)| scale(i) * x * x).sum());
        assert!(cost < 1e-6, "{cost}");
    }

    #[test]
    fn the_order_of_candidates_is_all_that_counts() {
        let plain = minimise(5, 50, |x| x.iter().map(|x| x.abs()).sum());
        let bent = minimise(5, 50, |x| libm::log(x.iter().map(|x| x.abs()).sum::<f64>()));
        assert_eq!(libm::log(plain), bent);
    }

    #[test]
    fn repeated_coordinates_begin_as_their_originals() {
        let mut strategy = Strategy::new(vec![1.0, 2.0], 0.5);
        strategy.repeat(1..2);
        assert_eq!(strategy.mean, [1.0, 2.0, 2.0]);
        assert!(strategy.is_sound(3) && !strategy.is_sound(2));
    }
}
