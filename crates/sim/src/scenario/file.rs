//! The tables of a scenario's file, as serde reads them.

use crate::engine::Pace;
use exm_grammar::Buffer;
use exm_units::{Bytes, Packets, Probability, RateText, Span};
use serde::Deserialize;
use toml::Spanned;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) title: Option<String>,
    pub(super) seed: Option<u64>,
    pub(super) duration: Spanned<Span>,
    pub(super) packet_size: Option<Spanned<Bytes>>,
    pub(super) warm_up: Option<Spanned<Span>>,
    #[serde(default)]
    pub(super) measure: MeasureTable,
    pub(super) dumbbell: Option<Spanned<DumbbellTable>>,
    #[serde(default)]
    pub(super) link: Vec<Spanned<LinkTable>>,
    #[serde(default)]
    pub(super) flow: Vec<Spanned<FlowTable>>,
    pub(super) series: Option<SeriesTable>,
    #[serde(default)]
    pub(super) tcp: TcpTable,
    #[serde(default)]
    pub(super) sprout: SproutTable,
    /// The keys of an experiment, which are not read here.
    #[serde(rename = "experiment")]
    pub(super) _experiment: Option<serde::de::IgnoredAny>,
}

/// How results are measured.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MeasureTable {
    pub(super) throughput: Option<Spanned<String>>,
}

/// Settings of TCP hosts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TcpTable {
    pub(super) initial_window: Option<Spanned<u64>>,
    pub(super) handshake: Option<bool>,
    pub(super) rto: Option<Spanned<String>>,
    pub(super) delayed_acks: Option<bool>,
    pub(super) ecn: Option<bool>,
    pub(super) accecn: Option<Spanned<String>>,
    pub(super) receive_window: Option<Spanned<Packets>>,
    pub(super) tail_loss_probe: Option<Spanned<bool>>,
    pub(super) timestamps: Option<Spanned<Span>>,
    pub(super) persistent: Option<bool>,
    pub(super) idle_restart: Option<Spanned<String>>,
    pub(super) window_validation: Option<bool>,
    pub(super) eifel: Option<Spanned<bool>>,
}

/// Settings of Sprout.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SproutTable {
    pub(super) model: Option<Spanned<String>>,
    pub(super) risk: Option<Spanned<f64>>,
    pub(super) lookahead: Option<Spanned<u64>>,
    pub(super) queueing: Option<Spanned<Span>>,
    pub(super) sigma: Option<Spanned<f64>>,
    pub(super) outage: Option<Spanned<Span>>,
    pub(super) idleness: Option<Spanned<f64>>,
    pub(super) slow: Option<Spanned<f64>>,
    pub(super) learns: Option<bool>,
}

/// A queue, as text or as a table of its name and parameters.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum QueueTable {
    Text(String),
    Settings(toml::Table),
}

/// How a link aggregates packets into frames.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AggregationTable {
    pub(super) packets: Option<Packets>,
    pub(super) airtime: Option<Span>,
    pub(super) access: Option<Spanned<String>>,
}

/// Which blocks of a link fail.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlockErrorsTable {
    pub(super) probability: Option<Probability>,
    pub(super) step: Option<Span>,
    pub(super) retries: Option<u32>,
    pub(super) slot: Option<Span>,
}

/// How a link changes at listed times.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScheduleTable {
    pub(super) every: Option<Span>,
    pub(super) steps: Vec<StepTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepTable {
    pub(super) at: Span,
    pub(super) rate: Option<RateText>,
    pub(super) delay: Option<Span>,
    pub(super) loss: Option<Probability>,
}

/// How a link changes from slot to slot.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SlotsTable {
    pub(super) every: Option<Span>,
    pub(super) delay: Option<Spanned<String>>,
    pub(super) lowest_rate: Option<RateText>,
    pub(super) loss: Option<Spanned<Probability>>,
    pub(super) edge: Option<Span>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DumbbellTable {
    pub(super) rate: Option<Spanned<RateText>>,
    pub(super) trace: Option<Spanned<String>>,
    pub(super) rtt: Spanned<Span>,
    pub(super) senders: Spanned<u64>,
    pub(super) controller: Spanned<String>,
    pub(super) traffic: TrafficTable,
    pub(super) buffer: Option<Spanned<Buffer>>,
    pub(super) queue: Option<Spanned<QueueTable>>,
    pub(super) loss: Option<Probability>,
    pub(super) jitter: Option<Spanned<String>>,
    pub(super) reorder: Option<Probability>,
    pub(super) reorder_delay: Option<Spanned<Span>>,
    pub(super) aggregation: Option<Spanned<AggregationTable>>,
    pub(super) block_errors: Option<Spanned<BlockErrorsTable>>,
    pub(super) schedule: Option<Spanned<ScheduleTable>>,
    pub(super) slots: Option<Spanned<SlotsTable>>,
    pub(super) thin_acks: Option<Spanned<String>>,
    pub(super) host: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) tcp: TcpTable,
    #[serde(default)]
    pub(super) sprout: SproutTable,
    pub(super) timer: Option<Spanned<bool>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkTable {
    pub(super) name: Spanned<String>,
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) rate: Option<Spanned<RateText>>,
    pub(super) trace: Option<Spanned<String>>,
    pub(super) delay: Option<Spanned<Span>>,
    pub(super) buffer: Option<Spanned<Buffer>>,
    pub(super) queue: Option<Spanned<QueueTable>>,
    pub(super) loss: Option<Probability>,
    pub(super) jitter: Option<Spanned<String>>,
    pub(super) reorder: Option<Probability>,
    pub(super) reorder_delay: Option<Spanned<Span>>,
    pub(super) aggregation: Option<Spanned<AggregationTable>>,
    pub(super) block_errors: Option<Spanned<BlockErrorsTable>>,
    pub(super) schedule: Option<Spanned<ScheduleTable>>,
    pub(super) slots: Option<Spanned<SlotsTable>>,
    pub(super) thin_acks: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FlowTable {
    pub(super) name: Option<String>,
    pub(super) path: Option<Spanned<Vec<Spanned<String>>>>,
    pub(super) back: Option<Spanned<Vec<Spanned<String>>>>,
    pub(super) rtt: Spanned<Span>,
    pub(super) count: Option<Spanned<u64>>,
    pub(super) controller: Spanned<String>,
    pub(super) traffic: TrafficTable,
    pub(super) packet_size: Option<Spanned<Bytes>>,
    pub(super) host: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) tcp: TcpTable,
    #[serde(default)]
    pub(super) sprout: SproutTable,
    pub(super) duplex: Option<Spanned<bool>>,
    pub(super) foresight: Option<Spanned<Span>>,
    pub(super) timer: Option<Spanned<bool>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrafficTable {
    pub(super) on: Spanned<String>,
    pub(super) off: Option<Spanned<String>>,
    pub(super) every: Option<Spanned<Span>>,
    pub(super) spread: Option<Spanned<Span>>,
    pub(super) at: Option<Spanned<Vec<Spanned<String>>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SeriesTable {
    pub(super) every: Pace,
    pub(super) flows: Option<bool>,
    pub(super) links: Option<bool>,
}
