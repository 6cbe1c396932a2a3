//! Draws what a user sees of a session with a round trip of 500 ms, into the folder that is given: keys that are predicted, the same once the
//! server has answered, and a connection that is lost.
//!
//! `cargo run -p exm-mosh --example pictures -- FOLDER`

use exm_datagram::Key;
use exm_mosh::{Client, Input, Server};
use exm_predict::Display;
use exm_terminal::{Screen, Size, picture};
use exm_units::{Instant, Span};
use std::collections::VecDeque;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

const DELAY: Span = Span::from_millis(250);
const SIZE: (usize, usize) = (64, 12);
const PROMPT: &[u8] = b"\x1b[1;32mme@far\x1b[m:\x1b[1;34m~\x1b[m$ ";
const LISTING: &[u8] =
    b"\r\n\x1b[1;34mdesigns\x1b[m  notes.md  \x1b[1;32mrun.sh\x1b[m  \x1b[1;34mtraces\x1b[m\r\n";

/// A session whose datagrams take a while.
struct Session {
    client: Client,
    server: Server,
    now: Instant,
    /// Datagrams to the server and to the client, and when they arrive.
    ways: [VecDeque<(Instant, Vec<u8>)>; 2],
    is_lost: bool,
}

impl Session {
    fn new() -> Session {
        let (now, key) = (Instant::ZERO, Key::from_bytes([1; 16]));
        let size = Size::new(SIZE.0, SIZE.1);
        let mut server = Server::new(now, &key, 1);
        server.output(PROMPT);
        let client = Client::new(now, &key, size, (Display::Adaptive, false), 2);
        Session { client, server, now, ways: [VecDeque::new(), VecDeque::new()], is_lost: false }
    }

    fn run(&mut self, span: Span) {
        let end = self.now + span;
        while self.now < end {
            self.now += Span::from_millis(1);
            self.step();
        }
    }

    /// A millisecond has passed. The program echoes what is typed, and a line is answered by a listing.
    fn step(&mut self) {
        let (now, from) = (self.now, SocketAddr::from((Ipv4Addr::LOCALHOST, 1)));
        let arrived = |way: &mut VecDeque<(Instant, Vec<u8>)>| {
            let is_there = way.front().is_some_and(|(at, _)| *at <= now);
            is_there.then(|| way.pop_front().map(|(_, datagram)| datagram)).flatten()
        };
        while let Some(mut datagram) = arrived(&mut self.ways[0]) {
            let _ = self.server.receive(now, from, &mut datagram);
        }
        while let Some(mut datagram) = arrived(&mut self.ways[1]) {
            let _ = self.client.receive(now, &mut datagram);
        }
        for input in self.server.take_input() {
            let Input::Keys(keys) = input else { continue };
            for key in keys {
                match key {
                    b'\r' => [LISTING, PROMPT].iter().for_each(|text| self.server.output(text)),
                    _ => self.server.output(&[key]),
                }
            }
        }
        let arrives = now + DELAY;
        while let Some(datagram) = self.client.transmit(now) {
            self.ways[0].extend((!self.is_lost).then_some((arrives, datagram)));
        }
        while let Some((_, datagram)) = self.server.transmit(now) {
            self.ways[1].extend((!self.is_lost).then_some((arrives, datagram)));
        }
    }

    fn type_keys(&mut self, keys: &[u8]) {
        for key in keys {
            self.client.type_keys(self.now, &[*key]).expect("there is room");
            self.run(Span::from_millis(90));
        }
    }

    fn screen(&mut self) -> Screen {
        let mut screen = self.client.screen(self.now);
        self.client.draw_notice(self.now, &mut screen);
        screen
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("give a folder")?);
    let mut session = Session::new();
    let draw = |name: &str, session: &mut Session| {
        std::fs::write(folder.join(name), picture(&session.screen()))
    };
    session.run(Span::from_secs(5));
    session.type_keys(b"ls\r");
    session.run(Span::from_secs(2));
    session.type_keys(b"cat notes.md");
    draw("mosh-predicted.svg", &mut session)?;
    session.run(Span::from_secs(2));
    draw("mosh-confirmed.svg", &mut session)?;
    session.is_lost = true;
    session.type_keys(b" | less");
    session.run(Span::from_secs(20));
    draw("mosh-lost.svg", &mut session)?;
    Ok(())
}
