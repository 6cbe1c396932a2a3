//! Equal shares: how much of the link each sender was entitled to.

use super::Outcome;
use super::sender::{Sender, Toggle};
use exm_units::{Instant, Span};

/// Credits the equal shares of `senders` at `end`. With C(t) the integral of 1 / (senders on), a
/// sender's share of its on-period from a to b is C(b) - C(a).
pub(super) fn outcomes(senders: &[Sender], end: Instant) -> Vec<Outcome> {
    let end = end.as_nanos() as i64;
    let mut toggles: Vec<(usize, Toggle)> = senders
        .iter()
        .enumerate()
        .flat_map(|(i, sender)| sender.toggles.iter().map(move |&toggle| (i, toggle)))
        .collect();
    toggles.sort_by_key(|&(i, toggle)| (toggle.at, i));
    let mut outcomes: Vec<Outcome> = senders
        .iter()
        .map(|sender| Outcome {
            sent: sender.sent(),
            delivered: sender.delivered(),
            lost: sender.lost(),
            rtt_sum: sender.rtt_sum(),
            ..Outcome::default()
        })
        .collect();
    let mut began: Vec<Option<(i64, f64)>> = vec![None; senders.len()];
    let (mut now, mut on, mut share) = (0, 0u32, 0.0);
    for (i, toggle) in toggles {
        share += elapsed_share(now, toggle.at, on);
        now = toggle.at;
        if toggle.on {
            on += 1;
            began[i] = Some((now, share));
        } else if let Some(start) = began[i].take() {
            on -= 1;
            outcomes[i].was_on(start, (now, share));
        }
    }
    share += elapsed_share(now, end, on);
    for (outcome, start) in outcomes.iter_mut().zip(began) {
        if let Some(start) = start {
            outcome.was_on(start, (end, share));
        }
    }
    outcomes
}

fn elapsed_share(from: i64, to: i64, on: u32) -> f64 {
    if on == 0 { 0.0 } else { (to - from) as f64 * 1e-9 / f64::from(on) }
}

impl Outcome {
    fn was_on(&mut self, from: (i64, f64), to: (i64, f64)) {
        self.on_time += Span::from_nanos((to.0 - from.0) as u64);
        self.share_time += to.1 - from.1;
    }
}
