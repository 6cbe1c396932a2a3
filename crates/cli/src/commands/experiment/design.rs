//! `exm experiment design`: the tables that an experiment runs, designed again.

use super::recorded::{Named, Recorded};
use super::rewrite::{self, Designs};
use crate::commands::design::{Budget, CarriedOut, Order, carry_out, cpu_time, spoken};
use crate::complete;
use crate::layout;
use crate::outputs::write_file;
use crate::shell::{Failure, Printing, note};
use crate::threads::Threads;
use exm_design::SearchKind;
use exm_store::{Columns, counted};
use exm_table::TableFile;
use exm_units::Span;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
A table file records the model, the search, its seed, and the number of steps. The command designs each table
again from these, and writes it and its model into the folder, together with a copy of the experiment
that uses the new tables. Without --cpu the rules are the same again, whatever the machine. Repeat the command to
resume interrupted designs, or to extend them with a larger --cpu or --steps.

One design proves little: its luck may outweigh what is to be shown. With --seeds, each table is
designed with several seeds, and the copy of the experiment measures each scheme by all of its designs,
with intervals that include their luck.

Tables without a recorded model are left unchanged.

Examples:
  exm experiment design thesis-4-1 --out again
  exm experiment design thesis-4-1 --out several --seeds 5 --cpu 3min
  exm experiment run several/thesis-4-1.toml";

/// Design the tables that an experiment runs
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The experiment: a file, or the name of a shipped one
    #[arg(value_name = "EXPERIMENT", add = complete::experiments())]
    name: String,
    /// The folder of the tables
    #[arg(short, long, value_name = "FOLDER")]
    out: PathBuf,
    /// Spend this much CPU time on each design [default: as many steps as recorded in its table, or the recorded CPU
    /// time]
    #[arg(long, value_name = "DURATION", value_parser = cpu_time)]
    cpu: Option<Span>,
    /// Take this many steps in each design
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    steps: Option<u64>,
    /// Design each table with this many seeds, from its own on [default: as many as the experiment has designs of it]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// Show no progress
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    printing: Printing,
}

#[derive(Serialize)]
struct Designed {
    experiment: PathBuf,
    designs: Vec<CarriedOut>,
    /// The tables left unchanged.
    kept: Vec<String>,
}

