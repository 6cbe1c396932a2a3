//! [`Reward`]: what an action was worth.

use exm_design::Performance;
use exm_policy::Measurement;
use exm_units::Span;

/// What an action is rewarded by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reward {
    /// The model's objective in the interval, times the seconds for which the flow was on since its last action: the
    /// return is the objective's integral over that time, whatever the lengths of intervals are, and nothing is gained by
    /// intervals that the end of an on-period cuts off. An interval without an ACK counts as half a packet.
    Objective,
    /// Aurora's (Jay et al., ICML 2019): (10 x packets per second - 1000 x RTT in seconds - 2000 x loss rate) / 1000,
    /// per interval.
    Aurora,
    /// Nothing until the end, and then the flow's score by the model, as it enters `exm score`.
    Score,
}

impl Reward {
    /// All, the default first.
    pub const ALL: [Reward; 3] = [Reward::Objective, Reward::Aurora, Reward::Score];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Reward::Objective => "objective",
            Reward::Aurora => "aurora",
            Reward::Score => "score",
        }
    }

    /// The reward of an interval, where `value` is the objective and `on` how long the flow was on since its last
    /// action.
    pub(crate) fn of(
        self,
        measured: &Measurement,
        on: Span,
        value: impl FnOnce(&Performance) -> f64,
    ) -> f64 {
        let seconds = measured.duration.as_secs_f64();
        match self {
            Reward::Objective if seconds > 0.0 => {
                let throughput = (measured.delivered as f64).max(0.5) / seconds;
                let rtt = measured.rtt.max(LEAST_RTT);
                value(&Performance { throughput, rtt, loss: measured.loss() }) * on.as_secs_f64()
            }
            Reward::Objective | Reward::Score => 0.0,
            Reward::Aurora => {
                let (throughput, rtt) = (measured.throughput(), measured.rtt.as_secs_f64());
                (10.0 * throughput - 1000.0 * rtt - 2000.0 * measured.loss()) / 1000.0
            }
        }
    }
}

/// Logarithms of RTTs stay finite.
const LEAST_RTT: Span = Span::from_micros(1);
