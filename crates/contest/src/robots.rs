//! A contest among thousands of generated entrants, to see what is within reach on a link, and what of that
//! holds on another one.
//!
//! In the thesis, 40 students submitted 2 994 protocols (figure 2-12). Here parameter sweeps stand for them: additive
//! increase, delay-triggered and rate-based senders, fixed windows, people's controllers with other parameters, rule
//! tables, and Sprout by its caution.

use crate::Entrant;
use crate::entrants::Strategy;
use crate::error::ContestError;
use crate::rank::spearman;
use crate::score::{self, Pair, Score, Setting};
use exm_measure::efficient_frontier;
use exm_measure::figure::{Run, Scheme, Spread, Style, ThroughputDelay};
use exm_random::{Purpose, Stream};
use exm_units::Span;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;

/// As many entrants as figure 2-12 has.
pub const ENTRANTS: usize = 2994;

/// A generated entrant.
#[derive(Clone, Debug)]
pub struct Robot {
    /// What it is, with its parameters.
    pub name: String,
    /// What runs.
    pub entrant: Entrant,
}

/// The first `count` entrants, some of them drawn by `seed`, with these others, such as rule tables, among them.
pub fn robots(count: usize, seed: u64, others: Vec<Robot>) -> Vec<Robot> {
    let mut all = named();
    all.extend(others);
    all.extend(swept().into_iter().map(of_strategy));
    let mut stream = Stream::new(seed, Purpose::Search, 0);
    while all.len() < count {
        all.push(of_strategy(drawn(&mut stream)));
    }
    // What comes first is what a smaller contest must not be without.
    all.truncate(count);
    all
}

fn of_strategy(strategy: Strategy) -> Robot {
    Robot { name: strategy.to_string(), entrant: Entrant::strategy(strategy) }
}

/// Built-in controllers by their parameters: Sprout as it is first, then others as they are, then sweeps.
fn named() -> Vec<Robot> {
    let mut texts: Vec<String> = ["sprout", "sprout-ewma", "sprout model=paper", "cubic", "reno"]
        .into_iter()
        .chain(["vegas", "bbr", "bbr1", "compound", "ledbat", "aimd", "cubic-linux"])
        .chain(["cubic-hystart++", "ledbat-slow-start"])
        .map(str::to_owned)
        .collect();
    for risk in [0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.001] {
        for lookahead in 2..=8 {
            texts.push(format!("sprout risk={risk},lookahead={lookahead}"));
        }
    }
    for beta in [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9] {
        for c in [0.01, 0.1, 0.2, 0.4, 0.8, 1.6, 4.0] {
            texts.push(format!("cubic beta={beta},c={c}"));
        }
    }
    for target in [5, 10, 15, 25, 40, 60, 80, 100] {
        for gain in [0.25, 0.5, 1.0] {
            texts.push(format!("ledbat target={target}ms,gain={gain}"));
        }
    }
    for alpha in [1, 2, 3, 5, 8, 12, 20, 40] {
        for more in [1, 2, 4, 8, 20] {
            texts.push(format!("vegas alpha={alpha},beta={}", alpha + more));
        }
    }
    // A parameter that a controller refuses is no entrant.
    let robot = |name: String| {
        let entrant = Entrant::named(&name, "robots").ok()?;
        Some(Robot { name, entrant })
    };
    texts.into_iter().filter_map(robot).collect()
}

/// Grids of the participants' strategies.
fn swept() -> Vec<Strategy> {
    let ms = Span::from_millis;
    let mut all: Vec<Strategy> =
        (1..=120).map(|step| Strategy::Window { packets: step * step / 12 + 2 }).collect();
    for increase in [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0] {
        for decrease in [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9] {
            for cap in [8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 128.0, 512.0, 1e6] {
                all.push(Strategy::Aimd { increase, decrease, cap });
            }
        }
    }
    for threshold in [5, 10, 20, 30, 40, 60, 80, 100, 150, 200, 300, 500].map(ms) {
        for increase in [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0] {
            for decrease in [0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95] {
                all.push(Strategy::DelayTriggered { threshold, increase, decrease });
            }
        }
    }
    for horizon in [50, 100, 200, 400, 800].map(ms) {
        for target in [5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500].map(ms) {
            for gain in [0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.35, 1.5] {
                all.push(Strategy::RateBased { horizon, target, gain });
            }
        }
    }
    all
}

