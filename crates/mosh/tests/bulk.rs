//! Channels over a simulated link with a rate and a queue: what is written arrives, the link is used, and keys do not wait.

use exm_datagram::Key;
use exm_mosh::channels::{ChannelId, Event, Opening};
use exm_mosh::{Client, ClientSettings, Extensions, Input, Server};
use exm_predict::Display;
use exm_random::{Purpose, Stream};
use exm_terminal::Size;
use exm_units::{Instant, Span};
use std::collections::VecDeque;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

/// A link in one direction.
struct Link {
    /// In bytes a millisecond.
    rate: u64,
    /// The propagation delay in milliseconds.
    delay: u64,
    /// What does not fit the queue, in milliseconds, is dropped.
    queue: u64,
    loss: f64,
    random: Stream,
    /// When the link is free, in microseconds.
    free_at: u64,
    under_way: VecDeque<(u64, Vec<u8>)>,
    /// How many bytes were sent.
    bytes: u64,
}

impl Link {
    fn new(rate: u64, delay: u64, loss: f64, index: usize) -> Link {
        let random = Stream::new(1, Purpose::Loss, index);
        let under_way = VecDeque::new();
        Link { rate, delay, queue: 200, loss, random, free_at: 0, under_way, bytes: 0 }
    }

    fn send(&mut self, now: u64, datagram: Vec<u8>) {
        let begin = self.free_at.max(now * 1000);
        if begin - now * 1000 > self.queue * 1000 || self.random.uniform() < self.loss {
            return;
        }
        // 28 bytes are those of IP and UDP.
        self.bytes += datagram.len() as u64 + 28;
        self.free_at = begin + (datagram.len() as u64 + 28) * 1000 / self.rate;
        self.under_way.push_back((self.free_at / 1000 + self.delay, datagram));
    }

    fn arrived(&mut self, now: u64) -> Option<Vec<u8>> {
        self.under_way.front().filter(|(at, _)| *at <= now)?;
        self.under_way.pop_front().map(|(_, datagram)| datagram)
    }
}

/// A session whose programs echo what is typed.
struct Pair {
    client: Client,
    server: Server,
    up: Link,
    down: Link,
    typed: Vec<u8>,
    now: u64,
}

const FILES: Extensions = Extensions {
    history: false,
    tcp: false,
    listen: false,
    agent: false,
    files: true,
    styles: false,
};

impl Pair {
    fn new(rate: u64, delay: u64, loss: f64, asked: Extensions) -> Pair {
        let key = Key::from_bytes([7; 16]);
        let settings = (Display::Never, false).into();
        let settings = ClientSettings { extensions: asked, history_lines: 20_000, ..settings };
        Pair {
            client: Client::new(at(0), &key, Size::new(60, 20), settings, 2),
            server: Server::new(at(0), &key, 1).granting(Extensions { history: true, ..FILES }),
            up: Link::new(rate, delay, loss, 0),
            down: Link::new(rate, delay, loss, 1),
            typed: Vec::new(),
            now: 0,
        }
    }

    /// A millisecond passes.
    fn step(&mut self) {
        self.now += 1;
        let now = at(self.now);
        let address = "192.0.2.1:50000".parse().expect("an address");
        while let Some(mut datagram) = self.up.arrived(self.now) {
            self.server.receive(now, address, &mut datagram).expect("the client's");
        }
        for input in self.server.take_input() {
            if let Input::Keys(keys) = input {
                self.server.output(&keys);
                self.typed.extend(keys);
            }
        }
        while let Some(mut datagram) = self.down.arrived(self.now) {
            self.client.receive(now, &mut datagram).expect("the server's");
        }
    }

    fn transmit(&mut self) {
        let now = at(self.now);
        if self.client.next_wake(now) <= now {
            while let Some(datagram) = self.client.transmit(now) {
                self.up.send(self.now, datagram);
            }
        }
        if self.server.next_wake(now) <= now {
            while let Some((_, datagram)) = self.server.transmit(now) {
                self.down.send(self.now, datagram);
            }
        }
    }

    fn run(&mut self, millis: u64) {
        for _ in 0..millis {
            self.step();
            self.transmit();
        }
    }

