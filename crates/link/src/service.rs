//! [`Service`]: when a link finishes transmitting a packet.

use crate::{Packet, Queue, QueueActions};
use exm_trace::{OPPORTUNITY, Opportunities, Trace};
use exm_units::{Bytes, Instant, Rate, Span};
use std::sync::Arc;

/// When a link finishes transmitting a packet.
#[derive(Clone, Debug)]
pub enum Service {
    /// At a fixed rate, one packet after the other: a [`Server`].
    Fixed(Rate),
    /// At the delivery opportunities of a trace: a [`TraceServer`].
    Trace(Arc<Trace>),
}

impl Service {
    /// The mean rate; for a trace, the rate that it offers.
    pub fn rate(&self) -> Rate {
        match self {
            Service::Fixed(rate) => *rate,
            Service::Trace(trace) => trace.mean_rate(),
        }
    }
}

/// The state of a [`Service`] of fixed rate.
#[derive(Clone, Debug)]
pub struct Server {
    rate: Rate,
    /// The last packet size and its transmission time: dividing is slow, and sizes rarely change.
    last: (u32, Span),
}

impl Server {
    /// A server at `rate`, idle so far.
    pub fn new(rate: Rate) -> Server {
        Server { rate, last: (0, Span::ZERO) }
    }

    /// When the transmission of a packet of `size` bytes that starts at `start` ends.
    #[inline]
    pub fn finish(&mut self, start: Instant, size: u32) -> Instant {
        if self.last.0 != size {
            self.last = (size, self.rate.service_time(Bytes::new(u64::from(size))));
        }
        start.saturating_add(self.last.1)
    }
}

/// A link that delivers at the opportunities of a trace, accounted by the byte as in Cellsim
/// (Winstein, Sivaraman & Balakrishnan, NSDI 2013, section 4.2).
///
/// An opportunity carries 1500 bytes, of as many packets as fit. A larger packet takes its
/// remaining bytes from the next opportunities and leaves with its last byte. The part of an
/// opportunity that exceeds the waiting bytes is lost.
///
/// A partly carried packet is held here, not in the queue. When something waits, the caller asks
/// for the [next](TraceServer::next) opportunity, and then calls [serve](TraceServer::serve) at
/// that time.
#[derive(Clone, Debug)]
pub struct TraceServer {
    opportunities: Opportunities,
    /// A partly carried packet, and how many of its bytes remain.
    head: Option<(Packet, u64)>,
}

impl TraceServer {
    /// A server at the start of `trace`.
    pub fn new(trace: Arc<Trace>) -> TraceServer {
        TraceServer { opportunities: Opportunities::new(trace), head: None }
    }

    /// The time of the next opportunity: the first at or after `now` that was not used. Earlier
    /// ones are lost, so a server that is late must serve first.
    #[inline]
    pub fn next(&mut self, now: Instant) -> Instant {
        self.opportunities.seek(now)
    }

    /// Uses all remaining opportunities up to `now` for the packets in `queue`; each packet that is
    /// completely carried is passed to `out`, in order.
    pub fn serve(
        &mut self,
        now: Instant,
        queue: &mut Queue,
        actions: &mut QueueActions,
        mut out: impl FnMut(Packet),
    ) {
        while self.opportunities.peek() <= now {
            if self.opportunities.take() == Instant::MAX {
                return;
            }
            let mut budget = OPPORTUNITY.get();
            while let Some((packet, rest)) = self.head.take().or_else(|| {
                let packet = queue.dequeue(now, actions)?;
                Some((packet, u64::from(packet.size)))
            }) {
                if rest > budget {
                    self.head = Some((packet, rest - budget));
                    break;
                }
                budget -= rest;
                out(packet);
                // A partly carried packet that needs no more bytes waits for the next one, as the
                // queue's next packet does.
                if budget == 0 {
                    break;
                }
            }
            if self.head.is_none() && queue.packets() == 0 {
                // The remaining opportunities up to now find nothing either.
                self.pass(now);
            }
        }
    }

    /// The partly carried packet.
    pub fn partly_carried(&self) -> Option<&Packet> {
        self.head.as_ref().map(|(packet, _)| packet)
    }

    /// When the last byte of the partly carried packet leaves.
    pub fn carried_at(&self) -> Option<Instant> {
        let (_, rest) = self.head.as_ref()?;
        let mut opportunities = self.opportunities.clone();
        for _ in 1..rest.div_ceil(OPPORTUNITY.get()) {
            opportunities.take();
        }
        Some(opportunities.peek())
    }

