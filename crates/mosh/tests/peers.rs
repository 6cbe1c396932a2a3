//! The real mosh at the other end: its server runs a shell for our client, and its client shows what our server's programs print.
//!
//! Skipped if mosh or a pseudo-terminal is missing.
#![cfg(target_os = "linux")]

use exm_datagram::Key;
use exm_mosh::{Client, ClientSettings, Extensions, Input, Server};
use exm_os::Clock;
use exm_predict::Display;
use exm_terminal::{Screen, Size, Terminal};
use exm_testing::{InTerminal, has, mosh_server, skip};
use exm_units::Span;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// The limit for each wait.
const PATIENCE: Span = Span::from_secs(20);

/// The datagram that arrives within `wait`, and where from.
fn arrival(socket: &UdpSocket, wait: Span, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
    let wait = wait.clamp(Span::from_millis(1), Span::from_millis(100));
    socket.set_read_timeout(Some(Duration::from_nanos(wait.as_nanos()))).expect("a timeout");
    socket.recv_from(buffer).ok()
}

/// Our client of mosh's server.
struct Ours {
    client: Client,
    socket: UdpSocket,
    clock: Clock,
}

impl Ours {
    fn step(&mut self) {
        let now = self.clock.now();
        while let Some(datagram) = self.client.transmit(now) {
            let _ = self.socket.send(&datagram);
        }
        let wait = self.client.next_wake(now).saturating_since(now);
        let mut buffer = [0; 2048];
        if let Some((length, _)) = arrival(&self.socket, wait, &mut buffer) {
            let received = self.client.receive(self.clock.now(), &mut buffer[..length]);
            received.expect("mosh's own");
        }
    }

    fn screen(&mut self) -> Screen {
        self.client.screen(self.clock.now())
    }

    fn until(&mut self, what: &str, condition: impl Fn(&Screen) -> bool) {
        let limit = self.clock.now() + PATIENCE;
        while !condition(&self.screen()) {
            let text: Vec<String> = self.screen().rows().map(exm_terminal::Row::text).collect();
            assert!(self.clock.now() < limit, "{what} did not appear: {text:?}");
            self.step();
        }
    }

    fn type_keys(&mut self, keys: &[u8]) {
        self.client.type_keys(self.clock.now(), keys).expect("there is room");
    }
}

fn shows(text: &'static str) -> impl Fn(&Screen) -> bool {
    move |screen| screen.rows().any(|row| row.text().contains(text))
}

#[test]
fn our_client_shows_a_shell_of_mosh_server() -> io::Result<()> {
    let script = "PS1='ready$ ' exec sh -i";
    let Some((server, key)) =
        has("mosh-server").then(|| mosh_server(&["sh", "-c", script])).flatten()
    else {
        skip("mosh-server is missing, or does not start");
        return Ok(());
    };
    let key: Key = key.parse().expect("mosh's key");
    let clock = Clock::start();
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(server)?;
    let size = Size::new(100, 30);
    // What it asks for is skipped.
    let extensions = Extensions { history: true, tcp: true, agent: true, ..Extensions::default() };
    let settings = ClientSettings { extensions, ..(Display::Never, false).into() };
    let client = Client::new(clock.now(), &key, size, settings, 3);
    let mut ours = Ours { client, socket, clock };
    ours.until("a prompt", shows("ready$"));
    ours.until("the size", |screen| screen.size() == size);
    for key in "echo hel\"\"lo 漢字 é\r".as_bytes() {
        ours.type_keys(&[*key]);
        ours.step();
    }
    ours.until("an answer", shows("hello 漢字 é"));
    ours.type_keys(
        b"printf '\\033[1;31mred\\033[0m \\033]0;a title\\007 %s\\n' d''one; stty size\r",
    );
    ours.until("colours", shows("red  done"));
    ours.until("the size that programs see", shows("30 100"));
    assert_eq!(ours.screen().title(), Some("a title"));
    let red = ours.screen().rows().find(|row| row.text().starts_with("red")).cloned();
    let style = *red.expect("it is shown").cells()[0].style();
    assert_eq!(style.foreground, exm_terminal::Colour::Indexed(1));
    // A flood, which Ctrl-C stops.
    ours.type_keys(b"yes\r");
    // The last row may be blank, or begun.
    let is_flooded =
        |screen: &Screen| screen.rows().take(29).all(|row| row.text().starts_with("y "));
    ours.until("a flood", is_flooded);
    ours.type_keys(b"\x03");
    ours.until("a prompt", |screen| screen.row(29).text().starts_with("ready$"));
    ours.type_keys(b"exit\r");
    let limit = ours.clock.now() + PATIENCE;
    while !ours.client.is_over(ours.clock.now()) {
        assert!(ours.clock.now() < limit, "the session did not end");
        ours.step();
    }
    assert_eq!((ours.client.malformed(), ours.client.extensions()), (0, None));
    Ok(())
}

