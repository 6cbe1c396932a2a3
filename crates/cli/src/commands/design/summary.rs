//! The summary of a finished design.

use super::args::DesignArgs;
use super::finished::Finished;
use super::finishing::Phases;
use super::spoken;
use crate::commands::score::{reach, signed};
use crate::layout;
use exm_design::Model;
use exm_design::score::Scores;
use exm_store::counted;
use exm_table::{Robustness, TableFile};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// A search is stuck if so many stages have ended without a better table.
const STUCK: u32 = 2;

/// A finished design.
#[derive(Serialize)]
pub(super) struct Summary {
    model: PathBuf,
    objective: String,
    search: &'static str,
    seed: u64,
    steps: u64,
    /// Of all tables together.
    rules: usize,
    /// Of all phases.
    cpu_seconds: f64,
    phases: Phases,
    end: String,
    /// Stages that ended since the best table was found.
    stages_without_gain: u32,
    held_out: Option<HeldOut>,
    /// The first, which is the only one unless the model designs several.
    table: PathBuf,
    #[serde(skip)]
    output: PathBuf,
    tables: Vec<Table>,
    log: PathBuf,
    /// The checkpoint from which it can be continued.
    checkpoint: Option<PathBuf>,
    picture: Option<PathBuf>,
}

#[derive(Serialize)]
pub(super) struct Table {
    name: String,
    objective: String,
    rules: usize,
    pub(super) file: PathBuf,
    /// What it does around the model.
    robustness: Option<Robustness>,
}

/// The mean score of one kind of senders.
#[derive(Serialize)]
struct ClassScore {
    name: String,
    score: Option<f64>,
}

#[derive(Serialize)]
struct HeldOut {
    specimens: usize,
    host: &'static str,
    score: f64,
    interval: (f64, f64),
    omniscient: f64,
    gap: f64,
    /// By its own objective, each.
    senders: Vec<ClassScore>,
    /// The sums over the networks of a grid: so many, score and omniscient score.
    sums: Option<(usize, f64, f64)>,
    #[serde(skip)]
    text: [String; 2],
}

impl Summary {
    pub(super) fn new(args: &DesignArgs, finished: &Finished, scores: Option<&Scores>) -> Summary {
        let designer = finished.designer();
        let model = designer.model();
        Summary {
            model: args.model.clone(),
            objective: model.objectives(),
            output: args.output.clone(),
            search: designer.search().name(),
            seed: designer.seed(),
            steps: designer.steps(),
            rules: finished.rules(),
            cpu_seconds: finished.phases.sum(),
            phases: finished.phases,
            end: finished.end.to_string(),
            stages_without_gain: designer.stages_without_gain(),
            held_out: scores.map(|scores| HeldOut::new(model, scores)),
            table: finished.outputs[0].clone(),
            tables: tables(finished),
            log: finished.files.log.clone(),
            checkpoint: (!args.clean).then(|| finished.files.checkpoint.clone()),
            picture: args.plot.clone(),
        }
    }
}

/// The tables that a design made.
pub(super) fn tables(finished: &Finished) -> Vec<Table> {
    let names = finished.designer().model().tables();
    let files = finished.made.iter().zip(&finished.outputs);
    let table = |(name, (file, path)): (&String, (&TableFile, &PathBuf))| Table {
        name: name.clone(),
        objective: file.provenance.objective.clone().unwrap_or_default(),
        rules: file.table.rules().len(),
        file: path.clone(),
        robustness: file.provenance.robustness.clone(),
    };
    names.iter().zip(files).map(table).collect()
}

impl HeldOut {
    fn new(model: &Model, scores: &Scores) -> HeldOut {
        let own = &scores.contenders[0];
        let sum = |mean: f64, size: usize| mean * size as f64;
        let sums = scores.grid.map(|n| (n, sum(own.score.mean, n), sum(scores.omniscient, n)));
        let senders = model.classes().iter().zip(&own.classes);
        let senders = senders.map(|(class, &score)| ClassScore { name: class.name.clone(), score });
        HeldOut {
            specimens: scores.specimens,
            host: scores.host.name(),
            score: own.score.mean,
            interval: own.score.interval(),
            omniscient: scores.omniscient,
            gap: own.to_omniscient.mean,
            senders: senders.collect(),
            sums,
            text: [signed(&own.score), reach(&own.score)],
        }
    }
}

impl fmt::Display for HeldOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [score, reach] = &self.text;
        writeln!(
            f,
            "held-out score  {score} {reach} on {} networks that the search never met, host {}",
            self.specimens, self.host
        )?;
        writeln!(f, "omniscient      {:.3}: a gap of {:.3}", self.omniscient, self.gap)?;
        if let [_, _, ..] = &self.senders[..] {
            for ClassScore { name, score } in &self.senders {
                let score = score.map_or("-".to_owned(), |score| format!("{score:.3}"));
                writeln!(f, "  {name:<13} {score} by its own objective")?;
            }
        }
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
            "Designed {} of {} in {} and {} of CPU time: {}.\n",
            match self.tables.len() {
                1 => "a table".to_owned(),
                several => format!("{several} tables"),
            },
            counted(self.rules, "rule", "rules"),
            counted(self.steps, "step", "steps"),
            spoken(self.cpu_seconds),
            self.end
        )?;
        writeln!(f, "CPU time        {}", self.phases)?;
        if let Some(held_out) = &self.held_out {
            writeln!(f, "objective       {}", self.objective)?;
            write!(f, "{held_out}")?;
        }
        let (model, table) = (self.model.display(), self.table.display());
        for made in &self.tables {
            writeln!(f, "table           {}", made.file.display())?;
            if let Some(robustness) = &made.robustness {
                f.write_str(&layout::paragraph(&robustness.to_string()))?;
            }
        }
        writeln!(f, "log             {}", self.log.display())?;
        if let Some(checkpoint) = &self.checkpoint {
            writeln!(f, "checkpoint      {}, from which --resume continues", checkpoint.display())?;
        }
        if let Some(picture) = &self.picture {
            writeln!(f, "picture         {}", picture.display())?;
        }
        if self.stages_without_gain >= STUCK {
            let stages = self.stages_without_gain;
            let text = format!(
                "The last {stages} stages of the search found nothing better: it is stuck. Another seed may get \
                 further (--seeds 3), and so may more specimens in the model ([design] specimens)."
            );
            write!(f, "\n{}", layout::paragraph(&text))?;
        }
        writeln!(f, "\nNext:\n  exm table show {table}")?;
        writeln!(f, "  exm score {table} aimd --model {model}")?;
        if self.checkpoint.is_some() {
            let minutes = (2.0 * self.cpu_seconds / 60.0).ceil().max(1.0);
            let output = self.output.display();
            writeln!(f, "  exm design {model} -o {output} --cpu {minutes}min --resume")?;
        }
        Ok(())
    }
}
