//! Describes the behaviour of a table around its model: where it collapses, which rule is at fault, and the bounds that
//! are proven without simulation.

mod fluid;

pub use fluid::{FluidBound, fluid_bound};

use crate::conditions::Conditions;
use crate::evaluate::Prepared;
use crate::harden::resting_window;
use crate::model::Model;
use crate::stress::{
    self, FOREIGN, ForeignNetwork, ForeignTrial, StressNetwork, StressSet, Summary, Trial,
};
use exm_remy::{Action, Point, RuleTable};
use exm_sim::dumbbell::Observer;
use exm_store::counted;
use exm_table::{ForeignDelayResults, Robustness, StressResults, TableFile, Verdict};
use exm_units::Rate;
use rayon::prelude::*;
use std::fmt;

/// The multiples of the model's maximum number of senders for which the fluid bound is computed.
const CROWDS: [u64; 4] = [1, 2, 4, 16];

/// The behaviour of a table around its model.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// On the networks of [`StressSet::Near`].
    pub near: Summary,
    /// On those of [`StressSet::HeldOut`].
    pub far: Summary,
    /// On networks with foreign delay.
    pub foreign: ForeignDelayResults,
    /// The results of the senders there.
    pub foreign_trials: Vec<ForeignTrial>,
    /// Where it starves there, in the order of the networks.
    pub starvations: Vec<Starvation>,
    /// Where it collapses near its model, in the order of the networks.
    pub findings: Vec<Finding>,
    /// Bounds for the model's maximum number of senders, and for more.
    pub proven: Vec<ProvenBound>,
}

/// How many of the most frequent rules are tested as the one at fault.
const SUSPECTS: usize = 8;

/// A collapse, and the rule at fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The network, such as "twice the senders".
    pub network: String,
    /// Its rate.
    pub rate: Rate,
    /// Its senders.
    pub senders: usize,
    /// Their results.
    pub trial: Trial,
    /// The rule at fault, among the most frequent ones: without its window the network would not collapse.
    pub rule: usize,
    /// The mean RTT over the minimum possible if that rule keeps one packet in flight.
    pub without: f64,
    /// The rule's resting window, in packets.
    pub resting_window: f64,
    /// Its pacing interval, ms.
    pub intersend_ms: f64,
    /// How many active senders at this pacing rate the link can carry.
    pub holds: f64,
}

/// A network on which senders starve.
#[derive(Clone, Debug, PartialEq)]
pub struct Starvation {
    /// The network, such as "beside Cubic, 15.0 Mbps, 150 ms, 2 of the table's, 1.0 BDP, always on".
    pub network: String,
    /// The results of the senders.
    pub trial: ForeignTrial,
}

/// The bound for a number of senders on the slowest link of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProvenBound {
    /// How many senders.
    pub senders: u64,
    /// The rate of the link.
    pub rate: Rate,
    /// The upper bound on the RTT with a standing queue.
    pub bound: FluidBound,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { network, trial, rule, without, resting_window, intersend_ms, .. } = self;
        let Finding { holds, senders, .. } = self;
        write!(
            f,
            "{network}: RTT {:.1} times the minimum possible. Rule {rule} is at fault: it enlarges the window \
             to {resting_window:.0} packets and sends one every {intersend_ms:.1} ms; if its window were 1 packet, the \
             RTT would be {without:.1} times the minimum. At this pace, {:.3} Mbps suffice for {}",
            trial.rtt_over_least,
            self.rate.as_mbps(),
            match holds.round() {
                0.0 => "less than one sender".to_owned(),
                senders => counted(senders as u64, "sender", "senders"),
            }
        )?;
        if *holds < *senders as f64 { write!(f, ", not for {senders}") } else { Ok(()) }
    }
}

impl fmt::Display for Starvation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Starvation { network, trial } = self;
        let (packets, ratio) = (trial.packets_per_rtt, trial.rtt_ratio);
        write!(
            f,
            "{network}: {packets:.2} packets in a propagation RTT, at {ratio:.1} times that RTT"
        )
    }
}

impl fmt::Display for ProvenBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.senders == 1 { "sender" } else { "senders" };
        write!(f, "{} {noun} at {}: {}", self.senders, self.rate, self.bound)
    }
}

impl Check {
    /// Whether the table never collapses near its model, and never starves with foreign delay.
    pub fn verdict(&self) -> Verdict {
        match (self.near.collapses, self.foreign.starved) {
            (0, 0) => Verdict::Holds,
            (0, _) => Verdict::Starves,
            _ => Verdict::Collapses,
        }
    }

    /// The verdict for the file of `table`.
    pub fn robustness(&self, table: &RuleTable) -> Robustness {
        Robustness {
            rules_hash: TableFile::rules_hash(table),
            verdict: self.verdict(),
            near: around(&self.near),
            far: around(&self.far),
            foreign: Some(self.foreign),
            far_before: None,
            guards: None,
            cost: None,
        }
    }
}

