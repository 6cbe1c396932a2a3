//! Hardening: a finishing pass that keeps a table from filling queues on networks that its model left out.
//!
//! A designed table collapses around its model because its window does not bind: with more senders or a slower
//! link than it was designed for, rules rest at windows that no queue can hold. [`Guards`] bound the window
//! of each rule by what is delivered in a bounded time. How tight they are is chosen by the networks of
//! [`stress::Set::Choice`], as far as the score inside the model allows; those of [`stress::Set::HeldOut`] measure
//! afterwards what it was worth.

mod guards;

pub use guards::{Guards, resting_window};

use crate::conditions::Conditions;
use crate::evaluate::{Prepared, simulate};
use crate::model::Model;
use crate::score::{self, Contender, HeldOut, Scheme, ScoreError};
use crate::search::JUDGING_BLOCK;
use crate::specimen::Specimen;
use crate::stress::{self, Set, StressNetwork, Summary};
use exm_measure::Estimate;
use exm_remy::RuleTable;
use exm_sim::network::Host;
use exm_units::Span;
use rayon::prelude::*;

/// The block of specimens that measure what guards cost inside the model; no search draws it, and held-out scores
/// draw the one before.
const COST_BLOCK: u64 = JUDGING_BLOCK + 2;
/// How many specimens that is, as a multiple of the model's.
const COST_SPECIMENS: usize = 4;
/// Octaves of shortfall that a point of cost above the limit weighs as much as: the limit is kept unless no guards
/// keep it.
const ABOVE_LIMIT: f64 = 100.0;
/// The horizons tried, in the model's longest RTTs.
const HORIZONS: [f64; 5] = [1.5, 1.0, 1.25, 2.0, 3.0];
const BRAKES: [Option<f64>; 4] = [Some(1.5), Some(2.0), Some(3.0), None];
const START_WINDOWS: [Option<u32>; 5] = [Some(16), None, Some(32), Some(8), Some(4)];
const GROWTHS: [Option<u32>; 4] = [Some(8), None, Some(4), Some(16)];
const LEAST_WINDOWS: [u32; 3] = [3, 1, 2];
/// How often each guard is chosen anew, the others being given.
const ROUNDS: usize = 2;

/// A table before and after.
#[derive(Clone, Debug)]
pub struct Hardened {
    /// The table with its guards; as it was, where none made it better.
    pub table: RuleTable,
    /// Its guards; none where the table was better without.
    pub guards: Option<Guards>,
    /// What it does on the held-out stress networks.
    pub after: Summary,
    /// What the table did there before.
    pub before: Summary,
}

/// Hardens `tables`, those that `model` designs, one after the other: of all guards tried, each table gets those
/// with which it does best on the stress networks around the model, of those that cost at most `limit`
/// points inside it. The result follows from the arguments alone, on any number of threads.
pub fn harden(model: &Model, tables: &[RuleTable], limit: f64, seed: u64) -> Vec<Hardened> {
    let count = COST_SPECIMENS * model.design().specimens;
    let specimens = model.specimens(seed, COST_BLOCK, count);
    let mut tables = tables.to_vec();
    (0..tables.len())
        .map(|index| {
            let pass = Pass::new(model, &specimens, &tables, index, limit);
            let hardened = pass.run();
            tables[index] = hardened.table.clone();
            hardened
        })
        .collect()
}

/// What `after` scores more than `before` inside `model`, tables in the order of [`Model::tables`]: on
/// specimens that no search and no hardening draws.
///
/// # Errors
/// As [`score::held_out`].
pub fn cost(
    model: &Model,
    before: &[RuleTable],
    after: &[RuleTable],
    specimens: usize,
    seed: u64,
) -> Result<Estimate, ScoreError> {
    let contender = |name: &str, tables: &[RuleTable]| Contender {
        name: name.to_owned(),
        scheme: Scheme::Tables(tables.to_vec()),
    };
    let contenders = [contender("before", before), contender("after", after)];
    let on = HeldOut { seed, specimens, host: Host::Bare };
    let scores = score::held_out(model, &on, &contenders, &|| ())?;
    let difference = scores.contenders.into_iter().nth(1).and_then(|score| score.difference);
    Ok(difference.expect("the second contender is compared with the first"))
}

/// The hardening of one table.
struct Pass<'a> {
    model: &'a Model,
    specimens: &'a [Specimen],
    /// All that the model designs.
    tables: &'a [RuleTable],
    index: usize,
    limit: f64,
    networks: Vec<StressNetwork>,
    /// What the tables as they are score on each specimen.
    plain: Vec<f64>,
}

