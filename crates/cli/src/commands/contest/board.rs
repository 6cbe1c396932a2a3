//! `exm contest board`: the ranking.

use super::submit::{cells, now_ms};
use super::{Dir, failure};
use crate::outputs::{check_output, write_file};
use crate::pictures::Format;
use crate::shell::{self, Failure, Printing};
use crate::threads::Threads;
use exm_contest::{Board, Site, http};
use exm_store::Columns;
use serde::Serialize;
use std::fmt;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

const EXAMPLES: &str = "\
Each participant is ranked by the attempt with the highest power on the training pair, among the baselines. \
video-call is a simple model of a video call, and omniscient knows the link in advance: no protocol does \
better. Whatever an interruption left unscored is scored first.

Examples:
  exm contest board
  exm contest board --contest course --plot figure.svg --json
  exm contest board --contest course --serve 8080";

/// Show the ranking of a contest, and draw all attempts
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    dir: Dir,
    /// Draw throughput against self-inflicted delay of all attempts (.svg, .png or .pdf)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Overwrite an existing figure
    #[arg(long, short)]
    force: bool,
    /// Show the board as a live page on this port of localhost, and take submissions there
    #[arg(long, value_name = "PORT", conflicts_with_all = ["plot", "json"])]
    serve: Option<u16>,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    printing: Printing,
}

/// The board for print.
#[derive(Serialize)]
#[serde(transparent)]
struct Shown(Board);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = Columns::new(1);
        let heading =
            ["", "Mbps", "95 % delay, ms", "self-inflicted, ms", "power", "robustness", "attempts"];
        columns.line(heading.map(str::to_owned));
        for row in &self.0.rows {
            let name = super::row_name(&row.name, row.baseline);
            let attempts = if row.baseline { "-".to_owned() } else { row.attempts.to_string() };
            let robustness = super::number(row.robustness.power, 2);
            columns
                .line([name].into_iter().chain(cells(&row.training)).chain([robustness, attempts]));
        }
        write!(f, "{}\n\n{columns}", self.0.title)?;
        writeln!(f, "\nBaselines are in parentheses; robustness is the power on the second pair.")
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let format = self.plot.as_deref().map(|plot| {
            check_output(plot, &[], self.force)?;
            Format::of(plot, "--plot <FILE>")
        });
        let format = format.transpose()?;
        self.threads.start()?;
        if let Some(port) = self.serve {
            return self.serve(port);
        }
        let board = self.dir.open()?.board().map_err(failure)?;
        if let (Some(plot), Some(format)) = (&self.plot, format) {
            write_file(plot, &format.encode(board.figure().svg())?)?;
        }
        self.printing.print(&Shown(board))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Serves the page until the program is interrupted.
    fn serve(&self, port: u16) -> Result<ExitCode, Failure> {
        let cannot = |error: std::io::Error| {
            Failure::new(format!("cannot serve on port {port} of 127.0.0.1: {error}"))
                .with_tip("give another port, or 0 for a free one")
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(cannot)?;
        let port = listener.local_addr().map_err(cannot)?.port();
        let site = Site::new(self.dir.open()?, port).map_err(failure)?;
        shell::print(&format!("the board is at http://localhost:{port}/ until Ctrl-C\n"))?;
        let (limits, stop) = (http::Limits::default(), AtomicBool::new(false));
        http::serve(&listener, limits, &stop, |request| site.answer(request, now_ms()))
            .map_err(cannot)?;
        Ok(ExitCode::SUCCESS)
    }
}
