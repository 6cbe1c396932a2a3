//! [`Regularity`]: how evenly a link delivers.

/// Counts are compared by stretches of so many ticks: within one tick the schedulers of cells look
/// more regular than they are.
const STRETCH: u32 = 5;
/// Ticks in which something waited for less than this part tell of the sender, not of the link.
const BUSY: f64 = 0.5;
/// How much the averages move towards what a stretch tells: a link is known after some ten, a second
/// or more of work.
const GAIN: f64 = 0.1;
/// Part of what stretches differ by is the rate's wandering: half of it is taken for unevenness.
const WANDERING: f64 = 0.5;

/// Learns the variance of what a link delivers, beside its mean.
///
/// A Poisson process, as the paper's link is one (thesis, section 2.3.1), delivers with a variance as
/// large as the mean. Links that are shared by few, such as UMTS uplinks, deliver far more evenly,
/// and more of what they deliver can be relied on.
#[derive(Clone, Debug)]
pub(crate) struct Regularity {
    /// In packets, over a stretch: the averages of the variance and of the mean.
    variance: f64,
    mean: f64,
    /// The stretch that runs, and how many ticks it has had.
    sum: f64,
    ticks: u32,
    /// What came in the stretch before.
    before: Option<f64>,
}

impl Default for Regularity {
    /// A link is a Poisson process until it is known better.
    fn default() -> Regularity {
        Regularity { variance: 1.0, mean: 1.0, sum: 0.0, ticks: 0, before: None }
    }
}

impl Regularity {
    /// In a tick `packets` were delivered, while something waited for the part `busy` of it.
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

    /// The unit, in packets, whose counts would vary as a Poisson process's do, as a power of two; no
    /// more than a packet, for burstiness is better taken for a rate that wanders.
    pub(crate) fn unit(&self) -> f64 {
        libm::log2(WANDERING * self.variance / self.mean.max(f64::MIN_POSITIVE)).min(0.0)
    }
}
