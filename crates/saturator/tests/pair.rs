//! Both ends joined by emulated links: the recorded traces must be those that the links follow.

use exm_datagram::Key;
use exm_random::{Purpose, Stream};
use exm_saturator::{
    Arrival, Client, Event, Path, Precision, Recorder, Saturation, Second, Server, Settings,
};
use exm_trace::{OPPORTUNITY, Opportunities, Synthetic, Trace};
use exm_units::{Bytes, Instant, Span};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

/// IPv4's header and UDP's.
const HEADERS: u64 = 28;
/// The one-way delay of all paths.
const PROPAGATION: Span = Span::from_millis(20);
/// By how much the server's clock is ahead.
const AHEAD: Span = Span::from_secs(1000);
/// The addresses of the client's two sockets.
const PLACES: [(&str, Path); 2] = [("192.0.2.1:1", Path::Data), ("198.51.100.1:2", Path::Control)];

fn at(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

/// One direction of the path under test: an unlimited queue, served by a trace.
struct Link {
    opportunities: Opportunities,
    /// The datagrams, when each arrived at the queue, and the remaining bytes of the first.
    queue: VecDeque<(Instant, Vec<u8>)>,
    rest: u64,
}

impl Link {
    fn new(trace: &Arc<Trace>) -> Link {
        Link { opportunities: Opportunities::new(trace.clone()), queue: VecDeque::new(), rest: 0 }
    }

    fn send(&mut self, now: Instant, datagram: &[u8]) {
        self.queue.push_back((now + PROPAGATION, datagram.to_vec()));
        self.reload();
    }

    fn reload(&mut self) {
        if let (0, Some((_, first))) = (self.rest, self.queue.front()) {
            self.rest = first.len() as u64 + HEADERS;
        }
    }

    /// The datagrams that have left at `now`, which is no later than [`Link::next`].
    fn through(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let mut through = Vec::new();
        loop {
            let time = self.next();
            if time > now {
                return through;
            }
            self.opportunities.take();
            let mut budget = OPPORTUNITY.get();
            while self.queue.front().is_some_and(|(came, _)| *came <= time) && budget > 0 {
                let carried = self.rest.min(budget);
                (budget, self.rest) = (budget - carried, self.rest - carried);
                if self.rest == 0 {
                    through.extend(self.queue.pop_front().map(|(_, datagram)| datagram));
                    self.reload();
                }
            }
        }
    }

    /// When the next useful opportunity is.
    fn next(&mut self) -> Instant {
        match self.queue.front() {
            Some(&(came, _)) => self.opportunities.seek(came),
            None => Instant::MAX,
        }
    }
}

/// Datagrams on the control path, in one direction, in order of arrival; some are lost.
struct Control {
    under_way: BTreeMap<(Instant, u64), Vec<u8>>,
    sent: u64,
    loss: f64,
    random: Stream,
}

impl Control {
    fn new(loss: f64, index: usize) -> Control {
        let random = Stream::new(1, Purpose::Loss, index);
        Control { under_way: BTreeMap::new(), sent: 0, loss, random }
    }

    fn send(&mut self, now: Instant, datagram: &[u8]) {
        self.sent += 1;
        if self.random.uniform() >= self.loss {
            let jitter = Span::from_micros(self.random.below(3000) as u64);
            self.under_way.insert((now + PROPAGATION + jitter, self.sent), datagram.to_vec());
        }
    }

    fn next(&self) -> Instant {
        self.under_way.keys().next().map_or(Instant::MAX, |key| key.0)
    }

    fn arrived(&mut self, now: Instant) -> Option<Vec<u8>> {
        let entry = self.under_way.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(entry.remove())
    }
}

/// The arrivals of one direction, with their times by the receiver's clock.
#[derive(Default)]
struct Recording {
    arrivals: Vec<Arrival>,
    saturation: Saturation,
    seconds: Vec<Second>,
}

impl Recording {
    fn arrived(&mut self, arrival: Arrival, window: u32) {
        self.arrivals.push(arrival);
        self.saturation.arrived(arrival, window);
        self.seconds.extend(std::iter::from_fn(|| self.saturation.closed()));
    }

    /// Checks that packets of `packet` bytes are recorded as the opportunities of `trace`, to one in `parts`; `ahead` is the offset of
    /// the recorder's clock.
    fn check_trace(&self, trace: &Trace, ahead: Span, packet: Bytes, parts: u64) {
        let mut text = Vec::new();
        let mut recorder = Recorder::new(&mut text, Precision::Nanos, packet);
        for arrival in &self.arrivals {
            recorder.arrived(arrival.received_at).expect("writing to memory succeeds");
        }
        let again = Trace::parse(&text, "recorded").expect("a trace");
        let first = self.arrivals[0].received_at - ahead;
        let (from, to) = (at(10_000), at(50_000));
        let shift = first - Instant::ZERO;
        let (offered, shown) = (trace.count(from + shift, to + shift), again.count(from, to));
        assert!(shown.abs_diff(offered) <= offered / parts, "{shown} of {offered}");
    }

    /// Returns how many of all seconds after the first `skipped` were saturated, after checking that in
    /// each of these as much arrived as `trace` offered; `ahead` is the offset of the recorder's clock.
    fn check(&self, trace: &Trace, ahead: Span, skipped: u64) -> f64 {
        let first = self.arrivals[0].received_at - ahead;
        let mut saturated = 0;
        let all = self.seconds.iter().filter(|second| second.index >= skipped);
        for second in all.clone().filter(|second| second.is_saturated()) {
            let from = first + Span::from_secs(second.index);
            let offered = trace.count(from, from + Span::from_secs(1));
            let within = offered as f64 * 0.01 + 1.0;
            assert!(offered.abs_diff(second.received) as f64 <= within, "{offered} {second:?}");
            assert_eq!(second.missing, 0, "{second:?}");
            saturated += 1;
        }
        f64::from(saturated) / all.count() as f64
    }
}

struct Pair {
    client: Client,
    server: Server,
    down: Link,
    up: Link,
    to_server: Control,
    to_client: Control,
    recorded: [Recording; 2],
}

impl Pair {
    /// With packets as large as an opportunity.
    fn new(down: &Arc<Trace>, up: &Arc<Trace>, loss: f64) -> Pair {
        let size = (OPPORTUNITY.get() - HEADERS) as u16;
        Pair::of(Settings::new(size).expect("a size"), down, up, loss)
    }

    fn of(settings: Settings, down: &Arc<Trace>, up: &Arc<Trace>, loss: f64) -> Pair {
        let key = Key::from_bytes([7; 16]);
        Pair {
            client: Client::new(Instant::ZERO, &key, settings).expect("randomness"),
            server: Server::new(key),
            down: Link::new(down),
            up: Link::new(up),
            to_server: Control::new(loss, 0),
            to_client: Control::new(loss, 1),
            recorded: Default::default(),
        }
    }

    fn address(path: Path) -> SocketAddr {
        let place = PLACES.iter().find(|place| place.1 == path).expect("both are there");
        place.0.parse().expect("an address")
    }

    /// Advances the time to `end`, ends the recording there, and lets it finish.
    fn run(&mut self, end: Instant) {
        let mut now = Instant::ZERO;
        while !self.client.is_done(now) {
            if now >= end {
                self.client.end(now);
            }
            self.deliver(now);
            self.transmit(now);
            while let Some(event) = self.client.event() {
                match event {
                    Event::Down(arrival, window) => self.recorded[0].arrived(arrival, window),
                    Event::Up(arrival, window) => self.recorded[1].arrived(arrival, window),
                }
            }
            let server = self.server.next_wake(now + AHEAD).saturating_since(Instant::ZERO + AHEAD);
            let wakes = [
                self.client.next_wake(),
                Instant::ZERO.saturating_add(server),
                self.down.next(),
                self.up.next(),
                self.to_server.next(),
                self.to_client.next(),
            ];
            let next = wakes.into_iter().min().unwrap_or(Instant::MAX).min(now + STEP);
            now = next.max(now + Span::from_nanos(1));
        }
    }

    fn deliver(&mut self, now: Instant) {
        for mut datagram in self.down.through(now) {
            self.client.receive(now, Path::Data, &mut datagram);
        }
        for mut datagram in self.up.through(now) {
            self.server.receive(now + AHEAD, Pair::address(Path::Data), &mut datagram);
        }
        while let Some(mut datagram) = self.to_client.arrived(now) {
            self.client.receive(now, Path::Control, &mut datagram);
        }
        while let Some(mut datagram) = self.to_server.arrived(now) {
            self.server.receive(now + AHEAD, Pair::address(Path::Control), &mut datagram);
        }
    }

    fn transmit(&mut self, now: Instant) {
        let mut out = Vec::new();
        while let Some(path) = self.client.transmit(now, &mut out) {
            match path {
                Path::Data => self.up.send(now, &out),
                Path::Control => self.to_server.send(now, &out),
            }
        }
        while let Some(to) = self.server.transmit(now + AHEAD, &mut out) {
            match PLACES.iter().find(|place| Pair::address(place.1) == to) {
                Some((_, Path::Data)) => self.down.send(now, &out),
                Some((_, Path::Control)) => self.to_client.send(now, &out),
                None => panic!("{to} is not an address of the client"),
            }
        }
    }
}

/// The time advances in steps no longer than this.
const STEP: Span = Span::from_millis(100);

fn link(name: &str, seed: u64) -> Arc<Trace> {
    let link = Synthetic::named(name).expect("a known preset");
    Arc::new(link.generate(seed, Span::from_secs(90)).expect("a trace"))
}

#[test]
fn the_recorded_traces_are_those_of_the_links() {
    for (down, up, loss) in [("lte", "lte-like", 0.0), ("umts", "3g", 0.03)] {
        let (down, up) = (link(down, 1), link(up, 2));
        let mut pair = Pair::new(&down, &up, loss);
        pair.run(at(60_000));
        assert_eq!(pair.client.given_up(), 0);
        for (recorded, trace, ahead) in
            [(&pair.recorded[0], &down, Span::ZERO), (&pair.recorded[1], &up, AHEAD)]
        {
            assert!(recorded.seconds.len() >= 55, "{}", recorded.seconds.len());
            let saturated = recorded.check(trace, ahead, 3);
            assert!(saturated > 0.95, "{saturated}");
            recorded.check_trace(trace, ahead, OPPORTUNITY, 100);
        }
    }
}

/// Packets that are smaller than an opportunity show as many opportunities as there were.
#[test]
fn smaller_packets_record_the_same_trace() {
    let (down, up) = (link("lte", 1), link("lte-like", 2));
    for size in [300, Settings::DEFAULT_SIZE] {
        let settings = Settings::new(size).expect("a size");
        let mut pair = Pair::of(settings, &down, &up, 0.0);
        pair.run(at(60_000));
        let packet = Bytes::new(u64::from(size) + HEADERS);
        pair.recorded[0].check_trace(&down, Span::ZERO, packet, 200);
        pair.recorded[1].check_trace(&up, AHEAD, packet, 200);
    }
}

#[test]
fn strangers_and_replays_change_nothing() {
    let trace = link("lte-like", 1);
    let mut pair = Pair::new(&trace, &trace, 0.0);
    // A sender without the key gets no reply.
    let stranger: SocketAddr = "203.0.113.9:9".parse().expect("an address");
    let mut out = Vec::new();
    for first in 0..=255 {
        let mut noise = vec![first; 81];
        pair.server.receive(at(0), stranger, &mut noise);
        pair.server.receive(at(0), stranger, &mut []);
        assert_eq!(pair.server.transmit(at(0), &mut out), None);
    }
    let other = Key::from_bytes([8; 16]);
    let mut asker = Client::new(at(0), &other, Settings::default()).expect("randomness");
    assert_eq!(asker.transmit(at(0), &mut out), Some(Path::Control));
    pair.server.receive(at(0), stranger, &mut out);
    assert_eq!(pair.server.transmit(at(0), &mut out), None);
    // A handshake gets one reply, no longer than the initiation.
    assert_eq!(pair.client.transmit(at(0), &mut out), Some(Path::Control));
    let initiation = out.clone();
    pair.server.receive(at(0), stranger, &mut initiation.clone());
    assert_eq!(pair.server.transmit(at(0), &mut out), Some(stranger));
    assert_eq!((out.len(), pair.server.transmit(at(0), &mut Vec::new())), (initiation.len(), None));
    assert!(!pair.client.is_connected());
}

/// An attacker replays recorded handshakes before and during a recording.
#[test]
fn replayed_handshakes_disturb_no_recording() {
    let trace = link("lte-like", 1);
    let mut pair = Pair::new(&trace, &trace, 0.0);
    let key = Key::from_bytes([7; 16]);
    let recorded: Vec<Vec<u8>> = std::iter::repeat_with(|| {
        let mut client = Client::new(at(0), &key, Settings::default()).expect("randomness");
        let mut out = Vec::new();
        client.transmit(at(0), &mut out).map(|_| out).expect("an initiation")
    })
    .take(20)
    .collect();
    let stranger: SocketAddr = "203.0.113.9:9".parse().expect("an address");
    let mut out = Vec::new();
    let mut now = Instant::ZERO;
    while now < at(3_000) {
        for initiation in &recorded {
            pair.server.receive(now + AHEAD, stranger, &mut initiation.clone());
            // Datagrams to the attacker are lost.
            assert_eq!(pair.server.transmit(now + AHEAD, &mut out), Some(stranger));
            assert!(out.len() <= initiation.len());
        }
        pair.deliver(now);
        pair.transmit(now);
        now += Span::from_millis(1);
    }
    let (sent, received) = pair.server.counts();
    assert!(pair.client.is_connected() && sent > 1000 && received > 100, "{sent} {received}");
}

#[test]
fn nothing_more_is_sent_to_a_silent_client() {
    let trace = link("lte-like", 1);
    let mut pair = Pair::new(&trace, &trace, 0.0);
    let mut now = Instant::ZERO;
    while now < at(4_000) {
        pair.deliver(now);
        pair.transmit(now);
        now += Span::from_millis(1);
    }
    assert!(pair.server.client(now + AHEAD).is_some());
    let mut out = Vec::new();
    let mut sent_after = 0;
    for millis in 4_000..60_000 {
        while pair.server.transmit(at(millis) + AHEAD, &mut out).is_some() {
            sent_after += 1;
        }
    }
    // A status every 200 ms and a packet every second, for 5 s.
    assert!((1..40).contains(&sent_after), "{sent_after}");
    assert_eq!(pair.server.client(at(60_000) + AHEAD), None);
    assert_eq!(pair.server.next_wake(at(60_000) + AHEAD), Instant::MAX);
}

/// An attacker copies what the client sends over the path under test and overtakes it, from another
/// address: the data of the opposite direction still goes to the client, and almost nothing to the
/// attacker.
#[test]
fn copies_from_elsewhere_attract_no_data() {
    let key = Key::from_bytes([1; 16]);
    let mut client = Client::new(at(0), &key, Settings::default()).expect("randomness");
    let mut server = Server::new(key);
    let [data, control] = PLACES.map(|(place, _)| place.parse().expect("an address"));
    let victim: SocketAddr = "203.0.113.9:9".parse().expect("an address");
    let mut datagram = Vec::new();
    let (mut copied, mut astray, mut honest) = (0, 0, [0; 2]);
    for millis in 0..4000 {
        let now = at(millis);
        let is_copied = millis >= 1000;
        // A few per step: without a link in between they would never end.
        for _ in 0..4 {
            let Some(path) = client.transmit(now, &mut datagram) else { break };
            let (place, is_data) =
                (if path == Path::Data { data } else { control }, path == Path::Data);
            if is_copied && is_data {
                copied += datagram.len();
                server.receive(now, victim, &mut datagram.clone());
            }
            server.receive(now, place, &mut datagram);
        }
        for _ in 0..12 {
            let Some(to) = server.transmit(now, &mut datagram) else { break };
            if to == victim {
                astray += datagram.len();
                continue;
            }
            honest[usize::from(is_copied)] += u64::from(to == data);
            let path = if to == data { Path::Data } else { Path::Control };
            client.receive(now, path, &mut datagram);
        }
    }
    assert!(0 < astray && astray <= 3 * copied, "{astray} bytes for {copied}");
    assert!(astray <= 3 * 21 * 1400, "challenges only: {astray} bytes");
    assert!(honest[0] > 100 && honest[1] > 2 * honest[0], "{honest:?} data packets");
}
