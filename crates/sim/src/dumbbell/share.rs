//! The results of each sender, and its equal share of the link.

use super::Outcome;
use super::sender::Sender;
use crate::active::{MeasuredOver, times};
use exm_units::Instant;

/// The outcomes of `senders` at `end`.
pub(super) fn outcomes(senders: &[Sender], end: Instant) -> Vec<Outcome> {
    let over = |over| times(senders.iter().map(Sender::periods), end, over);
    let active = over(MeasuredOver::Arrivals);
    let on = over(MeasuredOver::Papers);
    let each = senders.iter().zip(on.iter().zip(&active));
    each.map(|(sender, (on, active))| Outcome {
        sent: sender.sent(),
        delivered: sender.delivered(),
        headers: 0.0,
        lost: sender.lost(),
        rtt_sum: sender.rtt_sum(),
        on_time: on.time,
        share_time: on.share,
        active_time: active.time,
        active_share_time: active.share,
    })
    .collect()
}
