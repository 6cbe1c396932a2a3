//! [`Search`]: scores candidates on links, and chooses.

use crate::constants::Constants;
use crate::link::{Gain, Link, Outcome};
use crate::tuning::{Candidate, Fold, Tuning};
use exm_random::{Purpose, Stream};
use exm_units::Span;
use rayon::prelude::*;

/// How candidates are drawn, scored and chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// The number of candidates, the shipped constants included.
    pub candidates: u32,
    /// The number of folds: in each, one of as many parts of the networks is left out.
    pub folds: u32,
    /// How much a logarithm of delay counts beside one of throughput: at 1 candidates are compared by their power, throughput over
    /// delay.
    pub weight: f64,
    /// How often each candidate is run on each link under each of two loads, with other RTTs.
    pub phases: u32,
    /// The simulated time of a run.
    pub duration: Span,
    /// How much of it is not scored.
    pub warm_up: Span,
    /// The random seed of candidates and phases.
    pub seed: u64,
}

impl Default for Search {
    fn default() -> Search {
        Search {
            candidates: 32,
            folds: 4,
            weight: 1.0,
            phases: 1,
            duration: Span::from_secs(60),
            warm_up: Span::from_secs(20),
            seed: 1,
        }
    }
}

/// Why there is no choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TuneError {
    /// Too few networks for the folds.
    #[error(
        "{folds} folds need as many networks, and there are {networks}: give more networks or, where there are two or \
         more, at most as many folds"
    )]
    Folds {
        /// The folds.
        folds: u32,
        /// The networks.
        networks: usize,
    },
    /// Nothing to choose from, or nothing to score.
    #[error(
        "a search needs at least 2 candidates, a phase, and a warm-up shorter than the duration"
    )]
    Nothing,
}

impl Search {
    /// Scores the candidates on `links`, and chooses among them for each fold and for all. `done` is called for each candidate
    /// that is scored on a link.
    ///
    /// The first candidate has the shipped constants; outcomes compare with its. Results are the same on any number of
    /// threads.
    ///
    /// # Errors
    /// [`TuneError`] if the numbers do not fit.
    pub fn run(&self, links: &[Link], done: &(dyn Fn(u64) + Sync)) -> Result<Tuning, TuneError> {
        let networks = networks(links);
        if self.folds < 2 || self.folds as usize > networks.len() {
            return Err(TuneError::Folds { folds: self.folds, networks: networks.len() });
        }
        if self.candidates < 2 || self.phases == 0 || self.warm_up >= self.duration {
            return Err(TuneError::Nothing);
        }
        let mut random = Stream::new(self.seed, Purpose::Search, 0);
        let drawn = (1..self.candidates).map(|_| Constants::draw(&mut random));
        let all: Vec<Constants> = std::iter::once(Constants::default()).chain(drawn).collect();
        let outcomes = self.outcomes(&all, links, done);
        let shipped = outcomes[0].clone();
        let candidate = |(constants, outcomes): (Constants, Vec<Outcome>)| {
            let gains = outcomes.iter().zip(&shipped).map(|(one, shipped)| one.over(shipped));
            Candidate { constants, gains: gains.collect(), outcomes }
        };
        let candidates: Vec<Candidate> = all.into_iter().zip(outcomes).map(candidate).collect();
        let folds = (0..self.folds).map(|fold| self.fold(fold, &networks, links, &candidates));
        Ok(Tuning {
            folds: folds.collect(),
            best: self.best(&candidates, |_| true),
            links: links.iter().map(|link| link.name.clone()).collect(),
            candidates,
        })
    }

    /// How `constants` compare with the shipped ones on each of `links`.
    pub fn compare(&self, constants: &Constants, links: &[Link]) -> Vec<Gain> {
        let [ours, shipped] = [*constants, Constants::default()].map(|one| one.settings());
        let gain = |link: &Link| link.outcome(ours, self).over(&link.outcome(shipped, self));
        links.par_iter().map(gain).collect()
    }

