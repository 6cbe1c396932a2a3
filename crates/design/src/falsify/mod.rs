//! A search for the network on which a controller performs worst relative to a reference.

mod part;
mod scenario;
mod space;

pub use part::part;
pub use scenario::scenario;
pub use space::{COMPETITOR, Space, TESTED};

use crate::evaluate::events;
use crate::objective::{Objective, Path};
use crate::specimen::{Layout, Mixed, strata};
use exm_measure::{MedianInterval, mean, median};
use exm_random::{Purpose, Stream};
use exm_sim::dumbbell::Outcome;
use exm_sim::network::{NetworkError, Transport};
use rayon::prelude::*;
use serde::Serialize;
use space::{AXES, Point};

/// The share of the tries that covers the space evenly, before the search concentrates on the worst networks.
const EXPLORED: f64 = 0.5;
/// The number of worst networks on which the search concentrates.
const KEPT: usize = 8;
/// The number of networks tried around each at a time.
const AROUND: usize = 4;
/// The minimum distance on some axis between networks that count as different.
const UNLIKE: f64 = 0.25;
/// The number of runs that evaluate each network that is kept.
const RUNS: usize = 20;

/// The stream of the seeds of the evaluation runs: after those of all rounds.
const JUDGING: usize = 1 << 30;

/// The controllers to compare, and the parameters of the search.
#[derive(Clone, Debug)]
pub struct Falsify {
    /// The networks that are searched.
    pub space: Space,
    /// The tested controller.
    pub tested: Transport,
    /// The reference controller.
    pub reference: Transport,
    /// The competitors' controller.
    pub competitor: Transport,
    /// The objective, in relative units.
    pub objective: Objective,
    /// The approximate number of networks to try.
    pub tries: usize,
    /// The random seed of the search.
    pub seed: u64,
}

/// A network on which the tested controller falls behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Counterexample {
    /// The network. Class [`TESTED`] is tested.
    pub network: Mixed,
    /// A seed for its scenario: that of the first evaluation run; the others have the following seeds. In each of them
    /// rate, RTT and buffer were changed by up to 3 %.
    pub seed: u64,
    /// The lead of the reference: the median over evaluation runs, which were not used to find the network.
    pub deficit: MedianInterval,
    /// The results of the tested senders.
    pub tested: Performance,
    /// The results of the reference in their place.
    pub reference: Performance,
}

/// The results of senders: medians over runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Performance {
    /// The objective in relative units: 0 is the whole share without queueing delay.
    pub score: f64,
    /// Throughput over the equal share of the slowest link.
    pub share: f64,
    /// The mean RTT over the propagation RTT; `None` if nothing was delivered.
    pub rtt_ratio: Option<f64>,
}

/// One run's.
#[derive(Clone, Copy, Debug)]
struct Run {
    tested: Performance,
    reference: Performance,
}

impl Run {
    fn deficit(&self) -> f64 {
        self.reference.score - self.tested.score
    }
}

impl Falsify {
    /// The worst networks found, the worst first, each different from those before it. `done` is called after each
    /// simulation. The result is the same on any number of threads.
    ///
    /// Half of the tries cover the space evenly, one run each. The others search around the worst networks, ever closer. The
    /// final networks are ranked by the median of further runs. These vary the network slightly and draw the start times of
    /// senders, so that neither luck nor phase effects make a network look bad.
    ///
    /// # Errors
    /// [`NetworkError`] if the event engine refuses a network, for example because a sender's packets have no
    /// room for data.
    pub fn search(&self, done: &(impl Fn() + Sync)) -> Result<Vec<Counterexample>, NetworkError> {
        let explored = self.explored();
        let mut pool = self.try_all(latin(explored, self.stream(0)), 0, done)?;
        for round in 0..self.rounds() {
            keep_worst(&mut pool, self.kept());
            let around = self.around(&pool, round);
            let more = self.try_all(around, 1 + round as u64, done)?;
            pool.extend(more);
        }
        keep_worst(&mut pool, self.kept());
        let points: Vec<Point> = pool.into_iter().map(|(point, _)| point).collect();
        let mut found = self.judge(&points, done)?;
        found.sort_by(|a, b| b.deficit.median.total_cmp(&a.deficit.median));
        Ok(found)
    }

    /// The maximum number of simulations of a search, of the tested controller and the reference together.
    pub fn simulations(&self) -> usize {
        2 * (self.explored() + self.rounds() * self.kept() * AROUND + self.kept() * RUNS)
    }

    fn explored(&self) -> usize {
        ((self.tries as f64 * EXPLORED) as usize).max(1)
    }

    /// The maximum number of worst networks that are kept.
    fn kept(&self) -> usize {
        (self.tries / 4).clamp(1, KEPT)
    }

    fn rounds(&self) -> usize {
        (self.tries - self.explored().min(self.tries)) / (self.kept() * AROUND)
    }

    fn stream(&self, number: usize) -> Stream {
        Stream::new(self.seed, Purpose::Search, number)
    }

