//! `exm table check`: what a table does around its model.

use super::rivals::Beside;
use super::subject::Subject;
use crate::codes::COLLAPSES;
use crate::layout;
use crate::shell::{self, Failure, Printing};
use crate::threads::Threads;
use crate::{complete, tables};
use exm_design::check::{Check, Finding, FluidBound, ProvenBound, check};
use exm_design::stress::{self, HELD_OUT_SEED, StressSet};
use exm_design::{Conditions, Model, Prepared};
use exm_table::{ForeignDelayResults, Robustness, StressResults, TableFile, Verdict};
use serde::Serialize;
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Networks near the model have two to three times its senders, a twentieth of its rate to four times,
shorter and longer RTTs, short flows, flows that never end, or a shallow buffer. Further out are 48
random networks, with up to 16 times its senders and down to a fiftieth of its rate. A table collapses
if its mean RTT is more than four times the minimum possible. On 12 other networks there is foreign
delay: Cubic flows at the bottleneck or on the ACKs' path, jitter, ACKs in bunches, two-way traffic. A
table starves if its senders send less than a packet in three propagation RTTs.

With --against both tables run on all of these networks, eight times each with the same traffic, and are
scored by the model's objective, in general log2(throughput) - delta log2(RTT). A table is behind on a
network if the 95 % interval of the difference excludes 0. --seed draws other networks further out.

The proven bounds need no simulation. They hold for equal senders that keep a link busy, even if these
overestimate the minimum RTT.

Exit codes: 0 if the table holds near its model; 3 if it collapses or starves.

Examples:
  exm table check general-delta1
  exm table check cc.json --against general-delta1 --seed 2
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
    /// The table's name, if its model designs several tables
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Compare it with this table on the same networks
    #[arg(long, value_name = "TABLE", add = complete::tables())]
    against: Option<PathBuf>,
    /// The random seed of the networks further out; table files record results for the default
    #[arg(long, value_name = "N", default_value_t = HELD_OUT_SEED)]
    seed: u64,
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
    near: StressResults,
    far: StressResults,
    foreign: ForeignDelayResults,
    starvations: Vec<String>,
    collapses: Vec<Collapse>,
    proven: Vec<Bound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    beside: Option<Beside>,
}

/// A network on which it collapses.
#[derive(Serialize)]
struct Collapse {
    network: String,
    rate_mbps: f64,
    senders: usize,
    rtt_ratio: f64,
    rtt_over_least: f64,
    /// The rule at fault.
    rule: usize,
    /// The same ratio where that rule has a window of one packet.
    without_it: f64,
    resting_window: f64,
    intersend_ms: f64,
    holds: f64,
    #[serde(skip)]
    text: String,
}

/// An upper bound on the queue.
#[derive(Serialize)]
struct Bound {
    senders: u64,
    rate_mbps: f64,
    /// `None` if the queue is unbounded.
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
            without_it: finding.without,
            resting_window: finding.resting_window,
            intersend_ms: finding.intersend_ms,
            holds: finding.holds,
            text: finding.to_string(),
        }
    }
}

impl Bound {
    fn of(proven: &ProvenBound) -> Bound {
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
        let mut text = String::new();
        self.lines(&mut text)?;
        f.write_str(&layout::paragraph(&text))?;
        self.beside.as_ref().map_or(Ok(()), |beside| write!(f, "{beside}"))?;
        f.write_str(&layout::paragraph(&self.next()))
    }
}

impl Report<'_> {
    /// What the verdict means, and the next command.
    fn next(&self) -> String {
        let table = shell::quoted(&self.table.display().to_string());
        match self.verdict {
            Verdict::Holds => "\nThe table holds on networks near its model.\n".to_owned(),
            Verdict::Collapses => format!(
                "\nThe table collapses near its model: its queues grow to more than four times the minimum \
                 RTT. Limit its windows:\n  exm table harden {table} -o hard.json\n"
            ),
            Verdict::Starves => format!(
                "\nThe table starves where others delay its packets. Harden it anew, or design it for such \
                 networks:\n  exm table harden {table} -o hard.json\n"
            ),
        }
    }

    fn lines(&self, f: &mut String) -> fmt::Result {
        writeln!(f, "designed for    {}", self.designed_for)?;
        writeln!(f, "near its model  {}", self.near)?;
        for collapse in &self.collapses {
            writeln!(f, "  {}", collapse.text)?;
        }
        writeln!(f, "far from it     {}", self.far.held())?;
        writeln!(f, "foreign delay   {}", self.foreign)?;
        for starvation in &self.starvations {
            writeln!(f, "  {starvation}")?;
        }
        writeln!(
            f,
            "proven          without simulation, for equal senders that keep a link busy:"
        )?;
        for bound in &self.proven {
            writeln!(f, "  {}", bound.text)?;
        }
        Ok(())
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.threads.start()?;
        let subject = Subject::load(&self.table, self.model.as_deref())?;
        let index = subject.index(self.name.as_deref())?;
        let Subject { file, model } = subject;
        let check: Check = check(&model, index, &file.table, self.seed);
        let beside = self.against.as_deref();
        let beside = beside.map(|other| self.beside(&model, index, &file, other)).transpose()?;
        let Robustness { verdict, near, far, .. } = check.robustness(&file.table);
        self.printing.print(&Report {
            table: &self.table,
            designed_for: Conditions::of_model(&model).to_string(),
            verdict,
            near,
            far,
            foreign: check.foreign,
            starvations: check.starvations.iter().map(ToString::to_string).collect(),
            collapses: check.findings.iter().map(Collapse::of).collect(),
            proven: check.proven.iter().map(Bound::of).collect(),
            beside,
        })?;
        Ok(match verdict {
            Verdict::Holds => ExitCode::SUCCESS,
            Verdict::Collapses | Verdict::Starves => ExitCode::from(COLLAPSES),
        })
    }

    /// Compares `file`, table number `index` of those that `model` designs, with the table called `other`.
    fn beside(
        &self,
        model: &Model,
        index: usize,
        file: &TableFile,
        other: &Path,
    ) -> Result<Beside, Failure> {
        let rival = tables::load(other)?;
        let mut networks = stress::networks(model, index, StressSet::Near);
        networks.extend(stress::networks(model, index, StressSet::HeldOut(self.seed)));
        let objective = model.objective_of(index);
        let foreign = stress::foreign(model, index, Some(self.seed));
        let both = [file, &rival].map(|file| &file.table);
        let trials = both.map(|table| stress::run_foreign(&foreign, objective, table));
        let [table, rival] = both.map(Prepared::new);
        let rivalries = stress::compare(&networks, objective, &table, &rival);
        Ok(Beside::new(other, objective.to_string(), &rivalries, &trials))
    }
}
