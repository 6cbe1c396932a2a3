//! [`score`]: forecasters alone, on links that always have packets to deliver.

use crate::Link;
use exm_random::{Purpose, Stream};
use exm_sprout::{Forecaster, HORIZON, Method, Model, Observation, Predicted, TICK};
use exm_trace::Trace;
use exm_units::{Bytes, Instant, Span};
use rayon::prelude::*;
use serde::Serialize;

/// The ticks at the end of which forecasts are scored: 20, 40, 80, 100 and 160 ms.
pub const SCORED: [usize; 5] = [1, 2, 4, 5, HORIZON];
/// The index in [`SCORED`] of the 100 ms that Sprout's window looks ahead, for which calibration is reported.
pub const AT_LOOKAHEAD: usize = 3;
/// The probabilities at which it is.
pub const LEVELS: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// How a forecaster did on a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// The forecaster.
    pub forecaster: String,
    /// The mean continuous ranked probability score of what is delivered within each of [`SCORED`], over the mean of what is.
    /// Zero is perfect.
    pub crps: Vec<f64>,
    /// How often less was delivered within 100 ms than with each probability of [`LEVELS`] by the prediction; those themselves if
    /// it is calibrated.
    pub below: Option<Vec<f64>>,
    /// How often less was delivered within 100 ms than forecast, and the mean of the risk that was taken.
    pub short: Option<Short>,
}

/// How cautious forecasts were.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Short {
    /// How often less was delivered than forecast.
    pub seen: f64,
    /// How often it should have been.
    pub accepted: f64,
}

/// How all forecasters did on a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkScores {
    /// The link.
    pub link: String,
    /// Its mean rate.
    pub rate_mbps: f64,
    /// The forecasters.
    pub scores: Vec<Score>,
}

/// The forecasters that are scored, by name.
fn forecasters() -> Vec<(&'static str, Forecaster)> {
    let bayes = |model| Method::Bayes { model, risk: 0.05 };
    let methods = [
        ("Sprout", Method::default()),
        ("Sprout, paper's model", bayes(Model::PAPER)),
        ("Sprout, learning", bayes(Model { learns: true, ..Model::default() })),
        ("EWMA", Method::Ewma),
    ];
    methods.map(|(name, method)| (name, Forecaster::new(method, Bytes::PACKET))).into()
}

/// Scores Sprout's forecasters at each tick of `duration` but those of `warm_up`, on the data's trace of each of `links`. They see
/// everything that a saturated link delivers, so it is their models that are scored, not a session. The link's
/// own distribution over all that time is scored beside them: it knows what the link does, but not when. `done` is called for each link.
/// Draws for calibration come from `seed`; results are the same on any number of threads.
pub fn score(
    links: &[Link],
    (duration, warm_up): (Span, Span),
    seed: u64,
    done: &(dyn Fn(u64) + Sync),
) -> Vec<LinkScores> {
    let one = |link: &Link| {
        let ticks = [warm_up, duration].map(|span| span.as_nanos() / TICK.as_nanos());
        let scores = LinkScores {
            link: link.name.clone(),
            rate_mbps: link.ways[0].mean_rate().as_mbps(),
            scores: on_link(&link.ways[0], ticks, seed),
        };
        done(1);
        scores
    };
    links.par_iter().map(one).collect()
}

/// The bytes that `trace` delivers in so many ticks from tick `from` on.
fn delivered(trace: &Trace, from: u64, ticks: usize) -> f64 {
    let at = |tick: u64| Instant::ZERO + TICK * tick;
    trace.capacity(at(from), at(from + ticks as u64)).get() as f64
}

fn on_link(trace: &Trace, [first, last]: [u64; 2], seed: u64) -> Vec<Score> {
    let means = SCORED.map(|ticks| {
        let sum: f64 = (first..last).map(|tick| delivered(trace, tick, ticks)).sum();
        (sum / (last - first).max(1) as f64).max(f64::MIN_POSITIVE)
    });
    let mut scores: Vec<Score> = forecasters()
        .into_iter()
        .map(|(name, forecaster)| {
            let mut random = Stream::new(seed, Purpose::Hosts, 0);
            let tally = tally(forecaster, trace, [first, last], &mut random);
            tally.score(name, &means)
        })
        .collect();
    let crps = SCORED.iter().zip(means).map(|(&ticks, mean)| {
        let all = (first..last).map(|tick| delivered(trace, tick, ticks)).collect();
        own_crps(all) / mean
    });
    let forecaster = "the link's own distribution".to_owned();
    scores.push(Score { forecaster, crps: crps.collect(), below: None, short: None });
    scores
}

