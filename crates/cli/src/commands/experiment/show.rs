//! `exm experiment show`: prints stored results.

use crate::layout;
use crate::options::Setup;
use crate::shell::{Failure, Printing};
use exm_experiment::Results;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  exm experiment show results/thesis-3-4
  exm experiment show results/thesis-3-4 --json";

/// Print the tables of stored results, and the paths of their figures
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folders of results
    #[arg(value_name = "FOLDER", required = true)]
    folders: Vec<PathBuf>,
    #[command(flatten)]
    printing: Printing,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        for folder in &self.folders {
            let results = load(folder)?;
            self.printing.print_warned(&Shown::new(&results, folder), &results.warnings)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn load(folder: &Path) -> Result<Results, Failure> {
    Results::load(folder).map_err(|error| {
        Failure::from(error)
            .with_tip("give a folder that exm experiment run or exm compare has written")
    })
}

/// Results as they are printed.
#[derive(Serialize)]
pub(crate) struct Shown<'a> {
    seed: u64,
    host: &'a str,
    /// The contents of `results.json` in the folder.
    results: &'a Results,
    /// The options, for a network described by options.
    #[serde(skip_serializing_if = "Option::is_none")]
    setup: Option<Setup>,
    #[serde(skip)]
    folder: &'a Path,
}

impl<'a> Shown<'a> {
    /// The results in `folder`.
    pub(crate) fn new(results: &'a Results, folder: &'a Path) -> Shown<'a> {
        Shown { seed: results.seed, host: &results.host, results, setup: None, folder }
    }

    /// The same, for a network described by options.
    pub(crate) fn with_setup(self, setup: Setup) -> Shown<'a> {
        Shown { setup: Some(setup), ..self }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown { results, setup, folder, .. } = self;
        write!(f, "{}\n{}", results.headline(), layout::paragraph(&results.method()))?;
        if let Some(setup) = setup {
            writeln!(f, "{setup}")?;
        }
        writeln!(f)?;
        for table in results.tables() {
            if !table.caption.is_empty() {
                writeln!(f, "{}:", table.caption)?;
            }
            writeln!(f, "{}", layout::table(&table.text()))?;
        }
        for note in &results.notes {
            writeln!(f, "note: {note}\n")?;
        }
        for skipped in &results.skipped {
            writeln!(f, "{} was left out: {}", skipped.scheme, skipped.reason)?;
        }
        for picture in &results.pictures {
            let path = folder.join(&picture.file);
            writeln!(f, "picture: {}.svg, .png, .pdf", path.display())?;
        }
        writeln!(f, "results: {}", folder.display())
    }
}
