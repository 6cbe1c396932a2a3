//! [`Relay`]: moves bytes between sockets and channels.

use super::connector::Connector;
use crate::channels::{ChannelId, Channels, Event, Opening, Reason};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown, send, shutdown, sockopt};
use std::collections::BTreeMap;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// How many bytes are moved at a time in each direction.
const CHUNK: usize = 64 << 10;
/// The most sockets, among them those whose channel is gone while their last bytes wait.
const MOST_SOCKETS: usize = 128;

/// The sockets of one end, each of which has a channel.
///
/// A socket is read only while its channel takes bytes, and a channel only while its socket does: the slower side sets the pace.
#[derive(Debug)]
pub(super) struct Relay {
    /// Readable if anything can be done.
    set: OwnedFd,
    connections: BTreeMap<ChannelId, Connection>,
    connector: Connector,
}

impl Relay {
    /// Without sockets.
    ///
    /// # Errors
    /// The process has too many files open.
    pub(super) fn new() -> io::Result<Relay> {
        let set = epoll::create(CreateFlags::CLOEXEC)?;
        let connector = Connector::new()?;
        epoll::add(&set, &connector, EventData::new_u64(0), EventFlags::IN)?;
        Ok(Relay { set, connections: BTreeMap::new(), connector })
    }

    /// Wakes the session when `listener` has a connection, too.
    pub(super) fn watch(&self, listener: impl AsFd) -> io::Result<()> {
        Ok(epoll::add(&self.set, listener, EventData::new_u64(0), EventFlags::IN)?)
    }

    /// Opens a channel for `socket`. If there is none, the socket is reset.
    pub(super) fn open(
        &mut self,
        channels: &mut Channels,
        socket: OwnedFd,
        opening: Opening,
    ) -> Option<ChannelId> {
        let mut connection = Connection::new(socket);
        let is_ready = self.connections.len() < MOST_SOCKETS && connection.prepare().is_ok();
        let Some(id) = is_ready.then(|| channels.open(opening).ok()).flatten() else {
            connection.reset();
            return None;
        };
        self.connections.insert(id, connection);
        Some(id)
    }

    /// Accepts the channel `id`, which is for `socket`.
    pub(super) fn accept(&mut self, channels: &mut Channels, id: ChannelId, socket: OwnedFd) {
        let mut connection = Connection::new(socket);
        if self.connections.len() >= MOST_SOCKETS {
            return channels.refuse(id, Reason::TooMany);
        }
        if let Err(error) = connection.prepare() {
            return channels.refuse(id, Reason::Failed(error.to_string()));
        }
        connection.is_open = true;
        channels.accept(id);
        self.connections.insert(id, connection);
    }

    /// Connects to `port` of `host`, and accepts or refuses the channel `id` then.
    pub(super) fn connect(&mut self, channels: &mut Channels, id: ChannelId, to: (&str, u16)) {
        if !self.connector.connect(id, to.0, to.1) {
            channels.refuse(id, Reason::TooMany);
        }
    }

    /// Processes an event of a channel. Returns whether the channel has a socket here.
    pub(super) fn process(&mut self, event: &Event) -> bool {
        let id = match event {
            Event::Accepted(id) | Event::Refused(id, _) | Event::Data(id) => id,
            Event::Ended(id) | Event::Closed(id, _) => id,
            Event::Opened(..) => return false,
        };
        let Some(connection) = self.connections.get_mut(id) else { return false };
        match event {
            Event::Accepted(_) => connection.is_open = true,
            Event::Ended(_) => connection.is_ending = true,
            Event::Closed(_, Reason::Finished) => connection.is_channel_gone = true,
            Event::Refused(..) | Event::Closed(..) => {
                if let Some(connection) = self.connections.remove(id) {
                    connection.reset();
                }
            }
            _ => {}
        }
        true
    }

    /// Moves what can be moved. To be called again after events that follow, until it returns false.
    pub(super) fn pump(&mut self, channels: &mut Channels) -> bool {
        while let Some((id, result)) = self.connector.next() {
            match result {
                Ok(socket) => self.accept(channels, id, socket.into()),
                Err(error) => channels.refuse(id, Reason::Failed(error.to_string())),
            }
        }
        let mut has_moved = false;
        self.connections.retain(|id, connection| match connection.pump(channels, *id) {
            Pumped::Idle => true,
            Pumped::Moved => {
                has_moved = true;
                true
            }
            Pumped::Over => false,
        });
        has_moved
    }

    /// To be called before waiting: from now on it is readable if a socket can do what its channel is ready for.
    pub(super) fn arm(&mut self, channels: &Channels) {
        for (id, connection) in &mut self.connections {
            connection.arm(&self.set, channels, *id);
        }
    }
}

