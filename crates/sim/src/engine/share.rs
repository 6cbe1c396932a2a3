//! [`Share`]: the integral of 1 / (senders on), with rounding that does not depend on the order.

use exm_units::Instant;

/// Bits after the binary point.
const FRACTION: u32 = 32;

/// A time divided among senders: nanoseconds with 32 bits after the point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share(u128);

impl Share {
    pub(super) fn since(self, earlier: Share) -> Share {
        Share(self.0 - earlier.0)
    }

    pub(super) fn plus(self, other: Share) -> Share {
        Share(self.0 + other.0)
    }

    pub(super) fn as_secs(self) -> f64 {
        self.0 as f64 * (1e-9 / (1u64 << FRACTION) as f64)
    }
}

/// Counts the senders that are on and integrates their shares.
#[derive(Clone, Debug, Default)]
pub(super) struct Sharing {
    on: u128,
    since: Instant,
    total: Share,
}

impl Sharing {
    /// The integral up to `now`.
    pub(super) fn until(&mut self, now: Instant) -> Share {
        let nanos = u128::from((now - self.since).as_nanos());
        self.since = now;
        if let Some(share) = (nanos << FRACTION).checked_div(self.on) {
            self.total = self.total.plus(Share(share));
        }
        self.total
    }

    /// One more sender is on; [`Sharing::until`] has been called for this instant.
    pub(super) fn join(&mut self) {
        self.on += 1;
    }

    /// One sender fewer is on.
    pub(super) fn leave(&mut self) {
        self.on -= 1;
    }
}
