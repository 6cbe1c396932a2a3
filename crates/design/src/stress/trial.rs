//! The behaviour of a table on a stress network.

use super::StressNetwork;
use crate::evaluate::Prepared;
use crate::objective::{Objective, Units};
use exm_measure::{jain_index, mean};
use exm_sim::dumbbell::{Dumbbell, Observer, Outcome};

/// The weight of unfairness relative to throughput and RTT: a Jain's index of 0.5 counts as much as half the throughput.
const UNFAIRNESS: f64 = 2.0;
/// A mean RTT of more than this multiple of the minimum possible is a collapse.
const COLLAPSE: f64 = 4.0;

/// The results of the senders of a stress network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// log2 of the throughput of omniscient senders over that of these: the mean over senders.
    pub throughput_gap: f64,
    /// The mean RTT over the propagation RTT.
    pub rtt_ratio: f64,
    /// The mean RTT over the minimum possible: the propagation delay, or, where one packet of each
    /// sender fills the link, the transmission time of these packets.
    pub rtt_over_least: f64,
    /// The fraction of the link's time that carried delivered packets.
    pub used: f64,
    /// Jain's index of the senders' packets delivered; 1 is an equal share for all.
    pub jain: f64,
}

impl Trial {
    /// The distance from the best possible, in octaves: half the throughput and twice the RTT count one each.
    pub fn shortfall(&self) -> f64 {
        let rtt = libm::log2(self.rtt_over_least.max(1.0));
        (self.throughput_gap + rtt + UNFAIRNESS * (1.0 - self.jain)).max(0.0)
    }

    /// Whether senders fill the queue needlessly: the mean RTT is more than four times the minimum possible.
    pub fn collapses(&self) -> bool {
        self.rtt_over_least > COLLAPSE
    }
}

/// The behaviour of a table on several stress networks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The root mean square of the shortfalls.
    pub shortfall: f64,
    /// The largest ratio of the mean RTT to the minimum possible.
    pub worst_rtt: f64,
    /// The number of networks on which it collapses.
    pub collapses: usize,
    /// The number of networks.
    pub networks: usize,
}

/// The results of the senders of `network` with `table`.
pub fn run(network: &StressNetwork, table: &Prepared) -> Trial {
    run_observed(network, table, &mut ())
}

/// As [`run`], and notifies `observer` of every rule that fires.
pub fn run_observed(
    network: &StressNetwork,
    table: &Prepared,
    observer: &mut impl Observer,
) -> Trial {
    let StressNetwork { network, seed, .. } = network;
    Trial::of(network, &table.on_dumbbell(network, *seed, observer))
}

impl Trial {
    /// The results of the senders of `network` with these `outcomes`.
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

/// The mean number of active senders.
fn mean_senders(outcomes: &[Outcome], run_ms: f64) -> f64 {
    outcomes.iter().map(|outcome| outcome.on_time.as_millis_f64()).sum::<f64>() / run_ms
}

impl Summary {
    /// The summary of `trials`; all zero if there are none.
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
