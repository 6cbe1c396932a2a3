//! [`Ahead`]: a drop-tail queue at a fixed rate, without events of its own.

use exm_link::{Limit, Packet, Server};
use exm_units::{Bytes, Instant, Rate};
use std::collections::VecDeque;

/// A drop-tail queue whose link transmits at a fixed rate. Whether a packet is dropped, and when it
/// has been transmitted, is known when it arrives. So neither the packet nor the end of its
/// transmission has to be stored, only when the transmissions of those before it begin.
#[derive(Clone, Debug)]
pub(super) struct Ahead {
    server: Server,
    limit: Limit,
    /// The end of the simulation: counters stop there.
    end: Instant,
    /// When all accepted packets have been transmitted.
    free_at: Instant,
    /// When the transmission of each packet that waits begins, and its size.
    starts: VecDeque<(Instant, u32)>,
    /// The bytes of the waiting packets.
    bytes: u64,
    /// The sums of the queueing delays and of the transmission times, in nanoseconds, up to the end.
    pub(super) waited: u128,
    pub(super) busy: u128,
    /// The most packets that ever waited.
    pub(super) longest: u64,
}

impl Ahead {
    pub(super) fn new(rate: Rate, limit: Limit, end: Instant) -> Ahead {
        Ahead {
            server: Server::new(rate),
            limit,
            end,
            free_at: Instant::ZERO,
            starts: VecDeque::new(),
            bytes: 0,
            waited: 0,
            busy: 0,
            longest: 0,
        }
    }

    /// `packet` arrives at `now`. Returns when it will have been transmitted, or none if it is
    /// dropped.
    #[inline]
    pub(super) fn take_in(&mut self, now: Instant, packet: &mut Packet) -> Option<Instant> {
        while let Some(&(start, size)) = self.starts.front()
            && start <= now
        {
            self.starts.pop_front();
            self.bytes -= u64::from(size);
        }
        if self.limit.is_full(self.starts.len(), self.bytes, packet.size) {
            return None;
        }
        let start = self.free_at.max(now);
        self.free_at = self.server.finish(start, packet.size);
        if start > now {
            self.starts.push_back((start, packet.size));
            self.bytes += u64::from(packet.size);
            self.longest = self.longest.max(self.starts.len() as u64);
            packet.waited += start - now;
            self.waited += u128::from((start.min(self.end) - now).as_nanos());
        }
        let transmitting = self.free_at.min(self.end).saturating_since(start);
        self.busy += u128::from(transmitting.as_nanos());
        Some(self.free_at)
    }

    /// The packets that wait at `now`.
    pub(super) fn waiting(&self, now: Instant) -> (u64, Bytes) {
        let begun = self.starts.partition_point(|&(start, _)| start <= now);
        let sizes = self.starts.range(begun..).map(|&(_, size)| u64::from(size));
        ((self.starts.len() - begun) as u64, Bytes::new(sizes.sum()))
    }

    /// Whether it transmits at `now`.
    pub(super) fn is_busy(&self, now: Instant) -> bool {
        self.free_at > now
    }
}
