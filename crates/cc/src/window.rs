//! [`Window`]: the state shared by all controllers of the Reno family.

use crate::controller::{Ack, Congestion, CongestionKind, Decision, INITIAL_WINDOW, Start};
use crate::metrics::Metrics;
use exm_units::{Instant, Packets, Span};

/// No window is larger: enough for a terabit a second to the moon and back, and small enough that
/// no sum of windows loses a packet to rounding.
pub(crate) const MAX_WINDOW: f64 = 1e9;

/// RFC 5681, equation 4: the threshold is never less than two segments.
const MIN_SSTHRESH: f64 = 2.0;

/// A window with its slow start threshold, and the congestion event it has last responded to.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// Packets that may be in flight; the fraction is progress towards the next.
    pub(crate) cwnd: f64,
    /// Below it the window is in slow start; infinite until the first congestion event.
    pub(crate) ssthresh: f64,
    /// Packets acknowledged towards the next packet of additive increase.
    credit: f64,
    /// Losses and marks of packets sent before this belong to the congestion event that began then.
    recovery_start: Option<Instant>,
    /// Whether it responded to a timeout and nothing has been acknowledged since.
    timed_out: bool,
    before: Option<Before>,
}

/// The window before the last reduction for a loss or timeout, should that prove spurious.
#[derive(Clone, Copy, Debug)]
struct Before {
    cwnd: f64,
    ssthresh: f64,
    recovery_start: Option<Instant>,
}

/// What a congestion event asks of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Response {
    /// Lower the window, by [`Window::reduce`].
    Reduce,
    /// Restore what it keeps beside the window, which is restored already.
    Undone,
    /// No response.
    None,
}

/// The methods of a [`Controller`](crate::Controller) whose field `window` is all it shows, and which nothing
/// wakes.
macro_rules! follows_window {
    () => {
        fn metrics(&self) -> $crate::Metrics {
            self.window.metrics()
        }

        fn on_tick(&mut self, _now: exm_units::Instant) -> $crate::Decision {
            self.window.decision()
        }
    };
}
pub(crate) use follows_window;

impl Window {
    /// The window at the start of a flow.
    pub(crate) fn new(start: &Start) -> Window {
        Window::of(start.initial_window)
    }

    /// A fresh window of `packets`.
    pub(crate) fn of(packets: Packets) -> Window {
        Window {
            cwnd: (packets.get() as f64).clamp(1.0, MAX_WINDOW),
            ssthresh: f64::INFINITY,
            credit: 0.0,
            recovery_start: None,
            timed_out: false,
            before: None,
        }
    }

    /// Records `ack`; true if it lets the window grow.
    pub(crate) fn may_grow(&mut self, ack: &Ack) -> bool {
        if ack.stale || ack.acked == Packets::ZERO {
            return false;
        }
        self.timed_out = false;
        !ack.recovering && !ack.app_limited
    }

    /// Whether the window doubles each round trip (RFC 5681, section 3.1).
    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether there has been no congestion event yet.
    pub(crate) fn in_first_slow_start(&self) -> bool {
        self.ssthresh == f64::INFINITY
    }

    /// What it shows: its threshold, and whether it is below that.
    pub(crate) fn metrics(&self) -> Metrics {
        let state = if self.in_slow_start() { "slow start" } else { "congestion avoidance" };
        Metrics::new(self.cwnd).ssthresh(self.ssthresh).state(state)
    }

    /// From here on the window is in congestion avoidance.
    pub(crate) fn leave_slow_start(&mut self) {
        self.ssthresh = self.cwnd;
    }

    /// Slow start with appropriate byte counting (RFC 3465 with L unlimited, as in Linux): one
    /// packet more per packet acknowledged, up to the threshold. Returns the acknowledged packets
    /// that are left over.
    pub(crate) fn slow_start(&mut self, acked: f64) -> f64 {
        let used = acked.min(self.ssthresh - self.cwnd);
        self.set(self.cwnd + used);
        acked - used
    }