    /// Discards the opportunities up to `now`.
    fn pass(&mut self, now: Instant) {
        self.opportunities.seek(now);
        while self.opportunities.peek() == now && now < Instant::MAX {
            self.opportunities.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::config;
    use crate::{Limit, QueueKind};
    use proptest::prelude::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn server(millis: &[u64]) -> TraceServer {
        let times = millis.iter().map(|&ms| at(ms)).collect();
        TraceServer::new(Arc::new(Trace::new(times).expect("a trace")))
    }

    fn queue(sizes: &[u32]) -> Queue {
        let mut queue = QueueKind::default().build(config(Limit::Unlimited));
        for (sequence, &size) in (0..).zip(sizes) {
            let packet = Packet::new(0, sequence, size, Instant::ZERO);
            queue.enqueue(Instant::ZERO, packet, &mut QueueActions::default());
        }
        queue
    }

    /// Serves at `millis` and returns how many packets left.
    fn serve(server: &mut TraceServer, queue: &mut Queue, millis: u64) -> usize {
        let mut left = 0;
        server.serve(at(millis), queue, &mut QueueActions::default(), |_| left += 1);
        left
    }

    #[test]
    fn an_opportunity_carries_1500_bytes() {
        let mut server = server(&[1, 2, 3, 4, 10]);
        let mut queue = queue(&[[100; 15].as_slice(), &[1500, 2000, 1000, 40]].concat());
        assert_eq!(server.next(at(0)), at(1));
        assert_eq!(serve(&mut server, &mut queue, 1), 15);
        assert_eq!(serve(&mut server, &mut queue, 2), 1);
        // 1500 of 2000; then 500 and 1000; then 40, and the rest is lost.
        assert_eq!(serve(&mut server, &mut queue, 3), 0);
        assert_eq!(server.partly_carried().map(|packet| packet.size), Some(2000));
        assert_eq!(server.carried_at(), Some(at(4)));
        assert_eq!((queue.packets(), serve(&mut server, &mut queue, 4)), (2, 2));
        assert_eq!(server.next(at(5)), at(10));
        assert_eq!(serve(&mut server, &mut queue, 9), 0);
        assert_eq!(serve(&mut server, &mut queue, 10), 1);
        assert!(server.partly_carried().is_none() && queue.packets() == 0);
        assert_eq!(server.next(at(10)), at(11));
    }

    #[test]
    fn unused_opportunities_are_lost_and_late_ones_are_made_up_for() {
        let mut idle = server(&[1, 2, 2, 3]);
        assert_eq!(serve(&mut idle, &mut queue(&[]), 2), 0);
        assert_eq!(serve(&mut idle, &mut queue(&[1500, 1500]), 2), 0);
        // Late, but something waited all the time: opportunities at 1, 2, 2 and 3.
        let mut late = server(&[1, 2, 2, 3]);
        assert_eq!(serve(&mut late, &mut queue(&[1500; 9]), 3), 4);
        // Lost: the one at 1.
        let mut busy = server(&[1, 2, 2, 3]);
        assert_eq!(busy.next(at(2)), at(2));
        assert_eq!(serve(&mut busy, &mut queue(&[1500; 9]), 2), 2);
    }

    #[test]
    fn the_rate_is_the_traces() {
        let trace = Trace::new(vec![at(1), at(2)]).expect("a trace");
        assert_eq!(Service::Trace(Arc::new(trace)).rate(), Rate::from_mbps(12.0));
    }

    proptest! {
        /// With a queue that is never empty, every byte of every opportunity is used.
        #[test]
        fn a_full_queue_uses_every_byte(
            sizes in prop::collection::vec(1u32..4000, 40..80),
            gaps in prop::collection::vec(0u64..5, 1..6),
        ) {
            let mut now = 1;
            let times: Vec<u64> = gaps.iter().map(|gap| { now += gap; now }).collect();
            let mut server = server(&times);
            let mut queue = queue(&sizes);
            let total: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
            let (mut offered, mut carried, mut left) = (0, 0, 0);
            let mut now = Instant::ZERO;
            while queue.packets() > 0 {
                now = server.next(now);
                let trace = server.opportunities.trace();
                offered = trace.capacity(Instant::ZERO, now + Span::from_nanos(1)).get();
                server.serve(now, &mut queue, &mut QueueActions::default(), |packet| {
                    assert_eq!(packet.sequence, left);
                    left += 1;
                    carried += u64::from(packet.size);
                });
                let partly = server.head.map_or(0, |(packet, rest)| u64::from(packet.size) - rest);
                prop_assert!(carried + partly == offered || queue.packets() == 0);
            }
            let held = server.head.map_or(0, |(packet, _)| u64::from(packet.size));
            prop_assert_eq!(carried + held, total);
            prop_assert!(carried <= offered);
        }
    }
}
