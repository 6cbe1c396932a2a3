//! [`UserTerminal`]: shows a session to a user.

use super::view::View;
use super::{NetError, seed};
use crate::channels::{Event, Reason};
use crate::notice::Notice;
use crate::{Client, ClientSettings, Extensions};
use exm_datagram::Key;
use exm_endpoint::{Path, SocketOptions, Sockets};
use exm_os::{Clock, RawTerminal, Signals, SizeChanges, TerminalSize, Waiter};
use exm_predict::Display;
use exm_terminal::{Screen, Size, update};
use exm_units::{Instant, Span};
use std::fs::File;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// How long a server that has never answered is waited for.
const PATIENCE: Span = Span::from_secs(15);
/// The most often that a notice changes.
const REFRESH: Span = Span::from_secs(1);

/// Puts a terminal in the state that sessions expect: arrow keys in application mode.
const BEGIN: &[u8] = b"\x1b[?1h";
/// And back: pen, arrow keys, cursor, mouse, bracketed paste.
const END: &[u8] = b"\x1b[0m\x1b[?1l\x1b[?25h\x1b[?5l\x1b[?1003l\x1b[?1002l\x1b[?1001l\x1b[?1000l\x1b[?1004l\x1b[?1015l\x1b[?1006l\x1b[?1005l\x1b[?2004l";

/// The alternate screen, and the end of it.
const ALTERNATE: &[u8] = b"\x1b[?1049h";
const NO_ALTERNATE: &[u8] = b"\x1b[?1049l";

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The program has ended.
    ByServer,
    /// The user, or a signal, ended it.
    ByUser,
}

/// A user's terminal that shows a session.
#[derive(Clone, Debug)]
pub struct UserTerminal {
    /// When predictions are shown, and whether they overwrite the text under the cursor.
    pub predictions: (Display, bool),
    /// The key that begins a command to the client, as a control character: Ctrl-^ in mosh. None: there are no commands.
    pub escape: Option<u8>,
    /// Whether the session is shown on the terminal's alternate screen, which leaves what was there before.
    pub alternate_screen: bool,
    /// How many lines are kept that scroll off the screen, if any: the server sends them if it knows this extension. The escape key
    /// and `[` or PageUp show them.
    pub scrollback: Option<usize>,
}

impl Default for UserTerminal {
    fn default() -> UserTerminal {
        UserTerminal {
            predictions: (Display::Adaptive, false),
            escape: Some(0x1e),
            alternate_screen: false,
            scrollback: None,
        }
    }
}

impl UserTerminal {
    /// Shows the session of `server` that has `key` on the terminal whose keyboard is `input` and whose screen is `output`, until
    /// the session ends. The terminal's mode is restored in any case.
    ///
    /// # Errors
    /// They are not a terminal, the server does not answer within 15 s, or waiting failed.
    pub fn show(
        &self,
        server: SocketAddr,
        key: &Key,
        (input, output): (&mut File, &mut File),
        signals: &Signals,
    ) -> Result<Ended, NetError> {
        let clock = Clock::start();
        let raw = RawTerminal::new(input.as_fd()).map_err(NetError::Terminal)?;
        let size = cells(TerminalSize::of(output.as_fd()));
        let sockets = Sockets::connect(clock.now(), SocketOptions::default());
        let mut showing = Showing {
            clock,
            sockets: sockets.map_err(NetError::Socket)?,
            server,
            client: Client::new(clock.now(), key, size, self.settings(), seed()?),
            size,
            shown: None,
            keyboard: Keyboard {
                escape: self.escape,
                is_commanded: false,
                has_history: self.scrollback.is_some(),
            },
            view: None,
            known: clock.now(),
            is_leaving: false,
        };
        let begin: &[u8] = if self.alternate_screen { ALTERNATE } else { b"" };
        output.write_all(&[begin, BEGIN].concat()).map_err(NetError::Terminal)?;
        let ended = showing.run(input, output, signals);
        let last_line = format!("\x1b[{};1H\r\n", showing.size.rows());
        let end = if self.alternate_screen { NO_ALTERNATE } else { last_line.as_bytes() };
        // The terminal may be gone.
        let _ = output.write_all(&[END, end].concat());
        drop(raw);
        ended
    }