    /// One packet more per `each` acknowledged: if `each` is the window, one each round trip (RFC
    /// 5681, section 3.1). Only whole packets are added, the rest is kept as credit; if `each` has
    /// fallen, the credit counts for one packet at most.
    pub(crate) fn increase(&mut self, each: f64, acked: f64) {
        self.credit = self.credit.min(each) + acked;
        if self.credit >= each {
            let packets = libm::floor(self.credit / each);
            self.credit -= packets * each;
            self.set(self.cwnd + packets);
        }
    }

    /// A window of `cwnd` packets, at least one.
    pub(crate) fn set(&mut self, cwnd: f64) {
        self.cwnd = cwnd.clamp(1.0, MAX_WINDOW);
    }

    /// The response to `congestion`. Spurious events are undone here, and a timeout that follows
    /// another leaves the threshold unchanged (RFC 5681, section 3.1: only the first timeout of a
    /// segment lowers it).
    pub(crate) fn classify(&mut self, congestion: &Congestion) -> Response {
        let ongoing = self.recovery_start.is_some_and(|at| congestion.sent_at < at);
        match congestion.kind {
            CongestionKind::Spurious => return self.undo(),
            CongestionKind::Idle => self.restart(congestion.packets),
            CongestionKind::Timeout if self.timed_out => {
                self.cwnd = 1.0;
                self.recovery_start = Some(congestion.now);
            }
            CongestionKind::Lost | CongestionKind::Marked if ongoing => {}
            CongestionKind::Timeout | CongestionKind::Lost | CongestionKind::Marked => {
                return Response::Reduce;
            }
        }
        Response::None
    }

    /// Responds to `congestion`: the threshold becomes `ssthresh`, and so does the window, or after
    /// a timeout one packet (RFC 5681, section 3.1).
    pub(crate) fn reduce(&mut self, congestion: &Congestion, ssthresh: f64) {
        let Window { cwnd, recovery_start, .. } = *self;
        // A mark is never spurious: an earlier window must not be restored over its reduction.
        self.before = (congestion.kind != CongestionKind::Marked).then_some(Before {
            cwnd,
            ssthresh: self.ssthresh,
            recovery_start,
        });
        self.timed_out = congestion.kind == CongestionKind::Timeout;
        self.ssthresh = ssthresh.clamp(MIN_SSTHRESH, MAX_WINDOW);
        self.cwnd = if self.timed_out { 1.0 } else { self.ssthresh };
        self.credit = 0.0;
        self.recovery_start = Some(congestion.now);
    }

    /// RFC 2861, section 3.1: after an idle time the window is at most `cwnd`, and slow start leads
    /// back to three quarters of what it was.
    fn restart(&mut self, cwnd: Packets) {
        self.before = None;
        self.ssthresh = self.ssthresh.max(0.75 * self.cwnd);
        self.set(self.cwnd.min(cwnd.get() as f64));
    }

    fn undo(&mut self) -> Response {
        let Some(before) = self.before.take() else { return Response::None };
        // It may have grown beyond that if the event proved spurious late (RFC 9438, 4.9.2).
        self.cwnd = self.cwnd.max(before.cwnd);
        self.ssthresh = self.ssthresh.max(before.ssthresh);
        self.recovery_start = before.recovery_start;
        self.timed_out = false;
        Response::Undone
    }

    /// The window as a decision, without pacing.
    pub(crate) fn decision(&self) -> Decision {
        decide(self.cwnd)
    }
}

impl Default for Window {
    fn default() -> Window {
        Window::of(INITIAL_WINDOW)
    }
}

/// A window of `cwnd` whole packets, without pacing.
pub(crate) fn decide(cwnd: f64) -> Decision {
    let cwnd = Packets::new(cwnd.clamp(1.0, MAX_WINDOW) as u64);
    Decision { cwnd, intersend: Span::ZERO, wake_at: None }
}

/// The packets that `ack` acknowledges, never more than any window holds.
pub(crate) fn acked(ack: &Ack) -> f64 {
    (ack.acked.get() as f64).min(MAX_WINDOW)
}

/// Delimits round trips: one ends when a packet sent after its start is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundTrip {
    began: Option<Instant>,
}

