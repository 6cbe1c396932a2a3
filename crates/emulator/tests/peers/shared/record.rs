//! [`Record`]: what happened during a transfer, whichever sender ran it.

use exm_units::{Bytes, Instant, Rate, Span};

/// What happened during a transfer. Times count from its start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    /// The bottleneck's queue after each of its changes: time, packets, bytes.
    pub(crate) queue: Vec<(Instant, u64, u64)>,
    /// The flows, in the order of the scenario.
    pub(crate) flows: Vec<Flow>,
    /// The mean queueing delay of all packets.
    pub(crate) mean_wait: Span,
    /// Segments retransmitted, by all flows.
    pub(crate) retransmissions: u64,
}

/// What happened to one flow of a transfer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    /// Total payload bytes delivered in order by each of these times.
    pub(crate) delivered: Vec<(Instant, u64)>,
    /// The sender's window, in order of time.
    pub(crate) windows: Vec<Window>,
    /// The total number of packets dropped by the queue.
    pub(crate) drops: u64,
    /// Those of them that were dropped before the scenario's [`settled`](super::Scenario::settled).
    pub(crate) early_drops: u64,
}

/// A sender's window at one time, in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    /// The time.
    pub(crate) at: Instant,
    /// The congestion window.
    pub(crate) cwnd: u64,
    /// The slow start threshold, if known and set.
    pub(crate) ssthresh: Option<u64>,
}

/// A summary of a [`Record`] over an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    /// The goodput of all flows.
    pub(crate) goodput: Rate,
    /// The mean queue in packets.
    pub(crate) queue: f64,
    /// The mean queue in bytes.
    pub(crate) queue_bytes: f64,
    /// The mean window; the sum over all flows.
    pub(crate) cwnd: f64,
    /// The largest window of any flow.
    pub(crate) peak: u64,
}

impl Record {
    /// Shifts times to count from `start`, before which nothing happened.
    #[cfg(target_os = "linux")]
    pub(crate) fn begin_at(&mut self, start: Instant) {
        let since = |at: Instant| Instant::ZERO + at.saturating_since(start);
        self.queue.iter_mut().for_each(|(at, ..)| *at = since(*at));
        for flow in &mut self.flows {
            flow.delivered.iter_mut().for_each(|(at, _)| *at = since(*at));
            flow.windows.iter_mut().for_each(|window| window.at = since(window.at));
        }
    }

    /// The total number of packets dropped by the queue.
    pub(crate) fn drops(&self) -> u64 {
        self.flows.iter().map(|flow| flow.drops).sum()
    }

    /// Those of them that were dropped once the scenario had [settled](super::Scenario::settled).
    pub(crate) fn settled_drops(&self) -> u64 {
        self.flows.iter().map(|flow| flow.drops - flow.early_drops).sum()
    }

    /// The summary from `from` to `to`.
    pub(crate) fn between(&self, from: Instant, to: Instant) -> Summary {
        let seconds = (to - from).as_secs_f64();
        let packets = self.queue.iter().map(|&(at, packets, _)| (at, packets as f64));
        let bytes = self.queue.iter().map(|&(at, _, bytes)| (at, bytes as f64));
        let goodput: f64 = self.flows.iter().map(|flow| flow.goodput(from, to).as_mbps()).sum();
        let windows = |flow: &Flow| {
            let windows = flow.windows.iter().map(|window| (window.at, window.cwnd as f64));
            integral(windows, from, to)
        };
        let all = self.flows.iter().flat_map(|flow| &flow.windows);
        let within = all.filter(|window| window.at >= from && window.at < to);
        Summary {
            goodput: Rate::from_mbps(goodput),
            queue: integral(packets, from, to) / seconds,
            queue_bytes: integral(bytes, from, to) / seconds,
            cwnd: self.flows.iter().map(windows).sum::<f64>() / seconds,
            peak: within.map(|window| window.cwnd).max().unwrap_or(0),
        }
    }
}

impl Flow {
    /// When the first whole cycle of the window from `from` to `to` begins, and when the last ends:
    /// from [cut](Flow::cuts) to cut. None if it was not cut twice.
    ///
    /// Averages over whole cycles do not depend on incomplete ones at the ends.
    pub(crate) fn cycles(&self, from: Instant, to: Instant) -> Option<(Instant, Instant)> {
        let mut within = self.cuts().into_iter().filter(|&at| at >= from && at <= to);
        let first = within.next()?;
        Some((first, within.next_back()?))
    }

