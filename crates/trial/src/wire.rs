//! What the two ends say to each other on the connection of a turn, before and after the data.
//!
//! | who | what | bytes |
//! |---|---|---|
//! | client | the initiation of a handshake | 64 |
//! | server | its response, with the key of this turn | 64 |
//! | client | sealed: a [`Request`] | [`Request::FRAME`] |
//! | server | sealed: a [`Consent`] | [`Consent::FRAME`] |
//! | client | data, until it closes its side | |
//! | server | sealed: a [`Receipt`] | [`Receipt::FRAME`] |
//!
//! The data is zeros, and not authenticated: nobody reads it. What is measured of it at the sender is compared with the
//! receipt.

use exm_datagram::{OVERHEAD, Session};
use exm_endpoint::Handshake;
use exm_os::Clock;
use exm_units::{Instant, Span};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Of a turn.
pub(crate) const HANDSHAKE: Handshake = Handshake::new("exm kernel try 1", 1);
/// How often a read looks whether it is to stop.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// A message of a fixed size.
pub(crate) trait Message: Sized {
    /// Its size in bytes.
    const LENGTH: usize;
    /// Its size when it is sealed.
    const FRAME: usize = Self::LENGTH + OVERHEAD;

    fn write(&self, out: &mut Vec<u8>);

    /// `bytes` are as many as [`LENGTH`](Self::LENGTH).
    fn read(bytes: &[u8]) -> Option<Self>;
}

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// How long it sends.
    pub(crate) duration: Span,
    /// How much it sends at most.
    pub(crate) bytes: u64,
}

impl Message for Request {
    const LENGTH: usize = 16;

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.duration.as_nanos().to_be_bytes());
        out.extend_from_slice(&self.bytes.to_be_bytes());
    }

    fn read(bytes: &[u8]) -> Option<Request> {
        let (duration, bytes) = (number(bytes, 0)?, number(bytes, 8)?);
        Some(Request { duration: Span::from_nanos(duration), bytes })
    }
}

/// What the server allows: at least what was asked for, or it will not take the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Consent {
    /// The longest turn.
    pub(crate) duration: Span,
    /// The most bytes of one.
    pub(crate) bytes: u64,
}

impl Consent {
    /// Whether `request` is within it.
    pub(crate) fn covers(&self, request: &Request) -> bool {
        request.duration <= self.duration && request.bytes <= self.bytes
    }
}

impl Message for Consent {
    const LENGTH: usize = Request::LENGTH;

    fn write(&self, out: &mut Vec<u8>) {
        Request { duration: self.duration, bytes: self.bytes }.write(out);
    }

    fn read(bytes: &[u8]) -> Option<Consent> {
        let Request { duration, bytes } = Request::read(bytes)?;
        Some(Consent { duration, bytes })
    }
}

/// What arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Receipt {
    pub(crate) bytes: u64,
}

impl Message for Receipt {
    const LENGTH: usize = 8;

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes.to_be_bytes());
    }

    fn read(bytes: &[u8]) -> Option<Receipt> {
        Some(Receipt { bytes: number(bytes, 0)? })
    }
}

fn number(bytes: &[u8], place: usize) -> Option<u64> {
    Some(u64::from_be_bytes(*bytes.get(place..)?.first_chunk()?))
}

/// A connection, with the time by which something must have arrived.
pub(crate) struct Line<'a> {
    pub(crate) stream: &'a TcpStream,
    pub(crate) clock: Clock,
    pub(crate) stop: &'a AtomicBool,
}

impl Line<'_> {
    /// Reads as many bytes as `buffer` has.
    ///
    /// # Errors
    /// They did not arrive by `deadline`, or it was stopped before ([`ErrorKind::Interrupted`]).
    pub(crate) fn read(&self, buffer: &mut [u8], deadline: Instant) -> io::Result<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read_some(&mut buffer[filled..], deadline)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                size => filled += size,
            }
        }
        Ok(())
    }

    /// Reads what has arrived, at least a byte; none at the end of the stream.
    ///
    /// # Errors
    /// As [`Line::read`].
    pub(crate) fn read_some(&self, buffer: &mut [u8], deadline: Instant) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(LOOK))?;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(ErrorKind::Interrupted.into());
            }
            let mut stream = self.stream;
            match stream.read(buffer) {
                Err(error) if is_impatience(&error) => {}
                result => return result,
            }
            if self.clock.now() >= deadline {
                return Err(ErrorKind::TimedOut.into());
            }
        }
    }

    /// Reads and opens a message.
    ///
    /// # Errors
    /// As [`Line::read`]; and it is not authentic.
    pub(crate) fn receive<M: Message>(
        &self,
        session: &mut Session,
        deadline: Instant,
    ) -> io::Result<M> {
        let mut frame = vec![0; M::FRAME];
        self.read(&mut frame, deadline)?;
        let opened = session.open(self.clock.now(), &mut frame);
        let forged = || io::Error::new(ErrorKind::InvalidData, "a message is forged");
        opened.ok().and_then(|opened| M::read(opened.payload)).ok_or_else(forged)
    }

    /// Seals and sends a message.
    pub(crate) fn send<M: Message>(&self, session: &mut Session, message: &M) -> io::Result<()> {
        let (mut plain, mut sealed) = (Vec::new(), Vec::new());
        message.write(&mut plain);
        session.seal(self.clock.now(), &[&plain], &mut sealed).map_err(io::Error::other)?;
        let mut stream = self.stream;
        stream.write_all(&sealed)
    }
}

/// Whether a call only took longer than its timeout, or was interrupted by a signal.
pub(crate) fn is_impatience(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
