//! `exm table orbits`: what a table's packets in flight do in the steady state, predicted and simulated.

mod picture;
mod report;

use super::subject::Subject;
use crate::complete;
use crate::outputs::{check_output, write_output};
use crate::pictures::Format;
use crate::progress::Progress;
use crate::shell::{Failure, Printing};
use crate::threads::Threads;
use exm_design::{Conditions, Model, Specimen};
use exm_ratatouille::{IdealLink, OrbitSurvey, SurveyedLink};
use exm_remy::RuleTable;
use exm_units::Bytes;
use rayon::prelude::*;
use report::Report;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Links are drawn from the table's model: their rates and their RTTs. Queues are unlimited, and flows are
always on. One flow is predicted from the table alone, ACK by ACK, and simulated; so is one at half the
rate, and two that share the link are simulated. exm help watching explains the figures.

Each flow is followed for 128 RTTs, or for 16384 packets if that is longer, and measured after the first
quarter. It is at rest if the number in flight changes by at most a packet, and in a cycle if its course
repeats. Amplitudes are from least to greatest, over the ideal number.

Examples:
  exm table orbits learn-100x
  exm table orbits cc.json --networks 10000 -o orbits.svg
  exm table orbits RemyCC.dna --model general-delta1 --seed 2 --json";

/// Predict the orbits of a table on many links, and compare them with simulations
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The table: a file, or the name of a shipped one
    #[arg(add = complete::tables())]
    table: PathBuf,
    /// The model that links are drawn from [default: the one in the table's file]
    #[arg(long, value_name = "MODEL", add = complete::models())]
    model: Option<PathBuf>,
    /// How many links to draw
    #[arg(long, value_name = "N", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    networks: u32,
    /// The random seed of the links
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Draw the periods over the rates as well: .svg, .png or .pdf
    #[arg(short, long = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite an existing picture
    #[arg(long, short, requires = "output")]
    force: bool,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    printing: Printing,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.threads.start()?;
        let format =
            self.output.as_deref().map(|output| Format::of(output, "--out")).transpose()?;
        if let Some(output) = &self.output {
            check_output(output, &[&self.table], self.force)?;
        }
        let Subject { file, model } = Subject::load(&self.table, self.model.as_deref())?;
        let surveyed = survey(&file.table, &self.links(&model)?)?;
        if let (Some(output), Some(format)) = (&self.output, format) {
            let svg = picture::svg(&self.table, &surveyed);
            write_output(output, &format.encode(svg)?)?;
        }
        self.printing.print(&Report {
            table: &self.table,
            networks: networks(&model),
            seed: self.seed,
            survey: OrbitSurvey::new(&surveyed),
        })?;
        Ok(ExitCode::SUCCESS)
    }

    /// The links of `model` that are drawn.
    fn links(&self, model: &Model) -> Result<Vec<IdealLink>, Failure> {
        let specimens = model.specimens(self.seed, 0, self.networks as usize);
        specimens.iter().map(link).collect::<Option<_>>().ok_or_else(|| {
            let problem = "the model has links without a rate or without an RTT";
            Failure::usage(problem).with_tip("name another model: --model")
        })
    }
}

/// The slowest link of `specimen`, with its RTT; `None` if one of them is zero.
fn link(specimen: &Specimen) -> Option<IdealLink> {
    let bottleneck = specimen.network.bottleneck();
    let packet = specimen.network.as_dumbbell().map_or(Bytes::PACKET, |network| network.packet);
    IdealLink::new(bottleneck.rate, bottleneck.rtt, packet)
}

/// The links that `model` draws, in a line.
fn networks(model: &Model) -> String {
    let Conditions { rate, rtt, .. } = Conditions::of_model(model);
    let range = |low: String, high: String| match low == high {
        true => low,
        false => format!("{low} to {high}"),
    };
    let rate = range(rate.0.to_string(), rate.1.to_string());
    format!("{rate}, RTT {}", range(rtt.0.to_string(), rtt.1.to_string()))
}

/// The orbits of `table` on each of `links`.
fn survey(table: &RuleTable, links: &[IdealLink]) -> Result<Vec<SurveyedLink>, Failure> {
    let progress = Progress::new(links.len() as u64);
    let one = |link: &IdealLink| {
        let surveyed = SurveyedLink::new(*link, table);
        progress.advance(1);
        surveyed
    };
    let surveyed = links.par_iter().map(one).collect::<Result<_, _>>();
    progress.finish();
    Ok(surveyed?)
}

/// The name of the table in the file `path`.
fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
