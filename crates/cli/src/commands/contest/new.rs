//! `exm contest new`: begins a contest.

use super::failure;
use crate::shell::{Failure, Printing};
use exm_contest::{Contest, Files, Rules, Setup};
use exm_units::Span;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
The folder must be new or empty. Unless recorded traces are given, synthetic ones of a cellular link are \
generated, from other seeds for each pair. Of the hidden pair only the SHA-256 hashes are written: publish \
the rules at the start, and everyone can check at the end that the final pair is the same.

Examples:
  exm contest new course
  exm contest new course --title '6.829' --training a.down a.up --robustness b.down b.up --hidden c.down c.up";

/// Begin a contest: write its rules and traces into a new folder
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder of the contest
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The title
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The simulated time of each run
    #[arg(long, value_name = "DURATION", default_value = "5min")]
    duration: Span,
    /// How much of it is not scored
    #[arg(long, value_name = "DURATION", default_value = "60s")]
    warm_up: Span,
    /// Recorded traces for training: that of the data, then that of the ACKs
    #[arg(long, value_names = ["DOWN", "UP"], num_args = 2)]
    training: Vec<PathBuf>,
    /// Recorded traces for robustness
    #[arg(long, value_names = ["DOWN", "UP"], num_args = 2)]
    robustness: Vec<PathBuf>,
    /// The traces of the final, of which only the hashes are written
    #[arg(long, value_names = ["DOWN", "UP"], num_args = 2)]
    hidden: Vec<PathBuf>,
    #[command(flatten)]
    printing: Printing,
}

/// The new contest.
#[derive(Serialize)]
struct Begun<'a> {
    dir: &'a Path,
    rules: &'a Rules,
}

impl fmt::Display for Begun<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dir = self.dir.display();
        writeln!(
            f,
            "{dir}/contest.toml has the rules, and {dir}/README.md a note for participants."
        )?;
        if self.rules.hidden.is_none() {
            writeln!(f, "There is no hidden pair, so this contest has no final.")?;
        }
        writeln!(f, "\nNext: exm contest submit FILE --as NAME --contest {dir}")
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let files = |pair: Vec<PathBuf>| -> Option<Files> {
            <[PathBuf; 2]>::try_from(pair).ok().map(|[down, up]| (down, up))
        };
        let usual = Setup::default();
        let setup = Setup {
            title: self.title.unwrap_or(usual.title),
            duration: self.duration,
            warm_up: self.warm_up,
            training: files(self.training),
            robustness: files(self.robustness),
            hidden: files(self.hidden),
        };
        let contest = Contest::create(&self.dir, &setup).map_err(failure)?;
        self.printing.print(&Begun { dir: &self.dir, rules: contest.rules() })?;
        Ok(ExitCode::SUCCESS)
    }
}