    /// What each candidate reaches on each link.
    fn outcomes(
        &self,
        all: &[Constants],
        links: &[Link],
        done: &(dyn Fn(u64) + Sync),
    ) -> Vec<Vec<Outcome>> {
        all.par_iter()
            .map(|constants| {
                // In one thread: a candidate's tables are computed once.
                let settings = constants.settings();
                let outcome = |link: &Link| {
                    let outcome = link.outcome(settings, self);
                    done(1);
                    outcome
                };
                links.iter().map(outcome).collect()
            })
            .collect()
    }

    /// Chooses without part `fold` of the networks.
    fn fold(&self, fold: u32, networks: &[&str], links: &[Link], all: &[Candidate]) -> Fold {
        let is_out = |link: usize| {
            let place = networks.iter().position(|name| *name == links[link].network);
            place.is_some_and(|place| place as u32 % self.folds == fold)
        };
        let chosen = self.best(all, |link| !is_out(link));
        let gain = |keep: &dyn Fn(usize) -> bool| all[chosen].gain(keep);
        let out =
            networks.iter().enumerate().filter(|(place, _)| *place as u32 % self.folds == fold);
        Fold {
            left_out: out.map(|(_, name)| (*name).to_owned()).collect(),
            chosen,
            inside: gain(&|link| !is_out(link)),
            outside: gain(&is_out),
        }
    }

    /// The candidate that is best on the links that are kept.
    fn best(&self, all: &[Candidate], keep: impl Fn(usize) -> bool) -> usize {
        let worth = |index: &usize| all[*index].gain(&keep).worth(self.weight);
        // The first of equals, so that the shipped constants are kept.
        (0..all.len()).rev().max_by(|one, other| worth(one).total_cmp(&worth(other))).unwrap_or(0)
    }
}

impl Candidate {
    /// Its mean gain over the links that are kept.
    pub fn gain(&self, keep: &dyn Fn(usize) -> bool) -> Gain {
        let kept = self.gains.iter().enumerate().filter(|(link, _)| keep(*link));
        Gain::mean(kept.map(|(_, gain)| *gain))
    }
}

/// The networks of `links`, in order.
fn networks(links: &[Link]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for link in links {
        if !names.contains(&link.network.as_str()) {
            names.push(&link.network);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population;

    fn short() -> Search {
        let (duration, warm_up) = (Span::from_secs(6), Span::from_secs(2));
        Search { candidates: 6, folds: 3, duration, warm_up, ..Search::default() }
    }

    /// In each fold both directions of a network are left out, each network once; the choice is the best one inside.
    #[test]
    fn folds_leave_whole_networks_out() {
        let links = population(4, Span::from_secs(6)).expect("links");
        let tuning = short().run(&links, &|_| {}).expect("a choice");
        let mut all: Vec<&String> = tuning.folds.iter().flat_map(|fold| &fold.left_out).collect();
        all.sort();
        assert_eq!(all, ["network 1", "network 2", "network 3", "network 4"]);
        for fold in &tuning.folds {
            let inside = |link: usize| !fold.left_out.contains(&links[link].network);
            let worth = |one: &Candidate| one.gain(&inside).worth(1.0);
            let best = &tuning.candidates[fold.chosen];
            assert!(tuning.candidates.iter().all(|one| worth(one) <= worth(best)));
            assert_eq!(fold.inside, best.gain(&inside));
        }
        let shipped = &tuning.candidates[0];
        assert_eq!(shipped.constants, Constants::default());
        assert_eq!(shipped.gain(&|_| true), Gain::default());
    }

    #[test]
    fn results_do_not_depend_on_threads() {
        let links = population(3, Span::from_secs(6)).expect("links");
        let run = |threads: usize| {
            let pool =
                rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| short().run(&links, &|_| {}).expect("a choice"))
        };
        assert_eq!(run(1), run(3));
    }

    #[test]
    fn impossible_searches_are_refused() {
        let links = population(2, Span::from_secs(6)).expect("links");
        let refused = |search: Search| search.run(&links, &|_| {}).expect_err("impossible");
        assert_eq!(refused(short()), TuneError::Folds { folds: 3, networks: 2 });
        for search in [
            Search { candidates: 1, folds: 2, ..short() },
            Search { phases: 0, folds: 2, ..short() },
            Search { warm_up: Span::from_secs(6), folds: 2, ..short() },
        ] {
            assert_eq!(refused(search), TuneError::Nothing);
        }
    }
}
