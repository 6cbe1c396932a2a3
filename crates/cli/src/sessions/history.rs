//! [`History`]: the last minute of a session.

use exm_session::{State, Stats};
use exm_units::{Instant, Span};
use std::collections::VecDeque;

/// Its length.
pub(super) const LENGTH: Span = Span::from_secs(60);

/// The recent samples of a session.
#[derive(Default)]
pub(crate) struct History {
    samples: VecDeque<Sample>,
    last: Option<(Instant, [u64; 2])>,
}

/// A session at one time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// The time.
    pub(super) at: Instant,
    /// The rates in Mbit/s since the previous sample, sent and received.
    pub(super) mbps: [f64; 2],
    /// The smoothed RTT in milliseconds.
    pub(super) rtt: Option<f64>,
}

impl History {
    /// Adds the `stats` at `now`.
    pub(crate) fn record(&mut self, now: Instant, stats: &Stats) {
        let counters = &stats.counters;
        let bytes = [counters.sent_bytes.get(), counters.received_bytes.get()];
        let (before, earlier) = self.last.unwrap_or((now, bytes));
        let seconds = now.saturating_since(before).as_secs_f64();
        let rate = |index: usize| (bytes[index] - earlier[index]) as f64 * 8e-6 / seconds;
        let mbps = if seconds > 0.0 { [rate(0), rate(1)] } else { [0.0; 2] };
        let is_established = stats.state == State::Established;
        let rtt = stats.srtt.filter(|_| is_established).map(Span::as_millis_f64);
        self.last = Some((now, bytes));
        self.samples.push_back(Sample { at: now, mbps, rtt });
        while self.samples.front().is_some_and(|s| now.saturating_since(s.at) > LENGTH) {
            self.samples.pop_front();
        }
    }

    /// The samples, oldest first.
    pub(super) fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter()
    }

    /// The newest sample.
    pub(super) fn newest(&self) -> Option<&Sample> {
        self.samples.back()
    }

    /// The session as one line.
    pub(crate) fn line(&self, stats: &Stats) -> String {
        let Some(sample) = self.newest() else { return String::new() };
        let rtt = sample.rtt.map_or("-".to_owned(), |rtt| format!("{rtt:.0}"));
        format!(
            "{:7.1} s  sent {:8.3} Mbps  received {:8.3} Mbps  window {:7}  in flight {:7}  \
             rtt {rtt:>5} ms",
            sample.at.as_secs_f64(),
            sample.mbps[0],
            sample.mbps[1],
            stats.window.get(),
            stats.in_flight.get(),
        )
    }
}
