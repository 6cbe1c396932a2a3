//! [`UserTerminal`]: shows a session to a user.

use super::NetError;
use super::client_channels::ClientChannels;
use super::forward::Forwards;
use super::keyboard::{Command, Keyboard};
use super::link::ClientLink;
use super::view::View;
use crate::notice::Notice;
use crate::{ClientSettings, Extensions};
use exm_datagram::Key;
use exm_os::{RawTerminal, SignalWatch, Signals, TerminalSize, Waiter, release_code};
use exm_predict::Display;
use exm_terminal::{Features, Screen, Size};
use exm_units::{Instant, Span};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// How long a server that has never answered is waited for.
const PATIENCE: Span = Span::from_secs(15);
/// The most often that a notice changes.
const REFRESH: Span = Span::from_secs(1);

/// Puts a terminal in the state that sessions expect: arrow keys in application mode. The window's title is saved.
const BEGIN: &str = "\x1b[22;0t\x1b[?1h";
/// And back: the title, pen, arrow keys, cursor, mouse, bracketed paste.
const END: &str = "\x1b[23;0t\x1b[0m\x1b[?1l\x1b[?25h\x1b[?5l\x1b[?1003l\x1b[?1002l\x1b[?1001l\x1b[?1000l\x1b[?1004l\x1b[?1015l\x1b[?1006l\x1b[?1005l\x1b[?2004l";
/// And back: the shape of the cursor.
const END_STYLES: &str = "\x1b[0 q";

/// The alternate screen, and the end of it.
const ALTERNATE: &str = "\x1b[?1049h";
const NO_ALTERNATE: &str = "\x1b[?1049l";

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
    /// What the titles of programs are shown with; none: they do not change the window's title.
    pub titles: Option<String>,
    /// Whether programs may write to the clipboard (OSC 52).
    pub clipboard: bool,
    /// Whether what mosh does not show is shown, if the server knows this extension: shapes of the cursor, kinds of underlines, faint and struck
    /// text, hyperlinks.
    pub styles: bool,
    /// How many lines are kept that scroll off the screen, if any: the server sends them if it knows this extension. The escape key
    /// and `[` or PageUp show them.
    pub scrollback: Option<usize>,
    /// The connections that are forwarded, if the server allows it.
    pub forwards: Forwards,
}

impl Default for UserTerminal {
    fn default() -> UserTerminal {
        UserTerminal {
            predictions: (Display::Adaptive, false),
            escape: Some(0x1e),
            alternate_screen: false,
            titles: Some(String::new()),
            clipboard: true,
            styles: false,
            scrollback: None,
            forwards: Forwards::default(),
        }
    }
}

impl UserTerminal {
    /// Shows the session that has `key` of the server at the first of `servers` on the terminal whose keyboard is `input` and whose screen is `output`, until
    /// the session ends. The others are addresses of the same server, which are tried in turn when nothing comes from it: after a change of
    /// network only one of IPv4 and IPv6 may be left. The terminal's mode is restored in any case, even if this process is killed.
    ///
    /// # Errors
    /// There is no address, they are not a terminal, the server does not answer within 15 s, or waiting failed.
    pub fn show(
        &self,
        servers: &[SocketAddr],
        key: &Key,
        (input, output): (&mut File, &mut File),
        signals: &Signals,
    ) -> Result<Ended, NetError> {
        let size = cells(TerminalSize::of(output.as_fd()));
        let farewell = format!("{END}{}", self.leave_screen(size));
        let raw = RawTerminal::guarded(input.as_fd(), &farewell).map_err(NetError::Terminal)?;
        let link = ClientLink::open(servers, key, size, self.settings())?;
        let mut showing = Showing {
            settings: self,
            raw,
            link,
            size,
            shown: None,
            keyboard: Keyboard::new(self.escape, self.scrollback.is_some()),
            channels: ClientChannels::new(self.forwards.clone()).map_err(NetError::Wait)?,
            view: None,
            is_leaving: false,
        };
        showing.begin(output)?;
        let ended = showing.run(input, output, signals);
        // The terminal may be gone.
        let _ = showing.end(output);
        ended
    }

