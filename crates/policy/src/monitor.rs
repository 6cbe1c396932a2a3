//! [`Monitor`]: what a sender measures from one decision to the next.

use exm_cc::{Ack, Congestion, CongestionKind};
use exm_remy::{Memory, Point};
use exm_units::{Instant, Packets, Span};

/// What a sender measured in one monitor interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measurement {
    /// How long it lasted.
    pub duration: Span,
    /// Packets sent in it.
    pub sent: u64,
    /// Packets acknowledged in it.
    pub delivered: u64,
    /// Packets deemed lost in it.
    pub lost: u64,
    /// The mean RTT of its ACKs; without any, that of the last interval that had some, plus the time since then, or the
    /// time since the flow's start.
    pub rtt: Span,
    /// The least RTT of the flow so far; zero before its first ACK.
    pub min_rtt: Span,
    /// By how much the RTT grew in a second, in seconds: the slope of the regression line of RTTs over the ACKs'
    /// times.
    pub rtt_slope: f64,
    /// Packets in flight at its end.
    pub in_flight: Packets,
    /// A RemyCC's signals at its end: [`Signal`](exm_remy::Signal).
    pub signals: Point,
}

impl Measurement {
    /// Packets acknowledged per second.
    pub fn throughput(&self) -> f64 {
        per_second(self.delivered, self.duration)
    }

    /// The packets deemed lost as a share of those lost or acknowledged.
    pub fn loss(&self) -> f64 {
        self.lost as f64 / (self.lost + self.delivered).max(1) as f64
    }

    /// The RTT over the least one of the flow; 1 before its first ACK.
    pub fn rtt_ratio(&self) -> f64 {
        if self.min_rtt.is_zero() {
            return 1.0;
        }
        self.rtt.as_secs_f64() / self.min_rtt.as_secs_f64()
    }
}

fn per_second(count: u64, time: Span) -> f64 {
    if time.is_zero() { 0.0 } else { count as f64 / time.as_secs_f64() }
}

/// Measures a flow in intervals.
#[derive(Clone, Debug, Default)]
pub struct Monitor {
    start: Instant,
    since: Instant,
    sent: u64,
    delivered: u64,
    lost: u64,
    line: Regression,
    in_flight: Packets,
    memory: Memory,
    /// The mean RTT of the last interval that had ACKs, and when its last one arrived.
    last: Option<(Span, Instant)>,
    min_rtt: Span,
    smoothed: Span,
}

/// Sums for a regression line, with times from the first sample on, in seconds.
#[derive(Clone, Debug, Default)]
struct Regression {
    count: u64,
    first: Instant,
    last: Instant,
    t: f64,
    tt: f64,
    r: f64,
    tr: f64,
    rtts: Span,
}

impl Regression {
    fn add(&mut self, now: Instant, rtt: Span) {
        if self.count == 0 {
            self.first = now;
        }
        let (t, r) = ((now - self.first).as_secs_f64(), rtt.as_secs_f64());
        self.count += 1;
        self.last = now;
        self.t += t;
        self.tt += t * t;
        self.r += r;
        self.tr += t * r;
        self.rtts += rtt;
    }

    fn mean(&self) -> Option<Span> {
        (self.count > 0).then(|| self.rtts / self.count)
    }

    /// Zero where all samples are of one time.
    fn slope(&self) -> f64 {
        let n = self.count as f64;
        let spread = n * self.tt - self.t * self.t;
        if spread > 1e-12 { (n * self.tr - self.t * self.r) / spread } else { 0.0 }
    }
}

impl Monitor {
    /// The monitor of a flow that starts at `now`.
    pub fn new(now: Instant) -> Monitor {
        Monitor { start: now, since: now, ..Monitor::default() }
    }

    /// A packet was sent, and so many are in flight.
    #[inline]
    pub fn on_sent(&mut self, in_flight: Packets) {
        self.sent += 1;
        self.in_flight = in_flight;
    }

