//! [`Connection`]: one request to a control socket, and its reply.

use super::request::{LONGEST, Refusal, Target, parse};
use exm_units::Instant;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// The most bytes that are read or written at a time.
const PIECE: usize = 1 << 16;
/// The most pieces that are written in one round.
const MAX_PIECES: usize = 4;

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Its request is not complete.
    Reads,
    /// Its reply is not complete.
    Writes,
    /// It can be closed.
    Done,
}

/// A connection to a control socket.
#[derive(Debug)]
pub(super) struct Connection {
    stream: UnixStream,
    deadline: Instant,
    request: Vec<u8>,
    /// The reply, and how much of it has been written.
    reply: Option<(Arc<[u8]>, usize)>,
}

impl Connection {
    /// Over `stream`, which does not block, until `deadline`.
    pub(super) fn new(stream: UnixStream, deadline: Instant) -> Connection {
        Connection { stream, deadline, request: Vec::new(), reply: None }
    }

    /// When it is closed at the latest.
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Reads and writes what is possible now; `reply` makes the reply.
    pub(super) fn proceed(
        &mut self,
        reply: impl FnOnce(Result<Target, Refusal>) -> Arc<[u8]>,
    ) -> Progress {
        if self.reply.is_none() {
            let mut buffer = [0; LONGEST + 1];
            match self.stream.read(&mut buffer) {
                Ok(0) => return Progress::Done,
                Ok(length) => self.request.extend_from_slice(&buffer[..length]),
                Err(error) if is_passing(&error) => return Progress::Reads,
                Err(_) => return Progress::Done,
            }
            let Some(target) = parse(&self.request) else { return Progress::Reads };
            self.reply = Some((reply(target), 0));
        }
        self.write()
    }

    fn write(&mut self) -> Progress {
        let Some((reply, written)) = &mut self.reply else { return Progress::Reads };
        for _ in 0..MAX_PIECES {
            let rest = &reply[*written..];
            if rest.is_empty() {
                return Progress::Done;
            }
            match self.stream.write(&rest[..rest.len().min(PIECE)]) {
                Ok(0) => return Progress::Done,
                Ok(length) => *written += length,
                Err(error) if is_passing(&error) => return Progress::Writes,
                // The reader is gone.
                Err(_) => return Progress::Done,
            }
        }
        Progress::Writes
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Whether it is worth trying again.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
