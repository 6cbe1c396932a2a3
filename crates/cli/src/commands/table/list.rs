//! `exm table list`: the tables shipped with the program.

use crate::layout;
use crate::shell::{Failure, Printing};
use crate::tables;
use exm_design::Conditions;
use exm_design::model_of;
use exm_store::Columns;
use exm_table::Verdict;
use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Outside its design range the behaviour of a table is unknown: exm simulate, compare, score \
and experiment warn about it.

Examples:
  exm table list
  exm table list --json";

/// Print the tables shipped with the program, and what each was designed for
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    printing: Printing,
}

/// The shipped tables.
#[derive(Serialize)]
pub(crate) struct List {
    pub(crate) tables: Vec<Entry>,
}

#[derive(Serialize)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// Whether it is hardened, and was found to hold around its model. The others are for experiments.
    pub(crate) for_use: bool,
    /// The networks of its model.
    designed_for: Option<String>,
    objective: Option<String>,
}

impl Entry {
    fn new(name: &'static str) -> Result<Entry, Failure> {
        let file = tables::load(Path::new(name))?;
        let for_use = file.robustness().is_some_and(|known| known.verdict == Verdict::Holds);
        let model = model_of(&file);
        let networks = model.as_ref().map(|model| Conditions::of_model(model).to_string());
        let objective = model.map(|model| model.objective().to_string());
        let objective = objective.or(file.provenance.objective);
        Ok(Entry { name, for_use, designed_for: networks, objective })
    }
}

impl List {
    pub(crate) fn shipped() -> Result<List, Failure> {
        let entries = tables::shipped_names().into_iter().map(Entry::new);
        Ok(List { tables: entries.collect::<Result<_, _>>()? })
    }
}

impl Entry {
    /// What it was designed for, in a line.
    pub(crate) fn description(&self) -> String {
        let text = |text: &Option<String>| text.clone().unwrap_or("unknown".to_owned());
        format!("{}; {}", text(&self.designed_for), text(&self.objective))
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (good, others): (Vec<&Entry>, Vec<&Entry>) =
            self.tables.iter().partition(|entry| entry.for_use);
        writeln!(f, "For use: hardened, and they hold on networks around their models.\n")?;
        group(f, &good)?;
        writeln!(
            f,
            "\nFor experiments only: outside the networks of their models they may fill queues.\n"
        )?;
        group(f, &others)?;
        let next =
            "\nSee one: exm table show NAME, exm table check NAME. Run one: exm simulate --cc NAME";
        f.write_str(&layout::paragraph(next))
    }
}

fn group(f: &mut fmt::Formatter<'_>, entries: &[&Entry]) -> fmt::Result {
    let mut columns = Columns::new(3);
    columns.line(["name", "designed for", "objective"].map(str::to_owned));
    for entry in entries {
        let text = |text: &Option<String>| text.clone().unwrap_or("unknown".to_owned());
        let (networks, objective) = (text(&entry.designed_for), text(&entry.objective));
        columns.line([entry.name.to_owned(), networks, objective]);
    }
    write!(f, "{}", layout::table(&columns))
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.printing.print(&List::shipped()?)?;
        Ok(ExitCode::SUCCESS)
    }
}
