//! What a finished design is told with.

use super::{Args, End, spoken};
use crate::commands::score::{reach, signed};
use exm_design::Designer;
use exm_design::score::Scores;
use exm_remy::{TableFile, counted};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// A finished design.
#[derive(Serialize)]
pub(super) struct Summary {
    model: PathBuf,
    objective: String,
    search: &'static str,
    seed: u64,
    steps: u64,
    rules: usize,
    cpu_seconds: f64,
    end: String,
    held_out: Option<HeldOut>,
    table: PathBuf,
    log: PathBuf,
    /// Where it is kept, to be gone on with.
    checkpoint: Option<PathBuf>,
}

#[derive(Serialize)]
struct HeldOut {
    specimens: usize,
    host: &'static str,
    score: f64,
    interval: (f64, f64),
    omniscient: f64,
    gap: f64,
    /// The sums over the networks of a grid: so many, score and omniscient score.
    sums: Option<(usize, f64, f64)>,
    #[serde(skip)]
    text: [String; 3],
}

impl Summary {
    pub(super) fn new(
        args: &Args,
        designer: &Designer,
        file: &TableFile,
        scores: Option<&Scores>,
        end: End,
    ) -> Summary {
        let files = args.files();
        Summary {
            model: args.model.clone(),
            objective: designer.model().objective().to_string(),
            search: designer.search().name(),
            seed: designer.seed(),
            steps: designer.steps(),
            rules: file.table.rules().len(),
            cpu_seconds: designer.cpu_seconds(),
            end: end.to_string(),
            held_out: scores.map(HeldOut::new),
            table: args.output.clone(),
            log: files.log,
            checkpoint: (!args.clean).then_some(files.checkpoint),
        }
    }
}

impl HeldOut {
    fn new(scores: &Scores) -> HeldOut {
        let own = &scores.contenders[0];
        let sums = scores
            .grid
            .map(|size| (size, own.score.mean * size as f64, scores.omniscient * size as f64));
        HeldOut {
            specimens: scores.specimens,
            host: scores.host.name(),
            score: own.score.mean,
            interval: own.score.interval(),
            omniscient: scores.omniscient,
            gap: own.to_omniscient.mean,
            sums,
            text: [signed(&own.score), reach(&own.score), signed(&own.to_omniscient)],
        }
    }
}

impl fmt::Display for HeldOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [score, reach, gap] = &self.text;
        writeln!(
            f,
            "held-out score  {score} {reach} on {} networks that the search never met, host {}",
            self.specimens, self.host
        )?;
        writeln!(f, "omniscient      {:.3}: a gap of {gap}", self.omniscient)?;
        if let Some((size, score, omniscient)) = self.sums {
            writeln!(f, "sum of the {size}   {score:.2}, omniscient {omniscient:.2}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Designed a table of {} in {} and {} of CPU time: {}.\n",
            counted(self.rules, "rule", "rules"),
            counted(self.steps as usize, "step", "steps"),
            spoken(self.cpu_seconds),
            self.end
        )?;
        if let Some(held_out) = &self.held_out {
            writeln!(f, "objective       {}", self.objective)?;
            write!(f, "{held_out}")?;
        }
        let (model, table) = (self.model.display(), self.table.display());
        writeln!(f, "table           {table}\nlog             {}", self.log.display())?;
        if let Some(checkpoint) = &self.checkpoint {
            writeln!(f, "checkpoint      {}, kept to go on from", checkpoint.display())?;
        }
        writeln!(f, "\nNext:\n  exm table show {table}")?;
        writeln!(f, "  exm score {table} aimd --model {model}")?;
        if self.checkpoint.is_some() {
            let minutes = (2.0 * self.cpu_seconds / 60.0).ceil().max(1.0);
            writeln!(f, "  exm design {model} -o {table} --cpu {minutes}min --resume")?;
        }
        Ok(())
    }
}
