//! `exm kernel try`: tables and the kernel's own congestion controls on a path of one's own.

mod client;
mod listen;
mod report;

use crate::commands::duration;
use crate::complete;
use crate::pictures::Format;
use crate::sessions::KeyFlags;
use crate::shell::{Failure, Printing};
use exm_units::{Rate, Span};
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
It shows what each congestion control achieves on a real path: at one end somebody listens, from the other end
data is sent by TCP, by each congestion control in turn, in several rounds. Cubic and BBR are the kernel's own;
tables are loaded for the time of the command, which takes root. Each turn begins with an empty
connection, so short turns show how a control starts as well.

Both ends have the same key. A listener discards what it gets, and takes it from nobody else.

Examples:
  exm kernel try --listen --new-key --key-file key
  exm kernel try example.org coexist --duration 60s --key-file key
  exm kernel try example.org coexist general-delta1 --with cubic,reno --duration 5min --plot path.svg";

/// Compare tables with Cubic and BBR on a real path
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The listener's address [default port: 60001]
    #[arg(value_name = "HOST[:PORT]", required_unless_present = "listen")]
    server: Option<String>,
    /// Tables to try: files, or names of shipped ones
    #[arg(value_name = "TABLE", add = complete::tables())]
    tables: Vec<PathBuf>,
    /// Congestion controls of the kernel to try as well
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "cubic,bbr")]
    with: Vec<String>,
    /// The duration of all turns together
    #[arg(long, alias = "for", value_name = "DURATION", default_value = "60s")]
    #[arg(value_parser = duration)]
    duration: Span,
    /// How many turns each has: the more, the shorter
    #[arg(long, value_name = "N", default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// The most that is sent in a second
    #[arg(long, value_name = "RATE", default_value = "100Mbps")]
    max_rate: Rate,
    /// Draw goodput against delay into this file (.svg, .png or .pdf)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    printing: Printing,
    /// Be the other end: receive until interrupted
    #[arg(long, help_heading = "Server")]
    #[arg(conflicts_with_all = ["server", "tables", "plot", "json"])]
    listen: bool,
    /// The address to listen at [default: all of this machine]
    #[arg(long, value_name = "ADDRESS", requires = "listen", help_heading = "Server")]
    bind: Option<IpAddr>,
    /// The TCP port to listen on
    #[arg(long, value_name = "PORT", requires = "listen", default_value_t = 60_001)]
    #[arg(help_heading = "Server")]
    port: u16,
    /// Generate a key for the other end, and print it or write it to a new file
    #[arg(long, requires = "listen", conflicts_with_all = ["key_env", "key_stdin"])]
    #[arg(help_heading = "Key")]
    new_key: bool,
    #[command(flatten)]
    key: KeyFlags,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let format = self.plot.as_ref().map(|plot| Format::of(plot, "--plot")).transpose()?;
        match &self.server {
            Some(server) => self.send(server, format),
            None => self.receive(),
        }
    }
}
