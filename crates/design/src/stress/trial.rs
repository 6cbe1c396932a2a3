//! What a table does on a stress network.

use super::StressNetwork;
use crate::evaluate::Prepared;
use crate::objective::{Objective, Units};
use exm_measure::{jain_index, mean};
use exm_sim::dumbbell::{Dumbbell, Observer, Outcome};

/// How much a lack of fairness counts beside throughput and RTT: an index of 0.5 as much as half the throughput.
const UNFAIRNESS: f64 = 2.0;
/// A mean RTT of more than so many times the least possible is a collapse.
const COLLAPSE: f64 = 4.0;

/// What the senders of a stress network got.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// log2 of the throughput of senders that know all over that of these, in the mean over senders.
    pub throughput_gap: f64,
    /// The mean RTT over the propagation RTT.
    pub rtt_ratio: f64,
    /// The mean RTT over the least that is possible: the propagation delay, or, where one packet of each
    /// sender fills the link, the time that these take.
    pub rtt_over_least: f64,
    /// The part of the link's time that carried packets which were delivered.
    pub used: f64,
    /// Jain's index of the senders' packets delivered; 1 is an equal share for all.
    pub jain: f64,
}

impl Trial {
    /// How far it is from the best possible, in octaves: half the throughput and twice the RTT count one each.
    pub fn shortfall(&self) -> f64 {
        let rtt = libm::log2(self.rtt_over_least.max(1.0));
        (self.throughput_gap + rtt + UNFAIRNESS * (1.0 - self.jain)).max(0.0)
    }

    /// Whether senders fill the queue without need: the mean RTT is more than four times the least possible.
    pub fn collapses(&self) -> bool {
        self.rtt_over_least > COLLAPSE
    }
}

/// What a table does on several stress networks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The root of the mean of squared shortfalls: what hardening makes small.
    pub shortfall: f64,
    /// The largest mean RTT over the least possible.
    pub worst_rtt: f64,
    /// On how many networks it collapses.
    pub collapses: usize,
    /// How many networks there were.
    pub networks: usize,
}

/// What the senders of `network` get with `table`.
pub fn run(network: &StressNetwork, table: &Prepared) -> Trial {
    run_observed(network, table, &mut ())
}

/// As [`run`], telling `observer` of every rule that fires.
pub fn run_observed(
    network: &StressNetwork,
    table: &Prepared,
    observer: &mut impl Observer,
) -> Trial {
    let StressNetwork { network, seed, .. } = network;
    Trial::of(network, &table.on_dumbbell(network, *seed, observer))
}

impl Trial {
    /// What the senders of `network` got, where these were their `outcomes`.
    pub(super) fn of(network: &Dumbbell, outcomes: &[Outcome]) -> Trial {
        let throughput = Objective { delta: 0.0, units: Units::Relative, ..Objective::default() };
        let delivered: u64 = outcomes.iter().map(|outcome| outcome.delivered).sum();
        let rtt_sum: f64 = outcomes.iter().map(|outcome| outcome.rtt_sum.as_millis_f64()).sum();
        let (propagation, run) =
            (network.delays[0].as_millis_f64(), network.duration.as_millis_f64());
        let service = network.rate.service_time(network.packet).as_millis_f64();
        // A network that delivers nothing in its whole time has that for a round trip.
        let rtt = if delivered == 0 { run } else { rtt_sum / delivered as f64 };
        let least = (propagation + service).max(service * mean_senders(outcomes, run));
        let shares: Vec<f64> = outcomes.iter().map(|outcome| outcome.delivered as f64).collect();
        Trial {
            throughput_gap: throughput.omniscient(network) - throughput.score(network, outcomes),
            rtt_ratio: rtt / propagation,
            rtt_over_least: rtt / least,
            used: delivered as f64 * service / run,
            jain: jain_index(&shares).unwrap_or(1.0),
        }
    }
}

/// How many senders are on in the mean.
fn mean_senders(outcomes: &[Outcome], run_ms: f64) -> f64 {
    outcomes.iter().map(|outcome| outcome.on_time.as_millis_f64()).sum::<f64>() / run_ms
}

impl Summary {
    /// Of `trials`; all zero where there are none.
    pub fn of(trials: &[Trial]) -> Summary {
        let squares = trials.iter().map(|trial| trial.shortfall() * trial.shortfall());
        let worst = trials.iter().map(|trial| trial.rtt_over_least);
        Summary {
            shortfall: mean(squares).unwrap_or(0.0).sqrt(),
            worst_rtt: worst.fold(0.0, f64::max),
            collapses: trials.iter().filter(|trial| trial.collapses()).count(),
            networks: trials.len(),
        }
    }
}
