//! Runs an end of a tunnel until the user ends it, and prints a summary.

use super::control::ControlSocket;
use super::end::Tunnel;
use super::qlog::{Qlog, QlogFlags};
use super::summary::Summary;
use super::view::TunnelView;
use crate::sessions::{Aside, Display, DisplayFlags, carry, code_of};
use crate::shell::{Failure, Printing};
use exm_os::{Rights, network_remedy, set_realtime_priority};
use exm_qlog::Vantage;
use exm_session::Session;
use exm_tunnel::Pipe;
use exm_units::Instant;
use std::os::fd::BorrowedFd;
use std::process::ExitCode;

/// Options of both ends of a tunnel.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Tunnel")]
pub(super) struct TunnelFlags {
    /// The name of the tunnel's network device; %d becomes the first free number
    #[arg(long, value_name = "NAME", default_value = "exm%d", value_parser = device)]
    pub(super) device: String,
    /// Use real-time priority (SCHED_FIFO), for machines whose processors are busy; a flood of
    /// packets from outside can then starve other programs
    #[arg(long)]
    realtime: bool,
    #[command(flatten)]
    pub(super) display: DisplayFlags,
}

/// Parses the name of a network device.
fn device(text: &str) -> Result<String, String> {
    let fits = (1..16).contains(&text.len()) && text != "." && text != "..";
    if fits && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/' && byte != b':') {
        Ok(text.to_owned())
    } else {
        Err("give 1 to 15 characters, such as exm0".to_owned())
    }
}

/// Checks whether this process may change the machine's network.
pub(super) fn check_rights() -> Result<(), Failure> {
    if Rights::has_network() {
        return Ok(());
    }
    let problem = "a tunnel changes this machine's devices and routes, which only root may";
    Err(Failure::new(problem).with_tip(network_remedy()))
}

impl TunnelFlags {
    /// Whether to run at real-time priority.
    pub(super) fn is_realtime(&self) -> bool {
        self.realtime
    }

    /// The display of the tunnel; `title` is the command.
    pub(super) fn display(&self, title: &str, printing: Printing) -> Display<TunnelView> {
        Display::new(title, self.display, !printing.is_json(), TunnelView::default())
    }
}

/// The work beside a tunnel.
struct Beside {
    control: ControlSocket,
    qlog: Option<Qlog>,
}

impl<T: Tunnel> Aside<T> for Beside {
    fn file(&self) -> Option<BorrowedFd<'_>> {
        self.control.file()
    }

    fn work(&mut self, session: &Session, tunnel: &T, alarmed: bool) -> Instant {
        if let Some(qlog) = &mut self.qlog {
            qlog.look(session);
        }
        let device = tunnel.pipe().map(Pipe::device_name);
        let moment = (session.clock().now(), alarmed);
        self.control.update(moment, device, || tunnel.status(session))
    }
}

/// Runs the tunnel until the user ends it, and prints a summary. `log` is the log of its session, as seen from its end.
/// Returns the exit code.
pub(super) fn run<T: Tunnel>(
    (mut session, mut tunnel): (Session, T),
    display: Display<TunnelView>,
    log: (&QlogFlags, Vantage),
    flags: &TunnelFlags,
    printing: Printing,
) -> Result<ExitCode, Failure> {
    if flags.realtime {
        set_realtime_priority();
    }
    let qlog = log.0.begin(&mut session, log.1)?;
    let mut beside = Beside { control: ControlSocket::open(), qlog };
    Rights::keep_network_only()?;
    let carried = carry(&mut session, &mut tunnel, display, &mut beside);
    if let Some(qlog) = beside.qlog {
        qlog.finish(&mut session);
    }
    let ended = carried.map_err(|failure| match tunnel.has_kill_switch() {
        true => {
            failure.with_tip("traffic stays blocked: \"exm tunnel unblock\" lifts the kill switch")
        }
        false => failure,
    })?;
    tunnel.lift_kill_switch()?;
    let summary = tunnel.pipe().map(|pipe| Summary::new(&session, pipe, tunnel.network()));
    if let Some(summary) = summary.filter(|_| !flags.display.quiet || printing.is_json()) {
        printing.print(&summary)?;
    }
    Ok(code_of(ended))
}
