//! `exm table harden`: a table that fills no queues around its model.

use super::subject::Subject;
use crate::commands::design;
use crate::complete;
use crate::interrupt;
use crate::layout;
use crate::options::number_in;
use crate::outputs::check_output;
use crate::progress::HardeningProgress;
use crate::shell::{self, Failure, Printing};
use crate::threads::Threads;
use exm_design::harden::{GENERATIONS, Hardening, HardeningStep};
use exm_design::{Finished, Finishing, Model, finish};
use exm_remy::RuleTable;
use exm_store::counted;
use exm_table::{Robustness, Score, TableFile};
use serde::Serialize;
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Guards limit the window of every rule to what its pacing rate sends, and its ACKs deliver, in a bounded
time, and senders slow down where the RTT is well above its minimum. A search tunes the guards on
networks around the model; separate networks measure their benefit. This takes 280 times as
long as simulating 73 networks around the model and 32 to 256 of the model: some CPU-minutes.

The same table, model and seed give the same result on any number of threads. exm help robust-tables
explains the method.

Examples:
  exm table harden cc.json -o hard.json
  exm table harden RemyCC.dna --model general-delta1 -o hard.json --cost 0.05";

/// Harden a table: limit its senders' packets in flight on networks outside its model
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The table: a file, or the name of a shipped one
    #[arg(add = complete::tables())]
    table: PathBuf,
    /// Where to write the hardened table: .json, or .dna, which keeps no provenance
    #[arg(short, long = "out", value_name = "FILE")]
    output: PathBuf,
    /// The model that it was designed for [default: the one in its file]
    #[arg(long, value_name = "MODEL", add = complete::models())]
    model: Option<PathBuf>,
    /// How many points of its score the table may lose inside the model [default: the model's]
    #[arg(long, value_name = "POINTS", value_parser = points, allow_negative_numbers = true)]
    cost: Option<f64>,
    /// How many generations of guards to try
    #[arg(long, value_name = "N", default_value_t = GENERATIONS as u32)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    generations: u32,
    /// Measure the loss of score on this many held-out networks
    #[arg(long, value_name = "N", default_value_t = 256)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    specimens: u32,
    /// The random seed of the networks inside the model
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Overwrite an existing output
    #[arg(long, short)]
    force: bool,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    printing: Printing,
}

fn points(text: &str) -> Result<f64, String> {
    number_in(0.0..=1e6, text).map_err(|problem| format!("{problem}, such as 0.02"))
}

/// What was written.
#[derive(Serialize)]
struct Written<'a> {
    input: &'a Path,
    output: &'a Path,
    rules: usize,
    robustness: &'a Robustness,
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = counted(self.rules, "rule", "rules");
        writeln!(f, "{}: {rules}", self.output.display())?;
        if self.robustness.guards.is_none() {
            writeln!(
                f,
                "No guards within the limit of their cost improve the table, so its rules are unchanged. A higher \
                 --cost allows more."
            )?;
        }
        f.write_str(&layout::paragraph(&self.robustness.to_string()))?;
        let output = shell::quoted(&self.output.display().to_string());
        writeln!(
            f,
            "\nNext:\n  exm table check {output} --against {}",
            shell::quoted(&self.input.display().to_string())
        )
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.threads.start()?;
        let Subject { mut file, model } = Subject::load(&self.table, self.model.as_deref())?;
        if let [_, _, ..] = model.tables() {
            let problem = "the model designs several tables together: they are hardened together";
            return Err(Failure::usage(problem).with_tip("exm design does so"));
        }
        check_output(&self.output, &[&self.table], self.force)?;
        let Finished { table, robustness, .. } = self.hardened(&model, &file)?;
        file.table = table;
        file.provenance.pending = None;
        file.provenance.robustness = Some(robustness.clone());
        let hardened = format!("hardened by: {}", shell::command_line());
        file.provenance.notes = Some(match file.provenance.notes {
            Some(notes) => format!("{notes}; {hardened}"),
            None => hardened,
        });
        // That in the file is of the rules before.
        file.provenance.held_out_score = Some(self.score(&model, &file.table)?);
        // A .dna file as it was read is that of other rules.
        file.provenance.remy_file = None;
        if file.provenance.model.is_none() {
            file.provenance.model_hash = Some(model.fingerprint());
            file.provenance.model = Some(model.text().to_owned());
        }
        interrupt::shielded(|| file.save(&self.output))?;
        let rules = file.table.rules().len();
        let (input, output) = (&self.table, &self.output);
        self.printing.print(&Written { input, output, rules, robustness: &robustness })?;
        Ok(ExitCode::SUCCESS)
    }

    /// The score of `table` on networks that neither search nor hardening met.
    fn score(&self, model: &Model, table: &RuleTable) -> Result<Score, Failure> {
        let tables = vec![vec![table.clone()]];
        let scores = design::held_out(model, self.seed, self.specimens as usize, tables)?;
        Ok(scores.record(0))
    }

    fn hardened(&self, model: &Model, file: &TableFile) -> Result<Finished, Failure> {
        let limit = self.cost.unwrap_or_else(|| model.hardening_cost());
        let generations = self.generations as usize;
        let progress = HardeningProgress::new(model.tables(), generations);
        let tried = |tried: HardeningStep| {
            progress.tried(tried);
            ControlFlow::Continue(())
        };
        let finishing = Finishing {
            hardening: Some(Hardening { limit, seed: self.seed, generations }),
            specimens: self.specimens as usize,
            seed: self.seed,
        };
        let finished = finish(model, std::slice::from_ref(&file.table), finishing, &tried);
        progress.finish();
        Ok(finished?.into_iter().next().expect("one table was given"))
    }
}
