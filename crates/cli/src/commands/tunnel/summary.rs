//! [`Summary`]: the summary of a tunnel.

use super::flows::rows;
use crate::layout;
use exm_session::Session;
use exm_store::Columns;
use exm_tunnel::{Network, Pipe};
use serde::Serialize;
use std::cmp::Reverse;
use std::fmt;

/// The most flows in the text; JSON has all.
const SHOWN: usize = 12;

/// The summary of a tunnel. Bytes are those on the link, with the overhead of each packet.
#[derive(Serialize)]
pub(super) struct Summary {
    seconds: f64,
    device: String,
    mtu: u16,
    server: Option<String>,
    client: Option<String>,
    sent_packets: u64,
    sent_bytes: u64,
    received_packets: u64,
    received_bytes: u64,
    /// Dropped from the queues, because the backlog exceeded the forecast.
    dropped: u64,
    /// Received, but not accepted by this machine.
    refused: u64,
    /// Received with a source address that is not the client's.
    foreign: u64,
    malformed: u64,
    too_big: u64,
    clamped: u64,
    sessions: u64,
    moves: u64,
    flows: Vec<FlowLine>,
}

#[derive(Serialize)]
struct FlowLine {
    flow: String,
    sent_bytes: u64,
    received_bytes: u64,
    dropped: u64,
}

impl Summary {
    pub(super) fn new(session: &Session, pipe: &Pipe, network: Option<Network>) -> Summary {
        let (counters, session_counters) = (pipe.counters(), session.stats().counters);
        let (sent, received) = (pipe.queues().sent(), counters.received);
        let mut flows: Vec<FlowLine> = rows(pipe)
            .into_values()
            .map(|row| FlowLine {
                flow: row.flow.map_or("others".to_owned(), |flow| flow.to_string()),
                sent_bytes: row.bytes[0],
                received_bytes: row.bytes[1],
                dropped: row.dropped,
            })
            .collect();
        flows.sort_by_key(|flow| Reverse(flow.sent_bytes + flow.received_bytes));
        Summary {
            seconds: session.clock().now().as_secs_f64(),
            device: pipe.device_name().to_owned(),
            mtu: pipe.mtu(),
            server: network.map(|network| network.server().to_string()),
            client: network.map(|network| network.client().to_string()),
            sent_packets: sent.packets,
            sent_bytes: sent.bytes,
            received_packets: received.packets,
            received_bytes: received.bytes,
            dropped: pipe.queues().dropped().packets,
            refused: counters.refused,
            foreign: counters.foreign,
            malformed: counters.malformed,
            too_big: counters.too_big,
            clamped: counters.clamped,
            sessions: session_counters.sessions,
            moves: session_counters.moves,
            flows,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = Columns::new(1);
        columns.line(["flow", "sent", "received", "dropped"].map(str::to_owned));
        columns.line(["", "kB", "kB", "packets"].map(str::to_owned));
        let kilo = |bytes: u64| format!("{:.1}", bytes as f64 / 1e3);
        for flow in self.flows.iter().take(SHOWN) {
            let FlowLine { flow, sent_bytes, received_bytes, dropped } = flow;
            let cells = [kilo(*sent_bytes), kilo(*received_bytes), dropped.to_string()];
            columns.line(std::iter::once(flow.clone()).chain(cells));
        }
        let cells = [kilo(self.sent_bytes), kilo(self.received_bytes), self.dropped.to_string()];
        columns.line(std::iter::once("all".to_owned()).chain(cells));
        write!(f, "{}", layout::table(&columns))?;
        let (refused, too_big) = (self.refused + self.foreign + self.malformed, self.too_big);
        writeln!(f, "{refused} packets not accepted, {too_big} too big, in {:.1} s", self.seconds)
    }
}
