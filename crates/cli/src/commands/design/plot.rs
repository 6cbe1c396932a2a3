//! `exm design plot`: logs of designs as a picture.

use super::picture::{self, Design, Several};
use crate::outputs::{check_only_output, write_output};
use crate::pictures::Format;
use crate::shell::Failure;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
For one log, the picture shows the score of each step, the best so far, and, if the design has ended,
the held-out score with its 95 % interval and the omniscient bound. Each of several logs becomes a
line, to compare searches, budgets or models; scores for different objectives cannot be compared.

The best so far is the best table that the search evaluated on separate networks, which selected no
candidate. If a log has none yet, or comes from the papers' search, it is the best score of a step,
which is biased upwards.

A design that is still running can be drawn as well.

Examples:
  exm design plot cc.json.log.jsonl -o cc.svg
  exm design plot evolve.json.log.jsonl paper.json.log.jsonl -o searches.png
  exm design plot cc.seed*.json.log.jsonl --median -o seeds.pdf";

/// Draw score against CPU time from the logs of designs
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The logs
    #[arg(value_name = "LOG", required = true)]
    logs: Vec<PathBuf>,
    /// Where to write the picture: .svg, .png or .pdf; - is the standard output, as SVG
    #[arg(short, long = "out", value_name = "FILE")]
    output: PathBuf,
    /// Draw the median of all logs, and a band from the lowest to the highest
    #[arg(long)]
    median: bool,
    /// Overwrite an existing picture
    #[arg(long, short)]
    force: bool,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let format = Format::of(&self.output, "--out")?;
        let logs: Vec<&Path> = self.logs.iter().map(PathBuf::as_path).collect();
        check_only_output(&self.output, &logs, self.force)?;
        let several = if self.median { Several::Median } else { Several::Lines };
        let svg = picture::svg(&Design::load(&logs)?, several);
        write_output(&self.output, &format.encode(svg)?)?;
        Ok(ExitCode::SUCCESS)
    }
}
