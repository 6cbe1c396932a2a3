//! The final: the frozen submissions and the baselines on a pair of traces that nobody has seen.

use crate::entrant;
use crate::error::ContestError;
use crate::rank::spearman;
use crate::rules::Contest;
use crate::score::{self, Pair, Score};
use rayon::prelude::*;
use serde::Serialize;

/// The result of the final.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Final {
    /// All participants and baselines, best first.
    pub rows: Vec<FinalRow>,
    /// Spearman's correlation of the participants' powers on the training pair and in the final: far below 1, submissions
    /// fitted the training trace. None with fewer than two participants.
    pub rank_correlation: Option<f64>,
}

/// A row of the final's table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FinalRow {
    /// The participant, or the baseline.
    pub name: String,
    /// Whether it is a baseline.
    pub baseline: bool,
    /// The rank in the final, among all rows.
    pub rank: usize,
    /// The rank of the same submission on the training pair, among all rows.
    pub rank_before: usize,
    /// The score in the final.
    pub score: Score,
    /// The power on the training pair.
    pub power_before: Option<f64>,
}

impl Contest {
    /// Runs the frozen submission of each participant, and the baselines, on `pair`.
    ///
    /// # Errors
    /// As [`Contest::score_all`].
    pub fn hold_final(&self, pair: &Pair) -> Result<Final, ContestError> {
        let attempts = self.score_all()?;
        let run = |attempt: &&crate::Attempt| {
            let entrant = entrant::load(&attempt.bytes(), &attempt.file, &self.limits())?;
            let score = score::run(&entrant, pair, &self.setting())?;
            Ok::<_, ContestError>((attempt.name.clone(), false, score, attempt.power()))
        };
        let frozen = Contest::frozen(&attempts);
        let mut all: Vec<_> = frozen.par_iter().map(run).collect::<Result<_, _>>()?;
        let value = |power: Option<f64>| power.unwrap_or(0.0);
        let before: Vec<f64> = all.iter().map(|one| value(one.3)).collect();
        let after: Vec<f64> = all.iter().map(|one| value(one.2.power)).collect();
        let baselines = self.baselines(pair)?.into_iter().zip(self.baselines(self.training())?);
        all.extend(baselines.map(|((name, score), (_, old))| (name, true, score, old.power)));
        // One more than how many are better: equal ones share a rank.
        let rank = |power: Option<f64>, of: &dyn Fn(usize) -> Option<f64>| {
            1 + (0..all.len()).filter(|&other| value(of(other)) > value(power)).count()
        };
        let mut rows: Vec<FinalRow> = all
            .iter()
            .map(|(name, baseline, score, power)| FinalRow {
                name: name.clone(),
                baseline: *baseline,
                rank: rank(score.power, &|other| all[other].2.power),
                rank_before: rank(*power, &|other| all[other].3),
                score: score.clone(),
                power_before: *power,
            })
            .collect();
        rows.sort_by_key(|row| row.rank);
        Ok(Final { rows, rank_correlation: spearman(&before, &after) })
    }
}
