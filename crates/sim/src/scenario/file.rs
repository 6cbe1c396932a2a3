//! The tables of a scenario's file, as serde reads them.

use super::grammar::{Buffer, Chance};
use crate::engine::Pace;
use exm_units::{Bytes, Rate, Span};
use serde::Deserialize;
use toml::Spanned;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) title: Option<String>,
    pub(super) seed: Option<u64>,
    pub(super) duration: Spanned<Span>,
    pub(super) packet_size: Option<Spanned<Bytes>>,
    pub(super) dumbbell: Option<Spanned<DumbbellTable>>,
    #[serde(default)]
    pub(super) link: Vec<Spanned<LinkTable>>,
    #[serde(default)]
    pub(super) flow: Vec<Spanned<FlowTable>>,
    pub(super) series: Option<SeriesTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DumbbellTable {
    pub(super) rate: Spanned<Rate>,
    pub(super) rtt: Spanned<Span>,
    pub(super) senders: Spanned<u64>,
    pub(super) controller: Spanned<String>,
    pub(super) traffic: TrafficTable,
    pub(super) buffer: Option<Spanned<Buffer>>,
    pub(super) queue: Option<Spanned<String>>,
    pub(super) loss: Option<Chance>,
    pub(super) timer: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkTable {
    pub(super) name: Spanned<String>,
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) rate: Spanned<Rate>,
    pub(super) delay: Option<Spanned<Span>>,
    pub(super) buffer: Option<Spanned<Buffer>>,
    pub(super) queue: Option<Spanned<String>>,
    pub(super) loss: Option<Chance>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FlowTable {
    pub(super) name: Option<String>,
    pub(super) path: Option<Spanned<Vec<Spanned<String>>>>,
    pub(super) rtt: Spanned<Span>,
    pub(super) count: Option<Spanned<u64>>,
    pub(super) controller: Spanned<String>,
    pub(super) traffic: TrafficTable,
    pub(super) packet_size: Option<Spanned<Bytes>>,
    pub(super) timer: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrafficTable {
    pub(super) on: Spanned<String>,
    pub(super) off: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SeriesTable {
    pub(super) every: Pace,
    pub(super) flows: Option<bool>,
    pub(super) links: Option<bool>,
}
