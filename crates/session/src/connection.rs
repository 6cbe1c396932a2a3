//! [`Connection`]: one session, from the handshake that made its key to the next handshake.

use crate::settings::{Settings, counted};
use crate::stats::Counters;
use crate::traffic::Source;
use exm_datagram::{Key, Mark, OpenError, Opened, Role, SealError};
use exm_sprout::{self as sprout, Header};
use exm_units::{Instant, Span};

/// After this long without a datagram from the peer, it is considered gone and the model of the link stale:
/// the client starts a new handshake.
const SILENCE: Span = exm_endpoint::PORT_HOP_INTERVAL;
/// The same before the first datagram under this key: the server may never have received the key.
const FIRST_SILENCE: Span = Span::from_secs(2);
/// At most this many datagrams that fit no packet are dropped in one call.
const MAX_UNSENDABLE: usize = 64;

/// A session's encryption and its Sprout endpoint.
#[derive(Debug)]
pub(crate) struct Connection {
    crypto: exm_datagram::Session,
    sprout: sprout::Endpoint,
    began: Instant,
    last_received_at: Option<Instant>,
    /// When the waiting datagram may be sent, if it fits the window but pacing delays it.
    paced_until: Option<Instant>,
}

/// A received datagram: its payload, and the datagram layer's metadata.
pub(crate) struct Received<'a> {
    pub(crate) payload: &'a [u8],
    pub(crate) opened: Opened<'a>,
}

impl Connection {
    pub(crate) fn new(now: Instant, key: &Key, role: Role, settings: &Settings) -> Connection {
        Connection {
            crypto: exm_datagram::Session::new(key, role),
            sprout: sprout::Endpoint::new(now, *settings.sprout()),
            began: now,
            last_received_at: None,
            paced_until: None,
        }
    }

    pub(crate) fn crypto(&self) -> &exm_datagram::Session {
        &self.crypto
    }

    pub(crate) fn sprout(&self) -> &sprout::Endpoint {
        &self.sprout
    }

    pub(crate) fn last_received_at(&self) -> Option<Instant> {
        self.last_received_at
    }

    /// Whether the peer has been silent for so long at `now` that it is considered gone.
    pub(crate) fn is_silent(&self, now: Instant) -> bool {
        now >= self.silent_from()
    }

    /// The time from which it is, unless a datagram arrives before.
    pub(crate) fn silent_from(&self) -> Instant {
        match self.last_received_at {
            Some(at) => at.saturating_add(SILENCE),
            None => self.began.saturating_add(FIRST_SILENCE),
        }
    }

