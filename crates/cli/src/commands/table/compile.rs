//! `exm table compile`: a table as C code, or as an object of BPF.

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
A file .c or .h is a header in C99 that depends on nothing: the table, and the functions of a sender that
follows it, in integers. Its head says how to use it. A file .o is a congestion control for the Linux kernel,
6.10 or later, on machines that have bpftool and no exm; with exm, exm kernel load does the same.

Examples:
  exm table compile general-delta1 -o remy1.h
  exm table compile designed.json --name mine -o mine.c
  exm table compile general-delta1 -o remy1.bpf.o
  sudo bpftool struct_ops register remy1.bpf.o; iperf3 -C remy1 -c HOST
  sudo bpftool struct_ops unregister name remycc";

/// Write a table as C code, for a stack of your own, or as an object for the Linux kernel
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    table: TableArgs,
    /// The file to write, .c, .h or .o; - is the standard output, for C
    #[arg(short, long = "out", alias = "output", value_name = "FILE")]
    output: PathBuf,
    /// What the names of its functions begin with, or the name of the congestion control [default: the name of
    /// the output]
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
        let kind = output.extension().and_then(|kind| kind.to_str());
        let code = match kind {
            Some("c" | "h") => Args::c_code,
            Some("o") => Args::object,
            _ if is_stdout(output) => Args::c_code,
            _ => {
                let problem =
                    "a table is compiled to C or an object: a name that ends in .c, .h or .o";
                return Err(Failure::invalid_value(&output.to_string_lossy(), "--out", problem));
            }
        };
        check_only_output(output, &[&self.table.table], self.force)?;
        let fitted = self.table.read()?;
        let code = code(&self, &fitted)?;
        write_output(output, &code)?;
        if !is_stdout(output) {
            let (input, max_window) = (self.table.table.as_path(), fitted.table.max_window());
            let rules = fitted.table.actions().len();
            self.printing.print(&Written { input, output, rules, max_window })?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn c_code(&self, fitted: &Fitted) -> Result<Vec<u8>, Failure> {
        let name = self.name.clone().unwrap_or_else(|| stem(&self.output));
        let is_identifier = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_identifier {
            let problem = "a name in C begins with a letter, and has letters, digits and '_' only";
            return Err(Failure::invalid_value(&name, "--name", problem));
        }
        Ok(c_code(&fitted.table, &name, &notes(fitted))?.into_bytes())
    }

    #[cfg(target_os = "linux")]
    fn object(&self, fitted: &Fitted) -> Result<Vec<u8>, Failure> {
        let name = self.name.clone().unwrap_or_else(|| {
            let stem = self.output.with_extension("");
            stem.file_stem().unwrap_or_default().to_string_lossy().into_owned()
        });
        Ok(exm_kernel::bpf_object(&name, &fitted.table, &fitted.label)?)
    }

    #[cfg(not(target_os = "linux"))]
    fn object(&self, _fitted: &Fitted) -> Result<Vec<u8>, Failure> {
        Err(Failure::usage("objects for the Linux kernel are written on Linux".to_owned()))
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
