//! `exm experiment cross`: each table of an experiment on the model of each.

use super::recorded::{Named, Recorded};
use crate::commands::score::held_out;
use crate::complete;
use crate::layout;
use crate::shell::{Failure, Printing, note};
use crate::threads::Threads;
use exm_design::Model;
use exm_design::score::{Contender, HeldOut, Scheme, Scores};
use exm_measure::Estimate;
use exm_store::Columns;
use serde::Serialize;
use std::fmt;
use std::process::ExitCode;

const EXAMPLES: &str = "\
A table that was designed for a model should do best there. Where another one is better by more than the
interval, the search had not finished, or the seed was unlucky: more CPU time or more seeds help, and
until then the experiment says little about the difference between the models.

Each table is scored on networks of each model that no search uses. Differences are paired by network. Where a
table has several designs (exm experiment design --seeds), means over them are compared, and the interval
includes their luck. A model that designs several tables is left out: none of them can run alone.

Examples:
  exm experiment cross thesis-4-1
  exm experiment cross several/thesis-4-1.toml --specimens 1000 --json";

/// Score each table of an experiment on the models of all
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The experiment: a file, or the name of a shipped one
    #[arg(value_name = "EXPERIMENT", add = complete::experiments())]
    name: String,
    /// How many networks of each model to draw
    #[arg(long, value_name = "N", default_value_t = 256)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    specimens: u32,
    /// The random seed of the networks and their traffic
    #[arg(long, value_name = "N", default_value_t = 1000)]
    seed: u64,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    printing: Printing,
}

/// The designs of one table.
struct Design<'a> {
    name: String,
    of: Vec<&'a Recorded>,
}

/// Each table on each model.
#[derive(Serialize)]
struct Crossed {
    specimens: u32,
    seed: u64,
    models: Vec<OnModel>,
    /// Tables that another one beats on their own model.
    beaten: Vec<Beaten>,
}

/// The tables on one model.
#[derive(Serialize)]
struct OnModel {
    /// The table that was designed for it.
    own: String,
    tables: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    table: String,
    designs: usize,
    score: f64,
    /// Its score less that of the table that was designed for the model; none for that one, and for others of the
    /// same model.
    difference: Option<Difference>,
}

/// A difference and its 95 % interval.
#[derive(Clone, Copy, Serialize)]
struct Difference {
    mean: f64,
    interval: [f64; 2],
}

#[derive(Serialize)]
struct Beaten {
    table: String,
    by: String,
    difference: Difference,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.threads.start()?;
        let Named { recorded, .. } = Named::load(&self.name)?;
        let designs = designs(&recorded);
        if designs.len() < 2 {
            let problem = format!("{} runs no two tables that can be compared", self.name);
            return Err(Failure::usage(problem));
        }
        let mut models = Vec::new();
        let mut beaten = Vec::new();
        for (index, own) in designs.iter().enumerate() {
            let is_same =
                |other: &&Design<'_>| other.model().fingerprint() == own.model().fingerprint();
            // Of several tables for a model, each is compared once, with the one that did best.
            if designs[..index].iter().any(|other| is_same(&other)) {
                continue;
            }
            let on = self.on_model(own.model(), &designs)?;
            let of_others = on.tables.iter().filter_map(|row| Some((row, row.difference?)));
            let better = of_others.filter(|(_, difference)| difference.interval[0] > 0.0);
            beaten.extend(better.map(|(row, difference)| Beaten {
                table: on.own.clone(),
                by: row.table.clone(),
                difference,
            }));
            models.push(on);
        }
        let crossed = Crossed { specimens: self.specimens, seed: self.seed, models, beaten };
        self.printing.print(&crossed)?;
        Ok(ExitCode::SUCCESS)
    }

    /// All `designs` on networks of `model`.
    fn on_model(&self, model: &Model, designs: &[Design<'_>]) -> Result<OnModel, Failure> {
        let contenders: Vec<Contender> = designs
            .iter()
            .flat_map(|design| &design.of)
            .map(|one| Contender {
                name: one.controller.clone(),
                scheme: Scheme::Table(one.file.table.clone()),
            })
            .collect();
        let host = model.design().host;
        let on = HeldOut { seed: self.seed, specimens: self.specimens as usize, host };
        let scores = held_out(model, &on, &contenders)?;
        let mut first = 0;
        let samples: Vec<Sample> = designs
            .iter()
            .map(|design| {
                let own = first..first + design.of.len();
                first = own.end;
                Sample::new(&scores, own)
            })
            .collect();
        let is_own = |index: usize| designs[index].model().fingerprint() == model.fingerprint();
        let own = (0..designs.len()).filter(|&index| is_own(index));
        let own = own.max_by(|&a, &b| samples[a].mean().total_cmp(&samples[b].mean()));
        let own = own.expect("the model is that of a design");
        let row = |index: usize| Row {
            table: designs[index].name.clone(),
            designs: designs[index].of.len(),
            score: samples[index].mean(),
            difference: (!is_own(index)).then(|| samples[index].less(&samples[own])),
        };
        let mut tables: Vec<Row> = (0..designs.len()).map(row).collect();
        tables.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok(OnModel { own: designs[own].name.clone(), tables })
    }
}

