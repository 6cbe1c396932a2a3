//! [`Tuning`]: what a search found.

use crate::constants::Constants;
use crate::link::{Gain, Outcome};
use exm_measure::figure::{Run, Scheme, Spread, Styles, ThroughputDelay};
use serde::Serialize;

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tuning {
    /// The names of the links.
    pub links: Vec<String>,
    /// All candidates, of which the first has the shipped constants.
    pub candidates: Vec<Candidate>,
    /// The choice of each fold.
    pub folds: Vec<Fold>,
    /// The candidate that is best on all links.
    pub best: usize,
}

/// Constants, and what they reach.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The constants.
    pub constants: Constants,
    /// What they reach on each link.
    pub outcomes: Vec<Outcome>,
    /// How that compares with the shipped constants.
    pub gains: Vec<Gain>,
}

/// A choice without some networks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fold {
    /// The networks that were left out.
    pub left_out: Vec<String>,
    /// The candidate that is best on the others.
    pub chosen: usize,
    /// Its mean gain over the shipped constants on those others.
    pub inside: Gain,
    /// Its mean gain on the networks that were left out.
    pub outside: Gain,
}

impl Tuning {
    /// The candidates' throughput against their delay, each a geometric mean over links; with names, the shipped constants, the
    /// choice on all links, and the choices of the folds.
    pub fn figure(&self) -> ThroughputDelay {
        let mut styles = Styles::new();
        let mut named = vec![(0, "shipped".to_owned())];
        for (number, fold) in (1..).zip(&self.folds) {
            named.push((fold.chosen, format!("without part {number}")));
        }
        named.push((self.best, "best on all".to_owned()));
        let mut schemes: Vec<Scheme> = Vec::new();
        for (index, name) in &named {
            // Those of one candidate share a point.
            let same = named.iter().position(|(other, _)| other == index);
            let run = self.candidates[*index].point();
            match same.and_then(|first| {
                schemes.iter_mut().find(|one| one.name.starts_with(&named[first].1))
            }) {
                Some(scheme) => scheme.name = format!("{}, {name}", scheme.name),
                None => schemes.push(Scheme {
                    name: name.clone(),
                    style: styles.of(name),
                    frontiers: Vec::new(),
                    curve: None,
                    runs: vec![run],
                    dots: Vec::new(),
                }),
            }
        }
        let links = self.links.len();
        ThroughputDelay {
            title: "Constants of Sprout".to_owned(),
            subtitle: format!("{} candidates on {links} links", self.candidates.len()),
            description: "Throughput against self-inflicted delay of each candidate.".to_owned(),
            y_axis: "throughput, geometric mean over links, Mbps".to_owned(),
            delay: "self-inflicted delay, geometric mean over links".to_owned(),
            spread: Spread::None,
            original: None,
            schemes,
            cloud: self.candidates.iter().map(Candidate::point).collect(),
        }
    }
}

impl Candidate {
    /// The geometric means of what it reaches.
    fn point(&self) -> Run {
        let mean = |value: fn(&Outcome) -> f64| {
            let logs = self.outcomes.iter().map(|one| libm::log(value(one).max(1e-6)));
            libm::exp(logs.sum::<f64>() / self.outcomes.len().max(1) as f64)
        };
        Run {
            delay_ms: Some(mean(|one| one.delay_ms.max(1.0))),
            throughput: mean(|one| one.throughput_mbps),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_chosen_twice_has_one_point() {
        let outcome = |throughput_mbps, delay_ms| Outcome { throughput_mbps, delay_ms };
        let candidate = |outcomes: Vec<Outcome>| Candidate {
            constants: Constants::default(),
            gains: vec![Gain::default(); outcomes.len()],
            outcomes,
        };
        let fold = |chosen| Fold {
            left_out: Vec::new(),
            chosen,
            inside: Gain::default(),
            outside: Gain::default(),
        };
        let tuning = Tuning {
            links: vec!["a".to_owned(), "b".to_owned()],
            candidates: vec![
                candidate(vec![outcome(1.0, 10.0), outcome(4.0, 40.0)]),
                candidate(vec![outcome(2.0, 20.0), outcome(2.0, 20.0)]),
            ],
            folds: vec![fold(1), fold(0)],
            best: 1,
        };
        let figure = tuning.figure();
        let names: Vec<&str> = figure.schemes.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["shipped, without part 2", "without part 1, best on all"]);
        let run = figure.schemes[0].runs[0];
        assert!(
            (run.throughput - 2.0).abs() < 1e-9
                && (run.delay_ms.expect("a delay") - 20.0).abs() < 1e-9
        );
        assert_eq!(figure.cloud.len(), 2);
    }
}