    /// Opens a channel, which the server accepts, once that is granted.
    fn open(&mut self) -> ChannelId {
        while self.client.extensions().is_none() {
            assert!(self.now < 60_000, "nothing is granted");
            self.run(1);
        }
        let opening = Opening::Fetch { path: b"/file".to_vec(), offset: 0 };
        let id = self.client.channels().open(opening.clone()).expect("it is granted");
        loop {
            assert!(self.now < 60_000, "it is not opened");
            self.run(1);
            if let Some(event) = self.server.channels().next_event() {
                assert_eq!(event, Event::Opened(id, opening.clone()));
                self.server.channels().accept(id);
            }
            if let Some(event) = self.client.channels().next_event() {
                assert_eq!(event, Event::Accepted(id));
                return id;
            }
        }
    }

    /// The server writes `length` bytes; returns how many milliseconds it takes until the client has them. Meanwhile a key is
    /// typed every 150 ms: pushes how long each takes to be shown.
    fn transfer(&mut self, id: ChannelId, length: usize, echoes: &mut Vec<u64>) -> u64 {
        let mut random = Stream::new(2, Purpose::Loss, 9);
        let bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        let (began, mut written, mut read) = (self.now, 0, Vec::new());
        let (mut pressed, mut keys) = (None, 0);
        let mut is_closed = false;
        while !is_closed {
            assert!(self.now < began + 600_000, "{} of {length} bytes", read.len());
            self.step();
            written += self.server.channels().write(id, &bytes[written..]);
            if written == length {
                self.server.channels().end(id);
            }
            while let Some(event) = self.client.channels().next_event() {
                match event {
                    Event::Data(_) => {
                        let channels = self.client.channels();
                        read.extend(channels.read(id, usize::MAX));
                    }
                    Event::Ended(_) => self.client.channels().end(id),
                    Event::Closed(..) => is_closed = true,
                    other => panic!("{other:?}"),
                }
            }
            match pressed {
                None if self.now.is_multiple_of(150) => {
                    self.client.type_keys(at(self.now), b"k").expect("there is room");
                    (pressed, keys) = (Some(self.now), keys + 1);
                }
                Some(at) if self.screen_has(keys) => {
                    echoes.push(self.now - at);
                    pressed = None;
                }
                _ => {}
            }
            self.transmit();
        }
        assert!(read == bytes, "{} bytes differ", read.len());
        assert_eq!(self.client.malformed() + self.server.malformed(), 0);
        self.now - began
    }

    fn screen_has(&mut self, keys: usize) -> bool {
        let screen = self.client.screen(at(self.now));
        screen.rows().map(|row| row.text().matches('k').count()).sum::<usize>() == keys
    }
}

#[test]
fn bulk_uses_the_link_and_keys_do_not_wait() {
    // 10 Mbit/s, an RTT of 40 ms, a queue of 200 ms.
    let mut pair = Pair::new(1250, 20, 0.0, FILES);
    let id = pair.open();
    let (length, mut echoes) = (10_000_000, Vec::new());
    let millis = pair.transfer(id, length, &mut echoes);
    let rate = length as u64 * 8 / millis;
    echoes.sort_unstable();
    let (median, worst) = (echoes[echoes.len() / 2], echoes[echoes.len() - 1]);
    println!("{rate} kbit/s; echo {median} ms, at most {worst} ms");
    assert!(rate >= 7000, "{rate} kbit/s");
    assert!(median <= 160 && worst <= 500, "{median}, {worst} ms");
}

#[test]
fn bulk_arrives_over_a_link_that_loses_much() {
    let mut pair = Pair::new(1250, 20, 0.3, FILES);
    let id = pair.open();
    let mut echoes = Vec::new();
    let millis = pair.transfer(id, 200_000, &mut echoes);
    echoes.sort_unstable();
    println!("{millis} ms; echo {} ms", echoes[echoes.len() / 2]);
    assert!(echoes[echoes.len() / 2] < 600, "{echoes:?}");
}

#[test]
fn bulk_survives_an_outage() {
    let mut pair = Pair::new(125, 100, 0.0, FILES);
    let id = pair.open();
    pair.server.channels().write(id, &[5; 60_000]);
    pair.run(700);
    (pair.up.loss, pair.down.loss) = (1.0, 1.0);
    let before = pair.down.free_at;
    pair.run(300_000);
    assert!((pair.down.free_at / 1000).saturating_sub(before / 1000) < 300_000);
    (pair.up.loss, pair.down.loss) = (0.0, 0.0);
    pair.run(8000);
    let read = pair.client.channels().read(id, usize::MAX);
    assert!(read == [5; 60_000], "{} bytes", read.len());
}

