//! `exm table list`: the tables shipped with the program.

use crate::ranges::model_of;
use crate::shell::{Failure, Printing};
use crate::tables;
use exm_design::Conditions;
use exm_store::Columns;
use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Outside the networks that a table was designed for it may do anything: exm simulate, compare, score \
and experiment warn of it.

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

#[derive(Serialize)]
struct List {
    tables: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    /// The networks of its model.
    designed_for: Option<String>,
    objective: Option<String>,
}

impl Entry {
    fn new(name: &'static str) -> Result<Entry, Failure> {
        let file = tables::load(Path::new(name))?;
        let model = model_of(&file);
        let networks = model.as_ref().map(|model| Conditions::of_model(model).to_string());
        let objective = model.map(|model| model.objective().to_string());
        let objective = objective.or(file.provenance.objective);
        Ok(Entry { name, designed_for: networks, objective })
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = Columns::new(3);
        columns.line(["name", "designed for", "objective"].map(str::to_owned));
        for entry in &self.tables {
            let text = |text: &Option<String>| text.clone().unwrap_or("unknown".to_owned());
            let (networks, objective) = (text(&entry.designed_for), text(&entry.objective));
            columns.line([entry.name.to_owned(), networks, objective]);
        }
        write!(f, "{columns}")
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let entries = tables::shipped_names().into_iter().map(Entry::new);
        self.printing.print(&List { tables: entries.collect::<Result<_, _>>()? })?;
        Ok(ExitCode::SUCCESS)
    }
}