    fn settings(&self) -> ClientSettings {
        let extensions = Extensions { history: self.scrollback.is_some(), ..Extensions::default() };
        let settings = ClientSettings::from(self.predictions);
        let history_lines = self.scrollback.unwrap_or(settings.history_lines);
        ClientSettings { extensions, history_lines, ..settings }
    }
}

/// The size in cells; 80 columns and 24 rows if it is not known.
fn cells(size: Option<TerminalSize>) -> Size {
    size.map_or(Size::new(80, 24), |size| Size::new(size.columns.into(), size.rows.into()))
}

/// Commands to the client among a user's keys.
#[derive(Clone, Copy, Debug)]
struct Keyboard {
    escape: Option<u8>,
    /// Whether the escape key was the last.
    is_commanded: bool,
    /// Whether there are commands for the history.
    has_history: bool,
}

/// A command to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
    /// End the session.
    Leave,
    /// Show the history. The keys from this place on are for that.
    History(usize),
}

/// What the page-up key sends.
const PAGE_UP: &[u8] = b"\x1b[5~";

impl Keyboard {
    /// The keys for the server, and the first command among them.
    fn read(&mut self, keys: &[u8]) -> (Vec<u8>, Option<Command>) {
        let mut typed = Vec::with_capacity(keys.len());
        for (place, &key) in keys.iter().enumerate() {
            match (self.escape, self.is_commanded) {
                (Some(escape), false) if key == escape => self.is_commanded = true,
                (Some(escape), true) => {
                    self.is_commanded = false;
                    match key {
                        b'.' => return (typed, Some(Command::Leave)),
                        b'[' if self.has_history => {
                            return (typed, Some(Command::History(place + 1)));
                        }
                        _ if self.has_history && keys[place..].starts_with(PAGE_UP) => {
                            return (typed, Some(Command::History(place + PAGE_UP.len())));
                        }
                        // The escape key itself.
                        b'^' => typed.push(escape),
                        _ if key == escape => typed.push(escape),
                        _ => typed.extend([escape, key]),
                    }
                }
                _ => typed.push(key),
            }
        }
        (typed, None)
    }
}

/// A session that is shown.
struct Showing {
    clock: Clock,
    sockets: Sockets,
    server: SocketAddr,
    client: Client,
    size: Size,
    /// What the terminal shows, once something was drawn.
    shown: Option<Screen>,
    keyboard: Keyboard,
    /// The history, while it is shown.
    view: Option<View>,
    /// The latest time that the client knows.
    known: Instant,
    is_leaving: bool,
}

