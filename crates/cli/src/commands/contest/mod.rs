//! `exm contest`: a contest of congestion controllers on cellular links.

mod board;
mod finals;
mod invite;
mod new;
mod robots;
mod submit;

use crate::commands::subcommands;
use crate::shell::Failure;
use exm_contest::{Contest, ContestError};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
One long flow crosses a cellular link, and its score is its power: throughput in Mbps over the 95 % \
end-to-end delay in seconds. The training pair of traces ranks, a second pair shows overfitting, and the \
final is on a pair that nobody has seen. Scores are the same on every machine.

Examples:
  exm contest new course --training lte.down lte.up --hidden final.down final.up
  exm contest submit mine.wasm --as ada --contest course
  exm contest board --contest course --plot figure.svg
  exm contest final --pair final.down final.up --contest course
  exm contest robots";

subcommands! {
    /// Hold a contest of congestion controllers: rules, submissions, board and final
    {
        New(new),
        Submit(submit),
        Invite(invite),
        Board(board),
        Final(finals),
        Robots(robots),
    }
}

/// The contest that a command is about.
#[derive(Debug, clap::Args)]
struct Dir {
    /// The folder of the contest
    #[arg(long, value_name = "DIR", default_value = ".")]
    contest: PathBuf,
}

impl Dir {
    fn open(&self) -> Result<Contest, Failure> {
        open(&self.contest)
    }
}

fn open(dir: &Path) -> Result<Contest, Failure> {
    Contest::open(dir).map_err(failure)
}

/// `error` with its exit code, and with the remedy where only the command line has one.
fn failure(error: ContestError) -> Failure {
    let tip = match &error {
        ContestError::NoContest(_) => {
            Some("exm contest new DIR begins a contest; --contest DIR names one")
        }
        ContestError::NoFinal => Some("exm contest new --hidden DOWN UP commits to a final pair"),
        _ => None,
    };
    let failure = match error {
        ContestError::Rules(error) => Failure::from(error),
        ContestError::Trace(error) => Failure::from(error),
        ContestError::Name(_)
        | ContestError::Reserved(_)
        | ContestError::NoContest(_)
        | ContestError::Entrant(_)
        | ContestError::NoFinal => Failure::usage(error.to_string()),
        error => Failure::new(error.to_string()),
    };
    match tip {
        Some(tip) => failure.with_tip(tip),
        None => failure,
    }
}

/// The name of a row: that of a baseline is in parentheses.
fn row_name(name: &str, is_baseline: bool) -> String {
    if is_baseline { format!("({name})") } else { name.to_owned() }
}

/// A number with these decimals, or a dash.
fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.decimals$}"))
}
