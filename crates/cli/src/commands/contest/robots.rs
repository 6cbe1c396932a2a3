//! `exm contest robots`: a contest among generated entrants.

use super::failure;
use crate::interrupt;
use crate::outputs::write_file;
use crate::progress::Progress;
use crate::shell::{Failure, Printing};
use crate::threads::Threads;
use crate::{codes, layout};
use exm_contest::robots::{self, ENTRANTS, Findings, Place, Robot};
use exm_contest::{ContestError, Entrant, Pair, RobotLog, Score, score};
use exm_measure::figure::ThroughputDelay;
use exm_trace::{Synthetic, Trace};
use exm_units::Span;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
In the contest of the thesis 40 students submitted 2994 protocols (figure 2-12). Here parameter sweeps take
their place: senders by additive increase, by delay and by rate, fixed windows, people's controllers with
other parameters, the shipped rule tables, and Sprout by its caution. All run on the training pair and on an
unseen one. The same command goes on after an interruption.

Examples:
  exm contest robots
  exm contest robots --entrants 500 --duration 30s -o quick
  exm contest robots --training a.down a.up --unseen b.down b.up -o recorded";

/// Hold a contest among thousands of generated entrants, and see what of its frontier holds on another link
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The number of entrants
    #[arg(long, value_name = "N", default_value_t = ENTRANTS as u64)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100_000))]
    entrants: u64,
    /// The random seed of entrants, and of synthetic links
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The simulated time of each run
    #[arg(long, value_name = "DURATION", default_value = "60s")]
    duration: Span,
    /// How much of it is not scored
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    warm_up: Span,
    /// Recorded traces in place of the synthetic training pair: that of the data, then that of the ACKs
    #[arg(long, value_names = ["DOWN", "UP"], num_args = 2)]
    training: Vec<PathBuf>,
    /// Recorded traces in place of the synthetic unseen pair
    #[arg(long, value_names = ["DOWN", "UP"], num_args = 2)]
    unseen: Vec<PathBuf>,
    /// The folder of scores, figures and findings
    #[arg(short, long, value_name = "FOLDER", default_value = "results/robots")]
    out: PathBuf,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    printing: Printing,
}

/// The names of both pairs, in files and figures.
const PAIRS: [&str; 2] = ["training", "unseen"];

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        if self.warm_up >= self.duration {
            let problem = "the warm-up must be shorter than the duration";
            return Err(Failure::invalid_value(&self.warm_up.to_string(), "--warm-up", problem));
        }
        self.threads.start()?;
        let pairs = [self.pair(&self.training, 0)?, self.pair(&self.unseen, 1)?];
        let entrants = robots::robots(self.entrants as usize, self.seed, tables()?);
        std::fs::create_dir_all(&self.out).map_err(|error| {
            Failure::new(format!("cannot make {}: {error}", self.out.display()))
        })?;
        let scores = self.scores(&entrants, &pairs)?;
        let findings = Findings::of(&entrants, &scores[0], &scores[1]);
        for ((name, pair), scores) in PAIRS.iter().zip(&pairs).zip(&scores) {
            let best = score::best_possible(pair, &self.setting());
            let title = format!("Generated entrants on the {name} pair");
            let figure: ThroughputDelay = robots::figure(&entrants, scores, &best, &title);
            write_file(&self.out.join(format!("{name}.svg")), figure.svg().as_bytes())?;
        }
        let shown = Shown { findings, seed: self.seed, out: self.out };
        let text = shown.to_string();
        write_file(&shown.out.join("findings.txt"), text.as_bytes())?;
        self.printing.print(&shown)?;
        Ok(ExitCode::SUCCESS)
    }

    fn setting(&self) -> score::Setting {
        score::Setting::new(self.duration, self.warm_up, PROPAGATION)
    }

    /// The recorded pair in `files`, or the synthetic one of this number.
    fn pair(&self, files: &[PathBuf], number: u64) -> Result<Pair, Failure> {
        if let [down, up] = files {
            return Ok(Pair::new(Trace::load(down)?, Trace::load(up)?));
        }
        let link = Synthetic::named("lte").expect("it is built in");
        let first = self.seed.wrapping_mul(4).wrapping_add(2 * number);
        let trace = |seed| link.generate(seed, self.duration);
        Ok(Pair::new(trace(first)?, trace(first.wrapping_add(1))?))
    }

    /// The scores of all entrants on both pairs.
    fn scores(&self, entrants: &[Robot], pairs: &[Pair; 2]) -> Result<[Vec<Score>; 2], Failure> {
        let setting = self.setting();
        let open = |number: usize| {
            let path = self.out.join(format!("{}.jsonl", PAIRS[number]));
            RobotLog::open(&path, &pairs[number], &setting).map_err(failure)
        };
        let logs = [open(0)?, open(1)?];
        let progress = Progress::new(2 * entrants.len() as u64);
        progress.advance(logs.iter().map(|log| log.known().len() as u64).sum());
        interrupt::heed();
        let on = |number: usize| {
            let keep = |name: &str, score: &Score| -> Result<(), ContestError> {
                progress.advance(1);
                logs[number].add(name, score)
            };
            let link = (&pairs[number], &setting);
            robots::run(entrants, link, logs[number].known(), &keep, &interrupt::asked)
        };
        let both = on(0).and_then(|first| Ok((first, on(1)?)));
        progress.finish();
        interrupt::heed_no_more();
        match both.map_err(failure)? {
            (Some(first), Some(second)) => Ok([first, second]),
            _ => Err(Failure::new("interrupted; the scores so far are kept")
                .with_tip("the same command goes on with them")
                .with_code(codes::INTERRUPTED)),
        }
    }
}

