//! Both ends over a simulated link: whatever it loses, delays, reorders and duplicates, what is typed arrives once and in order, and
//! the screens are equal at the end.

use exm_datagram::Key;
use exm_mosh::{Client, ClientSettings, Extensions, Input, Server};
use exm_predict::Display;
use exm_random::{Purpose, Stream};
use exm_terminal::{Position, Size, Underline};
use exm_units::{Instant, Span};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::net::SocketAddr;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

/// What a link does to datagrams.
#[derive(Clone, Copy, Debug)]
struct Link {
    loss: f64,
    duplication: f64,
    delay: u64,
    jitter: u64,
}

/// Datagrams in one direction, by the millisecond in which they arrive.
struct Way {
    link: Link,
    random: Stream,
    under_way: BTreeMap<(u64, u64), Vec<u8>>,
    sent: u64,
}

impl Way {
    fn new(link: Link, index: usize) -> Way {
        let random = Stream::new(1, Purpose::Loss, index);
        Way { link, random, under_way: BTreeMap::new(), sent: 0 }
    }

    fn send(&mut self, now: u64, datagram: &[u8]) {
        let copies = 1 + usize::from(self.random.uniform() < self.link.duplication);
        for _ in 0..copies {
            self.sent += 1;
            if self.random.uniform() >= self.link.loss {
                let jitter = self.random.below(self.link.jitter as usize + 1) as u64;
                let arrives = now + self.link.delay + jitter;
                self.under_way.insert((arrives, self.sent), datagram.to_vec());
            }
        }
    }

    fn arrived(&mut self, now: u64) -> Option<Vec<u8>> {
        let entry = self.under_way.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(entry.remove())
    }
}

/// A session over links, with programs that echo what is typed.
struct Pair {
    client: Client,
    server: Server,
    up: Way,
    down: Way,
    /// Where the client's datagrams come from.
    address: SocketAddr,
    typed: Vec<u8>,
    resized: Vec<Size>,
    now: u64,
}

impl Pair {
    fn new(link: Link) -> Pair {
        let key = Key::from_bytes([7; 16]);
        let display = (Display::Always, false);
        Pair {
            client: Client::new(at(0), &key, Size::new(60, 20), display, 2),
            server: Server::new(at(0), &key, 1),
            up: Way::new(link, 0),
            down: Way::new(link, 1),
            address: "192.0.2.1:50000".parse().expect("an address"),
            typed: Vec::new(),
            resized: Vec::new(),
            now: 0,
        }
    }

    /// A millisecond passes.
    fn step(&mut self) {
        self.now += 1;
        let now = at(self.now);
        while let Some(mut datagram) = self.up.arrived(self.now) {
            let _ = self.server.receive(now, self.address, &mut datagram);
        }
        for input in self.server.take_input() {
            match input {
                Input::Keys(keys) => {
                    self.server.output(&keys);
                    self.typed.extend(keys);
                }
                Input::Resize(size) => self.resized.push(size),
            }
        }
        while let Some(mut datagram) = self.down.arrived(self.now) {
            let _ = self.client.receive(now, &mut datagram);
        }
        if self.client.next_wake(now) <= now {
            while let Some(datagram) = self.client.transmit(now) {
                self.up.send(self.now, &datagram);
            }
        }
        if self.server.next_wake(now) <= now {
            while let Some((to, datagram)) = self.server.transmit(now) {
                if to == self.address {
                    self.down.send(self.now, &datagram);
                }
            }
        }
    }

    fn run(&mut self, millis: u64) {
        (0..millis).for_each(|_| self.step());
    }
}

const GOOD: Link = Link { loss: 0.0, duplication: 0.0, delay: 50, jitter: 0 };

#[test]
fn a_session_shows_what_is_typed() {
    let mut pair = Pair::new(GOOD);
    pair.run(500);
    assert_eq!(pair.resized, [Size::new(60, 20)]);
    for key in b"echo" {
        pair.client.type_keys(at(pair.now), &[*key]).expect("there is room");
        pair.run(30);
    }
    assert!(pair.typed.len() < 4, "the last key is on its way");
    pair.run(600);
    pair.client.type_keys(at(pair.now), b" h").expect("there is room");
    let shown = pair.client.screen(at(pair.now));
    assert!(shown.row(0).text().starts_with("echo h"), "it is predicted: {}", shown.row(0).text());
    assert_eq!(shown.cursor().column, 6);
    pair.run(300);
    assert_eq!(pair.typed, b"echo h");
    assert_eq!(pair.client.screen(at(pair.now)), *pair.server.screen());
    assert!(pair.client.srtt().is_some_and(|srtt| srtt >= Span::from_millis(100)));
}

#[test]
fn a_client_roams_and_returns_after_a_blackout() {
    let mut pair = Pair::new(GOOD);
    pair.client.type_keys(at(0), b"a").expect("there is room");
    pair.run(1000);
    pair.address = "198.51.100.9:1".parse().expect("an address");
    pair.client.type_keys(at(pair.now), b"b").expect("there is room");
    pair.run(3000);
    assert_eq!(pair.server.client(), Some(pair.address));
    assert_eq!(pair.client.screen(at(pair.now)), *pair.server.screen());
    // Ten minutes without a network, in which the user types.
    (pair.up.link.loss, pair.down.link.loss) = (1.0, 1.0);
    pair.run(300_000);
    pair.client.type_keys(at(pair.now), b"c").expect("there is room");
    pair.run(300_000);
    assert!(pair.client.silence(at(pair.now)) > Span::from_secs(599));
    (pair.up.link.loss, pair.down.link.loss) = (0.0, 0.0);
    pair.run(8000);
    assert_eq!(pair.typed, b"abc");
    assert_eq!(pair.client.screen(at(pair.now)), *pair.server.screen());
}