/// What programs print, piece by piece.
const OUTPUT: [&str; 5] = [
    "welcome\r\n\x1b[1mbold\x1b[0m \x1b[4;32munder\x1b[0m \x1b[48;5;196mback\x1b[0m\r\n",
    "wide: 漢字, combining: e\u{301}\r\n\x1b[5;10Hhere\x1b[K",
    "\x1b[3;20r\x1b[20;1H\r\n\r\n\r\nscrolled\x1b[r\x1b[22;1H",
    "\x1b[38;2;10;20;30mtrue colour\x1b[0m\x1b[7mreverse\x1b[0m",
    "\x1b[24;70Hthe end of it all",
];

/// The screens are equal at the end: mosh's client, shown by our terminal, has what our server's terminal has.
#[test]
fn mosh_client_shows_our_server() -> io::Result<()> {
    if !has("mosh-client") || !has("script") {
        skip("mosh-client or script is missing");
        return Ok(());
    }
    let (key, clock) = (Key::generate().expect("randomness"), Clock::start());
    let mut server = Server::new(clock.now(), &key, 3);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut theirs = InTerminal::mosh_client(socket.local_addr()?.port(), key.to_text().as_str())?;
    let (mut keys, mut sizes, mut pieces) = (Vec::new(), Vec::new(), OUTPUT.iter());
    let mut last: Option<Screen> = None;
    let limit = clock.now() + PATIENCE;
    while !server.is_over(clock.now()) {
        assert!(
            clock.now() < limit,
            "the session did not end: {:?}",
            String::from_utf8_lossy(&keys)
        );
        let now = clock.now();
        while let Some((to, datagram)) = server.transmit(now) {
            socket.send_to(&datagram, to)?;
        }
        let wait = server.next_wake(now).saturating_since(now);
        let mut buffer = [0; 2048];
        if let Some((length, from)) = arrival(&socket, wait, &mut buffer) {
            server.receive(clock.now(), from, &mut buffer[..length]).expect("mosh's own");
        }
        for input in server.take_input() {
            match input {
                Input::Keys(typed) => keys.extend(typed),
                Input::Resize(size) => sizes.push(size),
            }
        }
        // One piece of output for each key, so that the client sees them one after the other.
        if sizes.is_empty() || server.client().is_none() {
            continue;
        }
        if keys.len() + pieces.len() == OUTPUT.len() {
            match pieces.next() {
                Some(piece) => {
                    server.output(piece.as_bytes());
                    theirs.type_keys(b"k")?;
                }
                None if last.is_none() => {
                    last = Some(server.screen().clone());
                    server.shutdown(clock.now());
                }
                None => {}
            }
        }
    }
    assert_eq!((server.malformed(), server.extensions()), (0, None));
    assert_eq!((&keys[..], &sizes[..]), (&b"kkkkk"[..], &[Size::new(80, 24)][..]));
    let (_, shown) = theirs.ended();
    let mut terminal = Terminal::new(Size::new(80, 24));
    // After its end the client prints a line of its own.
    let end = shown.windows(6).rposition(|part| part == b"[mosh ").unwrap_or(shown.len());
    terminal.advance(&shown[..end]);
    let text = |screen: &Screen| -> Vec<String> {
        screen.rows().map(|row| row.text().trim_end().to_owned()).collect()
    };
    let (theirs, ours) = (text(terminal.screen()), text(&last.expect("it was shown")));
    assert_eq!(theirs[..22], ours[..22], "{:?}", String::from_utf8_lossy(&shown));
    let style =
        |screen: &Screen, row: usize, column: usize| *screen.row(row).cells()[column].style();
    for (row, column) in [(1, 0), (1, 5), (1, 11)] {
        let ours = style(server.screen(), row, column);
        assert_eq!(style(terminal.screen(), row, column), ours, "{row}, {column}");
    }
    Ok(())
}
