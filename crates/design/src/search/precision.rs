//! [`Precision`]: how many specimens the candidates of a generation are tried on.

use serde::{Deserialize, Serialize};

/// A generation has at least so many specimens, if the model has.
const LEAST: usize = 4;
/// More are drawn while the variance between candidates, over that of the noise in their scores, is below this.
const WANTED: f64 = 0.3;
/// The weight of a generation in the means of both variances.
const WEIGHT: f64 = 0.1;

/// The number of specimens of the next generation.
///
/// A generation need not rank its candidates well: the strategy averages over many of them and over generations, so
/// that many coarse generations gain more than a few precise ones. As the steps of the strategy get smaller, its
/// candidates differ less, and more specimens are needed to tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Precision {
    specimens: usize,
    /// The mean variance between candidates.
    signal: f64,
    /// The mean variance of a candidate's score between specimens, less what all candidates have in common.
    noise: f64,
}

impl Precision {
    /// That of a search with at most `most` specimens.
    pub(super) fn new(most: usize) -> Precision {
        Precision { specimens: LEAST.min(most), signal: 0.0, noise: 0.0 }
    }

    /// How many specimens the next generation has.
    pub(super) fn specimens(&self) -> usize {
        self.specimens
    }

    /// Whether a search with at most `most` specimens can have it.
    pub(super) fn is_sound(&self, most: usize) -> bool {
        (LEAST.min(most)..=most).contains(&self.specimens)
            && [self.signal, self.noise].iter().all(|variance| variance.is_finite())
    }

    /// Learns from the `scores` of candidates that were drawn around one place, each on every specimen; the next
    /// generation has at most `most` specimens.
    pub(super) fn learn(&mut self, scores: &[f64], most: usize) {
        let Some((signal, noise)) = variances(scores, self.specimens) else { return };
        let weight = if self.noise == 0.0 { 1.0 } else { WEIGHT };
        self.signal += weight * (signal - self.signal);
        self.noise += weight * (noise - self.noise);
        let wanted = WANTED * self.noise / self.signal.max(f64::MIN_POSITIVE);
        self.specimens = (wanted.min(most as f64).round() as usize).max(LEAST.min(most));
    }
}

/// The variance between candidates, and that of one candidate's score on one specimen about what candidate and specimen
/// add to it (a two-way analysis of variance); `None` for fewer than two of either.
fn variances(scores: &[f64], specimens: usize) -> Option<(f64, f64)> {
    let candidates = scores.len() / specimens;
    if candidates < 2 || specimens < 2 {
        return None;
    }
    let (rows, columns) = (candidates as f64, specimens as f64);
    let of_candidates: Vec<f64> =
        scores.chunks(specimens).map(|own| own.iter().sum::<f64>() / columns).collect();
    let of_specimens: Vec<f64> = (0..specimens)
        .map(|column| scores.iter().skip(column).step_by(specimens).sum::<f64>() / rows)
        .collect();
    let mean = of_candidates.iter().sum::<f64>() / rows;
    let square = |x: f64| x * x;
    let rest: f64 = (scores.iter().enumerate())
        .map(|(i, score)| {
            square(score - of_candidates[i / specimens] - of_specimens[i % specimens] + mean)
        })
        .sum();
    let noise = rest / ((rows - 1.0) * (columns - 1.0));
    let between = of_candidates.iter().map(|own| square(own - mean)).sum::<f64>() / (rows - 1.0);
    Some((between - noise / columns, noise)).filter(|(signal, _)| signal.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_random::{Purpose, Stream};

    /// Scores of 30 candidates that differ by 1, on specimens that differ by 10, with `noise`.
    fn scores(random: &mut Stream, specimens: usize, noise: f64) -> Vec<f64> {
        let networks: Vec<f64> = (0..specimens).map(|_| 10.0 * random.normal()).collect();
        (0..30)
            .flat_map(|_| {
                let own = random.normal();
                networks.iter().map(|one| one + own + noise * random.normal()).collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn it_follows_signal_over_noise() {
        let mut random = Stream::new(1, Purpose::Search, 0);
        let mut precision = Precision::new(64);
        // The mean number of specimens after 100 generations.
        let mut after = |noise: f64| {
            let counts = (0..300).map(|_| {
                let scores = scores(&mut random, precision.specimens(), noise);
                precision.learn(&scores, 64);
                precision.specimens()
            });
            counts.skip(100).sum::<usize>() / 200
        };
        assert_eq!(after(1.0), 4);
        // 0.3 times the variance of the noise, 100.
        let count = after(10.0);
        assert!((27..=36).contains(&count), "{count}");
        assert_eq!(after(100.0), 64);
    }

    #[test]
    fn scores_that_say_nothing_change_nothing() {
        for most in [1, 2, 3, 100] {
            let first = Precision::new(most);
            let mut precision = first;
            precision.learn(&vec![f64::NEG_INFINITY; first.specimens() * 8], most);
            assert_eq!(precision, first);
            assert!(precision.is_sound(most) && !precision.is_sound(first.specimens() - 1));
        }
        let mut same = Precision::new(16);
        same.learn(&[1.0; 40], 16);
        assert!(same.is_sound(16), "{same:?}");
    }
}
