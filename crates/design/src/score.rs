//! Held-out scores: how good contenders are on networks that no search ever saw.
//!
//! They run on the host that the model selects, or on another: RemyCCs on the bare host, as in the
//! search, and any controller over TCP. All contenders run on the same specimens, with the same traffic and losses, so their
//! scores are compared specimen by specimen: differences have smaller intervals than the scores themselves.

use crate::evaluate::{Prepared, simulate, simulate_events};
use crate::model::Model;
use crate::search::JUDGING_BLOCK;
use crate::specimen::{Layout, Specimen};
use exm_measure::figure::{self, Spread, Style, ThroughputDelay};
use exm_measure::{Estimate, mean};
use exm_remy::RuleTable;
use exm_sim::controllers::AnyController;
use exm_sim::dumbbell::Outcome;
use exm_sim::network::{Host, NetworkError, Transport};
use rayon::prelude::*;

/// The block that held-out specimens are drawn from: the searches draw those before, whatever the
/// seed.
const HELD_OUT_BLOCK: u64 = JUDGING_BLOCK + 1;

/// A contender to score.
#[derive(Clone, Debug)]
pub struct Contender {
    /// Its name in the table of scores.
    pub name: String,
    /// The controller of its senders.
    pub scheme: Scheme,
}

/// The controller of a contender's senders.
#[derive(Clone, Debug)]
pub enum Scheme {
    /// A rule table, run by all senders whose table the model designs.
    Table(RuleTable),
    /// A rule table for each that the model designs, in the order of [`Model::tables`].
    Tables(Vec<RuleTable>),
    /// Any other controller: simulated by the event engine, on the same networks with the same
    /// traffic and losses.
    Controller(AnyController),
}

/// The networks and the host for scoring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldOut {
    /// The random seed of the networks, their traffic and their losses.
    pub seed: u64,
    /// How many specimens there are, see [`held_out_count`].
    pub specimens: usize,
    /// The host of all senders. Scores on different hosts cannot be compared.
    pub host: Host,
}

/// Why contenders cannot be scored.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScoreError {
    /// A controller that needs the loss recovery of TCP, on the bare host.
    #[error("{contender} is designed for TCP, and the bare host does not retransmit what is lost")]
    Unsuited {
        /// Its name.
        contender: String,
    },
    /// The number of tables differs from that which the model designs.
    #[error("{contender} has {tables} tables, and the model designs {designed}")]
    Tables {
        /// Its name.
        contender: String,
        /// How many it has.
        tables: usize,
        /// How many the model designs.
        designed: usize,
    },
    /// The event engine refuses a network of the model.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// The results of a contender's senders on one specimen.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The objective.
    pub score: f64,
    /// The objective in relative units.
    pub normalised: f64,
    /// The score of omniscient senders, see [`Model::omniscient`].
    pub omniscient: f64,
    /// The objective of each class of senders; `None` if it was never on.
    pub classes: Vec<Option<f64>>,
    /// The mean over senders of throughput over equal share: 1 is the whole share.
    pub share: f64,
    /// The mean over senders of mean RTT over propagation RTT; `None` if nothing
    /// was delivered.
    pub rtt_ratio: Option<f64>,
    /// The mean over senders of mean queueing delay, ms; `None` if nothing was delivered.
    pub queueing_ms: Option<f64>,
}

/// The score of a contender.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The contender's name.
    pub name: String,
    /// The mean of the objective.
    pub score: Estimate,
    /// The mean of the objective in relative units, in which networks can be compared: with exponents of 1,
    /// 0 is the whole share without queueing delay.
    pub normalised: Estimate,
    /// The gap to omniscient senders.
    pub to_omniscient: Estimate,
    /// The mean score of each class of senders by its own objective, in the order of [`Model::classes`];
    /// `None` if it was never on.
    pub classes: Vec<Option<f64>>,
    /// The difference of its score from that of the first contender on the same specimens; `None` for the
    /// first itself.
    pub difference: Option<Estimate>,
    /// The mean of [`Trial::share`].
    pub share: f64,
    /// The mean of [`Trial::rtt_ratio`]; `None` if nothing was ever delivered.
    pub rtt_ratio: Option<f64>,
    /// Its results on each specimen, in their order.
    pub trials: Vec<Trial>,
}