    /// When the window was cut: fell by more than an eighth, until it rose again.
    pub(crate) fn cuts(&self) -> Vec<Instant> {
        let (mut cuts, mut peak, mut last, mut falling) = (Vec::new(), 0, 0, false);
        for &Window { at, cwnd, .. } in &self.windows {
            if falling {
                falling = cwnd <= last;
                peak = cwnd;
            } else if cwnd * 8 < peak * 7 {
                falling = true;
                cuts.push(at);
            }
            (peak, last) = (peak.max(cwnd), cwnd);
        }
        cuts
    }

    /// The payload bytes from `from` to `to`.
    pub(crate) fn goodput(&self, from: Instant, to: Instant) -> Rate {
        let delivered = Bytes::new(self.delivered_by(to)) - Bytes::new(self.delivered_by(from));
        Rate::from_mbps(delivered.get() as f64 * 8e-6 / (to - from).as_secs_f64())
    }

    /// The window at `at`: the last value reported. None before the first.
    pub(crate) fn window(&self, at: Instant) -> Option<u64> {
        let after = self.windows.partition_point(|window| window.at <= at);
        Some(self.windows[after.checked_sub(1)?].cwnd)
    }

    fn delivered_by(&self, at: Instant) -> u64 {
        let after = self.delivered.partition_point(|&(time, _)| time <= at);
        after.checked_sub(1).map_or(0, |last| self.delivered[last].1)
    }
}

/// The integral over time, in seconds, of the piecewise constant function `steps`, zero before the
/// first.
fn integral(steps: impl Iterator<Item = (Instant, f64)>, from: Instant, to: Instant) -> f64 {
    let mut last = (Instant::ZERO, 0.0);
    let mut sum = 0.0;
    let mut add = |start: Instant, end: Instant, value: f64| {
        sum += value * end.min(to).saturating_since(start.max(from)).as_secs_f64();
    };
    for step in steps {
        add(last.0, step.0, last.1);
        last = step;
    }
    add(last.0, to, last.1);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn averages_are_over_time() {
        let window = |ms, cwnd| Window { at: at(ms), cwnd, ssthresh: None };
        let record = Record {
            queue: vec![(at(100), 2, 3000), (at(300), 6, 9000), (at(900), 0, 0)],
            flows: vec![Flow {
                delivered: vec![(at(50), 1000), (at(250), 26_000), (at(2000), 99_000)],
                windows: vec![window(0, 10), window(500, 20), window(700, 30)],
                drops: 5,
                early_drops: 2,
            }],
            ..Record::default()
        };
        let summary = record.between(at(200), at(700));
        assert!((summary.queue - (0.1 * 2.0 + 0.4 * 6.0) / 0.5).abs() < 1e-9, "{summary:?}");
        assert!((summary.queue_bytes - 1500.0 * summary.queue).abs() < 1e-6, "{summary:?}");
        assert!((summary.cwnd - (0.3 * 10.0 + 0.2 * 20.0) / 0.5).abs() < 1e-9, "{summary:?}");
        assert_eq!((summary.peak, summary.goodput), (20, Rate::from_mbps(0.4)));
        let flow = &record.flows[0];
        assert_eq!((flow.window(at(499)), flow.window(at(9000))), (Some(10), Some(30)));
        assert_eq!(Flow::default().window(at(1)), None);
    }

    #[test]
    fn flows_add_up() {
        let flow = |cwnd, bytes, drops| Flow {
            delivered: vec![(at(500), bytes)],
            windows: vec![Window { at: at(0), cwnd, ssthresh: None }],
            drops,
            early_drops: 1,
        };
        let record =
            Record { flows: vec![flow(10, 125_000, 4), flow(20, 250_000, 1)], ..Record::default() };
        let summary = record.between(at(0), at(1000));
        assert_eq!((summary.goodput, summary.peak), (Rate::from_mbps(3.0), 20));
        assert!((summary.cwnd - 30.0).abs() < 1e-9, "{summary:?}");
        assert_eq!((record.drops(), record.settled_drops()), (5, 3));
    }

    #[test]
    fn cycles_go_from_cut_to_cut() {
        let cwnd = [10, 20, 40, 30, 25, 20, 21, 30, 40, 38, 40, 20, 20, 30, 40, 20, 30];
        let windows =
            cwnd.iter().zip(0..).map(|(&cwnd, ms)| Window { at: at(ms), cwnd, ssthresh: None });
        let flow = Flow { windows: windows.collect(), ..Flow::default() };
        assert_eq!(flow.cycles(at(0), at(100)), Some((at(3), at(15))));
        assert_eq!(flow.cycles(at(4), at(15)), Some((at(11), at(15))));
        assert_eq!(flow.cycles(at(4), at(14)), None);
    }
}