impl Showing {
    fn run(
        &mut self,
        input: &mut File,
        output: &mut File,
        signals: &Signals,
    ) -> Result<Ended, NetError> {
        let waiter = Waiter::new(self.clock, Span::ZERO);
        let changes = SizeChanges::watch().map_err(NetError::Wait)?;
        let mut has_keys = false;
        loop {
            self.receive();
            if has_keys {
                self.read_keys(input);
            }
            if changes.take() {
                self.resize(cells(TerminalSize::of(output.as_fd())));
            }
            if signals.take().is_some() {
                self.leave();
            }
            self.refuse_channels();
            self.view.take_if(|view| self.known >= view.leaves_at());
            self.transmit();
            self.draw(output)?;
            let now = self.clock.now();
            if self.client.is_over(now) {
                return Ok(if self.is_leaving { Ended::ByUser } else { Ended::ByServer });
            }
            if !self.client.is_connected() && self.client.silence(now) > PATIENCE {
                return Err(NetError::Unanswered { server: self.server });
            }
            let hop = self.sockets.next_hop().min(now.saturating_add(REFRESH));
            let wake = self.client.next_wake(now).min(hop);
            let wake = wake.min(self.view.map_or(Instant::MAX, |view| view.leaves_at()));
            let files: [BorrowedFd<'_>; 4] =
                [self.sockets.as_fd(), input.as_fd(), signals.as_fd(), changes.as_fd()];
            has_keys = waiter.wait(files, wake).map_err(NetError::Wait)?[1];
        }
    }

    fn receive(&mut self) {
        let Showing { clock, sockets, server, client, known, .. } = self;
        sockets.receive(|arrival, datagram| {
            *known = arrival.at(clock.now(), *known);
            if arrival.path.remote == *server {
                // What is not authentic changes nothing.
                let _ = client.receive(*known, datagram);
            }
        });
        self.known = self.clock.now();
        let heard = self.client.last_received_at();
        self.sockets.hop(self.known, heard);
    }

    fn read_keys(&mut self, input: &mut File) {
        let mut buffer = [0; 1 << 14];
        // At the end of the input there is no user any more.
        let count = input.read(&mut buffer).unwrap_or(0);
        let mut keys = &buffer[..count];
        if self.view.is_some() {
            self.scroll(keys);
            keys = &[];
        }
        let (typed, command) = self.keyboard.read(keys);
        if !typed.is_empty() && !self.is_leaving {
            // A megabyte that was not acknowledged is more than a user waits for.
            let _ = self.client.type_keys(self.known, &typed);
        }
        if let Some(Command::History(place)) = command {
            self.view = Some(View::new(self.known, self.client.history(), self.size.rows()));
            self.scroll(&keys[place..]);
        }
        if command == Some(Command::Leave) || count == 0 {
            self.leave();
        }
    }

    /// Hands keys to the history, which may be left by them.
    fn scroll(&mut self, keys: &[u8]) {
        let (now, rows) = (self.known, self.size.rows());
        if let Some(view) = &mut self.view
            && !view.read(now, keys, self.client.history(), rows)
        {
            self.view = None;
        }
    }

    /// Refuses channels that nobody here serves.
    fn refuse_channels(&mut self) {
        let channels = self.client.channels();
        while let Some(event) = channels.next_event() {
            if let Event::Opened(id, _) = event {
                channels.refuse(id, Reason::Unsupported);
            }
        }
    }

    fn resize(&mut self, size: Size) {
        if size != self.size && self.client.resize(size).is_ok() {
            self.size = size;
            self.shown = None;
        }
    }

    fn leave(&mut self) {
        if !self.is_leaving {
            self.is_leaving = true;
            self.client.shutdown(self.clock.now());
        }
    }

    fn transmit(&mut self) {
        let now = self.clock.now();
        self.known = now;
        while let Some(datagram) = self.client.transmit(now) {
            // What is not sent is lost, like any other.
            let _ = self.sockets.send(Path { remote: self.server, local: None }, &datagram, None);
        }
    }

    /// Shows what is new.
    fn draw(&mut self, output: &mut File) -> Result<(), NetError> {
        let now = self.clock.now();
        let mut screen = self.client.screen(now);
        if let Some(view) = &self.view {
            view.draw(self.client.history(), &mut screen);
        }
        Notice::of(&self.client, now, self.is_leaving).draw(&mut screen);
        let bytes = match &self.shown {
            Some(shown) if *shown == screen => return Ok(()),
            Some(shown) => update(shown, &screen, true),
            None => update(&Screen::new(screen.size()), &screen, false),
        };
        output.write_all(&bytes).map_err(NetError::Terminal)?;
        self.shown = Some(screen);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_escape_key_begins_a_command() {
        let keyboard = || Keyboard { escape: Some(0x1e), is_commanded: false, has_history: false };
        let leave = Some(Command::Leave);
        assert_eq!(keyboard().read(b"ab\x1e.cd"), (b"ab".to_vec(), leave));
        assert_eq!(keyboard().read(b"\x1e^\x1e\x1e\x1ex"), (b"\x1e\x1e\x1ex".to_vec(), None));
        assert_eq!(keyboard().read(b"\x1e["), (b"\x1e[".to_vec(), None));
        let mut parts = keyboard();
        assert_eq!(parts.read(b"a\x1e"), (b"a".to_vec(), None));
        assert_eq!(parts.read(b"."), (Vec::new(), leave));
        let mut none = Keyboard { escape: None, ..keyboard() };
        assert_eq!(none.read(b"\x1e."), (b"\x1e.".to_vec(), None));
        let mut history = Keyboard { has_history: true, ..keyboard() };
        assert_eq!(history.read(b"a\x1e[k"), (b"a".to_vec(), Some(Command::History(3))));
        assert_eq!(history.read(b"\x1e\x1b[5~k"), (Vec::new(), Some(Command::History(5))));
    }
}
