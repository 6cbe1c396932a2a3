//! Held-out scores: how good contenders are on networks that no search ever met.
//!
//! They are run on the host that the model names, or on another: a RemyCC on the bare host, as the
//! search saw it, and anything over TCP. All contenders meet the same specimens, with the same traffic and losses, so their scores are
//! compared specimen by specimen: differences are surer than the scores themselves.

use crate::evaluate::Prepared;
use crate::model::Model;
use crate::search::JUDGING_BLOCK;
use crate::specimen::Specimen;
use exm_link::{Limit, Service};
use exm_measure::Estimate;
use exm_remy::{RemyCc, RuleTable};
use exm_sim::controllers::AnyController;
use exm_sim::dumbbell::{self, Dumbbell, Outcome};
use exm_sim::engine;
use exm_sim::metrics::FlowReport;
use exm_sim::network::{FlowSpec, Host, LinkSpec, Network, NetworkError, Transport};
use exm_units::Span;
use rayon::prelude::*;

/// The block that held-out specimens are drawn from: the searches draw those before, whatever the
/// seed.
const HELD_OUT_BLOCK: u64 = JUDGING_BLOCK + 1;

/// Who is scored.
#[derive(Clone, Debug)]
pub struct Contender {
    /// What it is called in the table of scores.
    pub name: String,
    /// What runs its senders.
    pub scheme: Scheme,
}

/// What runs the senders of a contender.
#[derive(Clone, Debug)]
pub enum Scheme {
    /// A rule table: on the bare host simulated by the fast path.
    Table(RuleTable),
    /// Any other controller: simulated by the event engine, on the same networks with the same
    /// traffic and losses.
    Controller(AnyController),
}

/// On what contenders are scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldOut {
    /// What the networks, and all randomness in them, are drawn from.
    pub seed: u64,
    /// How many specimens there are, see [`held_out_count`].
    pub specimens: usize,
    /// What all senders run on. Scores on different hosts do not compare.
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
    /// The event engine refuses a network of the model.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// What a contender's senders got on one specimen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The objective.
    pub score: f64,
    /// The objective in relative units.
    pub normalised: f64,
    /// What senders that know all would score, see [`crate::Objective::omniscient`].
    pub omniscient: f64,
    /// The mean over senders of throughput over equal share: 1 is the whole share.
    pub share: f64,
    /// The mean over senders of mean round-trip time over propagation delay; nothing where nothing
    /// was delivered.
    pub rtt_ratio: Option<f64>,
    /// The mean over senders of mean queueing delay, ms; nothing where nothing was delivered.
    pub queueing_ms: Option<f64>,
}

/// How good a contender is.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The contender's name.
    pub name: String,
    /// The mean of the objective.
    pub score: Estimate,
    /// The mean of the objective in relative units, in which networks compare: with exponents of 1,
    /// 0 is the whole share at no queueing delay.
    pub normalised: Estimate,
    /// What is left to gain: how much more senders that know all would score.
    pub to_omniscient: Estimate,
    /// How much more it scores than the first contender on the same specimens; nothing for the
    /// first itself.
    pub difference: Option<Estimate>,
    /// The mean of [`Trial::share`].
    pub share: f64,
    /// The mean of [`Trial::rtt_ratio`]; nothing where nothing was ever delivered.
    pub rtt_ratio: Option<f64>,
    /// What it got on each specimen, in their order.
    pub trials: Vec<Trial>,
}

/// Contenders side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// The seed that the specimens were drawn with.
    pub seed: u64,
    /// What the senders ran on.
    pub host: Host,
    /// How many specimens there were.
    pub specimens: usize,
    /// How many networks the model stands for, where it is a grid: many times so many specimens
    /// were drawn, and the sum over the grid is the mean times this.
    pub grid: Option<usize>,
    /// The mean score of senders that know all.
    pub omniscient: f64,
    /// The network of each specimen, in their order.
    pub networks: Vec<Dumbbell>,
    /// The contenders, in the order given.
    pub contenders: Vec<Score>,
}

/// How many specimens [`held_out`] takes where `count` are asked for: of a grid, every network as
/// often, and any at least twice, so that their scatter tells how sure a mean is.
pub fn held_out_count(model: &Model, count: usize) -> usize {
    let networks = model.grid_size().unwrap_or(1);
    count.max(2 * networks).next_multiple_of(networks)
}

/// Scores `contenders` on the same specimens, `on.specimens` or as many as [`held_out_count`] makes of
/// them, drawn from those that no search draws; calls `done` after each simulation, of which there are
/// as many for each contender. The result is the same on any number of threads.
///
/// # Errors
/// [`ScoreError`] where a contender cannot run on the host, or the event engine refuses a network of
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
        .map(|contender| Ready::new(contender, host))
        .collect::<Result<Vec<_>, _>>()?;
    let trials = (0..ready.len() * count)
        .into_par_iter()
        .map(|i| {
            let trial = try_on(model, &specimens[i % count], &ready[i / count]);
            done();
            trial
        })
        .collect::<Result<Vec<Trial>, NetworkError>>()?;
    let omniscient: f64 = specimens.iter().map(|s| model.objective().omniscient(&s.network)).sum();
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
        omniscient: omniscient / count as f64,
        networks: specimens.into_iter().map(|specimen| specimen.network).collect(),
        contenders: rows.collect(),
    })
}