impl RoundTrip {
    /// Whether `ack` ends a round trip; the next one begins then. The first acknowledgement only
    /// begins one.
    pub(crate) fn ends(&mut self, ack: &Ack) -> bool {
        let ends = self.began.is_none_or(|began| ack.sent_at >= began);
        let counts = ends && self.began.is_some();
        if ends {
            self.began = Some(ack.now);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::at;

    fn congestion(kind: CongestionKind, sent: u64, now: u64) -> Congestion {
        Congestion::new(kind, at(sent), at(now))
    }

    fn ack() -> Ack {
        Ack::new(0, at(0), at(1))
    }

    #[test]
    fn slow_start_stops_at_the_threshold_and_hands_back_the_rest() {
        let mut window = Window::of(Packets::new(10));
        assert_eq!(window.slow_start(5.0), 0.0);
        window.ssthresh = 18.0;
        assert_eq!((window.slow_start(7.0), window.cwnd), (4.0, 18.0));
        window.increase(18.0, 17.0);
        assert_eq!(window.cwnd, 18.0);
        window.increase(18.0, 1.0);
        assert_eq!(window.cwnd, 19.0);
    }

    #[test]
    fn credit_counts_for_one_packet_at_most() {
        let mut window = Window::of(Packets::new(10));
        window.increase(f64::INFINITY, 1000.0);
        assert_eq!(window.cwnd, 10.0);
        window.increase(10.0, 5.0);
        assert_eq!(window.cwnd, 11.0);
        window.increase(10.0, 5.0);
        assert_eq!(window.cwnd, 12.0);
    }

    #[test]
    fn a_run_of_timeouts_lowers_the_threshold_once() {
        let mut window = Window::of(Packets::new(40));
        let timeout = congestion(CongestionKind::Timeout, 0, 100);
        assert_eq!(window.classify(&timeout), Response::Reduce);
        window.reduce(&timeout, 20.0);
        assert_eq!((window.cwnd, window.ssthresh), (1.0, 20.0));
        assert_eq!(window.classify(&congestion(CongestionKind::Timeout, 100, 300)), Response::None);
        assert_eq!((window.cwnd, window.ssthresh), (1.0, 20.0));
        assert!(window.may_grow(&ack()));
        assert_eq!(
            window.classify(&congestion(CongestionKind::Timeout, 300, 700)),
            Response::Reduce
        );
    }

    #[test]
    fn a_spurious_event_restores_the_window_once() {
        let mut window = Window::of(Packets::new(40));
        let lost = congestion(CongestionKind::Lost, 50, 100);
        window.reduce(&lost, 20.0);
        assert_eq!(window.classify(&lost), Response::None, "the same congestion event");
        let spurious = congestion(CongestionKind::Spurious, 50, 120);
        assert_eq!(window.classify(&spurious), Response::Undone);
        assert_eq!((window.cwnd, window.ssthresh), (40.0, f64::INFINITY));
        assert_eq!(window.classify(&spurious), Response::None);
        assert_eq!(window.classify(&lost), Response::Reduce, "the event is forgotten too");
    }

    #[test]
    fn an_idle_time_takes_the_window_and_leaves_the_threshold() {
        let mut idle = congestion(CongestionKind::Idle, 100, 100);
        idle.packets = Packets::new(10);
        let mut window = Window::of(Packets::new(40));
        window.ssthresh = 20.0;
        assert_eq!(window.classify(&idle), Response::None);
        assert_eq!((window.cwnd, window.ssthresh), (10.0, 30.0));
        idle.packets = Packets::new(50);
        assert_eq!(window.classify(&idle), Response::None);
        assert_eq!(window.cwnd, 10.0);
    }

    #[test]
    fn the_response_to_a_mark_is_not_undone() {
        let mut window = Window::of(Packets::new(40));
        window.reduce(&congestion(CongestionKind::Lost, 50, 100), 20.0);
        window.reduce(&congestion(CongestionKind::Marked, 100, 200), 10.0);
        assert_eq!(window.classify(&congestion(CongestionKind::Spurious, 50, 250)), Response::None);
        assert_eq!(window.cwnd, 10.0);
    }
}