    /// Points around those of `pool`, the closer the later the round.
    fn around(&self, pool: &[(Point, f64)], round: usize) -> Vec<Point> {
        let mut random = self.stream(1 + round);
        let reach = 0.25 * libm::pow(0.1, round as f64 / self.rounds().max(1) as f64);
        let mut near = |point: &Point| {
            point.map(|at| (at + reach * random.normal()).clamp(0.0, 1.0 - f64::EPSILON))
        };
        pool.iter().flat_map(|(point, _)| [(); AROUND].map(|()| near(point))).collect()
    }

    /// The deficit of each of `points` in a run of its own.
    fn try_all(
        &self,
        points: Vec<Point>,
        block: u64,
        done: &(impl Fn() + Sync),
    ) -> Result<Vec<(Point, f64)>, NetworkError> {
        let seed = Stream::new(self.seed, Purpose::Specimen, block as usize).seed();
        let one = |point: Point| {
            let run = self.run(&self.space.network(&point), seed, done)?;
            Ok((point, run.deficit()))
        };
        points.into_par_iter().map(one).collect()
    }

    /// Each of `points`, with the deficit of the tested controller there.
    fn judge(
        &self,
        points: &[Point],
        done: &(impl Fn() + Sync),
    ) -> Result<Vec<Counterexample>, NetworkError> {
        // Short enough to type.
        let seed = Stream::new(self.seed, Purpose::Specimen, JUDGING).below(1_000_000) as u64;
        let one = |point: &Point| {
            let network = self.space.network(point);
            let run = |index: usize| {
                let varied = space::varied(&network, self.stream(JUDGING + index));
                self.run(&varied, seed + index as u64, done)
            };
            let runs = (0..RUNS).into_par_iter().map(run).collect::<Result<Vec<Run>, _>>()?;
            let deficits: Vec<f64> = runs.iter().map(Run::deficit).collect();
            Ok(Counterexample {
                seed,
                deficit: MedianInterval::of(&deficits).expect("there are runs"),
                tested: Performance::median(&runs, |run| run.tested),
                reference: Performance::median(&runs, |run| run.reference),
                network,
            })
        };
        points.iter().map(one).collect()
    }

    fn run(&self, network: &Mixed, seed: u64, done: &impl Fn()) -> Result<Run, NetworkError> {
        let got = |transport: &Transport| {
            let got = self.got(network, seed, transport);
            done();
            got
        };
        Ok(Run { tested: got(&self.tested)?, reference: got(&self.reference)? })
    }

    /// The results of the tested senders with `transport`.
    fn got(
        &self,
        network: &Mixed,
        seed: u64,
        transport: &Transport,
    ) -> Result<Performance, NetworkError> {
        let layout = Layout::Mixed(network.clone());
        let of_class = |class| if class == TESTED { transport } else { &self.competitor }.clone();
        let built = layout.network(of_class)?.without_distributions();
        let outcomes = events(&built, seed, &mut ());
        let senders = network.senders.iter().zip(&outcomes);
        let tested: Vec<(Path, &Outcome)> = senders
            .filter(|(sender, outcome)| sender.class == TESTED && !outcome.on_time.is_zero())
            .map(|(sender, outcome)| (network.path(sender), outcome))
            .collect();
        let relative = self.objective.relative();
        let value = |&(path, got): &(Path, &Outcome)| relative.value(path, relative.got(path, got));
        Ok(Performance {
            score: mean(tested.iter().map(value)).unwrap_or(0.0),
            share: mean(tested.iter().map(|(path, got)| path.share(got))).unwrap_or(0.0),
            rtt_ratio: mean(tested.iter().filter_map(|(path, got)| path.rtt_ratio(got))),
        })
    }
}

impl Performance {
    /// The median of each of the quantities of `of` over `runs`.
    fn median(runs: &[Run], of: impl Fn(&Run) -> Performance) -> Performance {
        let all: Vec<Performance> = runs.iter().map(of).collect();
        let middle = |quantity: &dyn Fn(&Performance) -> Option<f64>| {
            median(&all.iter().filter_map(quantity).collect::<Vec<_>>())
        };
        Performance {
            score: middle(&|got| Some(got.score)).unwrap_or(0.0),
            share: middle(&|got| Some(got.share)).unwrap_or(0.0),
            rtt_ratio: middle(&|got| got.rtt_ratio),
        }
    }
}

/// `count` points that cover each axis evenly (a Latin hypercube).
fn latin(count: usize, mut random: Stream) -> Vec<Point> {
    let axes: [Vec<f64>; AXES] = std::array::from_fn(|_| strata(count, &mut random));
    (0..count).map(|point| axes.each_ref().map(|axis| axis[point])).collect()
}

/// Keeps the `count` worst points that differ from each other, or fewer if there are not enough.
fn keep_worst(pool: &mut Vec<(Point, f64)>, count: usize) {
    pool.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut kept: Vec<(Point, f64)> = Vec::new();
    for (point, deficit) in pool.drain(..) {
        let is_like = |other: &(Point, f64)| {
            let distance = point.iter().zip(&other.0).map(|(a, b)| (a - b).abs());
            distance.fold(0.0, f64::max) < UNLIKE
        };
        if kept.len() < count && !kept.iter().any(is_like) {
            kept.push((point, deficit));
        }
    }
    *pool = kept;
}

#[cfg(test)]
mod tests;