/// A contender made ready for simulation.
enum Ready {
    /// A table on the bare host, for the fast path.
    Table(Prepared),
    /// What every sender runs, for the event engine.
    Transport(Box<Transport>),
}

impl Ready {
    fn new(contender: &Contender, host: Host) -> Result<Ready, ScoreError> {
        let controller: AnyController = match (&contender.scheme, host) {
            (Scheme::Table(table), Host::Bare) => {
                return Ok(Ready::Table(Prepared::new(table)));
            }
            (Scheme::Table(table), Host::Tcp) => RemyCc::new(table).into(),
            (Scheme::Controller(controller), _) => controller.clone(),
        };
        if !host.suits(&controller) {
            return Err(ScoreError::Unsuited { contender: contender.name.clone() });
        }
        Ok(Ready::Transport(Box::new(match host {
            Host::Bare => Transport::Bare { timer: controller.keeps_timer(), controller },
            Host::Tcp => Transport::Tcp { controller, settings: exm_tcp::Settings::default() },
        })))
    }
}

fn try_on(model: &Model, specimen: &Specimen, contender: &Ready) -> Result<Trial, NetworkError> {
    let Specimen { network, seed } = specimen;
    let outcomes = match contender {
        Ready::Table(table) => dumbbell::run(network, table.rules(), *seed),
        Ready::Transport(transport) => run_by_events(network, transport, *seed)?,
    };
    Ok(measured(model, network, &outcomes))
}

/// As [`dumbbell::run`], for any transport.
fn run_by_events(
    dumbbell: &Dumbbell,
    transport: &Transport,
    seed: u64,
) -> Result<Vec<Outcome>, NetworkError> {
    let limit = dumbbell.buffer.map_or(Limit::Unlimited, Limit::Packets);
    let link = LinkSpec {
        loss: dumbbell.loss,
        ..LinkSpec::bottleneck(Service::Fixed(dumbbell.rate), limit)
    };
    let flows = dumbbell.delays.iter().map(|&delay| FlowSpec {
        name: "sender".to_owned(),
        path: vec![0],
        back: Vec::new(),
        extra_delay: delay,
        packet_size: dumbbell.packet,
        traffic: dumbbell.traffic.clone().into(),
        transport: transport.clone(),
    });
    let network = Network::new(vec![link], flows.collect(), dumbbell.duration)?;
    Ok(engine::run(&network, seed).flows.iter().map(outcome).collect())
}

fn outcome(flow: &FlowReport) -> Outcome {
    // A retransmitted packet is delivered without telling its round trip: the mean stands for it.
    let (sum, samples) = (flow.rtt.sum_nanos(), u128::from(flow.rtt.count()));
    let of_all = (sum * u128::from(flow.delivered)).checked_div(samples).unwrap_or(0);
    let rtt_nanos = u64::try_from(of_all).unwrap_or(u64::MAX);
    Outcome {
        sent: flow.sent,
        delivered: flow.delivered,
        lost: flow.lost + flow.dropped_in_all(),
        rtt_sum: Span::from_nanos(rtt_nanos),
        on_time: flow.on_time,
        share_time: flow.share_time,
    }
}

fn measured(model: &Model, network: &Dumbbell, outcomes: &[Outcome]) -> Trial {
    let objective = model.objective();
    let link = network.rate.as_packets_per_ms(network.packet);
    let service_ms = network.rate.service_time(network.packet).as_millis_f64();
    let senders = || network.delays.iter().zip(outcomes).filter(|(_, o)| !o.on_time.is_zero());
    let got = || senders().filter(|(_, outcome)| outcome.delivered > 0);
    let rtt_ms = |outcome: &Outcome| outcome.rtt_sum.as_millis_f64() / outcome.delivered as f64;
    Trial {
        score: objective.score(network, outcomes),
        normalised: objective.normalised(network, outcomes),
        omniscient: objective.omniscient(network),
        share: mean(senders().map(|(_, o)| o.delivered as f64 / (o.share_time * 1e3 * link)))
            .unwrap_or(0.0),
        rtt_ratio: mean(got().map(|(delay, o)| rtt_ms(o) / delay.as_millis_f64())),
        queueing_ms: mean(got().map(|(delay, outcome)| {
            (rtt_ms(outcome) - delay.as_millis_f64() - service_ms).max(0.0)
        })),
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
        difference: first.map(|first| estimate(&|i, trial| trial.score - first[i].score)),
        share: mean(trials.iter().map(|trial| trial.share)).unwrap_or(0.0),
        rtt_ratio: mean(trials.iter().filter_map(|trial| trial.rtt_ratio)),
        trials: trials.to_vec(),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u64), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests;