impl AsFd for Relay {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.set.as_fd()
    }
}

/// What came of a round for a connection.
enum Pumped {
    Idle,
    Moved,
    Over,
}

/// A socket with its channel.
#[derive(Debug)]
struct Connection {
    socket: OwnedFd,
    /// Whether the channel was accepted.
    is_open: bool,
    /// Read from the channel and not written to the socket.
    pending: Vec<u8>,
    /// What the set watches it for.
    interest: EventFlags,
    /// Whether all was read from the socket.
    is_read: bool,
    /// Whether the peer's direction of the channel has ended.
    is_ending: bool,
    /// Whether the end of the channel was passed on.
    is_shut: bool,
    is_channel_gone: bool,
}

impl Connection {
    fn new(socket: OwnedFd) -> Connection {
        Connection {
            socket,
            is_open: false,
            pending: Vec::new(),
            interest: EventFlags::empty(),
            is_read: false,
            is_ending: false,
            is_shut: false,
            is_channel_gone: false,
        }
    }

    fn prepare(&mut self) -> io::Result<()> {
        rustix::io::ioctl_fionbio(&self.socket, true)?;
        // Keys that are forwarded do not wait for more of them; other sockets have no such option.
        let _ = sockopt::set_tcp_nodelay(&self.socket, true);
        Ok(())
    }

    /// Closes it so that a TCP peer knows that something is missing.
    fn reset(self) {
        let _ = sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
    }

    fn pump(&mut self, channels: &mut Channels, id: ChannelId) -> Pumped {
        if !self.is_open {
            return Pumped::Idle;
        }
        let moved = self.read(channels, id).and_then(|read| {
            let written = self.write(channels, id)?;
            Ok(read || written)
        });
        match moved {
            Ok(_) if self.is_channel_gone && self.pending.is_empty() => Pumped::Over,
            Ok(true) => Pumped::Moved,
            Ok(false) => Pumped::Idle,
            Err(error) => {
                channels.close(id, Reason::Failed(io::Error::from(error).to_string()));
                Pumped::Over
            }
        }
    }

    /// From the socket to the channel.
    fn read(&mut self, channels: &mut Channels, id: ChannelId) -> Result<bool, Errno> {
        let room = channels.writable(id).min(CHUNK);
        if self.is_read || self.is_channel_gone || room == 0 {
            return Ok(false);
        }
        let mut buffer = vec![0; room];
        match rustix::io::read(&self.socket, &mut buffer[..]) {
            Ok(0) => {
                self.is_read = true;
                channels.end(id);
                Ok(true)
            }
            Ok(count) => Ok(channels.write(id, &buffer[..count]) > 0),
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// From the channel to the socket.
    fn write(&mut self, channels: &mut Channels, id: ChannelId) -> Result<bool, Errno> {
        if self.pending.is_empty() {
            self.pending = channels.read(id, CHUNK);
        }
        let mut has_moved = false;
        if !self.pending.is_empty() {
            match send(&self.socket, &self.pending, SendFlags::NOSIGNAL) {
                Ok(count) => {
                    self.pending.drain(..count);
                    has_moved = count > 0;
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        if self.is_ending && !self.is_shut && self.pending.is_empty() {
            self.is_shut = true;
            // If the socket has failed, reading it says so.
            let _ = shutdown(&self.socket, Shutdown::Write);
            has_moved = true;
        }
        Ok(has_moved)
    }

    fn arm(&mut self, set: &OwnedFd, channels: &Channels, id: ChannelId) {
        let mut interest = EventFlags::empty();
        let is_readable = self.is_open && !self.is_read && !self.is_channel_gone;
        interest.set(EventFlags::IN, is_readable && channels.writable(id) > 0);
        interest.set(EventFlags::OUT, !self.pending.is_empty());
        if interest == self.interest {
            return;
        }
        let data = EventData::new_u64(0);
        // One that is not watched is looked at when something else happens.
        let _ = if interest.is_empty() {
            // Even so it would wake for errors.
            epoll::delete(set, &self.socket)
        } else if self.interest.is_empty() {
            epoll::add(set, &self.socket, data, interest)
        } else {
            epoll::modify(set, &self.socket, data, interest)
        };
        self.interest = interest;
    }
}

/// Accepts the connections that wait at `listener`, a few at a time.
pub(super) fn accepted(listener: &std::net::TcpListener) -> Vec<(TcpStream, String)> {
    std::iter::from_fn(|| listener.accept().ok())
        .take(16)
        .map(|(socket, from)| (socket, from.to_string()))
        .collect()
}

#[cfg(test)]
#[path = "relay_tests.rs"]
mod tests;
