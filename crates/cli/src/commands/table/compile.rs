//! `exm table compile`: a table as C code.

use crate::fixed::{Fitted, TableArgs};
use crate::outputs::{check_only_output, is_stdout, write_output};
use crate::shell::{Failure, Printing};
use exm_design::{Conditions, model_of};
use exm_kernel::c_code;
use exm_store::counted;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
The file is a header in C99 that depends on nothing: the table, and the functions of a sender that follows it,
in integers. Its head says how to use it. In the Linux kernel a table takes no C: exm kernel load.

Examples:
  exm table compile general-delta1 -o remy1.h
  exm table compile designed.json --name mine -o mine.c";

/// Write a table as C code, for a stack of your own
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    table: TableArgs,
    /// The file to write, .c or .h; - is the standard output
    #[arg(long, short)]
    output: PathBuf,
    /// What the names of its functions begin with [default: the name of the output]
    #[arg(long)]
    name: Option<String>,
    /// Overwrite an existing output
    #[arg(long, short)]
    force: bool,
    #[command(flatten)]
    printing: Printing,
}

/// What was written.
#[derive(Serialize)]
struct Written<'a> {
    input: &'a Path,
    output: &'a Path,
    rules: usize,
    max_window: u32,
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = counted(self.rules, "rule", "rules");
        let Written { output, max_window, .. } = self;
        writeln!(f, "{}: {rules}, windows of {max_window} packets at most", output.display())
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let output = self.output.as_path();
        let is_c = output.extension().is_some_and(|kind| kind == "c" || kind == "h");
        if !is_c && !is_stdout(output) {
            let problem = "a table is compiled to C: a name that ends in .c or .h";
            return Err(Failure::invalid_value(&output.to_string_lossy(), "--output", problem));
        }
        check_only_output(output, &[&self.table.table], self.force)?;
        let name = self.name.clone().unwrap_or_else(|| stem(output));
        let is_identifier = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_identifier {
            let problem = "a name in C begins with a letter, and has letters, digits and '_' only";
            return Err(Failure::invalid_value(&name, "--name", problem));
        }
        let fitted = self.table.read()?;
        let code = c_code(&fitted.table, &name, &notes(&fitted))?;
        write_output(output, code.as_bytes())?;
        if !is_stdout(output) {
            let (input, max_window) = (self.table.table.as_path(), fitted.table.max_window());
            let rules = fitted.table.actions().len();
            self.printing.print(&Written { input, output, rules, max_window })?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The name of the output without its ending, as far as C takes it.
fn stem(output: &Path) -> String {
    let stem = output.file_stem().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = stem.chars().map(plain).collect();
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if begins { name } else { "remycc".to_owned() }
}

/// What the head of the file says of the table.
fn notes(fitted: &Fitted) -> String {
    let mut notes = format!("{}: written by exm {}.\n", fitted.label, env!("CARGO_PKG_VERSION"));
    if let Some(model) = model_of(&fitted.file) {
        notes += &format!("Designed for {}.\n", Conditions::of_model(&model));
    }
    let largest = fitted.table.max_window();
    notes
        + &format!(
            "No window exceeds {largest} packets. One table fits into a file that includes this.\n"
        )
}