/// Contenders side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// The seed that the specimens were drawn with.
    pub seed: u64,
    /// The host of the senders.
    pub host: Host,
    /// How many specimens there were.
    pub specimens: usize,
    /// The number of networks of the model, if it is a grid. A multiple of this many specimens
    /// was drawn, and the sum over the grid is the mean times this.
    pub grid: Option<usize>,
    /// The mean score of omniscient senders.
    pub omniscient: f64,
    /// The network of each specimen, in their order.
    pub networks: Vec<Layout>,
    /// The contenders, in the order given.
    pub contenders: Vec<Score>,
}

impl Scores {
    /// The index of the contender with the highest mean score; of equals, the first.
    pub fn best(&self) -> usize {
        let mean = |index: usize| self.contenders[index].score.mean;
        (1..self.contenders.len())
            .fold(0, |best, next| if mean(next) > mean(best) { next } else { best })
    }
}

impl Score {
    /// Its results as those of a scheme in a figure of [`throughput_delay`].
    pub fn scheme(&self, name: String, style: Style) -> figure::Scheme {
        let run =
            |trial: &Trial| figure::Run { delay_ms: trial.queueing_ms, throughput: trial.share };
        let runs = self.trials.iter().map(run).collect();
        figure::Scheme { name, style, frontiers: Vec::new(), curve: None, runs, dots: Vec::new() }
    }
}

/// A figure of throughput against queueing delay on the networks of a model.
pub fn throughput_delay(
    title: String,
    subtitle: String,
    description: String,
    schemes: Vec<figure::Scheme>,
) -> ThroughputDelay {
    ThroughputDelay {
        cloud: Vec::new(),
        title,
        subtitle,
        description,
        y_axis: "throughput / equal share of the link".to_owned(),
        delay: "queueing delay".to_owned(),
        // The networks differ, so the ellipse of a Gaussian would be meaningless.
        spread: Spread::Quartiles,
        original: None,
        schemes,
    }
}

/// The number of specimens that [`held_out`] uses if `count` are requested. For a grid, every network is drawn
/// equally often and at least twice, so that the scatter gives the standard error of the mean.
pub fn held_out_count(model: &Model, count: usize) -> usize {
    let networks = model.grid_size().unwrap_or(1);
    count.max(2 * networks).next_multiple_of(networks)
}

/// Scores `contenders` on the same specimens, `on.specimens` rounded up by [`held_out_count`],
/// which no search draws. Calls `done` after each simulation; each contender has one per
/// specimen. The result is the same on any number of threads.
///
/// # Errors
/// [`ScoreError`] if a contender cannot run on the host, or the event engine refuses a network of
/// the model.
pub fn held_out(
    model: &Model,
    on: &HeldOut,
    contenders: &[Contender],
    done: &(impl Fn() + Sync),
) -> Result<Scores, ScoreError> {
    let HeldOut { seed, host, .. } = *on;
    let count = held_out_count(model, on.specimens);
    let specimens = model.specimens(seed, HELD_OUT_BLOCK, count);
    let ready = contenders
        .iter()
        .map(|contender| Ready::new(model, contender, host))
        .collect::<Result<Vec<_>, _>>()?;
    let omniscient: Vec<f64> = specimens.par_iter().map(|s| model.omniscient(s)).collect();
    let trials = (0..ready.len() * count)
        .into_par_iter()
        .map(|i| {
            let at = i % count;
            let trial = try_on(model, &specimens[at], &ready[i / count], omniscient[at]);
            done();
            trial
        })
        .collect::<Result<Vec<Trial>, NetworkError>>()?;
    let each: Vec<&[Trial]> = trials.chunks(count).collect();
    let strata = model.grid_size().unwrap_or(1);
    let rows = contenders.iter().zip(&each).enumerate().map(|(index, (contender, trials))| {
        let first = (index > 0).then(|| each[0]);
        summary(&contender.name, trials, first, strata)
    });
    Ok(Scores {
        seed,
        host,
        specimens: count,
        grid: model.grid_size(),
        omniscient: omniscient.iter().sum::<f64>() / count as f64,
        networks: specimens.into_iter().map(|specimen| specimen.network).collect(),
        contenders: rows.collect(),
    })
}

