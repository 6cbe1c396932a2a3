//! [`Prr`]: the window during loss recovery (RFC 6937, with the safe ACKs of RFC 9937).

/// Proportional rate reduction: as packets leave the network others may enter it, so that at the end
/// of recovery as many are in flight as the controller decided at its start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    /// The window at the end of recovery: `ssthresh`.
    target: u64,
    /// Segments in flight at the start: `RecoverFS`.
    flight: u64,
    delivered: u64,
    out: u64,
}

impl Prr {
    /// Recovery starts with `flight` segments in flight, to end with a window of `target`.
    pub(crate) fn new(flight: u64, target: u64) -> Prr {
        Prr { target, flight: flight.max(1), delivered: 0, out: 0 }
    }

    /// A segment was sent.
    #[inline]
    pub(crate) fn sent(&mut self) {
        self.out += 1;
    }

    /// The window after an ACK that reports `delivered` segments, with `pipe` in flight; `safe` if it
    /// advanced `una` and reported no further loss.
    pub(crate) fn window(&mut self, delivered: u64, pipe: u64, safe: bool) -> u64 {
        self.delivered += delivered;
        let allowed = if pipe > self.target {
            let share = u128::from(self.delivered) * u128::from(self.target);
            let share = share.div_ceil(u128::from(self.flight)) as u64;
            share.saturating_sub(self.out)
        } else {
            let mut limit = self.delivered.saturating_sub(self.out).max(delivered);
            limit += u64::from(safe);
            limit.min(self.target - pipe)
        };
        // The first retransmission is sent regardless of the count (RFC 9937, section 6.2).
        pipe + allowed.max(u64::from(self.out == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in RFC 6937, section 3.1, with more segments: 100 in flight, one lost, the window to halve;
    /// every other ACK releases a segment.
    #[test]
    fn halves_by_sending_at_every_other_acknowledgement() {
        let mut prr = Prr::new(100, 50);
        let (mut pipe, mut out) = (97, 0);
        for _ in 0..96 {
            let window = prr.window(1, pipe, false);
            while pipe < window {
                prr.sent();
                pipe += 1;
                out += 1;
            }
            pipe -= 1;
        }
        assert!((47..=49).contains(&out), "{out}");
        assert!((48..=50).contains(&pipe), "{pipe}");
    }

    #[test]
    fn after_heavy_losses_it_grows_no_faster_than_slow_start() {
        let mut prr = Prr::new(100, 50);
        let mut pipe: u64 = 10;
        for _ in 0..10 {
            let window = prr.window(1, pipe - 1, true);
            assert!(window <= pipe + 1, "{window} {pipe}");
            while pipe - 1 < window {
                prr.sent();
                pipe += 1;
            }
            pipe -= 1;
        }
    }
}
