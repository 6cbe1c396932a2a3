//! [`Sampler`]: delivery rate samples (draft-ietf-ccwg-bbr, section 4.1).

use alloc::collections::VecDeque;
use exm_cc::Delivery;
use exm_units::{Instant, Packets, Span};

/// Takes a delivery rate sample at each ACK.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sampler {
    /// The connection's state at the last transmission of each segment from `first` on.
    sent: VecDeque<Sent>,
    first: u64,
    /// `C.delivered` and `C.delivered_time`.
    delivered: u64,
    delivered_at: Instant,
    /// `C.first_send_time`: when the most recently acknowledged segment was sent.
    first_sent_at: Instant,
    /// `C.app_limited`: until this many are delivered, samples are application-limited.
    app_limited_until: u64,
    /// `C.lost`.
    lost: u64,
    /// `C.min_rtt`, of segments sent only once; none before the first.
    min_rtt: Option<Span>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    first_sent_at: Instant,
    delivered: u64,
    delivered_at: Instant,
    lost: u64,
    in_flight: u64,
    app_limited: bool,
    /// Whether it was sent before, so that an ACK may be of an earlier copy.
    again: bool,
}

impl Sampler {
    /// A sampler that starts at segment `first`: earlier segments give no samples.
    pub(crate) fn from_segment(first: u64) -> Sampler {
        Sampler { first, ..Sampler::default() }
    }

    /// Segment `number` is sent, after which `in_flight` are in flight.
    pub(crate) fn send(&mut self, now: Instant, number: u64, in_flight: u64) {
        if in_flight <= 1 {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        let Some(place) = number.checked_sub(self.first) else { return };
        let place = place as usize;
        let sent = Sent {
            at: now,
            first_sent_at: self.first_sent_at,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            lost: self.lost,
            in_flight,
            app_limited: self.delivered < self.app_limited_until,
            again: place < self.sent.len(),
        };
        match self.sent.get_mut(place) {
            Some(before) => *before = sent,
            None => self.sent.push_back(sent),
        }
    }

    /// The sender is application-limited, with `in_flight` in flight.
    pub(crate) fn limit(&mut self, in_flight: u64) {
        self.app_limited_until = self.delivered + in_flight.max(1);
    }

    /// `count` segments are deemed lost.
    pub(crate) fn lose(&mut self, count: u64) {
        self.lost += count;
    }

    /// The segment last sent among those from `from` to before `to`, if it was sent later than
    /// `latest`.
    pub(crate) fn latest(&self, latest: Option<u64>, from: u64, to: u64) -> Option<u64> {
        let sent = |number: u64| self.sent.get(number.checked_sub(self.first)? as usize);
        let key = |number: u64| sent(number).map(|sent| (sent.delivered, sent.at));
        (from..to).chain(latest).max_by_key(|&number| key(number))
    }

    /// `count` segments were delivered at `now`, of which `latest` was sent last; everything below
    /// `una` is acknowledged.
    pub(crate) fn deliver(
        &mut self,
        now: Instant,
        count: u64,
        latest: Option<u64>,
        una: u64,
    ) -> Option<Delivery> {
        self.delivered += count;
        self.delivered_at = now;
        let sent = latest.and_then(|n| self.sent.get(n.checked_sub(self.first)? as usize).copied());
        let gone = una.saturating_sub(self.first).min(self.sent.len() as u64);
        self.sent.drain(..gone as usize);
        self.first = self.first.max(una);
        let sent = sent?;
        self.first_sent_at = sent.at;
        let sending = sent.at.saturating_since(sent.first_sent_at);
        let acknowledging = now.saturating_since(sent.delivered_at);
        let interval = self.plausible(Span::max(sending, acknowledging), now, &sent);
        let mut delivery = Delivery::new(self.delivered, interval);
        delivery.total_at_send = sent.delivered;
        delivery.app_limited = sent.app_limited;
        delivery.lost = self.lost;
        delivery.lost_at_send = sent.lost;
        delivery.in_flight_at_send = Packets::new(sent.in_flight);
        Some(delivery)
    }

    /// Section 4.1.2.3: an interval shorter than any round trip belongs to a segment that was
    /// retransmitted while its first copy was in flight, and is discarded.
    fn plausible(&mut self, interval: Span, now: Instant, sent: &Sent) -> Span {
        if !sent.again {
            let rtt = now.saturating_since(sent.at);
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        if self.min_rtt.is_some_and(|least| interval >= least) { interval } else { Span::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten segments a round trip of 100 ms: a rate of 100 a second, however they bunch.
    #[test]
    fn a_steady_flow_has_its_rate() {
        let mut sampler = Sampler::default();
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let mut last = None;
        for number in 0..200 {
            if number >= 10 {
                let acked = number - 10;
                let latest = sampler.latest(None, acked, acked + 1);
                last = sampler.deliver(at(number * 10), 1, latest, acked + 1);
            }
            sampler.send(at(number * 10), number, 10);
        }
        let delivery = last.expect("a sample");
        assert_eq!(delivery.rate(), Some(100.0));
        assert_eq!(delivery.total - delivery.total_at_send, 10);
        assert!(!delivery.app_limited);
    }

    #[test]
    fn the_ack_of_a_spuriously_retransmitted_segment_gives_no_rate() {
        let mut sampler = Sampler::default();
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        sampler.send(at(0), 0, 1);
        assert_eq!(sampler.deliver(at(100), 1, Some(0), 1).and_then(|d| d.rate()), Some(10.0));
        // The timer runs out a millisecond before the ACK arrives: not a thousand a second.
        sampler.send(at(100), 1, 1);
        sampler.send(at(400), 1, 1);
        assert_eq!(sampler.deliver(at(401), 1, Some(1), 2).and_then(|d| d.rate()), None);
        // Really lost, and its second copy acknowledged.
        sampler.send(at(401), 2, 1);
        sampler.send(at(700), 2, 1);
        assert_eq!(sampler.deliver(at(800), 1, Some(2), 3).and_then(|d| d.rate()), Some(10.0));
    }
}
