//! [`Ahead`]: a drop-tail queue at a fixed rate, without events of its own.

use exm_link::{Limit, Packet, Server};
use exm_units::{Bytes, Instant, Rate};
use std::collections::VecDeque;

/// A drop-tail queue whose link transmits at a fixed rate. What becomes of a packet is known the
/// moment it comes: whether it is dropped, and when it has been transmitted. So neither the packet nor
/// the end of its transmission has to be kept, only when the transmissions of those before it begin.
#[derive(Clone, Debug)]
pub(super) struct Ahead {
    server: Server,
    limit: Limit,
    /// The end of the simulation: the books end there.
    end: Instant,
    /// When all that was taken in has been transmitted.
    free_at: Instant,
    /// When the transmission of each packet that waits begins, and its size.
    starts: VecDeque<(Instant, u32)>,
    /// The bytes of those that wait.
    bytes: u64,
    /// The sum of the times that packets wait, and of those that their transmission takes, in
    /// nanoseconds, as far as they are before the end.
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

    /// `packet` arrives at `now`. Returns when it will have been transmitted, or nothing where it is
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

    /// What waits at `now`.
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
