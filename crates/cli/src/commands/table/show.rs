//! `exm table show`: a table for people to read.

use crate::complete;
use crate::layout;
use crate::shell::{Failure, Printing};
use crate::tables;
use exm_design::Conditions;
use exm_design::model_of;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  exm table show RemyCC.dna
  exm table show --tree RemyCC.json | head";

/// Print a table's rules, sorted by the memories they are for
///
/// Bounds of the whole table are left out. The provenance follows, including the networks that the
/// table was designed for. With --json, the table is printed as in its file, including the
/// model.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The table: a file, or the name of a shipped one
    #[arg(add = complete::tables())]
    table: PathBuf,
    /// Print the tree of the rules instead
    #[arg(long, conflicts_with = "json")]
    tree: bool,
    #[command(flatten)]
    printing: Printing,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let file = tables::load(&self.table)?;
        let text = || {
            let mut text = if self.tree {
                exm_table::show_tree(&file.table).to_string()
            } else {
                exm_table::show(&file.table).fitted(layout::width())
            };
            let mut origin = file.provenance.to_string();
            if let Some(known) = file.robustness() {
                origin += &known.to_string();
            } else if file.provenance.robustness.is_some() {
                origin += "near its model  unknown, because the rules changed: exm table check finds it\n";
            }
            if let Some(model) = model_of(&file) {
                origin += &format!("designed for    {}\n", Conditions::of_model(&model));
            }
            if !origin.is_empty() {
                text.push('\n');
                text.push_str(&layout::paragraph(&origin));
            }
            text
        };
        self.printing.print_either(text, || Ok(file.to_json()))?;
        Ok(ExitCode::SUCCESS)
    }
}
