//! [`Board`]: the ranking of a contest, and its figure.

use crate::Entrant;
use crate::error::ContestError;
use crate::rules::Contest;
use crate::score::{self, Pair, Score};
use crate::store::Attempt;
use exm_measure::efficient_frontier;
use exm_measure::figure::{Run, Scheme, Spread, Style, ThroughputDelay};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;

/// The ranking of a contest: the best attempt of each participant and the baselines, by power on the training pair.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Board {
    /// The title of the contest.
    pub title: String,
    /// The rows, best first.
    pub rows: Vec<Row>,
    /// All attempts, as points of the figure.
    pub points: Vec<Point>,
    /// The names of the participants whose attempts are the empirical frontier, from the shortest delay on.
    pub frontier: Vec<String>,
}

/// A row of the board.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// The participant, or the baseline.
    pub name: String,
    /// Whether it is a baseline.
    pub baseline: bool,
    /// How many attempts the participant has made; 0 for a baseline.
    pub attempts: usize,
    /// The score on the training pair.
    pub training: Score,
    /// The score on the robustness pair.
    pub robustness: Score,
}

/// An attempt in the figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Point {
    /// The participant.
    pub name: String,
    /// Self-inflicted delay, ms.
    pub self_inflicted_ms: f64,
    /// Throughput, Mbps.
    pub throughput_mbps: f64,
}

/// The name of the protocol that knows the link in advance.
pub const OMNISCIENT: &str = "omniscient";

impl Contest {
    /// The scores of the baselines and of the omniscient protocol on `pair`.
    ///
    /// # Errors
    /// [`ContestError`] if the links cannot be simulated.
    pub fn baselines(&self, pair: &Pair) -> Result<Vec<(String, Score)>, ContestError> {
        let setting = self.setting();
        let run = |name: &String| {
            let entrant = Entrant::named(name, "baselines")?;
            Ok::<_, ContestError>((name.clone(), score::run(&entrant, pair, &setting)?))
        };
        let mut all: Vec<(String, Score)> =
            self.rules().baselines.par_iter().map(run).collect::<Result<_, _>>()?;
        all.push((OMNISCIENT.to_owned(), score::best_possible(pair, &setting)));
        Ok(all)
    }

    /// The board: scores whatever is not scored yet, and the baselines.
    ///
    /// # Errors
    /// As [`Contest::score_all`].
    pub fn board(&self) -> Result<Board, ContestError> {
        let attempts = self.score_all()?;
        let (training, robustness) =
            rayon::join(|| self.baselines(self.training()), || self.baselines(self.robustness()));
        let baselines = training?.into_iter().zip(robustness?);
        let baselines = baselines.map(|((name, training), (_, robustness))| Row {
            name,
            baseline: true,
            attempts: 0,
            training,
            robustness,
        });
        Ok(Board::of(&self.rules().title, &attempts, baselines.collect()))
    }
}

impl Board {
    /// The board of `attempts`, which are in order of submission, and `baselines`.
    pub(crate) fn of(title: &str, attempts: &[Attempt], baselines: Vec<Row>) -> Board {
        let mut best: BTreeMap<&str, (usize, Option<&Attempt>)> = BTreeMap::new();
        for attempt in attempts {
            let (count, best) = best.entry(&attempt.name).or_default();
            *count += 1;
            // Of equal ones the first.
            if best.is_none_or(|best| key(attempt.power()) > key(best.power())) {
                *best = Some(attempt);
            }
        }
        let mut rows = baselines;
        rows.extend(best.into_iter().filter_map(|(name, (attempts, best))| {
            let scores = best?.scores.clone()?;
            let (training, robustness) = (scores.training, scores.robustness);
            Some(Row { name: name.to_owned(), baseline: false, attempts, training, robustness })
        }));
        rows.sort_by(|a, b| key(b.training.power).total_cmp(&key(a.training.power)));
        let points: Vec<Point> = attempts.iter().filter_map(point).collect();
        let pairs: Vec<(f64, f64)> =
            points.iter().map(|p| (p.self_inflicted_ms, p.throughput_mbps)).collect();
        let frontier = efficient_frontier(&pairs);
        let frontier = frontier.into_iter().map(|index| points[index].name.clone()).collect();
        Board { title: title.to_owned(), rows, points, frontier }
    }

    /// Figure 2-12 of the thesis: throughput against self-inflicted delay of all attempts, with their empirical frontier and
    /// the baselines.
    pub fn figure(&self) -> ThroughputDelay {
        let cloud = self.points.iter().map(|point| Run {
            delay_ms: Some(point.self_inflicted_ms),
            throughput: point.throughput_mbps,
        });
        let baselines = self.rows.iter().filter(|row| row.baseline).enumerate();
        let baselines = baselines.filter_map(|(number, row)| {
            let style = Style::nth(number + 1);
            // The omniscient protocol inflicts no delay on itself, and a logarithmic axis has no zero: it has a millisecond.
            let delay = row.training.self_inflicted_ms?.max(1.0);
            let run = Run { delay_ms: Some(delay), throughput: row.training.throughput_mbps };
            let (name, frontiers) = (row.name.clone(), Vec::new());
            Some(Scheme { name, style, frontiers, curve: None, runs: vec![run], dots: Vec::new() })
        });
        ThroughputDelay {
            title: self.title.clone(),
            subtitle: format!("{} attempts on the training pair", self.points.len()),
            description: "Throughput against self-inflicted delay of all attempts and baselines."
                .to_owned(),
            y_axis: "throughput, Mbps".to_owned(),
            delay: "self-inflicted delay".to_owned(),
            spread: Spread::None,
            original: None,
            schemes: baselines.collect(),
            cloud: cloud.collect(),
        }
    }
}

/// Those without power come last.
fn key(power: Option<f64>) -> f64 {
    power.unwrap_or(f64::NEG_INFINITY)
}

fn point(attempt: &Attempt) -> Option<Point> {
    let training = &attempt.scores.as_ref()?.training;
    training.power?;
    Some(Point {
        name: attempt.name.clone(),
        self_inflicted_ms: training.self_inflicted_ms?.max(1.0),
        throughput_mbps: training.throughput_mbps,
    })
}