    fn settings(&self) -> ClientSettings {
        let forwarded = ClientChannels::extensions(&self.forwards);
        let extensions =
            Extensions { history: self.scrollback.is_some(), styles: self.styles, ..forwarded };
        let settings = ClientSettings::from(self.predictions);
        let history_lines = self.scrollback.unwrap_or(settings.history_lines);
        ClientSettings { extensions, history_lines, ..settings }
    }

    fn enter_screen(&self) -> &'static str {
        if self.alternate_screen { ALTERNATE } else { "" }
    }

    /// Leaves the screen of `size` to what comes after the session.
    fn leave_screen(&self, size: Size) -> String {
        let shape = if self.styles { END_STYLES } else { "" };
        if self.alternate_screen {
            format!("{shape}{NO_ALTERNATE}")
        } else {
            format!("{shape}\x1b[{};1H\r\n", size.rows())
        }
    }

    /// Takes from `screen` what programs may not change, and marks their titles.
    fn restrict(&self, screen: &mut Screen) {
        let prefixed = |title: Option<&str>| {
            title.zip(self.titles.as_ref()).map(|(title, prefix)| format!("{prefix}{title}"))
        };
        let (title, icon_name) = (prefixed(screen.title()), prefixed(screen.icon_name()));
        screen.set_title(title.as_deref());
        screen.set_icon_name(icon_name.as_deref());
        if !self.clipboard {
            screen.forget_clipboard();
        }
    }
}

/// The size in cells; 80 columns and 24 rows if it is not known.
fn cells(size: Option<TerminalSize>) -> Size {
    size.map_or(Size::new(80, 24), |size| Size::new(size.columns.into(), size.rows.into()))
}

/// The escape key's name, as in the help texts.
fn key_name(escape: Option<u8>) -> String {
    match escape {
        Some(key @ 0..0x20) => format!("Ctrl-{}", char::from(key | 0x40)),
        Some(key) => char::from(key).to_string(),
        None => String::new(),
    }
}

/// A session that is shown.
struct Showing<'a> {
    settings: &'a UserTerminal,
    raw: RawTerminal,
    link: ClientLink,
    size: Size,
    /// What the terminal shows, once something was drawn.
    shown: Option<Screen>,
    keyboard: Keyboard,
    channels: ClientChannels,
    /// The history, while it is shown.
    view: Option<View>,
    is_leaving: bool,
}

