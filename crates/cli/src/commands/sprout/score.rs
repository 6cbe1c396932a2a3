//! `exm sprout score`: scores Sprout's forecasters alone.

use super::links::recorded;
use crate::commands::duration;
use crate::layout;
use crate::progress::Progress;
use crate::shell::{Failure, Printing};
use crate::threads::Threads;
use exm_sprout::TICK;
use exm_store::Columns;
use exm_tune::{AT_LOOKAHEAD, LEVELS, LinkScores, SCORED, Score, mean_scores, population, score};
use exm_units::Span;
use serde::Serialize;
use std::fmt;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Forecasters see everything that a link delivers which always has packets to deliver, so their models are scored, not a session. The
score is the continuous ranked probability score (CRPS) over the mean of what is delivered: zero is perfect, and the link's own
distribution is what a forecaster reaches that knows what the link does, but not when. An oracle that knows the next 40 ms scores zero
up to there, and at 100 ms what the model scores at 60 ms.

Examples:
  exm sprout score
  exm sprout score --networks 0 --traces recordings
  exm sprout score --json";

/// Score the forecasts of Sprout's models alone: how good they are, and whether their probabilities hold
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The number of synthetic networks, each with two directions
    #[arg(long, value_name = "N", default_value_t = 16)]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=1000))]
    networks: u64,
    /// Recorded traces to score on as well: a folder of files NAME.down and NAME.up, or two files
    #[arg(long, value_name = "FOLDER|DOWN,UP")]
    traces: Option<String>,
    /// The time of each link
    #[arg(long, value_name = "DURATION", default_value = "180 s", value_parser = duration)]
    duration: Span,
    /// How much of it is not scored
    #[arg(long, value_name = "DURATION", default_value = "60 s")]
    warm_up: Span,
    /// The random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    printing: Printing,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        if self.warm_up + TICK > self.duration {
            let problem =
                "the warm-up must be shorter than the duration by a tick of 20 ms or more";
            return Err(Failure::invalid_value(&self.warm_up.to_string(), "--warm-up", problem));
        }
        self.threads.start()?;
        let mut links = population(self.networks, self.duration)?;
        links.extend(recorded(self.traces.as_deref())?);
        if links.is_empty() {
            let problem = "there is no link to score on: give --traces, or --networks above 0";
            return Err(Failure::usage(problem.to_owned()));
        }
        let progress = Progress::new(links.len() as u64);
        let times = (self.duration, self.warm_up);
        let links = score(&links, times, self.seed, &|links| progress.advance(links));
        progress.finish();
        self.printing.print(&Shown { mean: mean_scores(&links), links, seed: self.seed })?;
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Serialize)]
struct Shown {
    seed: u64,
    mean: Vec<Score>,
    links: Vec<LinkScores>,
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

impl Shown {
    /// The scores on each link of the first forecaster, Sprout's own, and of the last, which only knows the link's distribution.
    fn links(&self) -> Columns {
        let mut columns = Columns::new(1);
        let heads = ["link", "Mbps", "CRPS at 100 ms", "own distribution", "short", "accepted"];
        columns.line(heads.map(str::to_owned));
        for LinkScores { link, rate_mbps, scores } in &self.links {
            let at_100 = |score: Option<&Score>| {
                percent(score.map_or(0.0, |score| score.crps[AT_LOOKAHEAD]))
            };
            let short = scores[0].short.map(|short| [short.seen, short.accepted].map(percent));
            let [seen, accepted] = short.unwrap_or_default();
            let (ours, own) = (at_100(scores.first()), at_100(scores.last()));
            columns.line([link.clone(), format!("{rate_mbps:.2}"), ours, own, seen, accepted]);
        }
        columns
    }

    /// The means of scores over links, at each horizon.
    fn crps(&self) -> Columns {
        let mut columns = Columns::new(1);
        let horizons = SCORED.map(|ticks| (TICK * ticks as u64).to_string());
        columns.line(["CRPS, mean of links".to_owned()].into_iter().chain(horizons));
        for score in &self.mean {
            let values = score.crps.iter().map(|&crps| percent(crps));
            columns.line([score.forecaster.clone()].into_iter().chain(values));
        }
        columns
    }

    /// How often less was delivered within 100 ms than with each probability.
    fn calibration(&self) -> Columns {
        let mut columns = Columns::new(1);
        let heads = LEVELS.map(|level| format!("{:.0} %", 100.0 * level));
        let last = ["short", "accepted"].map(str::to_owned);
        columns.line(["less in 100 ms than at".to_owned()].into_iter().chain(heads).chain(last));
        for score in &self.mean {
            let (Some(below), Some(short)) = (&score.below, &score.short) else { continue };
            let values = below.iter().map(|&share| percent(share));
            let short = [short.seen, short.accepted].map(percent);
            columns.line([score.forecaster.clone()].into_iter().chain(values).chain(short));
        }
        columns
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", layout::table(&self.links()))?;
        writeln!(f, "{}", layout::table(&self.crps()))?;
        writeln!(f, "{}", layout::table(&self.calibration()))?;
        f.write_str(&layout::paragraph(
            "Short: how often less was delivered within 100 ms than forecast. Accepted: how often it should have been.",
        ))
    }
}