/// A contender prepared for simulation.
enum Ready {
    /// Tables on the bare host.
    Tables(Vec<Prepared>),
    /// What every sender of each designed table runs, for the event engine.
    Transports(Vec<Transport>),
}

impl Ready {
    fn new(model: &Model, contender: &Contender, host: Host) -> Result<Ready, ScoreError> {
        let designed = model.tables().len();
        let tables = match &contender.scheme {
            Scheme::Controller(controller) => {
                let transport = transport(contender, controller.clone(), host)?;
                return Ok(Ready::Transports(vec![transport; designed]));
            }
            Scheme::Table(table) => vec![table.clone(); designed],
            Scheme::Tables(tables) => tables.clone(),
        };
        if tables.len() != designed {
            let (contender, tables) = (contender.name.clone(), tables.len());
            return Err(ScoreError::Tables { contender, tables, designed });
        }
        let ready = tables.iter().map(|table| Prepared::on(host, model, table));
        Ok(Ready::Tables(ready.collect()))
    }
}

fn transport(
    contender: &Contender,
    controller: AnyController,
    host: Host,
) -> Result<Transport, ScoreError> {
    if !host.suits(&controller) {
        return Err(ScoreError::Unsuited { contender: contender.name.clone() });
    }
    Ok(host.transport(controller))
}

fn try_on(
    model: &Model,
    specimen: &Specimen,
    contender: &Ready,
    omniscient: f64,
) -> Result<Trial, NetworkError> {
    let outcomes = match contender {
        Ready::Tables(tables) => simulate(model, specimen, tables),
        Ready::Transports(transports) => {
            simulate_events(model, specimen, |table| transports[table].clone(), &mut ())?
        }
    };
    Ok(measured(model, &specimen.network, &outcomes, omniscient))
}

fn measured(model: &Model, network: &Layout, outcomes: &[Outcome], omniscient: f64) -> Trial {
    let designed = |class: usize| model.classes()[class].is_designed();
    let senders = || {
        let all = outcomes.iter().enumerate().map(|(sender, got)| (network.path_of(sender), got));
        let of_designed = all.filter(move |((class, _), _)| designed(*class));
        of_designed
            .filter(|(_, got)| !got.on_time.is_zero())
            .map(|((class, path), got)| (path, got, model.classes()[class].objective.over))
    };
    let classes = 0..model.classes().len();
    Trial {
        score: model.score(network, outcomes),
        normalised: model.normalised(network, outcomes),
        omniscient,
        classes: classes.map(|class| model.class_score(class, network, outcomes)).collect(),
        share: mean(senders().map(|(path, got, over)| path.share_over(got, over))).unwrap_or(0.0),
        rtt_ratio: mean(senders().filter_map(|(path, got, _)| path.rtt_ratio(got))),
        queueing_ms: mean(senders().filter_map(|(path, got, _)| path.queueing_ms(got))),
    }
}

fn summary(name: &str, trials: &[Trial], first: Option<&[Trial]>, strata: usize) -> Score {
    let estimate = |value: &dyn Fn(usize, &Trial) -> f64| {
        let values: Vec<f64> = trials.iter().enumerate().map(|(i, r)| value(i, r)).collect();
        Estimate::stratified(&values, strata)
    };
    Score {
        name: name.to_owned(),
        score: estimate(&|_, trial| trial.score),
        normalised: estimate(&|_, trial| trial.normalised),
        to_omniscient: estimate(&|_, trial| trial.omniscient - trial.score),
        classes: (0..trials.first().map_or(0, |trial| trial.classes.len()))
            .map(|class| mean(trials.iter().filter_map(|trial| trial.classes[class])))
            .collect(),
        difference: first.map(|first| estimate(&|i, trial| trial.score - first[i].score)),
        share: mean(trials.iter().map(|trial| trial.share)).unwrap_or(0.0),
        rtt_ratio: mean(trials.iter().filter_map(|trial| trial.rtt_ratio)),
        trials: trials.to_vec(),
    }
}

#[cfg(test)]
mod tests;
