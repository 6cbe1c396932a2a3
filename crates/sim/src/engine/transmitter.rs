//! [`Transmitter`]: a link at work.

use super::observer::LinkSample;
use crate::metrics::LinkReport;
use crate::network::LinkSpec;
use exm_link::{Packet, Queue, Server, Site, Verdict};
use exm_random::{Losses, Purpose, Stream};
use exm_units::{Bytes, Instant, Span};
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Transmitter {
    queue: Queue,
    server: Server,
    losses: Losses,
    pub(super) delay: Span,
    /// The packet in transmission and when that began.
    serving: Option<(Packet, Instant)>,
    /// Packets in propagation to a further link, by time of arrival.
    pub(super) wire: VecDeque<Packet>,
    busy: u128,
    /// The integral of the queue's length, in packet nanoseconds, up to `counted_at`.
    queued: u128,
    counted_at: Instant,
    pub(super) report: LinkReport,
}

impl Transmitter {
    pub(super) fn new(spec: &LinkSpec, seed: u64, index: usize) -> Transmitter {
        let stream = Stream::new(seed, Purpose::Queue, index);
        let site = Site { limit: spec.buffer, rate: spec.service.rate(), stream };
        Transmitter {
            queue: spec.queue.build(site),
            server: Server::new(spec.service.clone()),
            losses: Losses::new(spec.loss.get(), Stream::new(seed, Purpose::Loss, index)),
            delay: spec.delay,
            serving: None,
            wire: VecDeque::new(),
            busy: 0,
            queued: 0,
            counted_at: Instant::ZERO,
            report: LinkReport { name: spec.name.clone(), ..LinkReport::default() },
        }
    }

    /// `packet` arrives at `now`. If the link was idle it starts to transmit, and returns when that
    /// ends.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        now: Instant,
        packet: Packet,
        verdict: &mut Verdict,
    ) -> Option<Instant> {
        self.report.arrived += 1;
        self.count_queue(now);
        self.queue.enqueue(now, packet, verdict);
        if self.serving.is_some() {
            self.report.max_queue = self.report.max_queue.max(self.queue.packets() as u64);
            return None;
        }
        self.serve(now, verdict)
    }

    /// The packet in transmission is through: it comes back, unless the link lost it.
    #[inline]
    pub(super) fn depart(&mut self) -> (Packet, bool) {
        let (packet, _) = self.serving.take().expect("a link departs only what it was serving");
        self.report.transmitted += 1;
        self.report.bytes += Bytes::new(u64::from(packet.size));
        let lost = self.losses.next_is_lost();
        self.report.lost += u64::from(lost);
        (packet, lost)
    }

    /// Takes the next packet into transmission, and returns when that ends.
    #[inline]
    pub(super) fn serve(&mut self, now: Instant, verdict: &mut Verdict) -> Option<Instant> {
        self.count_queue(now);
        let mut packet = self.queue.dequeue(now, verdict)?;
        packet.waited += now - packet.at;
        let finish = self.server.finish(now, packet.size);
        self.busy += u128::from((finish - now).as_nanos());
        self.serving = Some((packet, finish));
        Some(finish)
    }

    #[inline]
    fn count_queue(&mut self, now: Instant) {
        let nanos = (now - self.counted_at).as_nanos();
        self.queued += u128::from(nanos) * self.queue.packets() as u128;
        self.counted_at = now;
    }

    /// How many packets are in the queue, in transmission and in propagation to a further link.
    pub(super) fn holds(&self) -> u64 {
        (self.queue.packets() + self.wire.len()) as u64 + u64::from(self.serving.is_some())
    }

    /// The link as it is at `now`.
    pub(super) fn sample(&self, now: Instant, link: usize) -> LinkSample {
        let (packets, bytes) = (self.queue.packets() as u64, self.queue.bytes());
        LinkSample { at: now, link, packets, bytes, busy: self.serving.is_some() }
    }

    /// Closes the books at `end`.
    pub(super) fn finish(mut self, end: Instant) -> LinkReport {
        self.count_queue(end);
        let beyond = self.serving.map_or(0, |(_, finish)| finish.saturating_since(end).as_nanos());
        let nanos = end.as_nanos() as f64;
        self.report.utilisation = (self.busy - u128::from(beyond)) as f64 / nanos;
        self.report.mean_queue = self.queued as f64 / nanos;
        self.report
    }
}