/// The sums of a forecaster's scores.
#[derive(Default)]
struct Tally {
    forecasts: f64,
    crps: [f64; SCORED.len()],
    below: [f64; LEVELS.len()],
    short: f64,
    risk: f64,
    is_certain: bool,
}

fn tally(
    mut forecaster: Forecaster,
    trace: &Trace,
    [first, last]: [u64; 2],
    random: &mut Stream,
) -> Tally {
    let mut tally = Tally { is_certain: forecaster.belief().is_none(), ..Tally::default() };
    for tick in 0..last {
        if tick >= first {
            tally.add(&forecaster, trace, tick, random);
        }
        let bytes = Bytes::new(delivered(trace, tick, 1) as u64);
        forecaster.tick(Some(Observation { bytes, busy: 1.0, free: 0.0 }));
    }
    tally
}

impl Tally {
    /// A forecast is made at the start of `tick`.
    fn add(&mut self, forecaster: &Forecaster, trace: &Trace, tick: u64, random: &mut Stream) {
        self.forecasts += 1.0;
        for (index, &ticks) in SCORED.iter().enumerate() {
            let (prediction, bytes) = (forecaster.predict(ticks), delivered(trace, tick, ticks));
            self.crps[index] += prediction.crps(bytes);
            if index == AT_LOOKAHEAD {
                self.calibrate(&prediction, bytes, random);
                let forecast = forecaster.forecast()[ticks - 1].get() as f64;
                self.short += f64::from(bytes < forecast);
            }
        }
        self.risk += forecaster.risk();
    }

    /// Counts the probabilities below which `bytes` lie by `prediction`.
    fn calibrate(&mut self, prediction: &Predicted, bytes: f64, random: &mut Stream) {
        let (below, at_most) = prediction.place(bytes);
        // Counts have no density: a place at random between the two probabilities.
        let place = below + random.uniform() * (at_most - below);
        for (sum, level) in self.below.iter_mut().zip(LEVELS) {
            *sum += f64::from(place < level);
        }
    }

    fn score(&self, name: &str, means: &[f64]) -> Score {
        let share = |sum: f64| sum / self.forecasts.max(1.0);
        let crps = self.crps.iter().zip(means).map(|(&sum, mean)| share(sum) / mean);
        let short = Short { seen: share(self.short), accepted: share(self.risk) };
        Score {
            forecaster: name.to_owned(),
            crps: crps.collect(),
            below: (!self.is_certain).then(|| self.below.map(share).to_vec()),
            short: Some(short),
        }
    }
}

/// The mean score of predicting each of `all` by the distribution of them: half their mean difference.
fn own_crps(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    let count = all.len() as f64;
    let differences: f64 = all
        .iter()
        .zip(0..)
        .map(|(value, rank)| value * (2.0 * f64::from(rank) + 1.0 - count))
        .sum();
    differences / (count * count).max(1.0)
}

/// The means of `all` over links.
pub fn mean_scores(all: &[LinkScores]) -> Vec<Score> {
    let Some(first) = all.first() else { return Vec::new() };
    let count = all.len() as f64;
    let mean = |index: usize, of: &dyn Fn(&Score) -> f64| {
        all.iter().map(|link| of(&link.scores[index])).sum::<f64>() / count
    };
    first
        .scores
        .iter()
        .enumerate()
        .map(|(index, score)| {
            let crps = |place: usize| mean(index, &|score| score.crps[place]);
            let below = |place: usize| {
                mean(index, &|score| score.below.as_ref().map_or(0.0, |below| below[place]))
            };
            let short =
                |of: fn(&Short) -> f64| mean(index, &|score| score.short.as_ref().map_or(0.0, of));
            Score {
                forecaster: score.forecaster.clone(),
                crps: (0..SCORED.len()).map(crps).collect(),
                below: score.below.as_ref().map(|_| (0..LEVELS.len()).map(below).collect()),
                short: score.short.map(|_| Short {
                    seen: short(|short| short.seen),
                    accepted: short(|short| short.accepted),
                }),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population;

    #[test]
    fn results_do_not_depend_on_threads() {
        let links = population(2, Span::from_secs(20)).expect("links");
        let times = (Span::from_secs(20), Span::from_secs(2));
        let run = |threads: usize| {
            let pool =
                rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| score(&links, times, 1, &|_| {}))
        };
        let scores = run(1);
        assert_eq!(scores, run(3));
        assert_eq!(scores.len(), 4);
    }

    #[test]
    fn half_the_mean_difference_scores_the_own_distribution() {
        assert!((own_crps(vec![0.0, 2.0]) - 0.5).abs() < 1e-12);
        assert!(own_crps(vec![3.0; 5]).abs() < 1e-12);
    }
}