impl<'a> Pass<'a> {
    fn new(
        model: &'a Model,
        specimens: &'a [Specimen],
        tables: &'a [RuleTable],
        index: usize,
        limit: f64,
    ) -> Pass<'a> {
        let networks = stress::networks(model, index, Set::Choice);
        let plain = scores(model, specimens, tables);
        Pass { model, specimens, tables, index, limit, networks, plain }
    }

    fn run(&self) -> Hardened {
        let table = &self.tables[self.index];
        let mut best = (self.first(), f64::INFINITY);
        for _ in 0..ROUNDS {
            let before = best.0;
            for variants in VARIANTS {
                let candidates = variants(&best.0, self.longest_rtt());
                best = self.best(candidates, best);
            }
            if best.0 == before {
                break;
            }
        }
        let (guards, misfit) = best;
        let hardened = guards.apply(table).ok().filter(|_| misfit < self.misfit(table));
        let held_out = stress::networks(self.model, self.index, Set::HeldOut);
        let on = |table| Summary::of(&stress::run_all(&held_out, &Prepared::new(table)));
        let guards = hardened.is_some().then_some(guards);
        let after = hardened.unwrap_or_else(|| table.clone());
        Hardened { before: on(table), after: on(&after), table: after, guards }
    }

    fn longest_rtt(&self) -> Span {
        Conditions::of_model(self.model).rtt.1
    }

    fn first(&self) -> Guards {
        Guards {
            start_window: START_WINDOWS[0],
            growth: GROWTHS[0],
            horizon: times(self.longest_rtt(), HORIZONS[0]),
            least_window: LEAST_WINDOWS[0],
            brake: BRAKES[0],
            shortest_rtt: Conditions::of_model(self.model).rtt.0,
        }
    }

    /// The best of `candidates` and of the best so far, the earlier of equals.
    fn best(&self, candidates: Vec<Guards>, best: (Guards, f64)) -> (Guards, f64) {
        let table = &self.tables[self.index];
        let misfit = |guards: &Guards| match guards.apply(table) {
            // What was the best is no better now.
            _ if *guards == best.0 && best.1.is_finite() => best.1,
            Ok(table) => self.misfit(&table),
            Err(_) => f64::INFINITY,
        };
        let misfits: Vec<f64> = candidates.par_iter().map(misfit).collect();
        candidates
            .into_iter()
            .zip(misfits)
            .fold(best, |best, candidate| if candidate.1 < best.1 { candidate } else { best })
    }

    /// How bad `table` is on the stress networks, in octaves, and what it costs inside the model above the
    /// limit.
    fn misfit(&self, table: &RuleTable) -> f64 {
        let around = Summary::of(&stress::run_all(&self.networks, &Prepared::new(table)));
        let mut tables = self.tables.to_vec();
        tables[self.index] = table.clone();
        let scores = scores(self.model, self.specimens, &tables);
        let lost: Vec<f64> =
            self.plain.iter().zip(&scores).map(|(plain, score)| plain - score).collect();
        // The upper end of the interval: the best of many candidates has been lucky on these specimens.
        let cost = Estimate::of(&lost).interval().1;
        around.shortfall + ABOVE_LIMIT * (cost - self.limit).max(0.0)
    }
}

/// Guards that differ from the given ones in one respect; the second argument is the model's longest RTT.
type Variants = fn(&Guards, Span) -> Vec<Guards>;

const VARIANTS: [Variants; 5] = [
    |&guards, _| START_WINDOWS.map(|start_window| Guards { start_window, ..guards }).to_vec(),
    |&guards, _| GROWTHS.map(|growth| Guards { growth, ..guards }).to_vec(),
    |&guards, _| BRAKES.map(|brake| Guards { brake, ..guards }).to_vec(),
    |&guards, rtt| {
        HORIZONS.map(|horizon| Guards { horizon: times(rtt, horizon), ..guards }).to_vec()
    },
    |&guards, _| LEAST_WINDOWS.map(|least_window| Guards { least_window, ..guards }).to_vec(),
];

fn times(rtt: Span, factor: f64) -> Span {
    Span::from_nanos((rtt.as_nanos() as f64 * factor) as u64)
}

/// What `tables` score on each of `specimens`.
fn scores(model: &Model, specimens: &[Specimen], tables: &[RuleTable]) -> Vec<f64> {
    let candidate: Vec<Prepared> = tables.iter().map(|table| Prepared::of(model, table)).collect();
    let score = |specimen: &Specimen| {
        model.score(&specimen.network, &simulate(model, specimen, &candidate))
    };
    specimens.par_iter().map(score).collect()
}

#[cfg(test)]
mod tests;