/// The summary for files, rounded to its precision.
pub fn around(summary: &Summary) -> StressResults {
    let rounded = |value: f64| (value * 1e3).round() / 1e3;
    StressResults {
        networks: summary.networks as u64,
        collapses: summary.collapses as u64,
        worst_rtt: rounded(summary.worst_rtt),
        shortfall: rounded(summary.shortfall),
    }
}

/// Checks `table`, number `index` of those that `model` designs. `seed` draws the networks further out;
/// files record the results for [`stress::HELD_OUT_SEED`]. The result is the same on any number of threads.
pub fn check(model: &Model, index: usize, table: &RuleTable, seed: u64) -> Check {
    let prepared = Prepared::new(table);
    let near = stress::networks(model, index, StressSet::Near);
    let trials = stress::run_all(&near, &prepared);
    let far = stress::run_all(&stress::networks(model, index, StressSet::HeldOut(seed)), &prepared);
    let all: Vec<(&StressNetwork, &Trial)> = near.iter().zip(&trials).collect();
    let collapses = all.into_par_iter().filter(|(_, trial)| trial.collapses());
    let foreign = stress::foreign(model, index, Some(seed));
    let foreign_trials = stress::run_foreign(&foreign, model.objective_of(index), table);
    let starvations = starvations(&foreign, &foreign_trials);
    Check {
        foreign: ForeignDelayResults {
            networks: FOREIGN as u64,
            starved: starvations.len() as u64,
            kept: None,
        },
        foreign_trials,
        starvations,
        near: Summary::of(&trials),
        far: Summary::of(&far),
        findings: collapses.map(|(network, &trial)| finding(network, trial, table)).collect(),
        proven: proven(model, table),
    }
}

/// Where senders starve, by their `trials` on `networks`.
fn starvations(networks: &[ForeignNetwork], trials: &[ForeignTrial]) -> Vec<Starvation> {
    let all = networks.iter().zip(trials).filter(|(_, trial)| trial.starves());
    all.map(|(network, &trial)| Starvation { network: network.name.clone(), trial }).collect()
}

/// How often each rule fired.
struct Fired(Vec<u64>);

impl Observer for Fired {
    fn fired(&mut self, rule: usize, _: &Point) {
        self.0[rule] += 1;
    }
}

/// The most frequent rules on `network`, in descending order.
fn suspects(network: &StressNetwork, table: &RuleTable) -> Vec<usize> {
    let mut fired = Fired(vec![0; table.rules().len()]);
    stress::run_observed(network, &Prepared::new(table), &mut fired);
    let mut rules: Vec<usize> = (0..fired.0.len()).filter(|&rule| fired.0[rule] > 0).collect();
    rules.sort_by_key(|&rule| std::cmp::Reverse(fired.0[rule]));
    rules.truncate(SUSPECTS);
    rules
}

/// The rule of `table` at fault on `network`, and the mean RTT over the minimum possible if it keeps one packet in flight.
///
/// It is the rule with the largest window of those without which the network would not collapse. If there is none, it is
/// the rule without which the RTT is shortest.
fn culprit(network: &StressNetwork, table: &RuleTable) -> (usize, f64) {
    let without = |rule: usize| {
        let mut table = table.clone();
        let action = table.rules()[rule].action;
        table.set_action(rule, Action { multiple: 0.0, increment: 1, ..action });
        (rule, stress::run(network, &Prepared::new(&table)))
    };
    let tried: Vec<(usize, Trial)> = suspects(network, table).into_iter().map(without).collect();
    let window = |rule: usize| resting_window(&table.rules()[rule].action);
    let enough = tried.iter().filter(|(_, trial)| !trial.collapses());
    let largest = enough.max_by(|a, b| window(a.0).total_cmp(&window(b.0)));
    let shortest = || tried.iter().min_by(|a, b| a.1.rtt_over_least.total_cmp(&b.1.rtt_over_least));
    let &(rule, trial) = largest.or_else(shortest).expect("some rule fires");
    (rule, trial.rtt_over_least)
}

fn finding(network: &StressNetwork, trial: Trial, table: &RuleTable) -> Finding {
    let (rule, without) = culprit(network, table);
    let action = table.rules()[rule].action;
    let link = &network.network;
    Finding {
        network: network.name.clone(),
        rate: link.rate,
        senders: link.delays.len(),
        trial,
        rule,
        without,
        resting_window: resting_window(&action),
        intersend_ms: action.intersend_ms,
        holds: action.intersend_ms * link.rate.as_packets_per_ms(link.packet),
    }
}

fn proven(model: &Model, table: &RuleTable) -> Vec<ProvenBound> {
    let Conditions { rate: (rate, _), senders: (_, most), .. } = Conditions::of_model(model);
    let service_ms = rate.service_time(model.networks.packet).as_millis_f64();
    let crowd = |times: u64| {
        let senders = times * most;
        ProvenBound { senders, rate, bound: fluid_bound(table, senders as f64 * service_ms) }
    };
    CROWDS.map(crowd).to_vec()
}

#[cfg(test)]
mod tests;
