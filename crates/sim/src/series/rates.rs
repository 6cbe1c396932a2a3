//! [`Rates`]: the rates at which flows send and receive, over time.

use crate::engine::{Event, EventKind, Observer, PacketId};
use exm_units::Span;

/// Counts what each flow sends and what arrives at its receiver, in intervals of equal length, as RFC 8868,
/// section 3, asks (which suggests 200 ms): an observer of the engine. Bytes count with headers, and
/// retransmissions like other packets; ACKs do not count.
///
/// ```
/// use exm_link::{Limit, Service};
/// use exm_measure::relative_deviation;
/// use exm_sim::controllers::AnyController;
/// use exm_sim::engine::Simulation;
/// use exm_sim::network::{FlowSpec, Host, LinkSpec, Network};
/// use exm_sim::series::Rates;
/// use exm_units::{Packets, Rate, Span};
///
/// let limit = Limit::Packets(Packets::new(50));
/// let link = LinkSpec::bottleneck(Service::Fixed(Rate::from_mbps(10.0)), limit);
/// let flow = FlowSpec::new(Host::Tcp.transport(AnyController::named("cubic").unwrap()))
///     .extra_delay(Span::from_millis(50));
/// let network = Network::new(vec![link], vec![flow], Span::from_secs(20)).unwrap();
///
/// let rates = Rates::every(Span::from_millis(200));
/// let mut simulation = Simulation::observed(network, 1, rates);
/// while simulation.step().is_some() {}
/// let received = simulation.observer().received(0, Span::from_secs(20));
/// assert_eq!(received.len(), 100);
/// assert!(relative_deviation(&received[50..]).unwrap() < 0.05, "the link is full");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rates {
    interval: Span,
    /// Bytes of each interval, of each flow.
    sent: Vec<Vec<u64>>,
    received: Vec<Vec<u64>>,
}

impl Rates {
    /// Counts in intervals of this length; of a nanosecond if it is zero.
    pub fn every(interval: Span) -> Rates {
        let interval = interval.max(Span::from_nanos(1));
        Rates { interval, sent: Vec::new(), received: Vec::new() }
    }

    /// The length of an interval.
    pub fn interval(&self) -> Span {
        self.interval
    }

    /// What `flow` sent in each interval of `duration`, in Mbps. The last one ends by then.
    pub fn sent(&self, flow: usize, duration: Span) -> Vec<f64> {
        self.mbps(&self.sent, flow, duration)
    }

    /// What arrived at the receiver of `flow`, the same way.
    pub fn received(&self, flow: usize, duration: Span) -> Vec<f64> {
        self.mbps(&self.received, flow, duration)
    }

    fn mbps(&self, flows: &[Vec<u64>], flow: usize, duration: Span) -> Vec<f64> {
        let bytes = flows.get(flow).map_or(&[][..], Vec::as_slice);
        let count = (duration.as_nanos() / self.interval.as_nanos()) as usize;
        let bits = |interval| bytes.get(interval).map_or(0.0, |&bytes| bytes as f64 * 8.0);
        let micros = self.interval.as_nanos() as f64 * 1e-3;
        (0..count).map(|interval| bits(interval) / micros).collect()
    }
}

fn count(flows: &mut Vec<Vec<u64>>, flow: usize, interval: usize, packet: &PacketId) {
    if flows.len() <= flow {
        flows.resize_with(flow + 1, Vec::new);
    }
    let bytes = &mut flows[flow];
    if bytes.len() <= interval {
        bytes.resize(interval + 1, 0);
    }
    bytes[interval] += packet.size.get();
}

impl Observer for Rates {
    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, event: &Event) {
        let (packet, flows) = match &event.kind {
            EventKind::Sent { packet, .. } => (packet, &mut self.sent),
            EventKind::Delivered { packet } => (packet, &mut self.received),
            _ => return,
        };
        if !packet.is_ack {
            let interval = event.at.as_nanos() / self.interval.as_nanos();
            count(flows, event.flow, interval as usize, packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_units::{Bytes, Instant};

    fn packet(size: u64, is_ack: bool) -> PacketId {
        PacketId { sequence: 0, sent_at: Instant::ZERO, size: Bytes::new(size), is_ack, period: 1 }
    }

    #[test]
    fn bytes_count_in_the_interval_of_their_event() {
        let mut rates = Rates::every(Span::from_millis(200));
        let mut tell = |millis: u64, flow, kind| {
            rates.event(&Event { at: Instant::ZERO + Span::from_millis(millis), flow, kind });
        };
        let sent = |size| EventKind::Sent { packet: packet(size, false), retransmission: false };
        tell(0, 1, sent(1000));
        tell(199, 1, sent(1500));
        tell(200, 1, sent(500));
        tell(300, 1, EventKind::Delivered { packet: packet(1000, false) });
        tell(300, 1, EventKind::Delivered { packet: packet(40, true) });
        tell(700, 1, EventKind::Delivered { packet: packet(1500, false) });
        // 2500 bytes in 200 ms are 0.1 Mbps.
        let duration = Span::from_millis(700);
        assert_eq!(rates.sent(1, duration), [0.1, 0.02, 0.0]);
        assert_eq!(rates.received(1, duration), [0.0, 0.04, 0.0]);
        for flow in [0, 7] {
            assert_eq!(rates.sent(flow, duration), [0.0; 3], "it sent nothing");
        }
    }
}
