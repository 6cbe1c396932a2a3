//! `exm table check`: what a table does around its model.

use super::subject::Subject;
use crate::codes::COLLAPSES;
use crate::complete;
use crate::shell::{Failure, Printing};
use crate::threads::Threads;
use exm_design::Conditions;
use exm_design::check::{Check, Finding, FluidBound, Proven, check};
use exm_table::{Around, Robustness, Verdict};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Near the model are networks with two to three times its senders, a twentieth of its rate to four times,
shorter and longer RTTs, short flows, flows that never end and a shallow buffer. Further out are 48
networks at random, with up to 16 times its senders and a fiftieth of its rate. A table collapses where
its mean RTT is more than four times the least possible.

What is proven holds for equal senders on a link that they keep busy, whatever they take for the least
RTT, without any simulation.

Exit codes: 0 where the table holds near its model; 3 where it collapses.

Examples:
  exm table check general-delta1
  exm table check RemyCC.dna --model general-delta1 --json";

/// Check a table on networks around its model: where it collapses, why, and what is proven
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The table: a file, or the name of a shipped one
    #[arg(add = complete::tables())]
    table: PathBuf,
    /// The model that it was designed for [default: the one in its file]
    #[arg(long, value_name = "MODEL", add = complete::models())]
    model: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    printing: Printing,
}

#[derive(Serialize)]
struct Report<'a> {
    table: &'a Path,
    designed_for: String,
    verdict: Verdict,
    near: Around,
    far: Around,
    collapses: Vec<Collapse>,
    proven: Vec<Bound>,
}

/// A network on which it collapses.
#[derive(Serialize)]
struct Collapse {
    network: String,
    rate_mbps: f64,
    senders: usize,
    rtt_ratio: f64,
    rtt_over_least: f64,
    /// The rule that fired most.
    rule: usize,
    resting_window: f64,
    intersend_ms: f64,
    holds: f64,
    #[serde(skip)]
    text: String,
}

/// What no queue exceeds.
#[derive(Serialize)]
struct Bound {
    senders: u64,
    rate_mbps: f64,
    /// None where nothing bounds the queue.
    rtt_ms: Option<f64>,
    rule: usize,
    #[serde(skip)]
    text: String,
}

impl Collapse {
    fn of(finding: &Finding) -> Collapse {
        Collapse {
            network: finding.network.clone(),
            rate_mbps: finding.rate.as_mbps(),
            senders: finding.senders,
            rtt_ratio: finding.trial.rtt_ratio,
            rtt_over_least: finding.trial.rtt_over_least,
            rule: finding.rule,
            resting_window: finding.resting_window,
            intersend_ms: finding.intersend_ms,
            holds: finding.holds,
            text: finding.to_string(),
        }
    }
}

impl Bound {
    fn of(proven: &Proven) -> Bound {
        let (rtt_ms, rule) = match proven.bound {
            FluidBound::Ms { rtt, rule } => (Some(rtt), rule),
            FluidBound::Unbounded { rule } => (None, rule),
        };
        let rate_mbps = proven.rate.as_mbps();
        Bound { senders: proven.senders, rate_mbps, rtt_ms, rule, text: proven.to_string() }
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "designed for    {}", self.designed_for)?;
        writeln!(f, "near its model  {}", self.near)?;
        for collapse in &self.collapses {
            writeln!(f, "  {}", collapse.text)?;
        }
        writeln!(f, "further out     {}", self.far)?;
        writeln!(f, "proven          of equal senders that keep a link busy:")?;
        for bound in &self.proven {
            writeln!(f, "  {}", bound.text)?;
        }
        Ok(())
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.threads.start()?;
        let Subject { file, model } = Subject::load(&self.table, self.model.as_deref())?;
        let check: Check = check(&model, 0, &file.table);
        let Robustness { verdict, near, far, .. } = check.robustness(&file.table);
        self.printing.print(&Report {
            table: &self.table,
            designed_for: Conditions::of_model(&model).to_string(),
            verdict,
            near,
            far,
            collapses: check.findings.iter().map(Collapse::of).collect(),
            proven: check.proven.iter().map(Bound::of).collect(),
        })?;
        Ok(match verdict {
            Verdict::Holds => ExitCode::SUCCESS,
            Verdict::Collapses => ExitCode::from(COLLAPSES),
        })
    }
}
