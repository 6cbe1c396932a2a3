//! [`ServerChannels`]: serves the channels of a server: ports, its socket for the client's SSH agent, and files.

use super::agent::AgentSocket;
use super::files::Transfers;
use super::forward::listen;
use super::relay::{Relay, accepted};
use crate::channels::{ChannelId, Channels, Event, Opening, Reason};
use std::collections::BTreeMap;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};

/// The sockets and files of a server.
#[derive(Debug)]
pub(super) struct ServerChannels {
    relay: Relay,
    agent: Option<AgentSocket>,
    listeners: BTreeMap<ChannelId, Vec<TcpListener>>,
    files: Transfers,
}

impl ServerChannels {
    /// With a socket for the client's `agent`, if that is granted.
    ///
    /// # Errors
    /// The process has too many files open.
    pub(super) fn new(agent: Option<AgentSocket>) -> io::Result<ServerChannels> {
        let relay = Relay::new()?;
        if let Some(agent) = &agent {
            relay.watch(agent)?;
        }
        let files = Transfers::default();
        Ok(ServerChannels { relay, agent, listeners: BTreeMap::new(), files })
    }

    /// Another client has come: what the one before had is closed.
    ///
    /// # Errors
    /// The process has too many files open.
    pub(super) fn reset(&mut self) -> io::Result<()> {
        *self = ServerChannels::new(self.agent.take())?;
        Ok(())
    }

    /// Does what can be done.
    pub(super) fn serve(&mut self, channels: &mut Channels) {
        self.take_connections(channels);
        loop {
            while let Some(event) = channels.next_event() {
                self.process(channels, event);
            }
            if !self.relay.pump(channels) {
                break;
            }
        }
        self.files.advance(channels);
    }

    fn take_connections(&mut self, channels: &mut Channels) {
        for (id, listeners) in &self.listeners {
            for (socket, origin) in listeners.iter().flat_map(accepted) {
                let opening = Opening::Incoming { listener: id.0, origin };
                self.relay.open(channels, socket.into(), opening);
            }
        }
        for socket in
            self.agent.iter().flat_map(|agent| std::iter::from_fn(|| agent.accept()).take(16))
        {
            self.relay.open(channels, socket.into(), Opening::Agent);
        }
    }

    fn process(&mut self, channels: &mut Channels, event: Event) {
        if self.relay.process(&event) || self.files.process(&event) {
            return;
        }
        match event {
            Event::Opened(id, Opening::Tcp { host, port }) => {
                self.relay.connect(channels, id, (&host, port));
            }
            Event::Opened(id, Opening::Listen { address, port }) => {
                self.listen(channels, id, (&address, port));
            }
            Event::Opened(id, opening @ (Opening::Fetch { .. } | Opening::Store { .. })) => {
                self.files.open(channels, id, opening);
            }
            Event::Opened(id, _) => channels.refuse(id, Reason::Unsupported),
            Event::Data(id) => {
                // Nobody sends anything on a channel that listens.
                channels.read(id, usize::MAX);
            }
            Event::Ended(id) => channels.end(id),
            Event::Closed(id, _) => drop(self.listeners.remove(&id)),
            _ => {}
        }
    }

    fn listen(&mut self, channels: &mut Channels, id: ChannelId, (address, port): (&str, u16)) {
        let is_numeric = matches!(address, "" | "*" | "localhost")
            || address.parse::<std::net::IpAddr>().is_ok();
        if !is_numeric {
            // Resolving a name would keep the session waiting.
            return channels.refuse(id, Reason::Failed(format!("{address} is not an address")));
        }
        let listeners = listen(Some(address), port).and_then(|listeners| {
            listeners.iter().try_for_each(|listener| self.relay.watch(listener))?;
            Ok(listeners)
        });
        match listeners {
            Ok(listeners) => {
                self.listeners.insert(id, listeners);
                channels.accept(id);
            }
            Err(error) => channels.refuse(id, Reason::Failed(error.to_string())),
        }
    }

    /// Whether [`ServerChannels::serve`] has more to do at once.
    pub(super) fn is_busy(&self) -> bool {
        self.files.is_busy()
    }

    /// To be called before waiting.
    pub(super) fn arm(&mut self, channels: &Channels) {
        self.relay.arm(channels);
    }
}

impl AsFd for ServerChannels {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.relay.as_fd()
    }
}
