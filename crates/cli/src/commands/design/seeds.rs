//! `exm design --seeds`: the same design with several seeds, of which the best is kept.

use super::args::{DEFAULT_SEED, DesignArgs};
use super::batch::{self, Member, Row};
use super::finished::{Finished, save_all};
use super::picture::{self, Design, Several, spread};
use super::{draw, held_out, spoken};
use crate::layout;
use crate::shell::Failure;
use exm_design::Model;
use exm_design::score::Scores;
use exm_measure::Estimate;
use exm_store::Columns;
use exm_table::TableFile;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Designs with `count` seeds, and keeps the best.
pub(super) fn run(args: &DesignArgs, model: &Model, count: u64) -> Result<ExitCode, Failure> {
    let members = members(args, model, count)?;
    let check = |resumed: Option<&_>| args.check_common(Some(model), resumed);
    let mut finished = batch::run(args, members, check)?;
    let chosen = choose(args, model, &mut finished)?;
    if args.clean {
        batch::clean(&finished)?;
    }
    if let Some(plot) = &args.plot {
        let logs: Vec<&Path> = finished.iter().map(|one| one.files.log.as_path()).collect();
        draw(plot, picture::svg(&Design::load(&logs)?, Several::Median))?;
    }
    args.printing.print(&Summary::new(args, &finished, &chosen))?;
    Ok(ExitCode::SUCCESS)
}

/// The designs of `count` seeds from that of `args` on.
pub(super) fn members(
    args: &DesignArgs,
    model: &Model,
    count: u64,
) -> Result<Vec<Member>, Failure> {
    let first = args.first_seed();
    // The one after the last draws the networks that the best is chosen by.
    let Some(end) = first.checked_add(count) else {
        let problem = format!("there are no {count} seeds from {first} on");
        return Err(Failure::usage(problem).with_tip("begin at a smaller one: --seed 1"));
    };
    let member = |seed: u64| {
        let own = args.of_one(&format!("seed{seed}"));
        let args = DesignArgs { seed: Some(seed), ..own };
        Member { name: format!("seed {seed}"), args, model: model.clone() }
    };
    Ok((first..end).map(member).collect())
}

/// The best of several designs.
pub(super) struct Chosen {
    /// Its index.
    pub(super) best: usize,
    /// The scores that it was chosen by.
    choice: Scores,
    /// On networks that chose nothing.
    pub(super) scores: Scores,
}

/// Scores the designs of consecutive seeds, and writes the best to the output of `args`.
pub(super) fn choose(
    args: &DesignArgs,
    model: &Model,
    finished: &mut [Finished],
) -> Result<Chosen, Failure> {
    let (first, last) = (args.first_seed(), args.first_seed() + finished.len() as u64 - 1);
    let tables: Vec<_> = finished.iter().map(Finished::tables).collect();
    let specimens = batch::specimens(finished);
    let choice = held_out(model, last + 1, specimens, tables.clone())?;
    let scores = held_out(model, first, specimens, tables)?;
    for (index, one) in finished.iter_mut().enumerate() {
        one.keep_score(&scores, index)?;
    }
    let best = choice.best();
    let seeds = format!("seeds {first} to {last}");
    let made = finished[best].made.iter().map(|file| noted(file, &seeds)).collect::<Vec<_>>();
    save_all(&made, &args.outputs(model))?;
    Ok(Chosen { best, choice, scores })
}

impl DesignArgs {
    fn first_seed(&self) -> u64 {
        self.seed.unwrap_or(DEFAULT_SEED)
    }
}

/// A table with a note that it is the best of `seeds`.
fn noted(file: &TableFile, seeds: &str) -> TableFile {
    let mut file = file.clone();
    if let Some(notes) = &mut file.provenance.notes {
        notes.push_str(&format!("; it is the best of {seeds}"));
    }
    file
}

/// Finished designs with several seeds.
#[derive(Serialize)]
struct Summary {
    model: PathBuf,
    objective: String,
    search: &'static str,
    /// Of all designs.
    cpu_seconds: f64,
    designs: Vec<SeedRow>,
    choice: Networks,
    held_out: HeldOut,
    /// The seed of the best.
    best: u64,
    /// The best; the first where the model designs several.
    table: PathBuf,
    tables: Vec<PathBuf>,
    picture: Option<PathBuf>,
    #[serde(skip)]
    end: Option<super::End>,
}

