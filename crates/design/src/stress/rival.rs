//! A table beside another one on stress networks.

use super::{StressNetwork, Trial};
use crate::evaluate::Prepared;
use crate::objective::Objective;
use exm_measure::{Estimate, mean};
use exm_random::{Purpose, Stream};
use rayon::prelude::*;

/// How often each network is simulated, its traffic drawn anew.
const RUNS: usize = 8;

/// What a table and its rival do on a network.
#[derive(Clone, Debug)]
pub struct Rivalry {
    /// The network.
    pub network: StressNetwork,
    /// What senders of the table get, in the mean over the runs.
    pub table: Trial,
    /// What senders of the rival get.
    pub rival: Trial,
    /// How much higher the table scores, run by run.
    pub lead: Estimate,
}

impl Rivalry {
    /// Whether the table scores lower than its rival, beyond the 95 % confidence interval.
    pub fn is_behind(&self) -> bool {
        self.lead.interval().1 < 0.0
    }
}

/// What senders of `table` and those of `rival` do on each of `networks`, in their order, scored by
/// `objective`; both meet the same traffic. The result is the same on any number of threads.
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

/// What senders of `table` get in run number `run`, and their score.
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