    /// An ACK arrived. Those of the sender's earlier flows do not count.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack) {
        self.in_flight = ack.in_flight;
        if ack.stale {
            return;
        }
        let rtt = ack.rtt();
        self.delivered += ack.acked.get();
        self.line.add(ack.now, rtt);
        let is_first = self.smoothed.is_zero();
        self.min_rtt = if is_first { rtt } else { self.min_rtt.min(rtt) };
        // RFC 6298, section 2.
        self.smoothed = if is_first { rtt } else { (self.smoothed * 7 + rtt) / 8 };
        let gap = ack.largest_acked.map_or(1, |largest| ack.sequence.saturating_sub(largest));
        self.memory.on_ack(ack.sent_at, ack.received_at.unwrap_or(ack.now), rtt, gap);
    }

    /// The host inferred congestion.
    pub fn on_congestion(&mut self, congestion: &Congestion) {
        self.in_flight = congestion.in_flight;
        match congestion.kind {
            CongestionKind::Lost => self.lost += congestion.packets.get(),
            // The whole flight is lost, as far as the sender knows.
            CongestionKind::Timeout => self.lost += congestion.in_flight.get().max(1),
            _ => {}
        }
    }

    /// The smoothed RTT; zero before the first ACK.
    pub fn smoothed_rtt(&self) -> Span {
        self.smoothed
    }

    /// When the present interval began.
    pub fn since(&self) -> Instant {
        self.since
    }

    /// Ends the interval at `now`, where the next one begins.
    pub fn close(&mut self, now: Instant) -> Measurement {
        let mean = self.line.mean();
        if let Some(rtt) = mean {
            self.last = Some((rtt, self.line.last));
        }
        let (known, at) = self.last.unwrap_or((Span::ZERO, self.start));
        let waited = known + now.saturating_since(at);
        let measurement = Measurement {
            duration: now.saturating_since(self.since),
            sent: self.sent,
            delivered: self.delivered,
            lost: self.lost,
            rtt: mean.unwrap_or(waited),
            min_rtt: self.min_rtt,
            rtt_slope: self.line.slope(),
            in_flight: self.in_flight,
            signals: self.memory.signals(),
        };
        self.since = now;
        (self.sent, self.delivered, self.lost) = (0, 0, 0);
        self.line = Regression::default();
        measurement
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    fn ack(number: u64, sent: u64, now: u64) -> Ack {
        Ack::new(number, at(sent), at(now))
    }

    #[test]
    fn an_interval_is_measured_and_forgotten() {
        let mut monitor = Monitor::new(at(0));
        (1..=3).for_each(|n| monitor.on_sent(Packets::new(n)));
        for (number, rtt) in [(0, 100), (1, 110), (2, 120)] {
            monitor.on_ack(&ack(number, 10 * number, 10 * number + rtt));
        }
        let first = monitor.close(at(200));
        assert_eq!((first.sent, first.delivered, first.lost), (3, 3, 0));
        assert_eq!((first.rtt, first.min_rtt), (Span::from_millis(110), Span::from_millis(100)));
        assert_eq!(first.throughput(), 15.0);
        assert!((first.rtt_ratio() - 1.1).abs() < 1e-9);
        // ACKs 20 ms apart, each 10 ms later than the last.
        assert!((first.rtt_slope - 0.5).abs() < 1e-9, "{}", first.rtt_slope);
        let silent = monitor.close(at(300));
        assert_eq!((silent.sent, silent.delivered, silent.rtt_slope), (0, 0, 0.0));
        // 110 ms, and 160 ms since the last ACK.
        assert_eq!(silent.rtt, Span::from_millis(270));
    }

    #[test]
    fn before_the_first_ack_the_rtt_is_at_least_what_has_passed() {
        let mut monitor = Monitor::new(at(1000));
        assert_eq!(monitor.close(at(2000)).rtt, Span::from_millis(1000));
        assert_eq!(monitor.close(at(3000)).rtt, Span::from_millis(2000));
    }

    #[test]
    fn losses_are_counted_and_earlier_flows_are_not() {
        let mut monitor = Monitor::new(at(0));
        let mut lost = Congestion::new(CongestionKind::Lost, at(0), at(5));
        lost.packets = Packets::new(3);
        monitor.on_congestion(&lost);
        monitor.on_congestion(&Congestion::new(CongestionKind::Marked, at(0), at(5)));
        let mut stale = ack(9, 0, 10);
        stale.stale = true;
        monitor.on_ack(&stale);
        monitor.on_ack(&ack(10, 5, 15));
        let got = monitor.close(at(20));
        assert_eq!((got.lost, got.delivered, got.loss()), (3, 1, 0.75));
    }
}
