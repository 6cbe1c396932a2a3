//! The table that a search begins with.

use super::DOMAIN;
use crate::model::{ActionPart, Model};
use crate::specimen::{DrawnSender, Layout, Specimen};
use exm_remy::{Action, RuleTable};

/// One rule that paces at a sender's share of a typical network. Its window of four times the
/// packets then in flight only limits the damage on other networks. If the search may not set the pacing interval,
/// there is no pacing. `specimens` are typical networks, on which it is table number `table` of the model.
pub(super) fn from_nothing(model: &Model, specimens: &[Specimen], table: usize) -> RuleTable {
    let typical: Vec<Typical> =
        specimens.iter().filter_map(|s| Typical::of(model, s, table)).collect();
    let mean_log = |value: &dyn Fn(&Typical) -> f64| {
        let logs: f64 = typical.iter().map(|s| libm::log(value(s))).sum();
        libm::exp(logs / typical.len().max(1) as f64)
    };
    let rtt_ms = mean_log(&|s| s.rtt_ms.max(0.001));
    let rate = mean_log(&|s| s.packets_per_ms);
    let senders = mean_log(&|s| s.senders);
    let share = (rate * rtt_ms / senders).max(1.0);
    let paces = model.design().action.contains(&ActionPart::Intersend);
    let action = Action {
        multiple: 0.9,
        increment: (0.1 * 4.0 * share).ceil() as i32,
        intersend_ms: if paces { rtt_ms / share } else { 0.0 },
    };
    RuleTable::single(model.design().signals, DOMAIN, action)
}

/// The properties of a specimen for the senders of a table.
struct Typical {
    rtt_ms: f64,
    /// The rate of the slowest link.
    packets_per_ms: f64,
    /// Those that share it.
    senders: f64,
}

impl Typical {
    /// `None` if no sender runs the table.
    fn of(model: &Model, specimen: &Specimen, table: usize) -> Option<Typical> {
        match &specimen.network {
            Layout::Dumbbell { network, .. } => Some(Typical {
                rtt_ms: network.delays[0].as_millis_f64(),
                packets_per_ms: network.rate.as_packets_per_ms(network.packet),
                senders: network.delays.len() as f64,
            }),
            Layout::Mixed(network) => {
                let runs = |sender: &&DrawnSender| model.classes()[sender.class].runs(table);
                let sender = network.senders.iter().find(runs)?;
                let slowest = network.slowest(sender);
                let across = network.senders.iter().filter(|other| other.path.contains(&slowest));
                let rate = network.links[slowest].rate;
                Some(Typical {
                    rtt_ms: sender.rtt.as_millis_f64(),
                    packets_per_ms: rate.as_packets_per_ms(network.packet),
                    senders: across.count() as f64,
                })
            }
        }
    }
}