/// The first datagram validates the client's address: a program's prompt that comes a little later need not wait for a timeout.
#[test]
fn a_prompt_is_shown_soon() {
    let mut pair = Pair::new(GOOD);
    while pair.server.last_received_at().is_none() {
        pair.step();
    }
    let begin = pair.now;
    pair.run(5);
    pair.server.output(b"prompt$ ");
    while pair.client.screen(at(pair.now)) != *pair.server.screen() {
        pair.step();
        assert!(pair.now < begin + 500, "the prompt is not shown after half a second");
    }
}

/// An address that is not validated gets little: that must be enough to validate it, whatever the screen shows.
#[test]
fn a_client_comes_and_roams_while_all_of_the_screen_changes() {
    let mut pair = Pair::new(GOOD);
    let mut random = Stream::new(5, Purpose::Loss, 0);
    for address in ["192.0.2.1:50000", "198.51.100.9:1", "198.51.100.10:1"] {
        pair.address = address.parse().expect("an address");
        for _ in 0..100 {
            let letters = (0..1200).map(|_| b' ' + random.below(95) as u8);
            let output: Vec<u8> = b"\x1b[H".iter().copied().chain(letters).collect();
            pair.server.output(&output);
            pair.run(50);
        }
        assert_eq!(pair.server.client(), Some(pair.address));
        pair.run(1000);
        assert_eq!(pair.client.screen(at(pair.now)), *pair.server.screen(), "{address}");
    }
}

#[test]
fn either_end_ends_the_session() {
    for by_client in [true, false] {
        let mut pair = Pair::new(GOOD);
        pair.run(500);
        let now = at(pair.now);
        if by_client {
            pair.client.shutdown(now);
        } else {
            pair.server.shutdown(now);
        }
        pair.run(1000);
        let now = at(pair.now);
        assert!(pair.client.is_over(now) && pair.server.is_over(now), "{by_client}");
        assert_eq!(pair.server.client_is_leaving(), by_client);
    }
}

/// Mosh's client gets no styles that it does not know; ours does, even if the server learns late what it is.
#[test]
fn styles_are_shown_by_a_client_that_asks_for_them() {
    let text = b"\x1b[4 q\x1b[4:3mcurly\x1b[m \x1b[9mstruck\x1b[m \x1b[2mfaint\x1b[m";
    for styles in [false, true] {
        let mut pair = Pair::new(GOOD);
        let key = Key::from_bytes([7; 16]);
        let settings = ClientSettings::from((Display::Never, false));
        let extensions = Extensions { styles, ..Extensions::default() };
        let settings = ClientSettings { extensions, ..settings };
        pair.client = Client::new(at(0), &key, Size::new(60, 20), settings, 2);
        pair.server = Server::new(at(0), &key, 1);
        pair.server.output(text);
        pair.run(1500);
        let shown = pair.client.screen(at(pair.now));
        assert_eq!(shown.row(0).text().trim_end(), "curly struck faint");
        let curly = shown.cell(Position { row: 0, column: 0 }).expect("a cell").style();
        assert_eq!(curly.underline == Underline::Curly, styles);
        assert_eq!(shown == *pair.server.screen(), styles);
    }
}

/// A flood of output does not delay what comes after: only the newest screen is sent.
#[test]
fn a_flood_is_not_sent() {
    let mut pair = Pair::new(GOOD);
    pair.run(500);
    let before = pair.down.sent;
    for line in 0..1000 {
        (0..50).for_each(|part| pair.server.output(format!("line {line} {part}\r\n").as_bytes()));
        pair.step();
    }
    pair.run(300);
    assert!(pair.down.sent - before < 200, "{}", pair.down.sent - before);
    assert_eq!(pair.client.screen(at(pair.now)), *pair.server.screen());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// What is typed arrives once and in order, and the screens are equal at the end.
    #[test]
    fn ends_agree_over_any_link(
        loss in 0.0..0.4,
        duplication in 0.0..0.3,
        delay in 1u64..250,
        jitter in 0u64..100,
        words in prop::collection::vec(("[ -~]{1,12}", 1u64..400), 1..12),
    ) {
        let mut pair = Pair::new(Link { loss, duplication, delay, jitter });
        let mut expected = Vec::new();
        for (word, pause) in words {
            pair.client.type_keys(at(pair.now), word.as_bytes()).expect("there is room");
            expected.extend_from_slice(word.as_bytes());
            pair.run(pause);
        }
        (0..60).find(|_| {
            pair.run(1000);
            pair.typed == expected && pair.client.screen(at(pair.now)) == *pair.server.screen()
        });
        prop_assert_eq!(pair.typed, expected);
        prop_assert_eq!(pair.client.screen(at(pair.now)), pair.server.screen().clone());
    }
}