impl Design<'_> {
    fn model(&self) -> &Model {
        &self.of[0].model
    }
}

/// The designs of each table, in the order of the experiment.
fn designs(recorded: &[Recorded]) -> Vec<Design<'_>> {
    let mut designs: Vec<Design<'_>> = Vec::new();
    for one in recorded {
        if one.model.tables().len() > 1 {
            note(&format!("{} was designed together with others, and is left out", one.controller));
            continue;
        }
        let (name, _) = one.names();
        match designs.iter_mut().find(|design| design.name == name) {
            Some(design) => design.of.push(one),
            None => designs.push(Design { name, of: vec![one] }),
        }
    }
    designs
}

/// The scores of all designs of a table on the networks of a model.
struct Sample {
    /// Of each design, network by network.
    designs: Vec<Vec<f64>>,
}

impl Sample {
    fn new(scores: &Scores, of: std::ops::Range<usize>) -> Sample {
        let of_design = |index: usize| {
            scores.contenders[index].trials.iter().map(|trial| trial.score).collect()
        };
        Sample { designs: of.map(of_design).collect() }
    }

    /// The mean over designs on each network.
    fn by_network(&self) -> Vec<f64> {
        let count = self.designs.len() as f64;
        let networks = 0..self.designs[0].len();
        networks.map(|i| self.designs.iter().map(|design| design[i]).sum::<f64>() / count).collect()
    }

    fn mean(&self) -> f64 {
        mean(&self.by_network())
    }

    /// How far the luck of its designs moves its mean in 95 % of all cases; 0 for a single design, of whose luck
    /// nothing is known.
    fn luck(&self) -> f64 {
        let means: Vec<f64> = self.designs.iter().map(|design| mean(design)).collect();
        let reach = Estimate::of(&means).reach();
        if reach.is_finite() { reach } else { 0.0 }
    }

    /// The difference from `other` on the same networks.
    fn less(&self, other: &Sample) -> Difference {
        let pairs = self.by_network().into_iter().zip(other.by_network());
        let paired = Estimate::of(&pairs.map(|(own, other)| own - other).collect::<Vec<_>>());
        let (networks, own, others) = (paired.reach(), self.luck(), other.luck());
        let reach = (networks * networks + own * own + others * others).sqrt();
        Difference { mean: paired.mean, interval: [paired.mean - reach, paired.mean + reach] }
    }
}

fn mean(values: &[f64]) -> f64 {
    exm_measure::mean(values.iter().copied()).unwrap_or(f64::NAN)
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:+.3} ±{:.3}", self.mean, self.interval[1] - self.mean)
    }
}

impl fmt::Display for Crossed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = Columns::with_words(0..2);
        let heading = ["on the model of", "table", "designs", "score", "difference"];
        columns.line(heading.map(str::to_owned));
        for OnModel { own, tables } in &self.models {
            for row in tables {
                let is_better = row.difference.is_some_and(|one| one.interval[0] > 0.0);
                let mark = if is_better { ", better" } else { "" };
                let difference = row.difference.map_or(String::new(), |one| format!("{one}{mark}"));
                let (table, designs) = (row.table.clone(), row.designs.to_string());
                columns.line([
                    own.clone(),
                    table,
                    designs,
                    format!("{:.3}", row.score),
                    difference,
                ]);
            }
        }
        writeln!(f, "{}", layout::table(&columns))?;
        let Crossed { specimens, seed, beaten, .. } = self;
        writeln!(
            f,
            "On {specimens} networks of each model, seed {seed}; differences are from the model's own table."
        )?;
        if beaten.is_empty() {
            writeln!(f, "No table is beaten on its own model beyond the 95 % interval.")?;
        }
        for Beaten { table, by, difference } in beaten {
            writeln!(
                f,
                "{table} is beaten on its own model by {by}, {difference}: its search is not finished, or {by} may use \
                 what this model forbids."
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_luck_of_designs_widens_differences() {
        let one = Sample { designs: vec![vec![1.0, 2.0, 3.0]] };
        let two = Sample { designs: vec![vec![0.0, 1.0, 2.0]] };
        let sure = one.less(&two);
        assert_eq!((sure.mean, sure.interval), (1.0, [1.0, 1.0]));
        let lucky = Sample { designs: vec![vec![0.0, 1.0, 2.0], vec![2.0, 3.0, 4.0]] };
        let unsure = lucky.less(&two);
        // Student's t for one degree of freedom is 12.7, and the standard error of the means 1 and 3 is 1.
        assert_eq!(unsure.mean, 1.0);
        assert!((unsure.interval[0] + 11.7062).abs() < 1e-3, "{:?}", unsure.interval);
    }
}
