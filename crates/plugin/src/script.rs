//! Event scripts: sequences of events such as hosts send, for comparing controllers and for trying them.

use exm_cc::{
    Ack, Congestion, CongestionKind, Controller, DEFAULT_MTU, Decision, Delivery, Sent, Start,
    Wakeup,
};
use exm_random::{Purpose, Stream};
use exm_units::{Bytes, Instant, Packets, Span};

/// An event for a controller.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A flow starts.
    Start(Start),
    /// A packet was sent.
    Sent(Sent),
    /// An acknowledgement arrived.
    Ack(Ack),
    /// Congestion was inferred.
    Congestion(Congestion),
    /// Time has passed: the controller is called if it asked for a wake-up by now.
    Tick(Instant),
    /// The MTU of the path changed.
    Mtu(Bytes),
}

/// A script of about `events` events: flows that start, acknowledgements of a path whose round-trip time grows and
/// falls, losses, marks, time-outs, spurious ones and idle times. The same `seed` gives the same script. Packets, times and counts agree with one another as in a host: time never goes back, and a
/// packet is acknowledged after it was sent.
pub fn random(events: usize, seed: u64) -> Vec<Event> {
    let mut path = Path::new(seed);
    let mut script = vec![path.start()];
    while script.len() < events {
        script.push(path.event());
        if let Some(tick) = path.tick() {
            script.push(tick);
        }
    }
    script
}

/// Plays `script` to `controller` as a host does: wake-ups are granted when they are due, at most once in
/// [`Wakeup::TICK`]. Returns each decision.
pub fn play(controller: &mut impl Controller, script: &[Event]) -> Vec<Decision> {
    let mut wakeup = Wakeup::NONE;
    let mut decisions = Vec::with_capacity(script.len());
    let sent = controller.needs().sent;
    for event in script {
        let decision = match event {
            Event::Start(start) => Some(controller.on_start(start)),
            Event::Sent(event) if sent => controller.on_sent(event),
            Event::Sent(_) => None,
            Event::Ack(ack) => Some(controller.on_ack(ack)),
            Event::Congestion(congestion) => Some(controller.on_congestion(congestion)),
            Event::Tick(now) => wakeup.take(*now).then(|| controller.on_tick(*now)),
            Event::Mtu(mtu) => {
                controller.on_mtu(*mtu);
                None
            }
        };
        if let Some(decision) = decision {
            wakeup.ask(decision.wake_at);
            decisions.push(decision);
        }
    }
    decisions
}

/// The size of `packets` full packets.
fn bytes(packets: u64) -> Bytes {
    Bytes::new(packets * DEFAULT_MTU.get())
}

/// The state of a sender and its path, as far as events tell of it.
struct Path {
    stream: Stream,
    now: Instant,
    rtt: Span,
    sent: u64,
    acked: u64,
    /// The first packet of the flow.
    first: u64,
    lost: u64,
}

impl Path {
    fn new(seed: u64) -> Path {
        let mut stream = Stream::new(seed, Purpose::Controller, 0);
        let rtt = Span::from_micros(200 + (stream.exponential() * 80_000.0) as u64);
        Path { stream, now: Instant::ZERO, rtt, sent: 10, acked: 0, first: 0, lost: 0 }
    }

    fn start(&mut self) -> Event {
        let mut start = Start::new(self.now);
        start.rtt = (self.stream.below(2) == 0).then_some(self.rtt);
        self.first = self.sent;
        self.sent += 10;
        Event::Start(start)
    }

    fn in_flight(&self) -> u64 {
        self.sent - self.acked
    }

    fn pass(&mut self, mean: Span) {
        self.now += mean * (self.stream.exponential() * 1000.0) as u64 / 1000;
    }

    fn event(&mut self) -> Event {
        match self.stream.below(1000) {
            0..=499 => self.ack(),
            500..=949 => self.send(),
            950..=969 => self.congestion(CongestionKind::Lost),
            970..=979 => self.congestion(CongestionKind::Marked),
            980..=985 => self.congestion(CongestionKind::Spurious),
            986..=990 => self.congestion(CongestionKind::Timeout),
            991..=993 => self.congestion(CongestionKind::Idle),
            994..=996 => self.start(),
            997 => Event::Mtu(Bytes::new(576 + self.stream.below(9000) as u64)),
            _ => {
                // The path changes.
                self.rtt = Span::from_micros(10 + (self.stream.exponential() * 200_000.0) as u64);
                self.ack()
            }
        }
    }

