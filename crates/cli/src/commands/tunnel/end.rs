//! [`Tunnel`]: what both ends of a tunnel have in common.

use exm_session::{Application, Session};
use exm_tunnel::{Client, Network, Pipe, Server, Status};
use std::io;

/// An end of a tunnel, as the display and the summary see it.
pub(super) trait Tunnel: Application {
    /// Its pipe, once the tunnel is up.
    fn pipe(&self) -> Option<&Pipe>;
    /// The addresses of both ends, once they are known.
    fn network(&self) -> Option<Network>;
    /// Whether IPv6 is unreachable because the tunnel's MTU is too small for it.
    fn is_v6_unreachable(&self) -> bool {
        false
    }
    /// What the user should know about the machine's network since the start.
    fn notices(&self) -> &[String] {
        &[]
    }
    /// Whether traffic outside the tunnel stays blocked when the process ends.
    fn has_kill_switch(&self) -> bool {
        false
    }
    /// Its status, for other programs.
    fn status(&self, session: &Session) -> Status;
    /// Lifts the kill switch, if there is one.
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

    fn notices(&self) -> &[String] {
        Client::notices(self)
    }

    fn is_v6_unreachable(&self) -> bool {
        Client::is_v6_unreachable(self)
    }

    fn status(&self, session: &Session) -> Status {
        Status::of_client(session, self)
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

    fn status(&self, session: &Session) -> Status {
        Status::of_server(session, self)
    }
}