/// A strategy with random parameters.
fn drawn(stream: &mut Stream) -> Strategy {
    let mut between = |low: f64, high: f64| {
        let (low, high) = (libm::log(low), libm::log(high));
        let value = libm::exp(low + (high - low) * stream.uniform());
        // Three digits say enough in a name.
        let scale = libm::pow(10.0, 2.0 - libm::floor(libm::log10(value)));
        (value * scale).round() / scale
    };
    let ms = |value: f64| Span::from_millis(value as u64);
    match between(1.0, 4.0) as u64 {
        1 => Strategy::Aimd {
            increase: between(0.1, 20.0),
            decrease: between(0.2, 0.95),
            cap: between(4.0, 1000.0),
        },
        2 => Strategy::DelayTriggered {
            threshold: ms(between(3.0, 800.0)),
            increase: between(0.1, 20.0),
            decrease: between(0.1, 0.98),
        },
        _ => Strategy::RateBased {
            horizon: ms(between(20.0, 1500.0)),
            target: ms(between(3.0, 800.0)),
            gain: between(0.7, 1.7),
        },
    }
}

/// Scores `robots` on `pair`, on all threads, in their order. Those whose names are among `known` are not run again; each
/// new score is handed to `keep`, from several threads. None once `is_stopped`.
///
/// # Errors
/// The first [`ContestError`] of a run, or of `keep`.
pub fn run(
    robots: &[Robot],
    (pair, setting): (&Pair, &Setting),
    known: &BTreeMap<String, Score>,
    keep: &(dyn Fn(&str, &Score) -> Result<(), ContestError> + Sync),
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Vec<Score>>, ContestError> {
    let scores: Vec<Option<Score>> = robots
        .par_iter()
        .with_max_len(1)
        .map(|robot| {
            if let Some(score) = known.get(&robot.name) {
                return Ok(Some(score.clone()));
            }
            if is_stopped() {
                return Ok(None);
            }
            let score = score::run(&robot.entrant, pair, setting)?;
            keep(&robot.name, &score)?;
            Ok(Some(score))
        })
        .collect::<Result<_, ContestError>>()?;
    Ok(scores.into_iter().collect())
}

/// What thousands of entrants show on a training pair and on an unseen one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Findings {
    /// How many entrants delivered something on both pairs.
    pub entrants: usize,
    /// How many of them are the empirical frontier on the training pair.
    pub frontier_training: usize,
    /// How many are it on the unseen pair.
    pub frontier_unseen: usize,
    /// How many of the frontier on the training pair are on that of the unseen one.
    pub stay: usize,
    /// Spearman's correlation of the entrants' powers on both.
    pub rank_correlation: Option<f64>,
    /// Sprout as it is, on both pairs.
    pub sprout: [Option<Place>; 2],
    /// The entrant with the most power on the training pair, and its place on both.
    pub best: Option<(String, [Option<Place>; 2])>,
}

/// Where an entrant stands on a pair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Place {
    /// Its rank by power: 1 for the best.
    pub rank: usize,
    /// Whether no entrant has more throughput at no more delay.
    pub on_frontier: bool,
    /// Of those at no more self-inflicted delay, the largest throughput over its own, minus 1: 0 on the frontier.
    pub below_frontier: f64,
    /// Throughput, Mbps.
    pub throughput_mbps: f64,
    /// Self-inflicted delay, ms.
    pub self_inflicted_ms: f64,
    /// Throughput over 95 % end-to-end delay.
    pub power: f64,
}

/// The entrants that delivered something, by number: delay and throughput, and power.
struct Field(Vec<(usize, (f64, f64), f64)>);

impl Field {
    fn of(scores: &[Score]) -> Field {
        let one = |(index, score): (usize, &Score)| {
            let point = (score.self_inflicted_ms?, score.throughput_mbps);
            Some((index, point, score.power?))
        };
        Field(scores.iter().enumerate().filter_map(one).collect())
    }

    fn frontier(&self) -> Vec<usize> {
        let points: Vec<(f64, f64)> = self.0.iter().map(|one| one.1).collect();
        efficient_frontier(&points).into_iter().map(|at| self.0[at].0).collect()
    }

    fn place(&self, index: usize) -> Option<Place> {
        let &(_, (delay, throughput), power) = self.0.iter().find(|one| one.0 == index)?;
        let within = self.0.iter().filter(|one| one.1.0 <= delay).map(|one| one.1.1);
        let most = within.fold(0.0, f64::max);
        Some(Place {
            rank: 1 + self.0.iter().filter(|one| one.2 > power).count(),
            on_frontier: self.frontier().contains(&index),
            below_frontier: most / throughput - 1.0,
            throughput_mbps: throughput,
            self_inflicted_ms: delay,
            power,
        })
    }
}

