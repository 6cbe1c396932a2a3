//! [`Robustness`]: the measured behaviour of a table around the model that it was designed for.

use crate::fields::{hash, interval, number};
use crate::text::short;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The measured behaviour of a table on networks around its model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Robustness {
    /// The hash of the rules that were measured: see [`crate::TableFile::rules_hash`].
    #[serde(with = "hash::required")]
    pub rules_hash: u64,
    /// Whether it collapses near its model.
    pub verdict: Verdict,
    /// On the networks near the model, which the search of guards uses.
    pub near: StressResults,
    /// On networks further out, which the search of guards does not use.
    pub far: StressResults,
    /// On networks with foreign delay, which the search of guards does not use; absent in older files.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub foreign: Option<ForeignDelayResults>,
    /// The behaviour there before the table was hardened.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub far_before: Option<StressResults>,
    /// The guards that it was hardened with, as text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub guards: Option<String>,
    /// Their effect on the score inside the model.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<Cost>,
}

/// Whether a table needlessly fills queues near its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nowhere.
    Holds,
    /// On at least one network the mean RTT is more than four times the minimum possible.
    Collapses,
    /// It does not fill queues, but with foreign delay a sender sends less than one packet in three RTTs.
    Starves,
}

/// The behaviour of a table with foreign delay: Cubic flows at the bottleneck or on the ACKs' path, jitter, ACKs in bunches,
/// two-way traffic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForeignDelayResults {
    /// How many networks there were.
    pub networks: u64,
    /// The number of networks on which its senders starved: they sent less than one packet in three propagation RTTs.
    pub starved: u64,
    /// The throughput with guards over that without them: the geometric mean over networks. `None` for a table that
    /// was not hardened.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kept: Option<f64>,
}

/// The behaviour of a table on several networks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StressResults {
    /// How many there were.
    pub networks: u64,
    /// On how many it collapsed.
    pub collapses: u64,
    /// The largest ratio of the mean RTT to the minimum possible.
    #[serde(with = "number")]
    pub worst_rtt: f64,
    /// The root mean square of the shortfalls, in octaves of throughput, RTT and fairness.
    #[serde(with = "number")]
    pub shortfall: f64,
}

/// The mean change of score inside the model due to hardening; negative if the table scores lower.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// The mean difference of the objective, network by network.
    #[serde(with = "number")]
    pub mean: f64,
    /// The lower and upper end of its 95 % confidence interval.
    #[serde(with = "interval")]
    pub interval: (f64, f64),
}

/// Lines as those of a [`crate::Provenance`].
impl fmt::Display for Robustness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Robustness { near, far, far_before, foreign, guards, cost, .. } = self;
        writeln!(f, "near its model  {near}")?;
        writeln!(f, "far from it     {}", far.held())?;
        if let Some(before) = far_before {
            writeln!(f, "  unhardened    {}", before.held())?;
        }
        if let Some(foreign) = foreign {
            writeln!(f, "foreign delay   {foreign}")?;
        }
        if let Some(guards) = guards {
            // Whoever made the file may have written anything.
            writeln!(f, "guards          {}", in_words(guards).replace(char::is_control, " "))?;
        }
        if let Some(cost) = cost {
            writeln!(f, "  their cost    {cost} points of score inside the model")?;
        }
        Ok(())
    }
}

impl StressResults {
    /// The number of networks on which it held, for networks some of which are impossible: "keeps its queues short on 34
    /// of 48 extreme networks; worst RTT 42 times the minimum possible".
    pub fn held(&self) -> String {
        let StressResults { networks, collapses, worst_rtt, .. } = self;
        let (held, worst) = (networks - collapses.min(networks), rounded(*worst_rtt));
        format!(
            "keeps its queues short on {held} of {networks} extreme networks; worst RTT {worst} times the minimum possible"
        )
    }
}

impl fmt::Display for ForeignDelayResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ForeignDelayResults { networks, starved, kept } = self;
        match starved {
            0 => write!(
                f,
                "gets its packets through on all {networks} networks where others delay them"
            )?,
            _ => write!(
                f,
                "starves on {starved} of {networks} networks where others delay its packets"
            )?,
        }
        let Some(kept) = kept else { return Ok(()) };
        write!(f, "; its guards leave {} % of the throughput", (kept * 100.0).round())
    }
}

/// The terse record of guards in a table's file as a sentence.
fn in_words(guards: &str) -> String {
    let record = |part: &str| {
        let number = |start: &str| part.strip_prefix(start);
        if let Some(most) = number("start at most ") {
            format!("a flow starts with at most {most} packets")
        } else if let Some(most) = number("growth at most ") {
            format!("an ACK adds at most {most} packets to the window")
        } else if let Some(horizon) = number("horizon ") {
            format!("the window is at most what is delivered in {horizon}")
        } else if let Some(least) = number("least window ") {
            format!("but never less than {least} packets").replace(" 1 packets", " 1 packet")
        } else if let Some(share) = part.strip_suffix(" of it for young flows") {
            format!("young flows may have {share} of that")
        } else if let Some(ratios) = number("brakes at RTT ratios ") {
            format!("the window shrinks where the RTT is above {ratios}")
        } else {
            part.to_owned()
        }
    };
    let parts: Vec<String> = guards.split(", ").map(record).collect();
    let text = parts.join("; ").replace("; but", ", but");
    // The ratios have a comma of their own, and stand last.
    match text.rsplit_once("above ") {
        Some((before, ratios)) => {
            format!("{before}above {} times its minimum", ratios.replace("; ", ", "))
        }
        None => text,
    }
}

/// To a tenth.
fn rounded(value: f64) -> String {
    short((value * 10.0).round() / 10.0)
}

impl fmt::Display for StressResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StressResults { networks, collapses, worst_rtt, .. } = self;
        let worst = rounded(*worst_rtt);
        match collapses {
            0 => write!(f, "keeps its queues short on all {networks} networks")?,
            _ => write!(f, "fills the queue on {collapses} of {networks} networks")?,
        }
        write!(f, "; worst RTT {worst} times the minimum possible")
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = |value: f64| short((value * 1e4).round() / 1e4);
        let (low, high) = self.interval;
        write!(f, "{} ({}..{})", rounded(self.mean), rounded(low), rounded(high))
    }
}
