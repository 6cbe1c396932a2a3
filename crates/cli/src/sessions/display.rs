//! [`Display`]: what is told of a session while it goes on; and [`carry`], which goes on with it.

use super::history::History;
use super::screen::Screen;
use crate::interrupt;
use crate::shell::{Failure, note, tell};
use exm_os::{Signal, Signals};
use exm_session::{Errand, Look, Session, State, Stats, drive};
use exm_units::{Instant, Span};
use ratatui::Frame;
use ratatui::layout::Rect;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::process::ExitCode;

/// How often the screen is drawn, and the keyboard asked.
const FRAME: Span = Span::from_millis(200);
/// How often a line is printed.
const LINE: Span = Span::from_secs(1);
/// A server that has not answered for so long may not be there.
const PATIENCE: Span = Span::from_secs(5);

/// How a session is shown.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct DisplayFlags {
    /// Print a line a second instead of a live display
    #[arg(long)]
    pub(crate) plain: bool,
    /// Print nothing but errors
    #[arg(long, conflicts_with = "plain")]
    pub(crate) quiet: bool,
}

/// A session at one moment, and what it is for.
pub(crate) struct Moment<'a, E> {
    /// When it is.
    pub(crate) now: Instant,
    /// What the session is doing.
    pub(crate) stats: &'a Stats,
    /// The last minute of it.
    pub(crate) history: &'a History,
    /// What it is for.
    pub(crate) errand: &'a E,
}

/// What is shown of what a session is for.
pub(crate) trait View<E> {
    /// Looks at what is new; what the user is told of it, once.
    fn look(&mut self, _moment: &Moment<'_, E>) -> Option<String> {
        None
    }

    /// What stands at the end of a line a second.
    fn line(&self, _errand: &E) -> String {
        String::new()
    }

    /// Draws the session and what it is for.
    fn draw(&self, frame: &mut Frame, area: Rect, moment: &Moment<'_, E>);
}

/// Tells the user how a session is.
pub(crate) struct Display<V> {
    kind: Kind,
    view: V,
    history: History,
    state: State,
    moves: u64,
    is_too_large: bool,
    /// The server that is to answer, until it has, or the user was told that it does not.
    awaited: Option<String>,
    next: Instant,
}

enum Kind {
    Quiet,
    /// Changes only.
    Notes,
    /// Changes, and a line a second.
    Lines,
    Live(Box<Screen>),
}

impl<V> Display<V> {
    /// A live one of `view` where the standard output is a terminal that is `free` for it, and `flags`
    /// say nothing else. `title` is the command.
    pub(crate) fn new(title: &str, flags: DisplayFlags, free: bool, view: V) -> Display<V> {
        let live = || free && std::io::stdout().is_terminal();
        let kind = match flags {
            DisplayFlags { quiet: true, .. } => Kind::Quiet,
            DisplayFlags { plain: true, .. } => Kind::Lines,
            _ if live() => Screen::open(title).map_or(Kind::Notes, |s| Kind::Live(Box::new(s))),
            _ => Kind::Notes,
        };
        Display {
            kind,
            view,
            history: History::default(),
            state: State::Waiting,
            moves: 0,
            is_too_large: false,
            awaited: None,
            next: Instant::ZERO,
        }
    }

    /// The same of a session with `server`, which is to answer.
    pub(crate) fn awaiting(self, server: &str) -> Display<V> {
        Display { awaited: Some(server.to_owned()), ..self }
    }

    /// Shows what is new. When it wants to be asked again; nothing where the user wants to end.
    fn update<E>(&mut self, session: &Session, errand: &E) -> Option<Instant>
    where
        V: View<E>,
    {
        let now = session.clock().now();
        if now < self.next {
            return Some(self.next);
        }
        let stats = session.stats();
        self.history.record(now, &stats);
        let moment = Moment { now, stats: &stats, history: &self.history, errand };
        let news = self.view.look(&moment);
        let news = news.as_deref();
        self.next = now + FRAME;
        match &mut self.kind {
            Kind::Quiet => self.next = now + LINE,
            Kind::Notes => self.tell(now, &stats, news),
            Kind::Lines => {
                self.next = now + LINE;
                let line = self.history.line(&stats) + &self.view.line(errand);
                self.tell(now, &stats, news);
                tell(&(line + "\n"));
            }
            Kind::Live(screen) => {
                let view = &self.view;
                screen.draw(|frame, area| view.draw(frame, area, &moment));
                if screen.wants_end() {
                    return None;
                }
            }
        }
        Some(self.next)
    }

    /// Tells of changes, and of the `news`.
    fn tell(&mut self, now: Instant, stats: &Stats, news: Option<&str>) {
        let at = |text: &str| note(&format!("{:.1} s: {text}", now.as_secs_f64()));
        if stats.state != self.state || stats.counters.moves != self.moves {
            (self.state, self.moves) = (stats.state, stats.counters.moves);
            let peer = stats.peer.map_or("the other end".to_owned(), |peer| peer.to_string());
            match stats.state {
                State::Waiting => at("waiting"),
                State::Established => at(&format!("in session with {peer}")),
                State::Silent => at(&format!("nothing received from {peer} for 10 s")),
            }
        }
        if stats.state != State::Waiting {
            self.awaited = None;
        }
        if let Some(server) = self.awaited.take_if(|_| now >= Instant::ZERO + PATIENCE) {
            at(&format!(
                "{server} does not answer: see that the server runs there with the same key, and \
                 that firewalls let its UDP port through; trying on"
            ));
        }
        if let Some(news) = news {
            at(news);
        }
        if stats.counters.refused.too_large > 0 && !self.is_too_large {
            self.is_too_large = true;
            at("packets are larger than the way to the other end carries: give a smaller --mtu");
        }
    }
}

/// Carries on with `errand` until it is done or the user wants to end. The signal by which it was ended
/// before it was done.
pub(crate) fn carry<E: Errand, V: View<E>>(
    session: &mut Session,
    errand: &mut E,
    mut display: Display<V>,
) -> Result<Option<Signal>, Failure> {
    let signals = Signals::catch()?;
    interrupt::hand_over();
    let mut ended = None;
    let look = |session: &Session, errand: &E, alarmed: bool| {
        ended = if alarmed { signals.take() } else { None };
        if ended.is_some() {
            return Look::Stop;
        }
        match display.update(session, errand) {
            Some(again) => Look::Again(again),
            None => {
                ended = Some(Signal::Interrupt);
                Look::Stop
            }
        }
    };
    let driven = drive(session, errand, signals.as_fd(), look);
    // The terminal is the user's again before anything else is told.
    drop(display);
    match driven {
        // Whoever read what is printed has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(ended),
        Err(error) => Err(Failure::new(format!("the session cannot go on: {error}"))),
        Ok(()) => Ok(ended),
    }
}

/// What the program ends with that was ended by `signal`, if it was.
pub(crate) fn code_of(signal: Option<Signal>) -> ExitCode {
    signal.map_or(ExitCode::SUCCESS, |signal| ExitCode::from(signal.exit_code()))
}
