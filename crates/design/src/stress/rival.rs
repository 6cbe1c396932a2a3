//! Compares two tables on stress networks.

use super::{StressNetwork, Trial};
use crate::evaluate::Prepared;
use crate::objective::Objective;
use exm_measure::{Estimate, mean};
use exm_random::{Purpose, Stream};
use rayon::prelude::*;

/// How often each network is simulated, with new traffic each time.
const RUNS: usize = 8;

/// The results of a table and its rival on a network.
#[derive(Clone, Debug)]
pub struct Rivalry {
    /// The network.
    pub network: StressNetwork,
    /// The results of the table's senders: means over the runs.
    pub table: Trial,
    /// The results of the rival's senders.
    pub rival: Trial,
    /// The table's score minus the rival's, paired by run.
    pub lead: Estimate,
}

impl Rivalry {
    /// Whether the table scores significantly lower than its rival (95 % confidence interval).
    pub fn is_behind(&self) -> bool {
        self.lead.interval().1 < 0.0
    }
}

/// The results of senders of `table` and of `rival` on each of `networks`, in their order, scored by
/// `objective`. Both have the same traffic. The result is the same on any number of threads.
pub fn compare(
    networks: &[StressNetwork],
    objective: &Objective,
    table: &Prepared,
    rival: &Prepared,
) -> Vec<Rivalry> {
    let on = |network: &StressNetwork| {
        let runs: Vec<[(Trial, f64); 2]> = (0..RUNS)
            .into_par_iter()
            .map(|run| [table, rival].map(|one| scored(network, run, objective, one)))
            .collect();
        let trial =
            |which: usize| Trial::mean(&runs.iter().map(|run| run[which].0).collect::<Vec<_>>());
        let leads: Vec<f64> = runs.iter().map(|[table, rival]| table.1 - rival.1).collect();
        let network = network.clone();
        Rivalry { network, table: trial(0), rival: trial(1), lead: Estimate::of(&leads) }
    };
    networks.par_iter().map(on).collect()
}

/// The results of senders of `table` in run number `run`, and their score.
fn scored(
    network: &StressNetwork,
    run: usize,
    objective: &Objective,
    table: &Prepared,
) -> (Trial, f64) {
    let seed = Stream::new(network.seed, Purpose::Specimen, run).seed();
    let outcomes = table.on_dumbbell(&network.network, seed, &mut ());
    (Trial::of(&network.network, &outcomes), objective.score(&network.network, &outcomes))
}

impl Trial {
    /// The mean of each of their quantities.
    fn mean(trials: &[Trial]) -> Trial {
        let of =
            |quantity: fn(&Trial) -> f64| mean(trials.iter().map(quantity)).unwrap_or(f64::NAN);
        Trial {
            throughput_gap: of(|trial| trial.throughput_gap),
            rtt_ratio: of(|trial| trial.rtt_ratio),
            rtt_over_least: of(|trial| trial.rtt_over_least),
            used: of(|trial| trial.used),
            jain: of(|trial| trial.jain),
        }
    }
}
