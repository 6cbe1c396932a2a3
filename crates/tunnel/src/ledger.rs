//! [`Ledger`]: the packets received, by flow.

use crate::flows::Tally;
use exm_packet::Flow;
use exm_units::Instant;
use std::collections::BTreeMap;

/// The most flows; beyond, the one that has been idle for longest is forgotten.
const MAX_FLOWS: usize = 1024;

/// The packets received of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Their number and size.
    pub tally: Tally,
    /// When the last one arrived.
    pub used_at: Instant,
}

/// The packets received of recent flows.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    flows: BTreeMap<Flow, Received>,
}

impl Ledger {
    /// Adds a packet of `flow`, received at `now`, with a size of `bytes` on the link.
    pub(crate) fn record(&mut self, now: Instant, flow: Flow, bytes: u64) {
        if self.flows.len() >= MAX_FLOWS && !self.flows.contains_key(&flow) {
            let oldest = self.flows.iter().min_by_key(|(_, received)| received.used_at);
            if let Some((&oldest, _)) = oldest {
                self.flows.remove(&oldest);
            }
        }
        let received = self.flows.entry(flow).or_default();
        received.tally.add(bytes);
        received.used_at = now;
    }

    /// The flows, with the packets received.
    pub fn flows(&self) -> impl Iterator<Item = (&Flow, &Received)> {
        self.flows.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_units::Span;
    use std::net::Ipv4Addr;

    #[test]
    fn the_longest_idle_flow_is_forgotten() {
        let flow = |port| {
            let ip = Ipv4Addr::LOCALHOST.into();
            Flow { protocol: 17, from: (ip, port), to: (ip, 53) }
        };
        let mut ledger = Ledger::default();
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        for port in 0..MAX_FLOWS as u16 {
            ledger.record(at(u64::from(port)), flow(port), 100);
        }
        ledger.record(at(5000), flow(0), 100);
        ledger.record(at(5001), flow(60_000), 100);
        assert_eq!(ledger.flows().count(), MAX_FLOWS);
        assert!(ledger.flows().all(|(known, _)| *known != flow(1)));
        let first = ledger.flows().next().map(|(_, received)| received.tally);
        assert_eq!(first, Some(Tally { packets: 2, bytes: 200 }));
    }
}
