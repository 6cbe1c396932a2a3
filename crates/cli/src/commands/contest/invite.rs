//! `exm contest invite`: a token for a participant who submits over HTTP.

use super::{Dir, failure};
use crate::shell::{Failure, Printing};
use serde::Serialize;
use std::fmt;
use std::process::ExitCode;

const EXAMPLES: &str = "\
The token is printed once; only its hash is stored. A new invitation replaces the old token.

Examples:
  exm contest invite ada --contest course
  exm contest board --contest course --serve 8080
  curl -H 'Authorization: Bearer TOKEN' --data-binary @mine.wasm \\
      'http://localhost:8080/submit?file=mine.wasm'";

/// Make a token by which a participant submits over HTTP
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The participant: letters, digits, - and _
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    dir: Dir,
    #[command(flatten)]
    printing: Printing,
}

#[derive(Serialize)]
struct Invitation {
    name: String,
    token: String,
}

impl fmt::Display for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.token)
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let token = self.dir.open()?.invite(&self.name).map_err(failure)?;
        self.printing.print(&Invitation { name: self.name, token })?;
        Ok(ExitCode::SUCCESS)
    }
}