impl fmt::Display for Designed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = Columns::new(1);
        let heading = ["table", "seed", "rules", "steps", "CPU time", "held-out score"];
        columns.line(heading.map(str::to_owned));
        for one in &self.designs {
            let mark = if one.is_best { ", the best" } else { "" };
            columns.line([
                one.table().display().to_string(),
                one.seed.to_string(),
                one.rules().to_string(),
                one.steps().to_string(),
                spoken(one.cpu_seconds()),
                format!("{}{mark}", one.held_out.text(3)),
            ]);
        }
        writeln!(f, "{}", layout::table(&columns))?;
        let all: f64 = self.designs.iter().map(CarriedOut::cpu_seconds).sum();
        let designs = counted(self.designs.len(), "design", "designs");
        writeln!(f, "{designs}, {} of CPU time in all\n", spoken(all))?;
        writeln!(
            f,
            "Run the experiment with them:\n  exm experiment run {}",
            self.experiment.display()
        )
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.threads.start()?;
        let Named { experiment, mut document, recorded, kept } = Named::load(&self.name)?;
        let mut orders: Vec<Order> = Vec::new();
        let mut designs: Vec<Designs> = Vec::new();
        for one in &recorded {
            let (name, table) = one.names();
            // One design may make several of the tables, and a table may have several designs.
            if orders.iter().all(|other| other.name != name) {
                orders.push(self.order(&name, &recorded)?);
            }
            let order = orders.iter().find(|other| other.name == name).expect("it is there");
            designs.push(Designs { controller: one.controller.clone(), of: order.tables(table) });
        }
        std::fs::create_dir_all(&self.out).map_err(|error| {
            Failure::new(format!("cannot make the folder {}: {error}", self.out.display()))
        })?;
        for order in &orders {
            write_file(&order.model_path, order.model.text().as_bytes())?;
        }
        rewrite::replace(&mut document, &designs);
        let path = self.out.join(format!("{}.toml", experiment.name));
        write_file(&path, document.to_string().as_bytes())?;
        if let (Some(expected), false) = (self.expected(&orders, &recorded), self.quiet) {
            note(&format!("{expected} are about to be spent on {}", self.out.display()));
        }
        let designs = carry_out(&orders, self.quiet)?;
        self.printing.print(&Designed { experiment: path, designs, kept })?;
        Ok(ExitCode::SUCCESS)
    }

    /// The design called `name` that some of the `recorded` tables are of.
    fn order(&self, name: &str, recorded: &[Recorded]) -> Result<Order, Failure> {
        let own: Vec<&Recorded> = recorded.iter().filter(|one| one.names().0 == name).collect();
        let mut seeds: Vec<u64> = own.iter().map(|one| one.seed()).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let Recorded { controller, file, model } = own[0];
        let search = file.provenance.search.as_deref().and_then(|search| search.parse().ok());
        Ok(Order {
            name: name.to_owned(),
            model_path: self.out.join(format!("{name}.model.toml")),
            model: model.clone(),
            output: self.out.join(format!("{name}.json")),
            budget: self.budget(controller, file)?,
            seed: seeds[0],
            seeds: self.seeds.unwrap_or(seeds.len() as u64),
            search: search.unwrap_or(SearchKind::Evolve),
        })
    }

    /// What is spent on the design of `file`.
    fn budget(&self, controller: &str, file: &TableFile) -> Result<Budget, Failure> {
        if self.cpu.is_some() || self.steps.is_some() {
            return Ok(Budget { cpu: self.cpu, steps: self.steps, rules: None, score: None });
        }
        let known = &file.provenance;
        if known.steps.is_some() {
            return Ok(Budget { cpu: None, steps: known.steps, rules: None, score: None });
        }
        let cpu = known.cpu_seconds.map(|seconds| Span::from_millis_f64(seconds * 1e3));
        cpu.map(Budget::of_cpu).ok_or_else(|| {
            let problem = format!("{controller} does not record how long its design took");
            Failure::usage(problem).with_tip("say how long to take: --cpu 3min")
        })
    }

    /// What all designs are expected to take, in words, if that is known.
    fn expected(&self, orders: &[Order], recorded: &[Recorded]) -> Option<String> {
        let each = |order: &Order| {
            let of_table = || {
                let own = recorded.iter().find(|one| one.names().0 == order.name)?;
                let Recorded { file, .. } = own;
                let (seconds, steps) = (file.provenance.cpu_seconds?, file.provenance.steps?);
                Some(seconds * order.budget.steps? as f64 / steps as f64)
            };
            let seconds = order.budget.cpu.map(Span::as_secs_f64).or_else(of_table)?;
            Some(seconds * order.seeds as f64)
        };
        let seconds: Option<f64> = orders.iter().map(each).sum();
        let designs: u64 = orders.iter().map(|order| order.seeds).sum();
        let designs = counted(designs as usize, "design", "designs");
        seconds.map(|seconds| format!("{} of CPU time, for {designs},", spoken(seconds)))
    }
}

impl Order {
    /// The names of its files of the table called `table`, relative to the folder: first the best, then, of several
    /// seeds, that of each.
    fn tables(&self, table: Option<String>) -> Vec<String> {
        let ending = table.map_or_else(|| ".json".to_owned(), |table| format!(".{table}.json"));
        let best = format!("{}{ending}", self.name);
        let seeds = (self.seed..self.seed.saturating_add(self.seeds)).filter(|_| self.seeds > 1);
        let of_seeds = seeds.map(|seed| format!("{}.seed{seed}{ending}", self.name));
        std::iter::once(best).chain(of_seeds).collect()
    }
}
