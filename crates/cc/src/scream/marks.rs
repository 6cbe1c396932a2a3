//! [`Marks`]: the average fraction of packets that were marked.

use crate::controller::Ack;
use exm_units::Instant;

/// `L4S_AVG_G_UP` and `L4S_AVG_G_DOWN`: the weight of the newest fraction where it is above the average, and below.
const GAIN_UP: f64 = 1.0 / 8.0;
const GAIN_DOWN: f64 = 1.0 / 128.0;
/// The average is updated at least so often, in seconds.
const INTERVAL: f64 = 0.010;

/// `l4s_alpha`, which rises fast and falls slowly.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    alpha: f64,
    acked: f64,
    marked: f64,
    updated: Option<Instant>,
}

impl Marks {
    pub(super) fn observe(&mut self, ack: &Ack, srtt: f64) {
        self.acked += ack.acked.get() as f64;
        self.marked += ack.marked.get() as f64;
        let updated = *self.updated.get_or_insert(ack.now);
        let elapsed = ack.now.saturating_since(updated).as_secs_f64();
        if elapsed < srtt.min(INTERVAL) || self.acked == 0.0 {
            return;
        }
        let fraction = (self.marked / self.acked).min(1.0);
        if fraction >= self.alpha {
            self.alpha += GAIN_UP * (fraction - self.alpha);
        } else {
            self.alpha *= 1.0 - GAIN_DOWN;
        }
        *self = Marks { alpha: self.alpha, updated: Some(ack.now), ..Marks::default() };
    }

    pub(super) fn alpha(&self) -> f64 {
        self.alpha
    }
}
