//! The bottleneck: a FIFO of fixed rate.

use super::merge;
use super::sender::{Arrival, Sender};
use exm_random::Losses;
use exm_units::Packets;

#[derive(Debug)]
pub(super) struct Fifo {
    service: i64,
    /// The longest wait at which a packet is still admitted.
    limit: i64,
    losses: Losses,
    busy_until: i64,
    /// When the simulation ends: a packet that would be lost later is still in flight.
    end: i64,
}

impl Fifo {
    pub(super) fn new(service: i64, buffer: Option<Packets>, losses: Losses, end: i64) -> Fifo {
        // A packet leaves the queue every `service`: n packets wait behind the one in service when
        // the link stays busy for more than n services.
        let limit = buffer.map_or(i64::MAX, |buffer| {
            i64::try_from(buffer.get()).unwrap_or(i64::MAX).saturating_mul(service)
        });
        Fifo { service, limit, losses, busy_until: 0, end }
    }

    /// Transmits the sends `keys` of an epoch that started at `start`.
    pub(super) fn carry(&mut self, start: i64, keys: &[u64], senders: &mut [Sender]) {
        for &key in keys {
            let sent = start + merge::time(key);
            let sender = &mut senders[merge::sender(key)];
            if self.busy_until - sent > self.limit {
                sender.miss(true);
                continue;
            }
            self.busy_until = self.busy_until.max(sent) + self.service;
            if self.losses.next_is_lost() {
                sender.miss(self.busy_until < self.end);
                continue;
            }
            let received = self.busy_until + sender.delay;
            sender.arrive(Arrival { sent, received });
        }
    }
}
