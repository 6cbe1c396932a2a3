//! The real mosh at the other end: its server runs a shell for our client, and its client shows what our server's programs print.
//!
//! Skipped if mosh or a pseudo-terminal is missing.
#![cfg(unix)]

use exm_datagram::Key;
use exm_mosh::{Client, Input, Server};
use exm_predict::Display;
use exm_terminal::{Screen, Size, Terminal};
use exm_testing::{has, skip};
use exm_units::{Instant, Span};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

/// The limit for each wait.
const PATIENCE: Span = Span::from_secs(20);

/// A clock used only by these tests.
#[expect(clippy::disallowed_methods, reason = "mosh's timers are of real time")]
fn clock() -> impl Fn() -> Instant {
    let start = std::time::Instant::now();
    move || Instant::from_nanos(start.elapsed().as_nanos() as u64)
}

/// The datagram that arrives within `wait`, and where from.
fn arrival(socket: &UdpSocket, wait: Span, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
    let wait = wait.clamp(Span::from_millis(1), Span::from_millis(100));
    socket.set_read_timeout(Some(Duration::from_nanos(wait.as_nanos()))).expect("a timeout");
    socket.recv_from(buffer).ok()
}

/// Starts a mosh server that runs `script`; returns its address and key.
fn start_server(script: &str) -> Option<(SocketAddr, Key)> {
    let mut command = Command::new("mosh-server");
    command.args(["new", "-i", "127.0.0.1", "-p", "61000:61999", "-c", "256", "--", "sh", "-c"]);
    command.arg(script).env("LC_ALL", "C.UTF-8").env("MOSH_SERVER_NETWORK_TMOUT", "12");
    let text = String::from_utf8_lossy(&command.output().ok()?.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("MOSH CONNECT "))?;
    let (port, key) = line.split_once(' ')?;
    Some(((Ipv4Addr::LOCALHOST, port.parse().ok()?).into(), key.parse().expect("mosh's key")))
}

/// Our client of mosh's server.
struct Ours<C> {
    client: Client,
    socket: UdpSocket,
    clock: C,
}

impl<C: Fn() -> Instant> Ours<C> {
    fn step(&mut self) {
        let now = (self.clock)();
        while let Some(datagram) = self.client.transmit(now) {
            let _ = self.socket.send(&datagram);
        }
        let wait = self.client.next_wake(now).saturating_since(now);
        let mut buffer = [0; 2048];
        if let Some((length, _)) = arrival(&self.socket, wait, &mut buffer) {
            let received = self.client.receive((self.clock)(), &mut buffer[..length]);
            received.expect("mosh's own");
        }
    }

    fn screen(&mut self) -> Screen {
        self.client.screen((self.clock)())
    }

    fn until(&mut self, what: &str, condition: impl Fn(&Screen) -> bool) {
        let limit = (self.clock)() + PATIENCE;
        while !condition(&self.screen()) {
            let text: Vec<String> = self.screen().rows().map(exm_terminal::Row::text).collect();
            assert!((self.clock)() < limit, "{what} did not appear: {text:?}");
            self.step();
        }
    }

    fn type_keys(&mut self, keys: &[u8]) {
        self.client.type_keys((self.clock)(), keys).expect("there is room");
    }
}

fn shows(text: &'static str) -> impl Fn(&Screen) -> bool {
    move |screen| screen.rows().any(|row| row.text().contains(text))
}

#[test]
fn our_client_shows_a_shell_of_mosh_server() -> io::Result<()> {
    let script = "PS1='ready$ ' exec sh -i";
    let Some((server, key)) = has("mosh-server").then(|| start_server(script)).flatten() else {
        skip("mosh-server is missing, or does not start");
        return Ok(());
    };
    let clock = clock();
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(server)?;
    let size = Size::new(100, 30);
    let client = Client::new(clock(), &key, size, (Display::Never, false), 3);
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
    ours.until("a flood", |screen| screen.rows().all(|row| row.text().starts_with("y ")));
    ours.type_keys(b"\x03");
    ours.until("a prompt", |screen| screen.row(29).text().starts_with("ready$"));
    ours.type_keys(b"exit\r");
    let limit = (ours.clock)() + PATIENCE;
    while !ours.client.is_over((ours.clock)()) {
        assert!((ours.clock)() < limit, "the session did not end");
        ours.step();
    }
    assert_eq!(ours.client.malformed(), 0);
    Ok(())
}

/// mosh-client on a pseudo-terminal, killed when dropped.
struct Theirs {
    child: Child,
    shown: Option<JoinHandle<Vec<u8>>>,
}

impl Theirs {
    fn start(port: u16, key: &Key) -> io::Result<Theirs> {
        let mut command = Command::new("script");
        let client = format!("stty rows 24 cols 80; exec mosh-client 127.0.0.1 {port}");
        command.args(["-qefc", &client, "/dev/null"]);
        command.env("MOSH_KEY", key.to_text().as_str()).env("LC_ALL", "C.UTF-8");
        command.env("TERM", "xterm-256color").env("MOSH_PREDICTION_DISPLAY", "never");
        command.env("MOSH_NO_TERM_INIT", "1").env("MOSH_TITLE_NOPREFIX", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let mut stdout = child.stdout.take().expect("it is piped");
        let shown = std::thread::spawn(move || {
            let mut shown = Vec::new();
            let _ = stdout.read_to_end(&mut shown);
            shown
        });
        Ok(Theirs { child, shown: Some(shown) })
    }

    fn type_keys(&mut self, keys: &[u8]) -> io::Result<()> {
        let stdin = self.child.stdin.as_mut().expect("it is piped");
        stdin.write_all(keys)?;
        stdin.flush()
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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
    let (key, clock) = (Key::generate().expect("randomness"), clock());
    let mut server = Server::new(clock(), &key, 3);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut theirs = Theirs::start(socket.local_addr()?.port(), &key)?;
    let (mut keys, mut sizes, mut pieces) = (Vec::new(), Vec::new(), OUTPUT.iter());
    let mut last: Option<Screen> = None;
    let limit = clock() + PATIENCE;
    while !server.is_over(clock()) {
        assert!(clock() < limit, "the session did not end: {:?}", String::from_utf8_lossy(&keys));
        let now = clock();
        while let Some((to, datagram)) = server.transmit(now) {
            socket.send_to(&datagram, to)?;
        }
        let wait = server.next_wake(now).saturating_since(now);
        let mut buffer = [0; 2048];
        if let Some((length, from)) = arrival(&socket, wait, &mut buffer) {
            server.receive(clock(), from, &mut buffer[..length]).expect("mosh's own");
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
                    server.shutdown(clock());
                }
                None => {}
            }
        }
    }
    assert_eq!((&keys[..], &sizes[..]), (&b"kkkkk"[..], &[Size::new(80, 24)][..]));
    let shown = theirs.shown.take().expect("it is taken once").join().expect("it reads only");
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
