//! `exm sprout tune`: chooses Sprout's constants by cross-validation.

use super::links::recorded;
use crate::commands::duration;
use crate::layout;
use crate::options::number_in;
use crate::outputs::{check_only_output, write_output};
use crate::pictures::Format;
use crate::progress::Progress;
use crate::shell::{Failure, Printing};
use crate::threads::Threads;
use exm_store::Columns;
use exm_tune::{Constants, Fold, Gain, Search, Tuning, population};
use exm_units::Span;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Candidates are drawn at random, and scored on synthetic links of a wide population and on recorded ones, each under two loads: the
way back idle, and both directions saturated. In each of several folds some networks are left out, and the choice
by the others is scored on them: where it gains less there, it fits its links better than the world. Gains are over the
shipped constants.

Examples:
  exm sprout tune
  exm sprout tune --traces recordings --candidates 200 -o frontier.svg
  exm sprout tune --held-out other-recordings --json";

/// Choose Sprout's constants by cross-validation over links, and see what the choice is worth on others
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The number of candidates, the shipped constants included
    #[arg(long, value_name = "N", default_value_t = Search::default().candidates)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=100_000))]
    candidates: u32,
    /// The number of synthetic networks
    #[arg(long, value_name = "N", default_value_t = 16)]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=1000))]
    networks: u64,
    /// Recorded traces to choose by as well: a folder of files NAME.down and NAME.up, or two files
    #[arg(long, value_name = "FOLDER|DOWN,UP")]
    traces: Option<String>,
    /// Recorded traces that nothing is chosen by: the choice is scored on them at the end
    #[arg(long, value_name = "FOLDER|DOWN,UP")]
    held_out: Option<String>,
    /// The number of folds
    #[arg(long, value_name = "N", default_value_t = Search::default().folds)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=1000))]
    folds: u32,
    /// How much the delay counts beside the throughput; 1 compares throughput over delay, the power
    #[arg(long, value_name = "NUMBER", default_value_t = Search::default().weight, value_parser = weight)]
    weight: f64,
    /// How often each candidate is run on each link, with an RTT that is up to a tick longer each time
    #[arg(long, value_name = "N", default_value_t = Search::default().phases)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    phases: u32,
    /// The simulated time of each run
    #[arg(long, value_name = "DURATION", default_value_t = Search::default().duration, value_parser = duration)]
    duration: Span,
    /// How much of it is not scored
    #[arg(long, value_name = "DURATION", default_value_t = Search::default().warm_up)]
    warm_up: Span,
    /// The random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The file of a figure of all candidates: .svg, .png or .pdf; - for standard output, as SVG
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Overwrite an existing output
    #[arg(long, short)]
    force: bool,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    printing: Printing,
}

fn weight(text: &str) -> Result<f64, String> {
    number_in(0.0..=100.0, text)
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let picture = self.out.as_ref().map(|out| -> Result<_, Failure> {
            check_only_output(out, &[], self.force)?;
            Ok((out, Format::of(out, "--out")?))
        });
        let picture = picture.transpose()?;
        if self.warm_up >= self.duration {
            let problem = "the warm-up must be shorter than the duration";
            return Err(Failure::invalid_value(&self.warm_up.to_string(), "--warm-up", problem));
        }
        self.threads.start()?;
        let mut links = population(self.networks, self.duration)?;
        links.extend(recorded(self.traces.as_deref())?);
        let held_out = recorded(self.held_out.as_deref())?;
        let search = self.search();
        let steps = u64::from(self.candidates) * links.len() as u64;
        let progress = Progress::new(steps);
        let tuning = search.run(&links, &|steps| progress.advance(steps));
        progress.finish();
        let tuning = tuning.map_err(|error| Failure::usage(error.to_string()))?;
        if let Some((out, format)) = picture {
            write_output(out, &format.encode(tuning.figure().svg())?)?;
        }
        let beyond = search.compare(&tuning.candidates[tuning.best].constants, &held_out);
        let names = held_out.iter().map(|link| link.name.clone());
        let shown = Shown {
            held_out: names.zip(beyond).map(|(link, gain)| OnLink { link, gain }).collect(),
            seed: self.seed,
            tuning,
        };
        self.printing.print(&shown)?;
        Ok(ExitCode::SUCCESS)
    }

    fn search(&self) -> Search {
        Search {
            candidates: self.candidates,
            folds: self.folds,
            weight: self.weight,
            phases: self.phases,
            duration: self.duration,
            warm_up: self.warm_up,
            seed: self.seed,
        }
    }
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    tuning: Tuning,
    seed: u64,
    held_out: Vec<OnLink>,
}