impl Showing<'_> {
    /// Prepares the terminal.
    fn begin(&mut self, output: &mut File) -> Result<(), NetError> {
        let begin = format!("{}{BEGIN}", self.settings.enter_screen());
        output.write_all(begin.as_bytes()).map_err(NetError::Terminal)?;
        self.shown = None;
        Ok(())
    }

    /// Leaves the terminal as it was.
    fn end(&self, output: &mut File) -> io::Result<()> {
        let end = format!("{END}{}", self.settings.leave_screen(self.size));
        output.write_all(end.as_bytes())
    }

    fn run(
        &mut self,
        input: &mut File,
        output: &mut File,
        signals: &Signals,
    ) -> Result<Ended, NetError> {
        let waiter = Waiter::new(self.link.clock, Span::ZERO);
        let changes = SignalWatch::size_changes().map_err(NetError::Wait)?;
        let (mut has_keys, mut is_started) = (false, false);
        loop {
            self.link.receive();
            if !is_started && self.link.client.is_connected() {
                is_started = true;
                release_code();
            }
            if has_keys {
                self.read_keys(input, output)?;
            }
            if changes.take() {
                self.resize(cells(TerminalSize::of(output.as_fd())));
            }
            if signals.take().is_some() {
                self.leave();
            }
            self.serve_channels();
            self.view.take_if(|view| self.link.known >= view.leaves_at());
            self.link.transmit();
            self.draw(output)?;
            let now = self.link.clock.now();
            if self.link.client.is_over(now) {
                return Ok(if self.is_leaving { Ended::ByUser } else { Ended::ByServer });
            }
            if !self.link.client.is_connected() && self.link.client.silence(now) > PATIENCE {
                return Err(NetError::Unanswered { server: self.link.servers.current() });
            }
            let hop = self.link.sockets.next_hop().min(now.saturating_add(REFRESH));
            let wake = self.link.client.next_wake(now).min(hop);
            let wake = wake.min(self.view.map_or(Instant::MAX, |view| view.leaves_at()));
            let wake = wake.min(self.channels.next_wake());
            self.channels.arm(self.link.client.channels());
            let files: [BorrowedFd<'_>; 5] = [
                self.link.sockets.as_fd(),
                input.as_fd(),
                signals.as_fd(),
                changes.as_fd(),
                self.channels.as_fd(),
            ];
            has_keys = waiter.wait(files, wake).map_err(NetError::Wait)?[1];
        }
    }

    fn read_keys(&mut self, input: &mut File, output: &mut File) -> Result<(), NetError> {
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
            let _ = self.link.client.type_keys(self.link.known, &typed);
        }
        match command {
            Some(Command::Suspend) => self.suspend(output)?,
            Some(Command::History(place)) => {
                self.view =
                    Some(View::new(self.link.known, self.link.client.history(), self.size.rows()));
                self.scroll(&keys[place..]);
            }
            Some(Command::Leave) => self.leave(),
            Some(Command::Answer(is_allowed)) => {
                self.channels.answer(self.link.client.channels(), is_allowed);
            }
            None if count == 0 => self.leave(),
            None => {}
        }
        Ok(())
    }

    /// Gives the terminal to the user's shell, until the user returns.
    fn suspend(&mut self, output: &mut File) -> Result<(), NetError> {
        let suspended = self.end(output).and_then(|()| {
            output.write_all(b"[mosh is suspended.]\r\n")?;
            self.raw.suspend()
        });
        suspended.map_err(NetError::Terminal)?;
        self.resize(cells(TerminalSize::of(output.as_fd())));
        self.begin(output)
    }

    /// Hands keys to the history, which may be left by them.
    fn scroll(&mut self, keys: &[u8]) {
        let (now, rows) = (self.link.known, self.size.rows());
        if let Some(view) = &mut self.view
            && !view.read(now, keys, self.link.client.history(), rows)
        {
            self.view = None;
        }
    }

    fn serve_channels(&mut self) {
        let is_connected = self.link.client.is_connected();
        self.channels.serve(self.link.known, self.link.client.channels(), is_connected);
        if self.settings.escape.is_none() && self.channels.is_asking() {
            // Without commands there is no answer.
            self.channels.answer(self.link.client.channels(), false);
        }
        self.keyboard.set_asking(self.channels.is_asking());
    }

    fn resize(&mut self, size: Size) {
        if size != self.size && self.link.client.resize(size).is_ok() {
            self.size = size;
            self.shown = None;
        }
    }

    fn leave(&mut self) {
        if !self.is_leaving {
            self.is_leaving = true;
            self.link.client.shutdown(self.link.clock.now());
        }
    }

    /// What the terminal is to show.
    fn features(&self) -> Features {
        if self.settings.styles { Features::STYLES } else { Features::MOSH }
    }

    /// Shows what is new.
    fn draw(&mut self, output: &mut File) -> Result<(), NetError> {
        let now = self.link.clock.now();
        let mut screen = self.link.client.screen(now);
        self.settings.restrict(&mut screen);
        if let Some(view) = &self.view {
            view.draw(self.link.client.history(), &mut screen);
        }
        let message = self.channels.message(&key_name(self.settings.escape));
        Notice::of(&self.link.client, now, self.is_leaving).or(message).draw(&mut screen);
        let bytes = match &self.shown {
            Some(shown) if *shown == screen => return Ok(()),
            Some(shown) => self.features().update(shown, &screen, true),
            None => self.features().update(&Screen::new(screen.size()), &screen, false),
        };
        output.write_all(&bytes).map_err(NetError::Terminal)?;
        self.shown = Some(screen);
        Ok(())
    }
}
