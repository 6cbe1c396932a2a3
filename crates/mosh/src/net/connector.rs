//! [`Connector`]: connects to TCP ports by name without keeping the session waiting.

use crate::channels::ChannelId;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// How long one address is tried.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many addresses of a name are tried.
const MOST_ADDRESSES: usize = 4;
/// How many connections are attempted at the same time: each has a thread, because the system's resolver waits.
const MOST_ATTEMPTS: usize = 32;

/// The result for a channel: its socket, or what went wrong.
type Connected = (ChannelId, io::Result<TcpStream>);

/// Connects to TCP ports in threads of its own, a bounded number.
#[derive(Debug)]
pub(super) struct Connector {
    results: (Sender<Connected>, Receiver<Connected>),
    /// Readable once there is a result; the second end wakes the first.
    wake: (UnixStream, UnixStream),
    attempts: usize,
}

impl Connector {
    pub(super) fn new() -> io::Result<Connector> {
        let wake = UnixStream::pair()?;
        wake.0.set_nonblocking(true)?;
        wake.1.set_nonblocking(true)?;
        Ok(Connector { results: channel(), wake, attempts: 0 })
    }

    /// Begins to connect to `port` of `host`, for the channel `id`. Returns false if too many attempts are under way.
    pub(super) fn connect(&mut self, id: ChannelId, host: &str, port: u16) -> bool {
        if self.attempts >= MOST_ATTEMPTS {
            return false;
        }
        let Ok(wake) = self.wake.1.try_clone() else { return false };
        let (sender, host) = (self.results.0.clone(), host.to_owned());
        let attempt = move || {
            // If nobody waits for it any more, the socket is closed.
            let _ = sender.send((id, connect(&host, port)));
            let _ = (&wake).write(&[0]);
        };
        let started = thread::Builder::new().name("connect".to_owned()).spawn(attempt).is_ok();
        self.attempts += usize::from(started);
        started
    }

    /// The next result.
    pub(super) fn next(&mut self) -> Option<Connected> {
        let _ = (&self.wake.0).read(&mut [0; MOST_ATTEMPTS]);
        let result = self.results.1.try_recv().ok()?;
        self.attempts -= 1;
        Some(result)
    }
}

impl AsFd for Connector {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.0.as_fd()
    }
}

fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()?.take(MOST_ADDRESSES) {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}
