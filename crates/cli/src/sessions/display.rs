//! [`Display`]: shows a running session; and [`carry`], which runs it.

use super::history::History;
use super::screen::Screen;
use super::view::{Moment, View};
use crate::interrupt;
use crate::shell::{Failure, note, tell};
use exm_os::{AnyOf, Signal, Signals};
use exm_session::{Application, LoopControl, Session, State, Stats, drive};
use exm_units::{Instant, Span};
use std::io::IsTerminal;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitCode;

/// How often the screen is drawn and the keyboard read.
const FRAME: Span = Span::from_millis(200);
/// How often a line is printed.
const LINE: Span = Span::from_secs(1);
/// After this long without a response the user is notified that the server may not be running.
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

/// Shows the user how a session is doing.
pub(crate) struct Display<V> {
    kind: Kind,
    view: V,
    history: History,
    state: State,
    moves: u64,
    is_too_large: bool,
    /// The server that has not responded yet, until the user has been notified.
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
    /// A display of `view`: live if the standard output is a terminal that is `free` for it and `flags` allow
    /// it. `title` is the command.
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

    /// The same for a session with `server`, which has not responded yet.
    pub(crate) fn awaiting(self, server: &str) -> Display<V> {
        Display { awaited: Some(server.to_owned()), ..self }
    }

    /// Updates the display. Returns when to update it next, or `None` if the user has asked to quit.
    fn update<E>(&mut self, session: &Session, application: &E) -> Option<Instant>
    where
        V: View<E>,
    {
        let now = session.clock().now();
        if now < self.next {
            return Some(self.next);
        }
        let stats = session.stats();
        self.history.record(now, &stats);
        let moment = Moment { now, stats: &stats, history: &self.history, application };
        let news = self.view.look(&moment);
        let news = news.as_deref();
        self.next = now + FRAME;
        match &mut self.kind {
            Kind::Quiet => self.next = now + LINE,
            Kind::Notes => self.report(now, &stats, news),
            Kind::Lines => {
                self.next = now + LINE;
                let line = self.history.line(&stats) + &self.view.line(application);
                self.report(now, &stats, news);
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

    /// Reports changes, and the `news`.
    fn report(&mut self, now: Instant, stats: &Stats, news: Option<&str>) {
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
                "{server} does not respond: see that the server runs there with the same key, and \
                 that firewalls let its UDP port through; trying on"
            ));
        }
        if let Some(news) = news {
            at(news);
        }
        if stats.counters.socket_errors.too_large > 0 && !self.is_too_large {
            self.is_too_large = true;
            at("packets exceed the path MTU: give a smaller --mtu");
        }
    }
}

/// Other work in the event loop of a session.
pub(crate) trait Aside<E> {
    /// A file that is readable when there is work. It stays the same.
    fn file(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Does the work after a round of the loop, in which that file was readable if `alarmed`. Returns when to call it
    /// again even if the file is not readable by then.
    fn work(&mut self, _session: &Session, _application: &E, _alarmed: bool) -> Instant {
        Instant::MAX
    }
}

/// No other work.
impl<E> Aside<E> for () {}

/// Runs `application` until it is done or the user ends it, and the work of `aside`. Returns the signal that ended it,
/// if one did.
pub(crate) fn carry<E: Application, V: View<E>>(
    session: &mut Session,
    application: &mut E,
    mut display: Display<V>,
    aside: &mut impl Aside<E>,
) -> Result<Option<Signal>, Failure> {
    let signals = Signals::catch()?;
    interrupt::hand_over();
    let mut ended = None;
    let alarm = [Some(signals.as_fd()), aside.file()];
    let alarm = AnyOf::new(&alarm.into_iter().flatten().collect::<Vec<_>>())?;
    let monitor = |session: &Session, application: &E, alarmed: bool| {
        ended = if alarmed { signals.take() } else { None };
        if ended.is_some() {
            return LoopControl::Stop;
        }
        let next = aside.work(session, application, alarmed);
        match display.update(session, application) {
            Some(again) => LoopControl::WakeAt(again.min(next)),
            None => {
                ended = Some(Signal::Interrupt);
                LoopControl::Stop
            }
        }
    };
    let driven = drive(session, application, alarm.as_fd(), monitor);
    // Restores the terminal before anything else is printed.
    drop(display);
    match driven {
        // The reader of our output has closed it.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(ended),
        Err(error) => Err(Failure::new(format!("the session cannot continue: {error}"))),
        Ok(()) => Ok(ended),
    }
}

/// The exit code of a program that `signal`, if any, has ended.
pub(crate) fn code_of(signal: Option<Signal>) -> ExitCode {
    signal.map_or(ExitCode::SUCCESS, |signal| ExitCode::from(signal.exit_code()))
}
