//! A tunnel that goes on until the user says so; and what is told of it meanwhile, and at the end.

use super::flows::Flows;
use super::screen::Screen;
use super::summary::Summary;
use crate::commands::sprout::{DisplayFlags, History};
use crate::interrupt;
use crate::shell::{Failure, Printing, note};
use exm_os::{Rights, Signal, Signals, be_first_in_line};
use exm_session::{Errand, Look, Session, State, Stats, drive};
use exm_tunnel::{Client, Network, Pipe, Server};
use exm_units::{Instant, Span};
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

/// How often the screen is drawn, and the keyboard asked.
const FRAME: Span = Span::from_millis(200);
/// How often a line is printed.
const LINE: Span = Span::from_secs(1);

/// What both ends of a tunnel are told.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct TunnelFlags {
    /// What the tunnel's network device is called; %d becomes the first number that is free
    #[arg(long, value_name = "NAME", default_value = "exm%d", value_parser = device)]
    pub(super) device: String,
    /// Do not run before other programs
    #[arg(long)]
    calm: bool,
    #[command(flatten)]
    display: DisplayFlags,
}

/// What the kernel takes for the name of a device.
fn device(text: &str) -> Result<String, String> {
    let fits = (1..16).contains(&text.len()) && text != "." && text != "..";
    if fits && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/' && byte != b':') {
        Ok(text.to_owned())
    } else {
        Err("give 1 to 15 letters, digits and the like, such as exm0".to_owned())
    }
}

impl TunnelFlags {
    /// Whether this process may change the machine's network.
    pub(super) fn check_rights(&self) -> Result<(), Failure> {
        if Rights::are_there() {
            return Ok(());
        }
        let problem = "a tunnel changes this machine's devices and routes, which only root may";
        Err(Failure::new(problem).with_tip("run it as root, by sudo for instance"))
    }
}

/// An end of a tunnel, as far as it is shown.
pub(super) trait Tunnel: Errand {
    /// What carries its packets, once there is something to carry them to.
    fn pipe(&self) -> Option<&Pipe>;
    /// The addresses of both ends, once they are known.
    fn network(&self) -> Option<Network>;
}

impl Tunnel for Client {
    fn pipe(&self) -> Option<&Pipe> {
        Client::pipe(self)
    }

    fn network(&self) -> Option<Network> {
        Client::network(self)
    }
}

impl Tunnel for Server {
    fn pipe(&self) -> Option<&Pipe> {
        Some(Server::pipe(self))
    }

    fn network(&self) -> Option<Network> {
        Some(Server::network(self))
    }
}

/// Tells the user how the tunnel is.
pub(super) struct Display {
    kind: Kind,
    printing: Printing,
    is_calm: bool,
    history: History,
    flows: Flows,
    state: State,
    moves: u64,
    is_up: bool,
    is_too_large: bool,
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
    /// A live one where the standard output is a terminal and `flags` say nothing else.
    pub(super) fn new(title: &str, flags: &TunnelFlags, printing: Printing) -> Display {
        let live = || !printing.is_json() && std::io::stdout().is_terminal();
        let kind = match flags.display {
            DisplayFlags { quiet: true, .. } => Kind::Quiet,
            DisplayFlags { plain: true, .. } => Kind::Lines,
            _ if live() => Screen::open(title).map_or(Kind::Notes, |s| Kind::Live(Box::new(s))),
            _ => Kind::Notes,
        };
        Display {
            kind,
            printing,
            is_calm: flags.calm,
            history: History::default(),
            flows: Flows::default(),
            state: State::Waiting,
            moves: 0,
            is_up: false,
            is_too_large: false,
            next: Instant::ZERO,
        }
    }

