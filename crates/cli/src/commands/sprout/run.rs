//! A session that goes on until it is done, or the user says so; and what is told of it meanwhile.

use super::history::History;
use super::screen::{Screen, wants_end};
use crate::interrupt;
use crate::shell::{Failure, note};
use exm_os::{Signal, Signals};
use exm_session::{Errand, Look, Session, State, Stats, drive};
use exm_units::{Instant, Span};
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

/// How often the screen is drawn, and the keyboard asked.
const FRAME: Span = Span::from_millis(200);
/// How often a line is printed.
const LINE: Span = Span::from_secs(1);

/// How a session is shown.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct DisplayFlags {
    /// Print a line a second instead of a live display
    #[arg(long)]
    pub(crate) plain: bool,
    /// Show and tell nothing but errors
    #[arg(long, conflicts_with = "plain")]
    pub(crate) quiet: bool,
}

/// Tells the user how the session is.
pub(super) struct Display {
    kind: Kind,
    history: History,
    state: State,
    moves: u64,
    too_large: bool,
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

impl Display {
    /// A live one where the standard output is a terminal that is `free` for it, and `flags` say
    /// nothing else.
    pub(super) fn new(title: &str, flags: DisplayFlags, free: bool) -> Display {
        let live = || free && std::io::stdout().is_terminal();
        let kind = match flags {
            DisplayFlags { quiet: true, .. } => Kind::Quiet,
            DisplayFlags { plain: true, .. } => Kind::Lines,
            _ if live() => Screen::open(title).map_or(Kind::Notes, |s| Kind::Live(Box::new(s))),
            _ => Kind::Notes,
        };
        Display {
            kind,
            history: History::default(),
            state: State::Waiting,
            moves: 0,
            too_large: false,
            next: Instant::ZERO,
        }
    }

    /// Shows what is new. When it wants to be asked again; nothing where the user wants to end.
    fn update(&mut self, session: &Session) -> Option<Instant> {
        let now = session.clock().now();
        if now < self.next {
            return Some(self.next);
        }
        let stats = session.stats();
        self.history.record(now, &stats);
        self.next = now + FRAME;
        match &mut self.kind {
            Kind::Quiet => self.next = now + LINE,
            Kind::Notes => self.tell(now, &stats),
            Kind::Lines => {
                self.next = now + LINE;
                self.tell(now, &stats);
                let line = self.history.line(&stats);
                // What cannot be shown is not worth failing for.
                let _ = writeln!(std::io::stderr(), "{line}");
            }
            Kind::Live(screen) => {
                screen.draw(&self.history, &stats);
                if wants_end() {
                    return None;
                }
            }
        }
        Some(self.next)
    }

    /// Tells of a change.
    fn tell(&mut self, now: Instant, stats: &Stats) {
        if stats.state != self.state || stats.counters.moves != self.moves {
            (self.state, self.moves) = (stats.state, stats.counters.moves);
            let peer = stats.peer.map_or(String::new(), |peer| format!(" with {peer}"));
            let text = match stats.state {
                State::Waiting => "waiting".to_owned(),
                State::Established => format!("in session{peer}"),
                State::Silent => format!("nothing heard{} for 10 s", peer.replace("with", "from")),
            };
            note(&format!("{:.1} s: {text}", now.as_secs_f64()));
        }
        if stats.counters.refused.too_large > 0 && !self.too_large {
            self.too_large = true;
            note("packets are larger than the way to the other end carries: give a smaller --mtu");
        }
    }
}

/// Carries on with `errand` until it is done or the user wants to end. The code is what the program
/// ends with.
pub(super) fn run<E: Errand>(
    mut session: Session,
    mut errand: E,
    mut display: Display,
) -> Result<ExitCode, Failure> {
    let ended = carry(&mut session, &mut errand, &mut display)?;
    Ok(ended.map_or(ExitCode::SUCCESS, |signal| ExitCode::from(signal.exit_code())))
}

/// The same, and by what it was ended before it was done.
pub(super) fn carry<E: Errand>(
    session: &mut Session,
    errand: &mut E,
    display: &mut Display,
) -> Result<Option<Signal>, Failure> {
    let signals = Signals::catch()?;
    interrupt::hand_over();
    let mut ended = None;
    let look = |session: &Session, _: &E, alarmed: bool| {
        ended = if alarmed { signals.take() } else { None };
        if ended.is_some() {
            return Look::Stop;
        }
        match display.update(session) {
            Some(again) => Look::Again(again),
            None => {
                ended = Some(Signal::Interrupt);
                Look::Stop
            }
        }
    };
    let driven = drive(session, errand, signals.as_fd(), look);
    // The terminal is the user's again before anything else is told.
    if let Kind::Live(_) = display.kind {
        display.kind = Kind::Quiet;
    }
    match driven {
        // Whoever read what is printed has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(ended),
        Err(error) => Err(Failure::new(format!("the session cannot go on: {error}"))),
        Ok(()) => Ok(ended),
    }
}