#[derive(Serialize)]
struct SeedRow {
    seed: u64,
    #[serde(flatten)]
    row: Row,
    /// On the networks that the best is chosen by.
    choice: Estimate,
    /// On others.
    held_out: Estimate,
}

/// Held-out networks.
#[derive(Serialize)]
struct Networks {
    seed: u64,
    specimens: usize,
}

/// The held-out scores of all designs.
#[derive(Serialize)]
struct HeldOut {
    #[serde(flatten)]
    networks: Networks,
    host: &'static str,
    median: f64,
    lowest: f64,
    highest: f64,
    omniscient: f64,
}

impl Networks {
    fn of(scores: &Scores) -> Networks {
        Networks { seed: scores.seed, specimens: scores.specimens }
    }
}

impl HeldOut {
    fn of(scores: &Scores) -> HeldOut {
        let means: Vec<f64> = scores.contenders.iter().map(|one| one.score.mean).collect();
        let (median, lowest, highest) = spread(&means).unwrap_or_default();
        HeldOut {
            networks: Networks::of(scores),
            host: scores.host.name(),
            median,
            lowest,
            highest,
            omniscient: scores.omniscient,
        }
    }
}

impl Summary {
    fn new(
        args: &DesignArgs,
        finished: &[Finished],
        Chosen { best, choice, scores }: &Chosen,
    ) -> Summary {
        let row = |(index, one): (usize, &Finished)| SeedRow {
            seed: one.designer().seed(),
            row: Row::new(args, one),
            choice: choice.contenders[index].score,
            held_out: scores.contenders[index].score,
        };
        let designer = finished[*best].designer();
        let tables = args.outputs(designer.model());
        Summary {
            model: args.model.clone(),
            objective: designer.model().objectives(),
            search: designer.search().name(),
            cpu_seconds: finished.iter().map(|one| one.phases.sum()).sum(),
            designs: finished.iter().enumerate().map(row).collect(),
            choice: Networks::of(choice),
            held_out: HeldOut::of(scores),
            best: designer.seed(),
            table: tables[0].clone(),
            tables,
            picture: args.plot.clone(),
            end: batch::common_end(finished),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, cpu) = (self.designs.len(), spoken(self.cpu_seconds));
        let end = self.end.map_or(String::new(), |end| format!(": of each, {end}"));
        writeln!(f, "Designed with {count} seeds in {cpu} of CPU time{end}.\n")?;
        let mut columns = Columns::with_words(6..7);
        let heading = ["seed", "rules", "steps", "CPU time", "choice", "held-out score", "table"];
        columns.line(heading.map(str::to_owned));
        for SeedRow { seed, row, choice, held_out } in &self.designs {
            let mark = if *seed == self.best { ", the best" } else { "" };
            columns.line([
                seed.to_string(),
                row.rules.to_string(),
                row.steps.to_string(),
                spoken(row.cpu_seconds),
                choice.text(3),
                held_out.text(3),
                format!("{}{mark}", row.table.display()),
            ]);
        }
        writeln!(f, "{}", layout::table(&columns))?;
        let HeldOut { networks, host, median, lowest, highest, omniscient } = &self.held_out;
        let Networks { seed, specimens } = networks;
        writeln!(f, "objective       {}", self.objective)?;
        writeln!(f, "choice          on {specimens} held-out networks, seed {}", self.choice.seed)?;
        writeln!(f, "held-out score  on {specimens} others, seed {seed}, host {host}:")?;
        writeln!(f, "                median {median:.3}, from {lowest:.3} to {highest:.3}")?;
        writeln!(f, "omniscient      {omniscient:.3}")?;
        for table in &self.tables {
            writeln!(f, "table           {}, that of seed {}", table.display(), self.best)?;
        }
        if let Some(picture) = &self.picture {
            writeln!(f, "picture         {}", picture.display())?;
        }
        let (table, model) = (self.table.display(), self.model.display());
        writeln!(f, "\nNext:\n  exm table show {table}")?;
        writeln!(f, "  exm score {table} aimd --model {model}")
    }
}
