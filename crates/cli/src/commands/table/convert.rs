//! `exm table convert`: a table in another format.

use crate::complete;
use crate::interrupt;
use crate::outputs::{check_only_output, is_stdout};
use crate::shell::{self, Failure, Printing, write_out};
use crate::tables;
use exm_store::counted;
use exm_table::Provenance;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
JSON keeps the table and its provenance. Remy's .dna keeps only the table; a table
that was read from a .dna file is written back byte for byte.

Examples:
  exm table convert RemyCC.dna RemyCC.json
  exm table convert --force designed.json for-remy.dna";

/// Write a table in another format: .json or .dna, by the name of the file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The table: a file, or the name of a shipped one
    #[arg(add = complete::tables())]
    input: PathBuf,
    /// The file to write; - is the standard output, as JSON
    output: PathBuf,
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
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = counted(self.rules, "rule", "rules");
        writeln!(f, "{}: {rules}", self.output.display())
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let output = self.output.as_path();
        let file = tables::load(&self.input)?;
        check_only_output(output, &[&self.input], self.force)?;
        if is_stdout(output) {
            write_out(file.to_json().as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        interrupt::shielded(|| file.save(output))?;
        let kept =
            Provenance { remy_file: file.provenance.remy_file.clone(), ..Default::default() };
        if output.extension().is_some_and(|e| e == "dna") && file.provenance != kept {
            shell::note("Remy's format has no room for where the table comes from: keep the JSON");
        }
        let rules = file.table.rules().len();
        self.printing.print(&Written { input: &self.input, output, rules })?;
        Ok(ExitCode::SUCCESS)
    }
}