    /// Shows what is new. When it wants to be asked again; nothing where the user wants to end.
    fn update<T: Tunnel>(&mut self, session: &Session, tunnel: &T) -> Option<Instant> {
        let now = session.clock().now();
        if now < self.next {
            return Some(self.next);
        }
        let stats = session.stats();
        self.history.record(now, &stats);
        if let Some(pipe) = tunnel.pipe() {
            self.flows.update(now, pipe);
        }
        self.next = now + FRAME;
        match &mut self.kind {
            Kind::Quiet => self.next = now + LINE,
            Kind::Notes => self.tell(now, &stats, tunnel),
            Kind::Lines => {
                self.next = now + LINE;
                self.tell(now, &stats, tunnel);
                let line = self.history.line(&stats) + &queues(tunnel);
                // What cannot be shown is not worth failing for.
                let _ = writeln!(std::io::stderr(), "{line}");
            }
            Kind::Live(screen) => {
                screen.draw(&self.history, (now, &stats), &self.flows, tunnel);
                if screen.wants_end() {
                    return None;
                }
            }
        }
        Some(self.next)
    }

    /// Tells of a change.
    fn tell<T: Tunnel>(&mut self, now: Instant, stats: &Stats, tunnel: &T) {
        let at = now.as_secs_f64();
        if stats.state != self.state || stats.counters.moves != self.moves {
            (self.state, self.moves) = (stats.state, stats.counters.moves);
            let peer = stats.peer.map_or("nobody".to_owned(), |peer| peer.to_string());
            note(&match stats.state {
                State::Waiting => format!("{at:.1} s: waiting"),
                State::Established => format!("{at:.1} s: in session with {peer}"),
                State::Silent => format!("{at:.1} s: nothing heard from {peer} for 10 s"),
            });
        }
        if let (Some(pipe), Some(network), false) = (tunnel.pipe(), tunnel.network(), self.is_up) {
            self.is_up = true;
            note(&format!(
                "{at:.1} s: the tunnel is up: device {}, server {}, client {}, packets of up to {} \
                 bytes",
                pipe.device_name(),
                network.server(),
                network.client(),
                pipe.mtu(),
            ));
        }
        if stats.counters.refused.too_large > 0 && !self.is_too_large {
            self.is_too_large = true;
            note("packets are larger than the way to the other end carries: give a smaller --mtu");
        }
    }
}

/// What waits and what was dropped, at the end of a line.
fn queues<T: Tunnel>(tunnel: &T) -> String {
    let Some(queues) = tunnel.pipe().map(Pipe::queues) else { return String::new() };
    let (waiting, dropped) = (queues.waiting(), queues.dropped());
    let (bytes, bound) = (waiting.bytes, queues.bound().get());
    format!("  queues {bytes:7} of {bound:7}  dropped {}", dropped.packets)
}

/// Carries on until the user wants to end, and tells what was carried. The code is what the program
/// ends with.
pub(super) fn run<T: Tunnel>(
    mut session: Session,
    mut tunnel: T,
    mut display: Display,
) -> Result<ExitCode, Failure> {
    let signals = Signals::catch()?;
    interrupt::hand_over();
    if !display.is_calm {
        be_first_in_line();
    }
    let mut ended = None;
    let look = |session: &Session, tunnel: &T, alarmed: bool| {
        ended = if alarmed { signals.take() } else { None };
        if ended.is_some() {
            return Look::Stop;
        }
        match display.update(session, tunnel) {
            Some(again) => Look::Again(again),
            None => {
                ended = Some(Signal::Interrupt);
                Look::Stop
            }
        }
    };
    let driven = drive(&mut session, &mut tunnel, signals.as_fd(), look);
    let is_quiet = matches!(display.kind, Kind::Quiet) && !display.printing.is_json();
    // The terminal is the user's again before anything else is told.
    display.kind = Kind::Quiet;
    driven.map_err(|error| Failure::new(error.to_string()))?;
    let summary = tunnel.pipe().map(|pipe| Summary::new(&session, pipe, tunnel.network()));
    if let Some(summary) = summary.filter(|_| !is_quiet) {
        display.printing.print(&summary)?;
    }
    Ok(ended.map_or(ExitCode::SUCCESS, |signal| ExitCode::from(signal.exit_code())))
}
