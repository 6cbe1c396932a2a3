//! [`Regularity`]: how evenly a link delivers.

/// Counts are compared over stretches of this many ticks: within one tick cellular schedulers look
/// more regular than they are.
const STRETCH: u32 = 5;
/// Ticks in which packets waited for less than this fraction reflect the sender, not the link.
const BUSY: f64 = 0.5;
/// The weight of a stretch in the averages: they settle after about ten stretches, a second or more
/// of activity.
const GAIN: f64 = 0.1;
/// Part of the difference between stretches is the rate's wandering: half of it counts as unevenness.
const WANDERING: f64 = 0.5;

/// Estimates the variance of a link's deliveries, besides their mean.
///
/// A Poisson process, the paper's model of a link (thesis, section 2.3.1), delivers with a variance
/// equal to its mean. Links with few users, such as UMTS uplinks, deliver far more evenly, so a
/// larger part of their rate can be relied on.
#[derive(Clone, Debug)]
pub(crate) struct Regularity {
    /// The averages of variance and mean over a stretch, in packets.
    variance: f64,
    mean: f64,
    /// The current stretch, and how many ticks it has had.
    sum: f64,
    ticks: u32,
    /// The packets of the previous stretch.
    before: Option<f64>,
}

impl Default for Regularity {
    /// The initial assumption is a Poisson process.
    fn default() -> Regularity {
        Regularity { variance: 1.0, mean: 1.0, sum: 0.0, ticks: 0, before: None }
    }
}

impl Regularity {
    /// In a tick `packets` were delivered, while packets waited for the fraction `busy` of it.
    pub(crate) fn observe(&mut self, packets: f64, busy: f64) {
        if busy < BUSY {
            return;
        }
        self.sum += packets / busy;
        self.ticks += 1;
        if self.ticks < STRETCH {
            return;
        }
        let now = std::mem::take(&mut self.sum);
        self.ticks = 0;
        if let Some(before) = self.before.replace(now) {
            let variance = (now - before).powi(2) / 2.0;
            self.variance += GAIN * (variance - self.variance);
            self.mean += GAIN * (f64::midpoint(now, before) - self.mean);
        }
    }

    /// The unit, in packets as a power of two, whose counts would vary as a Poisson process's do; at
    /// most a packet, because burstiness is better modelled as a wandering rate.
    pub(crate) fn unit(&self) -> f64 {
        libm::log2(WANDERING * self.variance / self.mean.max(f64::MIN_POSITIVE)).min(0.0)
    }
}
