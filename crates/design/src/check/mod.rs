//! What a table does around its model, in words: where it collapses, which rule is to blame, and what can be proven
//! without simulating.

mod fluid;

pub use fluid::{FluidBound, fluid_bound};

use crate::conditions::Conditions;
use crate::evaluate::Prepared;
use crate::harden::resting_window;
use crate::model::Model;
use crate::stress::{self, Set, StressNetwork, Summary, Trial};
use exm_remy::RuleTable;
use exm_sim::dumbbell::Observer;
use exm_table::{Around, Robustness, TableFile, Verdict};
use exm_units::Rate;
use rayon::prelude::*;
use std::fmt;

/// The multiples of the model's most senders for which the fluid bound is given.
const CROWDS: [u64; 4] = [1, 2, 4, 16];

/// What a table does around its model.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// On the networks of [`Set::Near`].
    pub near: Summary,
    /// On those of [`Set::HeldOut`].
    pub far: Summary,
    /// Where it collapses near its model, in the order of the networks.
    pub findings: Vec<Finding>,
    /// What no state exceeds: for as many senders as the model has at most, and for more.
    pub proven: Vec<Proven>,
}

/// A collapse, and the rule to blame.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The network, such as "twice the senders".
    pub network: String,
    /// Its rate.
    pub rate: Rate,
    /// Its senders.
    pub senders: usize,
    /// What they got.
    pub trial: Trial,
    /// The rule that fired most.
    pub rule: usize,
    /// Where the rule's window rests, in packets.
    pub resting_window: f64,
    /// Its pace, ms between packets.
    pub intersend_ms: f64,
    /// How many active senders of this pace the link holds.
    pub holds: f64,
}

/// The bound for a number of senders on the slowest link of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proven {
    /// How many senders.
    pub senders: u64,
    /// The rate of the link.
    pub rate: Rate,
    /// The largest RTT at which a queue can stand.
    pub bound: FluidBound,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { network, trial, rule, resting_window, intersend_ms, holds, .. } = self;
        write!(
            f,
            "{network}: RTT {:.1} times the least possible; rule {rule} rests at {resting_window:.0} \
             packets, {intersend_ms:.1} ms apart; holds {holds:.0} active senders at {:.3} Mbps",
            trial.rtt_over_least,
            self.rate.as_mbps()
        )?;
        let senders = self.senders;
        if *holds < senders as f64 { write!(f, ", not {senders}") } else { Ok(()) }
    }
}

impl fmt::Display for Proven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.senders == 1 { "sender" } else { "senders" };
        write!(f, "{} {noun} at {}: {}", self.senders, self.rate, self.bound)
    }
}

impl Check {
    /// Whether the table collapses nowhere near its model.
    pub fn verdict(&self) -> Verdict {
        if self.near.collapses == 0 { Verdict::Holds } else { Verdict::Collapses }
    }

    /// The verdict as the file of `table` holds it.
    pub fn robustness(&self, table: &RuleTable) -> Robustness {
        Robustness {
            rules_hash: TableFile::rules_hash(table),
            verdict: self.verdict(),
            near: around(&self.near),
            far: around(&self.far),
            far_before: None,
            guards: None,
            cost: None,
        }
    }
}

/// A summary as files hold it, rounded to its precision.
pub fn around(summary: &Summary) -> Around {
    let rounded = |value: f64| (value * 1e3).round() / 1e3;
    Around {
        networks: summary.networks as u64,
        collapses: summary.collapses as u64,
        worst_rtt: rounded(summary.worst_rtt),
        shortfall: rounded(summary.shortfall),
    }
}

/// Checks `table`, number `index` of those that `model` designs; `seed` draws the networks further out, and
/// files tell of those of [`stress::HELD_OUT_SEED`]. The result is the same on any number of threads.
pub fn check(model: &Model, index: usize, table: &RuleTable, seed: u64) -> Check {
    let prepared = Prepared::new(table);
    let near = stress::networks(model, index, Set::Near);
    let watched: Vec<(Trial, usize)> =
        near.par_iter().map(|network| watched(network, &prepared, table)).collect();
    let trials: Vec<Trial> = watched.iter().map(|&(trial, _)| trial).collect();
    let far = stress::run_all(&stress::networks(model, index, Set::HeldOut(seed)), &prepared);
    let all = near.iter().zip(&watched);
    let collapses = all.filter(|(_, (trial, _))| trial.collapses());
    Check {
        near: Summary::of(&trials),
        far: Summary::of(&far),
        findings: collapses.map(|(network, &seen)| finding(network, seen, table)).collect(),
        proven: proven(model, table),
    }
}

/// How often each rule fired.
struct Fired(Vec<u64>);

impl Observer for Fired {
    fn fired(&mut self, rule: usize, _: &[f64; 6]) {
        self.0[rule] += 1;
    }
}

/// What the senders got, and the rule that fired most, the first of equals.
fn watched(network: &StressNetwork, prepared: &Prepared, table: &RuleTable) -> (Trial, usize) {
    let mut fired = Fired(vec![0; table.rules().len()]);
    let trial = stress::run_observed(network, prepared, &mut fired);
    let most = (0..fired.0.len()).rev().max_by_key(|&rule| fired.0[rule]);
    (trial, most.unwrap_or(0))
}

fn finding(network: &StressNetwork, (trial, rule): (Trial, usize), table: &RuleTable) -> Finding {
    let action = table.rules()[rule].action;
    let link = &network.network;
    Finding {
        network: network.name.clone(),
        rate: link.rate,
        senders: link.delays.len(),
        trial,
        rule,
        resting_window: resting_window(&action),
        intersend_ms: action.intersend_ms,
        holds: action.intersend_ms * link.rate.as_packets_per_ms(link.packet),
    }
}

fn proven(model: &Model, table: &RuleTable) -> Vec<Proven> {
    let Conditions { rate: (rate, _), senders: (_, most), .. } = Conditions::of_model(model);
    let service_ms = rate.service_time(model.networks.packet).as_millis_f64();
    let crowd = |times: u64| {
        let senders = times * most;
        Proven { senders, rate, bound: fluid_bound(table, senders as f64 * service_ms) }
    };
    CROWDS.map(crowd).to_vec()
}

#[cfg(test)]
mod tests;