/// The propagation delay of each direction: thesis, section 2.4.
const PROPAGATION: Span = Span::from_millis(20);

/// The shipped rule tables as entrants.
fn tables() -> Result<Vec<Robot>, Failure> {
    let table = |name: &'static str| {
        let file = crate::tables::load(Path::new(name))?;
        let entrant = Entrant::of_rules(&file.table);
        Ok(Robot { name: format!("table {name}"), entrant })
    };
    crate::tables::shipped_names().into_iter().map(table).collect()
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    findings: Findings,
    seed: u64,
    #[serde(rename = "folder")]
    out: PathBuf,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Findings { entrants, frontier_training, frontier_unseen, stay, .. } = self.findings;
        let correlation = self.findings.rank_correlation;
        let correlation = correlation.map_or("unknown".to_owned(), |value| format!("{value:.2}"));
        f.write_str(&layout::paragraph(&format!(
            "{entrants} entrants delivered something on both pairs. {frontier_training} of them are the empirical frontier \
             of the training pair, {frontier_unseen} that of the unseen one; {stay} of the first are on both. The rank \
             correlation of the entrants' powers is {correlation}."
        )))?;
        let of = |f: &mut fmt::Formatter<'_>, name: &str, places: &[Option<Place>; 2]| {
            for (pair, place) in PAIRS.iter().zip(places) {
                let Some(place) = place else { continue };
                let frontier = match place.on_frontier {
                    true => "on the frontier".to_owned(),
                    false => format!(
                        "{:.0} % more throughput is to be had at no more delay",
                        100.0 * place.below_frontier
                    ),
                };
                f.write_str(&layout::paragraph(&format!(
                    "{name}, {pair}: {:.2} Mbps, self-inflicted delay {:.0} ms, power {:.1}, rank {}; {frontier}",
                    place.throughput_mbps, place.self_inflicted_ms, place.power, place.rank
                )))?;
            }
            Ok(())
        };
        of(f, "sprout", &self.findings.sprout)?;
        if let Some((name, places)) = &self.findings.best {
            of(f, &format!("the best of the training pair, {name}"), places)?;
        }
        let out = self.out.display();
        writeln!(f, "figures: {out}/training.svg, {out}/unseen.svg")
    }
}