    /// Opens `datagram`, received at `now`. If it is authentic but its Sprout header is malformed, it is
    /// counted as such and its payload is empty.
    pub(crate) fn receive<'a>(
        &mut self,
        now: Instant,
        datagram: &'a mut [u8],
        counters: &mut Counters,
    ) -> Result<Received<'a>, OpenError> {
        let opened = self.crypto.open(now, datagram)?;
        self.last_received_at = Some(now);
        let payload = match Header::decode(opened.payload) {
            Ok((header, payload)) => {
                self.sprout.receive(now, &header, counted(payload.len()), !payload.is_empty());
                payload
            }
            Err(_) => {
                counters.malformed += 1;
                &[]
            }
        };
        Ok(Received { payload, opened })
    }

    pub(crate) fn advance(&mut self, now: Instant) {
        self.sprout.advance(now);
    }

    /// Writes the next datagram to send at `now`, if any, to `out.datagram`.
    ///
    /// # Errors
    /// The key has reached its limit of datagrams.
    pub(crate) fn transmit(
        &mut self,
        now: Instant,
        source: &mut impl Source,
        out: &mut Outgoing,
    ) -> Result<Sent, SealError> {
        if self.is_silent(now) {
            return Ok(Sent::Nothing);
        }
        out.payload.clear();
        let waiting = next(now, source, out).map(counted);
        let send_at = waiting.and_then(|size| self.sprout.send_at(now, size));
        self.paced_until = send_at.filter(|&at| at > now);
        let size = match waiting {
            Some(_) if send_at.is_some_and(|at| at <= now) => {
                source.pull(now, &mut out.payload);
                counted(out.payload.len())
            }
            _ if self.sprout.is_due(now) => counted(0),
            _ => return Ok(Sent::Nothing),
        };
        let pending = next(now, source, out).map(counted);
        let data = !out.payload.is_empty();
        let header = self.sprout.send(now, size, data, pending);
        out.header.clear();
        header.encode(&mut out.header);
        self.crypto.seal(now, &[&out.header, &out.payload], &mut out.datagram)?;
        Ok(if out.payload.is_empty() { Sent::Heartbeat } else { Sent::Payload })
    }

    /// Writes a path challenge with `mark`, a datagram without payload, to `out.datagram`.
    ///
    /// # Errors
    /// The key has reached its limit of datagrams.
    pub(crate) fn challenge(
        &mut self,
        now: Instant,
        mark: Mark,
        source: &mut impl Source,
        out: &mut Outgoing,
    ) -> Result<Sent, SealError> {
        let pending = next(now, source, out).map(counted);
        let header = self.sprout.send_aside(now, counted(0), pending);
        out.header.clear();
        header.encode(&mut out.header);
        self.crypto.seal_marked(now, mark, &[&out.header], &mut out.datagram)?;
        Ok(Sent::Heartbeat)
    }

    /// Writes a datagram with `payload` to `out.datagram`, whatever the window: the last one of a session that
    /// has ended at this end.
    ///
    /// # Errors
    /// The key has reached its limit of datagrams.
    pub(crate) fn part(
        &mut self,
        now: Instant,
        payload: &[u8],
        out: &mut Outgoing,
    ) -> Result<(), SealError> {
        let header = self.sprout.send(now, counted(payload.len()), true, None);
        out.header.clear();
        header.encode(&mut out.header);
        self.crypto.seal(now, &[&out.header, payload], &mut out.datagram)
    }

    /// When to call [`Connection::transmit`] again, unless a datagram arrives before.
    pub(crate) fn next_wake(&self, now: Instant) -> Instant {
        if self.is_silent(now) {
            Instant::MAX
        } else {
            let paced = self.paced_until.unwrap_or(Instant::MAX);
            self.sprout.next_wake().min(paced).min(self.silent_from())
        }
    }
}

/// What [`Connection::transmit`] wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Nothing,
    /// A header without payload.
    Heartbeat,
    /// An application datagram.
    Payload,
}

/// The datagram to send, and buffers to assemble it.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    pub(crate) datagram: Vec<u8>,
    header: Vec<u8>,
    payload: Vec<u8>,
    /// The largest payload that fits a packet.
    largest: usize,
    /// How many application datagrams were dropped because they were empty or too large.
    pub(crate) unsendable: u64,
}

impl Outgoing {
    pub(crate) fn new(largest: usize) -> Outgoing {
        Outgoing { largest, ..Outgoing::default() }
    }

    /// The length of the payload assembled last, in bytes.
    pub(crate) fn payload_len(&self) -> usize {
        self.payload.len()
    }
}

/// The size of the next datagram of `source`. Datagrams that are empty or fit no packet are dropped so that
/// they do not block others, but no more than [`MAX_UNSENDABLE`] of them in one call.
fn next(now: Instant, source: &mut impl Source, out: &mut Outgoing) -> Option<usize> {
    let largest = out.largest;
    let mut dropped = Vec::new();
    for _ in 0..MAX_UNSENDABLE {
        let length = source.waiting(now)?;
        if (1..=largest).contains(&length) {
            return Some(length);
        }
        source.pull(now, &mut dropped);
        dropped.clear();
        out.unsendable += 1;
    }
    None
}
