//! [`Live`]: one session between two ends that have agreed on its key.

use crate::settings::{Settings, counted};
use crate::stats::Counters;
use crate::traffic::Source;
use exm_datagram::{Key, Mark, OpenError, Opened, Role, SealError};
use exm_sprout::{Endpoint, Header};
use exm_units::{Instant, Span};

/// After so much silence the peer is taken for gone, and what was learnt of the link for worthless: the
/// client asks for a new session.
const SILENCE: Span = exm_datagram::PORT_HOP_INTERVAL;
/// The same where nothing was ever heard under this key: perhaps the server does not have it.
const FIRST_SILENCE: Span = Span::from_secs(2);
/// So many datagrams that no packet carries are dropped at a time.
const MOST_UNFIT: usize = 64;

/// A session's encryption and its Sprout.
#[derive(Debug)]
pub(crate) struct Live {
    crypto: exm_datagram::Session,
    endpoint: Endpoint,
    began: Instant,
    heard_at: Option<Instant>,
    /// When what waits may be sent, where it has room in the window but is too soon.
    paced_until: Option<Instant>,
}

/// What was heard: a datagram's payload, and what the datagram layer tells of it.
pub(crate) struct Heard<'a> {
    pub(crate) payload: &'a [u8],
    pub(crate) opened: Opened<'a>,
}

impl Live {
    pub(crate) fn new(now: Instant, key: &Key, role: Role, settings: &Settings) -> Live {
        Live {
            crypto: exm_datagram::Session::new(key, role),
            endpoint: Endpoint::new(now, *settings.sprout()),
            began: now,
            heard_at: None,
            paced_until: None,
        }
    }

    pub(crate) fn crypto(&self) -> &exm_datagram::Session {
        &self.crypto
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(crate) fn heard_at(&self) -> Option<Instant> {
        self.heard_at
    }

    /// Whether nothing has been heard for so long at `now` that the peer is taken for gone.
    pub(crate) fn is_silent(&self, now: Instant) -> bool {
        now >= self.silent_from()
    }

    /// When it will be, if nothing is heard until then.
    pub(crate) fn silent_from(&self) -> Instant {
        match self.heard_at {
            Some(at) => at.saturating_add(SILENCE),
            None => self.began.saturating_add(FIRST_SILENCE),
        }
    }

    /// `datagram` came at `now`. One whose header is malformed is authentic all the same: only that
    /// is counted, and nothing of it delivered.
    pub(crate) fn receive<'a>(
        &mut self,
        now: Instant,
        datagram: &'a mut [u8],
        counters: &mut Counters,
    ) -> Result<Heard<'a>, OpenError> {
        let opened = self.crypto.open(now, datagram)?;
        self.heard_at = Some(now);
        let payload = match Header::decode(opened.payload) {
            Ok((header, payload)) => {
                self.endpoint.receive(now, &header, counted(payload.len()), !payload.is_empty());
                payload
            }
            Err(_) => {
                counters.malformed += 1;
                &[]
            }
        };
        Ok(Heard { payload, opened })
    }

    pub(crate) fn advance(&mut self, now: Instant) {
        self.endpoint.advance(now);
    }

    /// Puts what is to be sent at `now` into `out.datagram`.
    ///
    /// # Errors
    /// The key is worn out.
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
        let send_at = waiting.and_then(|size| self.endpoint.send_at(now, size));
        self.paced_until = send_at.filter(|&at| at > now);
        let size = match waiting {
            Some(_) if send_at.is_some_and(|at| at <= now) => {
                source.pull(now, &mut out.payload);
                counted(out.payload.len())
            }
            _ if self.endpoint.is_due(now) => counted(0),
            _ => return Ok(Sent::Nothing),
        };
        let pending = next(now, source, out).map(counted);
        let data = !out.payload.is_empty();
        let header = self.endpoint.send(now, size, data, pending);
        out.header.clear();
        header.encode(&mut out.header);
        self.crypto.seal(now, &[&out.header, &out.payload], &mut out.datagram)?;
        Ok(if out.payload.is_empty() { Sent::Word } else { Sent::Payload })
    }

    /// Puts a challenge with `mark` into `out.datagram`: what is sent where there is nothing of the user's
    /// to send.
    ///
    /// # Errors
    /// The key is worn out.
    pub(crate) fn challenge(
        &mut self,
        now: Instant,
        mark: Mark,
        source: &mut impl Source,
        out: &mut Outgoing,
    ) -> Result<Sent, SealError> {
        let pending = next(now, source, out).map(counted);
        let header = self.endpoint.send_aside(now, counted(0), pending);
        out.header.clear();
        header.encode(&mut out.header);
        self.crypto.seal_marked(now, mark, &[&out.header], &mut out.datagram)?;
        Ok(Sent::Word)
    }

    /// When it is to be woken next, unless something comes before.
    pub(crate) fn next_wake(&self, now: Instant) -> Instant {
        if self.is_silent(now) {
            Instant::MAX
        } else {
            let paced = self.paced_until.unwrap_or(Instant::MAX);
            self.endpoint.next_wake().min(paced).min(self.silent_from())
        }
    }
}

/// What was put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Nothing,
    /// A header without payload.
    Word,
    /// A datagram of the user's.
    Payload,
}

/// What is to be sent, and room to put it together.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    pub(crate) datagram: Vec<u8>,
    header: Vec<u8>,
    payload: Vec<u8>,
    /// The largest payload that is carried.
    largest: usize,
    /// Datagrams that were larger, or empty.
    pub(crate) unfit: u64,
}

impl Outgoing {
    pub(crate) fn new(largest: usize) -> Outgoing {
        Outgoing { largest, ..Outgoing::default() }
    }
}

/// The size of the datagram that `source` would give next. Those that no packet carries are taken from
/// it and dropped, lest they block the others; but no more than [`MOST_UNFIT`], lest a source that has
/// nothing else keep the session from its work.
fn next(now: Instant, source: &mut impl Source, out: &mut Outgoing) -> Option<usize> {
    let largest = out.largest;
    let mut dropped = Vec::new();
    for _ in 0..MOST_UNFIT {
        let length = source.waiting(now)?;
        if (1..=largest).contains(&length) {
            return Some(length);
        }
        source.pull(now, &mut dropped);
        dropped.clear();
        out.unfit += 1;
    }
    None
}