/// The gain of the choice on a link that nothing was chosen by.
#[derive(Serialize)]
struct OnLink {
    link: String,
    #[serde(flatten)]
    gain: Gain,
}

/// The ratios of throughput and delay of which `gain` has the logarithms: "1.07".
fn ratios(gain: &Gain) -> [String; 2] {
    [gain.throughput, gain.delay].map(|log| format!("{:.2}", libm::exp(log)))
}

/// "part 1: network 1 and 3 more".
fn part(number: usize, networks: &[String]) -> String {
    let first = networks.first().map_or("", String::as_str);
    match networks.len() {
        0 | 1 => format!("part {number}: {first}"),
        count => format!("part {number}: {first} and {} more", count - 1),
    }
}

impl Shown {
    /// What the choice of each fold gains on the networks that it was made by, and on those left out.
    fn folds(&self) -> Columns {
        let folds = &self.tuning.folds;
        let mut columns = Columns::new(1);
        columns.line(["left out", "throughput", "delay", "throughput", "delay"].map(str::to_owned));
        columns.line(["", "on others", "on others", "left out", "left out"].map(str::to_owned));
        let mut line = |name: String, inside: &Gain, outside: &Gain| {
            columns.line([name].into_iter().chain(ratios(inside)).chain(ratios(outside)));
        };
        for (number, fold) in (1..).zip(folds) {
            line(part(number, &fold.left_out), &fold.inside, &fold.outside);
        }
        let mean = |of: fn(&Fold) -> Gain| Gain::mean(folds.iter().map(of));
        line("mean".to_owned(), &mean(|fold| fold.inside), &mean(|fold| fold.outside));
        columns
    }

    /// The choice on all links, in a sentence.
    fn choice(&self) -> String {
        let chosen = &self.tuning.candidates[self.tuning.best];
        let shipped = Constants::default();
        if chosen.constants == shipped {
            return format!("The shipped constants are the best of all candidates: {shipped}.");
        }
        let [throughput, delay] = ratios(&chosen.gain(&|_| true));
        format!(
            "Best on all: {}, with {throughput} times the throughput of the shipped constants ({shipped}) at {delay} times their delay.",
            chosen.constants
        )
    }

    /// What it gains on each link that nothing was chosen by.
    fn beyond(&self) -> Columns {
        let mut columns = Columns::new(1);
        columns.line(["held out", "throughput", "delay"].map(str::to_owned));
        for OnLink { link, gain } in &self.held_out {
            columns.line([link.clone()].into_iter().chain(ratios(gain)));
        }
        let mean = Gain::mean(self.held_out.iter().map(|one| one.gain));
        columns.line(["mean".to_owned()].into_iter().chain(ratios(&mean)));
        columns
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tuning { links, candidates, .. } = &self.tuning;
        let (candidates, links) = (candidates.len(), links.len());
        let ratios = "ratios to the shipped constants, means over links";
        writeln!(f, "{candidates} candidates on {links} links, seed {}; {ratios}\n", self.seed)?;
        writeln!(f, "{}", layout::table(&self.folds()))?;
        f.write_str(&layout::paragraph(&self.choice()))?;
        if !self.held_out.is_empty() {
            write!(f, "\n{}", layout::table(&self.beyond()))?;
        }
        Ok(())
    }
}
