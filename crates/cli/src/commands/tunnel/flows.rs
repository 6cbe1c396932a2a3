//! [`Flows`]: the flows of a tunnel and their recent rates.

use exm_tunnel::{Flow, Pipe};
use exm_units::{Instant, Span};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The interval of rates.
const INTERVAL: Span = Span::from_secs(1);
/// Flows that have been idle for this long are not shown.
const IDLE: Span = Span::from_secs(10);

/// A flow in both directions, as seen from this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Row {
    /// The flow; `None` for the shared queue.
    pub(super) flow: Option<Flow>,
    /// The recent rates in kbit/s, sent and received.
    pub(super) kbps: [f64; 2],
    /// Queued packets, ...
    pub(super) waiting: u64,
    /// ... and the queueing delay of the last packet sent.
    pub(super) waited: Span,
    /// The bytes sent and received.
    pub(super) bytes: [u64; 2],
    /// The packets dropped.
    pub(super) dropped: u64,
    /// When a packet was last sent or received.
    used_at: Instant,
}

/// The bytes of each flow in each direction.
type Carried = BTreeMap<Option<Flow>, [u64; 2]>;

/// The flows of a tunnel.
#[derive(Default)]
pub(super) struct Flows {
    rows: Vec<Row>,
    last: Option<(Instant, Carried)>,
}

impl Flows {
    /// Updates the flows from `pipe` at `now`, if it is time to.
    pub(super) fn update(&mut self, now: Instant, pipe: &Pipe) {
        let since = self.last.as_ref().map(|(at, _)| now.saturating_since(*at));
        if since.is_some_and(|since| since < INTERVAL) {
            return;
        }
        let seconds = since.map_or(f64::INFINITY, Span::as_secs_f64);
        let mut rows = rows(pipe);
        let before = self.last.take().map(|(_, bytes)| bytes).unwrap_or_default();
        for (flow, row) in &mut rows {
            let earlier = before.get(flow).copied().unwrap_or_default();
            row.kbps = [0, 1]
                .map(|way| row.bytes[way].saturating_sub(earlier[way]) as f64 * 8e-3 / seconds);
        }
        self.last = Some((now, rows.iter().map(|(flow, row)| (*flow, row.bytes)).collect()));
        self.rows = rows.into_values().collect();
        self.rows.sort_by_key(|row| Reverse((row.kbps[0] + row.kbps[1]) as u64));
    }

    /// The flows that are active at `now`, the fastest first.
    pub(super) fn active(&self, now: Instant) -> impl Iterator<Item = &Row> {
        self.rows
            .iter()
            .filter(move |row| row.waiting > 0 || now.saturating_since(row.used_at) < IDLE)
    }
}

/// All flows of `pipe`, both directions together.
pub(super) fn rows(pipe: &Pipe) -> BTreeMap<Option<Flow>, Row> {
    let mut rows: BTreeMap<Option<Flow>, Row> = BTreeMap::new();
    for state in pipe.queues().flows() {
        let row = rows.entry(state.flow).or_default();
        *row = Row {
            flow: state.flow,
            waiting: state.waiting.packets,
            waited: state.waited,
            bytes: [state.sent.bytes, 0],
            dropped: state.dropped.packets,
            used_at: state.used_at,
            kbps: [0.0; 2],
        };
    }
    for (flow, received) in pipe.ledger().flows() {
        let flow = Some(flow.reversed());
        let row = rows.entry(flow).or_default();
        row.flow = flow;
        row.bytes[1] = received.tally.bytes;
        row.used_at = row.used_at.max(received.used_at);
    }
    rows
}