#[test]
fn nothing_is_sent_unless_it_was_asked_for() {
    let mut pair = Pair::new(1250, 20, 0.0, Extensions::default());
    pair.run(3000);
    assert_eq!((pair.client.extensions(), pair.server.extensions()), (None, None));
    let opening = Opening::Fetch { path: Vec::new(), offset: 0 };
    assert!(pair.client.channels().open(opening).is_err());
    assert!(!pair.client.channels().has_output() && !pair.server.channels().has_output());
}

/// Bytes for channels are acknowledged, and the acknowledgements are not.
#[test]
fn ends_that_have_agreed_are_silent() {
    let mut pair = Pair::new(1250, 20, 0.0, FILES);
    let id = pair.open();
    assert_eq!(pair.server.extensions(), Some(FILES));
    pair.server.channels().write(id, b"some bytes");
    pair.run(2000);
    assert_eq!(pair.client.channels().read(id, 99), b"some bytes");
    let before = (pair.up.free_at, pair.down.free_at);
    let mut sent = 0;
    for _ in 0..60_000 {
        pair.run(1);
        sent +=
            usize::from(pair.up.free_at != before.0) + usize::from(pair.down.free_at != before.1);
        (pair.up.free_at, pair.down.free_at) = before;
    }
    // Empty acknowledgements, every 3 s.
    assert!(sent <= 42, "{sent} datagrams");
}

const HISTORY: Extensions = Extensions {
    history: true,
    tcp: false,
    listen: false,
    agent: false,
    files: false,
    styles: false,
};

fn history(client: &Client) -> Vec<String> {
    let history = client.history();
    let rows = (history.first()..history.end()).filter_map(|number| history.row(number));
    rows.map(|row| row.text().trim_end().to_owned()).collect()
}

#[test]
fn lines_that_scroll_off_become_history() {
    let mut pair = Pair::new(1250, 20, 0.1, HISTORY);
    pair.run(3000);
    assert_eq!(pair.client.extensions(), Some(HISTORY));
    let before = history(&pair.client);
    assert!(before.is_empty(), "{before:?}");
    for line in 0..500 {
        pair.server.output(format!("\x1b[3{}mline {line}\x1b[m\r\n", line % 8).as_bytes());
        pair.run(1);
    }
    pair.run(20_000);
    // The last 19 are on the screen, above the cursor.
    let expected: Vec<String> = (0..481).map(|line| format!("line {line}")).collect();
    assert_eq!(history(&pair.client), expected);
    let row = pair.client.history().row(3).expect("it is kept");
    assert_eq!(row.cells()[0].style().foreground, exm_terminal::Colour::Indexed(3));
}

/// A flood's history takes little of the link, most of it is dropped, and how much is said.
#[test]
fn a_flood_leaves_a_part_of_its_history() {
    let mut pair = Pair::new(1250, 20, 0.0, HISTORY);
    pair.run(1000);
    let before = pair.down.bytes;
    for millis in 0..5000 {
        (0..20).for_each(|part| {
            pair.server.output(format!("line {}\r\n", millis * 20 + part).as_bytes());
        });
        pair.run(1);
    }
    let sent = pair.down.bytes - before;
    assert!(sent < 5 * 100_000, "{sent} bytes in 5 s, of 6.25 MB");
    pair.run(5000);
    let lines = history(&pair.client);
    let last = lines.last().expect("there is history");
    assert_eq!(last, &format!("line {}", 5000 * 20 - 20));
    let missing = lines.iter().filter_map(|line| line.strip_prefix('['));
    let missing = missing.filter_map(|line| line.split_once(' ')?.0.parse::<usize>().ok());
    let missing: Vec<usize> = missing.collect();
    let shown = lines.len() - missing.len();
    assert_eq!(shown + missing.iter().sum::<usize>(), 5000 * 20 - 19, "{missing:?}");
    assert!(missing.len() < 50, "{missing:?}");
    assert!(shown >= 2000, "{shown}");
}