impl Findings {
    /// What the scores of `robots` on the training pair and on the unseen one show.
    pub fn of(robots: &[Robot], training: &[Score], unseen: &[Score]) -> Findings {
        let fields = [Field::of(training), Field::of(unseen)];
        let [first, second] = [fields[0].frontier(), fields[1].frontier()];
        let both: Vec<(f64, f64)> = training
            .iter()
            .zip(unseen)
            .filter_map(|(training, unseen)| Some((training.power?, unseen.power?)))
            .collect();
        let (before, after): (Vec<f64>, Vec<f64>) = both.iter().copied().unzip();
        let places = |index| [fields[0].place(index), fields[1].place(index)];
        let sprout = robots.iter().position(|robot| robot.name == "sprout");
        // Of equal ones the first.
        let best = fields[0].0.iter().reduce(|best, one| if one.2 > best.2 { one } else { best });
        Findings {
            entrants: both.len(),
            frontier_training: first.len(),
            frontier_unseen: second.len(),
            stay: first.iter().filter(|index| second.contains(index)).count(),
            rank_correlation: spearman(&before, &after),
            sprout: sprout.map_or([None, None], places),
            best: best.map(|&(index, ..)| (robots[index].name.clone(), places(index))),
        }
    }
}

/// Figure 2-12 of these scores, with the omniscient protocol and the named entrants that are known to all.
pub fn figure(robots: &[Robot], scores: &[Score], best: &Score, title: &str) -> ThroughputDelay {
    // The omniscient protocol inflicts no delay on itself, and a logarithmic axis has no zero.
    let run = |score: &Score| Run {
        delay_ms: score.self_inflicted_ms.map(|ms| ms.max(1.0)),
        throughput: score.throughput_mbps,
    };
    let known = ["sprout", "sprout-ewma", "cubic", "vegas", "bbr", "ledbat"];
    let schemes = known.iter().filter_map(|name| {
        let at = robots.iter().position(|robot| robot.name == *name)?;
        Some(((*name).to_owned(), run(&scores[at])))
    });
    let omniscient = [("omniscient".to_owned(), run(best))];
    let schemes = schemes.chain(omniscient).zip(0..).map(|((name, run), number)| Scheme {
        name,
        style: Style::nth(number),
        frontiers: Vec::new(),
        curve: None,
        runs: vec![run],
        dots: Vec::new(),
    });
    ThroughputDelay {
        title: title.to_owned(),
        subtitle: format!("{} generated entrants, one long flow each", scores.len()),
        description: "Throughput against self-inflicted delay of generated entrants, their empirical frontier, \
                      and well-known controllers."
            .to_owned(),
        y_axis: "throughput, Mbps".to_owned(),
        delay: "self-inflicted delay".to_owned(),
        spread: Spread::None,
        original: None,
        schemes: schemes.collect(),
        cloud: scores.iter().filter(|score| score.power.is_some()).map(run).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entrants_have_names_of_their_own_and_are_the_same_for_a_seed() {
        let names = |count, seed| -> Vec<String> {
            robots(count, seed, Vec::new()).into_iter().map(|robot| robot.name).collect()
        };
        let all = names(ENTRANTS, 1);
        assert_eq!(all.len(), ENTRANTS);
        assert_eq!(all, names(ENTRANTS, 1));
        assert_ne!(all, names(ENTRANTS, 2));
        assert_eq!(all[0], "sprout");
        let mut distinct = all.clone();
        distinct.sort();
        distinct.dedup();
        assert!(distinct.len() * 100 > all.len() * 99, "{} of {}", distinct.len(), all.len());
    }

    fn score(delay: f64, throughput: f64) -> Score {
        Score {
            throughput_mbps: throughput,
            delay_95_ms: Some(delay + 40.0),
            self_inflicted_ms: Some(delay),
            power: Some(throughput / (delay + 40.0) * 1e3),
            failure: None,
        }
    }

    #[test]
    fn findings_are_of_both_frontiers() {
        let all = robots(4, 1, Vec::new());
        // Sprout first; then two on the training frontier, of which one stays; the last is beaten.
        let training = [score(50.0, 3.0), score(20.0, 2.0), score(80.0, 4.4), score(90.0, 1.0)];
        let unseen = [score(50.0, 3.0), score(60.0, 2.0), score(70.0, 4.0), score(95.0, 1.0)];
        let findings = Findings::of(&all, &training, &unseen);
        assert_eq!(
            (findings.frontier_training, findings.frontier_unseen, findings.stay),
            (3, 2, 2)
        );
        let [before, after] = findings.sprout.map(|place| place.unwrap());
        assert!(before.on_frontier && after.on_frontier && before.below_frontier == 0.0);
        assert_eq!((before.rank, after.rank), (2, 2));
        assert_eq!(findings.best.unwrap().0, all[2].name);
        assert_eq!(figure(&all, &training, &score(0.0, 5.0), "t").cloud.len(), 4);
    }
}