    fn tick(&mut self) -> Option<Event> {
        (self.stream.below(4) == 0).then_some(Event::Tick(self.now))
    }

    fn send(&mut self) -> Event {
        self.pass(Span::from_micros(50));
        let mut sent = Sent::new(self.sent, self.now);
        self.sent += 1;
        sent.in_flight = Packets::new(self.in_flight());
        sent.in_flight_bytes = bytes(self.in_flight());
        sent.retransmission = self.stream.below(20) == 0;
        Event::Sent(sent)
    }

    fn ack(&mut self) -> Event {
        if self.in_flight() == 0 {
            return self.send();
        }
        self.pass(Span::from_micros(500));
        // Most ACKs are of the next packet; some packets arrive before others, or their ACKs are lost.
        let several = self.stream.below(10) == 0;
        let most = if several { self.in_flight().min(4) } else { 1 };
        let sequence = self.acked + self.stream.below(most as usize) as u64;
        let queued = self.rtt * self.stream.below(300) as u64 / 100;
        let rtt = self.rtt.saturating_add(queued).as_nanos().min(self.now.as_nanos());
        let mut ack = Ack::new(sequence, Instant::from_nanos(self.now.as_nanos() - rtt), self.now);
        ack.received_at = Some(Instant::from_nanos(self.now.as_nanos() - rtt / 2));
        ack.largest_acked = self.acked.checked_sub(1);
        ack.acked = Packets::new(sequence + 1 - self.acked);
        ack.acked_bytes = bytes(ack.acked.get());
        self.acked = sequence + 1;
        ack.in_flight = Packets::new(self.in_flight());
        ack.in_flight_bytes = bytes(self.in_flight());
        ack.stale = sequence < self.first;
        ack.recovering = self.stream.below(10) == 0;
        ack.app_limited = self.stream.below(10) == 0;
        ack.marked = Packets::new(u64::from(self.stream.below(20) == 0));
        let mut delivery = Delivery::new(self.acked, self.rtt);
        delivery.total_at_send = self.acked.saturating_sub(ack.in_flight.get() + 1);
        delivery.app_limited = ack.app_limited;
        (delivery.lost, delivery.lost_at_send) = (self.lost, self.lost.saturating_sub(3));
        ack.delivery = Some(delivery);
        Event::Ack(ack)
    }

    fn congestion(&mut self, kind: CongestionKind) -> Event {
        self.pass(Span::from_micros(500));
        if matches!(kind, CongestionKind::Timeout | CongestionKind::Idle) {
            self.now = self.now + Span::from_millis(200) + self.rtt;
        }
        let rtt = self.rtt.as_nanos().min(self.now.as_nanos());
        let sent_at = Instant::from_nanos(self.now.as_nanos() - rtt);
        let mut congestion = Congestion::new(kind, sent_at, self.now);
        let packets = 1 + self.stream.below(8) as u64;
        congestion.packets = Packets::new(packets);
        congestion.bytes = bytes(packets);
        if kind == CongestionKind::Lost {
            self.lost += packets;
        }
        if kind == CongestionKind::Timeout {
            self.acked = self.sent;
        }
        congestion.in_flight = Packets::new(self.in_flight());
        congestion.in_flight_bytes = bytes(self.in_flight());
        Event::Congestion(congestion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_cc::Cubic;

    #[test]
    fn the_same_seed_gives_the_same_script() {
        let text = |seed| format!("{:?}", random(2000, seed));
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
    }

    #[test]
    fn every_kind_of_event_occurs_and_time_never_goes_back() {
        let script = random(20_000, 3);
        let mut kinds = std::collections::BTreeMap::<String, u32>::new();
        let mut last = Instant::ZERO;
        for event in &script {
            let (name, now) = match event {
                Event::Start(start) => ("start".to_owned(), start.now),
                Event::Sent(sent) => ("sent".to_owned(), sent.now),
                Event::Ack(ack) => {
                    assert!(ack.sent_at <= ack.now && ack.acked.get() > 0);
                    ("ack".to_owned(), ack.now)
                }
                Event::Congestion(congestion) => (format!("{:?}", congestion.kind), congestion.now),
                Event::Tick(now) => ("tick".to_owned(), *now),
                Event::Mtu(_) => ("mtu".to_owned(), last),
            };
            assert!(now >= last);
            last = now;
            *kinds.entry(name).or_default() += 1;
        }
        assert_eq!(kinds.len(), 10, "{kinds:?}");
        assert!(play(&mut Cubic::new(), &script).len() > 7000);
    }
}
