//! A tunnel that goes on until the user says so; and what is told of it meanwhile, and at the end.

use super::summary::Summary;
use super::view::TunnelView;
use crate::sessions::{Display, DisplayFlags, carry, code_of};
use crate::shell::{Failure, Printing};
use exm_os::{Rights, set_realtime_priority};
use exm_session::{Errand, Session};
use exm_tunnel::{Client, Network, Pipe, Server};
use std::io;
use std::process::ExitCode;

/// What both ends of a tunnel are told.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Tunnel")]
pub(super) struct TunnelFlags {
    /// What the tunnel's network device is called; %d becomes the first number that is free
    #[arg(long, value_name = "NAME", default_value = "exm%d", value_parser = device)]
    pub(super) device: String,
    /// Run at real-time priority (SCHED_FIFO), for when other programs keep the processors busy; then
    /// a flood of packets from outside can starve them
    #[arg(long)]
    realtime: bool,
    /// Without effect: what it asked for is the default
    #[arg(long, hide = true)]
    calm: bool,
    #[command(flatten)]
    pub(super) display: DisplayFlags,
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

/// Whether this process may change the machine's network.
pub(super) fn check_rights() -> Result<(), Failure> {
    if Rights::are_there() {
        return Ok(());
    }
    let problem = "a tunnel changes this machine's devices and routes, which only root may";
    Err(Failure::new(problem).with_tip("run it as root, by sudo for instance"))
}

impl TunnelFlags {
    /// How the tunnel is shown; `title` is the command.
    pub(super) fn display(&self, title: &str, printing: Printing) -> Display<TunnelView> {
        Display::new(title, self.display, !printing.is_json(), TunnelView::default())
    }
}

/// An end of a tunnel, as far as it is shown.
pub(super) trait Tunnel: Errand {
    /// What carries its packets, once there is something to carry them to.
    fn pipe(&self) -> Option<&Pipe>;
    /// The addresses of both ends, once they are known.
    fn network(&self) -> Option<Network>;
    /// Whether IPv6 is unreachable, as the tunnel's packets are too small for it.
    fn is_v6_unreachable(&self) -> bool {
        false
    }
    /// Whether traffic past the tunnel stays blocked when the process ends.
    fn has_kill_switch(&self) -> bool {
        false
    }
    /// Lifts the kill switch, where there is one.
    fn lift_kill_switch(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Tunnel for Client {
    fn pipe(&self) -> Option<&Pipe> {
        Client::pipe(self)
    }

    fn network(&self) -> Option<Network> {
        Client::network(self)
    }

    fn is_v6_unreachable(&self) -> bool {
        Client::is_v6_unreachable(self)
    }

    fn has_kill_switch(&self) -> bool {
        Client::has_kill_switch(self)
    }

    fn lift_kill_switch(&mut self) -> io::Result<()> {
        Client::lift_kill_switch(self)
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

/// Carries on until the user wants to end, and tells what was carried. The code is what the program
/// ends with.
pub(super) fn run<T: Tunnel>(
    mut session: Session,
    mut tunnel: T,
    display: Display<TunnelView>,
    flags: &TunnelFlags,
    printing: Printing,
) -> Result<ExitCode, Failure> {
    if flags.realtime {
        set_realtime_priority();
    }
    let carried = carry(&mut session, &mut tunnel, display);
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
