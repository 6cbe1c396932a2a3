//! [`Session`]: encrypts datagrams to send and decrypts received ones.

use crate::cipher::{Cipher, TAG};
use crate::key::Key;
use crate::replay::{Freshness, ReplayWindow};
use crate::rtt::RttEstimate;
use exm_units::{Instant, Span};
use std::fmt;

/// Bytes of direction and sequence number, in clear.
const NONCE: usize = 8;
/// Bytes of the two timestamps.
const TIMES: usize = 4;
/// The overhead of a datagram in bytes.
pub const OVERHEAD: usize = NONCE + TIMES + TAG;
/// The longest payload that a UDP datagram over IPv4 can carry.
const LONGEST: usize = 65_507 - OVERHEAD;

/// The bit of the nonce that states the direction of the datagram.
const TO_CLIENT: u64 = 1 << 63;
/// The value that means no timestamp. A sender whose clock shows this value sends zero.
const NO_TIME: u16 = u16::MAX;
/// A timestamp that was held for longer is not echoed: such an RTT means little (mosh paper, section 2.2).
pub(crate) const HELD: Span = Span::from_millis(1000);
/// The most blocks encrypted under one key: half of what RFC 7253, section 5, allows.
const BLOCKS: u64 = 1 << 47;

/// The role of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end that begins, from any address.
    Client,
    /// The end at a known address.
    Server,
}

/// Why a datagram cannot be encrypted.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The key has been used for as much as is safe.
    #[error(
        "2^47 blocks of 16 bytes have been encrypted under this key, the most that is safe: start \
         a new session with a new key"
    )]
    Exhausted,
    /// The payload exceeds a UDP datagram.
    #[error("a payload of {length} bytes fits no datagram: at most {LONGEST} do")]
    TooLong {
        /// Its length.
        length: usize,
    },
}

/// Why a received datagram is dropped: the first reason found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// It is shorter than a datagram without payload.
    #[error("a datagram of {length} bytes is shorter than an empty one, of {OVERHEAD}")]
    Short {
        /// Its length.
        length: usize,
    },
    /// It has our own direction bit: one of our datagrams, reflected.
    #[error("the datagram goes the other way")]
    WrongDirection,
    /// Its sequence number has been received before.
    #[error("datagram {sequence} has been received before")]
    Replayed {
        /// Its number.
        sequence: u64,
    },
    /// It is too late for the replay window.
    #[error("datagram {sequence} is too old for the replay window")]
    TooOld {
        /// Its number.
        sequence: u64,
    },
    /// It was made with another key, or was modified in transit.
    #[error("datagram {sequence} is not authentic")]
    Forged {
        /// The sequence number that it claims.
        sequence: u64,
    },
}

/// How many datagrams were dropped, by reason; see [`OpenError`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// Too short.
    pub short: u64,
    /// Reflected.
    pub wrong_direction: u64,
    /// Replayed.
    pub replayed: u64,
    /// Too old.
    pub too_old: u64,
    /// Forged.
    pub forged: u64,
}

impl Dropped {
    /// The sum of all.
    pub fn total(&self) -> u64 {
        self.short + self.wrong_direction + self.replayed + self.too_old + self.forged
    }

    /// Counts a dropped datagram.
    pub fn count(&mut self, why: OpenError) {
        let counter = match why {
            OpenError::Short { .. } => &mut self.short,
            OpenError::WrongDirection => &mut self.wrong_direction,
            OpenError::Replayed { .. } => &mut self.replayed,
            OpenError::TooOld { .. } => &mut self.too_old,
            OpenError::Forged { .. } => &mut self.forged,
        };
        *counter += 1;
    }
}

/// An authentic datagram.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Opened<'a> {
    /// Its payload.
    pub payload: &'a [u8],
    /// Its sequence number; the peer's first is 0.
    pub sequence: u64,
    /// Whether its sequence number is the highest so far. Others arrived late, and their source address may
    /// be outdated.
    pub newest: bool,
    /// The RTT sample that it contains, if any.
    pub rtt: Option<Span>,
    /// The timestamp that it echoes, advanced by the time for which the peer held it.
    pub(crate) echoed: Option<u16>,
}

impl Opened<'_> {
    /// Whether what it echoes could be a timestamp with a mark. Others are RTT samples.
    pub(crate) fn echoes_a_mark(&self) -> bool {
        self.echoed.is_some() && self.rtt.is_none()
    }

    /// Whether it echoes, at `now`, a timestamp with `mark` that was sent no longer than `within` ago.
    pub(crate) fn echoes(&self, now: Instant, mark: Mark, within: Span) -> bool {
        self.echoed.is_some_and(|echoed| {
            let ago = timestamp(now).wrapping_sub(echoed.wrapping_sub(mark.0));
            // Each end rounds to a millisecond.
            Span::from_millis(u64::from(ago)) <= within + Span::from_millis(1)
        })
    }
}

/// The offset of the timestamp of a path challenge, which distinguishes its echo from those of other
/// datagrams: see [`Roaming`](crate::Roaming).
///
/// It is 10 s to 55 s. The echo of an unmarked timestamp could pass for that of a marked one sent less than 5
/// s ago only if it took more than 10 s; that of a marked one looks like an RTT of more than 10 s, which
/// [`RttEstimate`] ignores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u16);

impl Mark {
    /// The mark of datagrams that are not challenges.
    pub const NONE: Mark = Mark(0);

    const LEAST: u16 = 10_000;
    const MOST: u16 = 55_000;
    /// The range that marks are drawn from.
    pub(crate) const RANGE: Span = Span::from_millis((Mark::MOST - Mark::LEAST) as u64);

    /// An unpredictable mark; `None` if the system has no randomness.
    pub(crate) fn random() -> Option<Mark> {
        let choices = u32::from(Mark::MOST - Mark::LEAST) + 1;
        let drawn = getrandom::u32().ok()? % choices;
        Some(Mark(Mark::LEAST + drawn as u16))
    }
}

/// One end of a session: numbers, timestamps, encrypts and authenticates datagrams. It has no socket; the
/// caller passes in the time.
pub struct Session {
    cipher: Cipher,
    role: Role,
    next: u64,
    blocks: u64,
    window: ReplayWindow,
    /// The peer's newest timestamp that has not been echoed yet, and when it arrived.
    newest: Option<(u16, Instant)>,
    rtt: RttEstimate,
    opened: u64,
    dropped: Dropped,
}

impl Session {
    /// The end with the role `role` of the session with `key`. A key is for one session only: two sessions,
    /// even one after the other, would reuse nonces.
    pub fn new(key: &Key, role: Role) -> Session {
        Session {
            cipher: Cipher::new(key),
            role,
            next: 0,
            blocks: 0,
            window: ReplayWindow::new(),
            newest: None,
            rtt: RttEstimate::new(),
            opened: 0,
            dropped: Dropped::default(),
        }
    }

    /// Encrypts `parts`, concatenated, and writes the datagram, to be sent at `now`, to `datagram`, whose
    /// contents are replaced.
    ///
    /// # Errors
    /// The payload is too long, or the key has reached its limit.
    pub fn seal(
        &mut self,
        now: Instant,
        parts: &[&[u8]],
        datagram: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        self.seal_marked(now, Mark::NONE, parts, datagram)
    }

    /// Like [`Session::seal`], with a timestamp that is shifted by `mark`: a challenge of
    /// [`Roaming`](crate::Roaming), to be sent only to the address that came with the mark.
    ///
    /// # Errors
    /// The payload is too long, or the key has reached its limit.
    pub fn seal_marked(
        &mut self,
        now: Instant,
        mark: Mark,
        parts: &[&[u8]],
        datagram: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        datagram.clear();
        let length = parts.iter().map(|part| part.len()).sum();
        if length > LONGEST {
            return Err(SealError::TooLong { length });
        }
        // One block more for the nonce, one for the tag.
        let blocks = (TIMES + length).div_ceil(16) as u64 + 2;
        if self.blocks + blocks > BLOCKS {
            return Err(SealError::Exhausted);
        }
        self.blocks += blocks;
        let nonce = self.next | self.direction();
        self.next += 1;
        datagram.extend_from_slice(&nonce.to_be_bytes());
        datagram.extend_from_slice(&encoded(timestamp(now).wrapping_add(mark.0)).to_be_bytes());
        datagram.extend_from_slice(&self.reply(now).to_be_bytes());
        parts.iter().for_each(|part| datagram.extend_from_slice(part));
        let tag = self.cipher.seal(nonce, &mut datagram[NONCE..]);
        datagram.extend_from_slice(&tag.expect("a UDP datagram is not too long for OCB"));
        Ok(())
    }

    /// Decrypts `datagram`, received at `now`, in place.
    ///
    /// # Errors
    /// It is not authentic, or a replay. The drop is counted, and the contents of `datagram` are undefined.
    pub fn open<'a>(
        &mut self,
        now: Instant,
        datagram: &'a mut [u8],
    ) -> Result<Opened<'a>, OpenError> {
        match self.authenticate(datagram) {
            Ok((sequence, newest)) => {
                let text = &datagram[NONCE..datagram.len() - TAG];
                let (times, payload) = text.split_at(TIMES);
                let echoed = if newest { self.read_times(now, times) } else { None };
                let rtt = echoed.and_then(|echoed| self.measure(now, echoed));
                self.opened += 1;
                Ok(Opened { payload, sequence, newest, rtt, echoed })
            }
            Err(why) => {
                self.dropped.count(why);
                Err(why)
            }
        }
    }

    /// The role of this end.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The RTT estimate from timestamps.
    pub fn rtt(&self) -> &RttEstimate {
        &self.rtt
    }

    /// The number of datagrams encrypted, which is the next sequence number.
    pub fn sealed(&self) -> u64 {
        self.next
    }

    /// The number of datagrams accepted.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// The numbers of datagrams dropped.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// The highest sequence number received.
    pub fn highest(&self) -> Option<u64> {
        self.window.highest()
    }

    /// The direction bit of our datagrams.
    fn direction(&self) -> u64 {
        if self.role == Role::Server { TO_CLIENT } else { 0 }
    }

    /// Decrypts `datagram` in place. Returns its sequence number, and whether that is the highest.
    fn authenticate(&mut self, datagram: &mut [u8]) -> Result<(u64, bool), OpenError> {
        let length = datagram.len();
        if length < OVERHEAD {
            return Err(OpenError::Short { length });
        }
        let (nonce, rest) = datagram.split_first_chunk_mut::<NONCE>().expect("it is long enough");
        let (text, tag) = rest.split_last_chunk_mut::<TAG>().expect("it is long enough");
        let nonce = u64::from_be_bytes(*nonce);
        if nonce & TO_CLIENT == self.direction() {
            return Err(OpenError::WrongDirection);
        }
        let sequence = nonce & !TO_CLIENT;
        // Checked before decryption, so that a flood of old datagrams is cheap.
        let newest = match self.window.look(sequence) {
            Freshness::Newest => true,
            Freshness::Late => false,
            Freshness::Replayed => return Err(OpenError::Replayed { sequence }),
            Freshness::TooOld => return Err(OpenError::TooOld { sequence }),
        };
        if !self.cipher.open(nonce, text, *tag) {
            return Err(OpenError::Forged { sequence });
        }
        self.window.mark(sequence);
        Ok((sequence, newest))
    }

    /// Stores the timestamp of the newest datagram; returns the echo of ours.
    fn read_times(&mut self, now: Instant, times: &[u8]) -> Option<u16> {
        let [time, reply] = [0, 2].map(|at| u16::from_be_bytes([times[at], times[at + 1]]));
        if time != NO_TIME {
            self.newest = Some((time, now));
        }
        (reply != NO_TIME).then_some(reply)
    }

    /// The RTT sample in the echo `echoed`.
    fn measure(&mut self, now: Instant, echoed: u16) -> Option<Span> {
        let rtt = Span::from_millis(u64::from(timestamp(now).wrapping_sub(echoed)));
        self.rtt.measure(rtt).then_some(rtt)
    }

    /// The echo of the peer's timestamp, advanced by the time for which it was held; sent once.
    fn reply(&mut self, now: Instant) -> u16 {
        let reply = self.newest.take().and_then(|(time, came)| {
            let held = now.saturating_since(came);
            (held < HELD).then(|| time.wrapping_add((held.as_nanos() / 1_000_000) as u16))
        });
        reply.unwrap_or(NO_TIME)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Session { role, next, opened, dropped, .. } = self;
        let mut shown = f.debug_struct("Session");
        shown.field("role", role).field("sealed", next).field("opened", opened);
        shown.field("dropped", dropped).finish_non_exhaustive()
    }
}

/// Milliseconds modulo 2^16.
fn timestamp(now: Instant) -> u16 {
    encoded((now.as_nanos() / 1_000_000) as u16)
}

/// `time`, or the next value if `time` is the one that means no timestamp.
fn encoded(time: u16) -> u16 {
    if time == NO_TIME { 0 } else { time }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn pair() -> (Session, Session) {
        let key = Key::from_bytes([3; 16]);
        (Session::new(&key, Role::Client), Session::new(&key, Role::Server))
    }

    fn sealed(session: &mut Session, now: Instant, payload: &[u8]) -> Vec<u8> {
        let mut datagram = Vec::new();
        session.seal(now, &[payload], &mut datagram).expect("sealed");
        datagram
    }

    #[test]
    fn a_datagram_on_the_wire() {
        let (mut client, mut server) = pair();
        let to_server = sealed(&mut client, at(0), b"hello");
        assert_eq!(to_server.len(), OVERHEAD + 5);
        assert_eq!(&to_server[..8], [0; 8]);
        sealed(&mut server, at(0), b"");
        assert_eq!(&sealed(&mut server, at(0), b"")[..8], [0x80, 0, 0, 0, 0, 0, 0, 1]);
        let opened = server.open(at(0), &mut to_server.clone()).map(|o| (o.sequence, o.newest));
        assert_eq!(opened, Ok((0, true)));
        let mut parts = Vec::new();
        client.seal(at(0), &[b"he", b"", b"llo"], &mut parts).expect("sealed");
        assert_eq!(server.open(at(0), &mut parts).map(|opened| opened.payload), Ok(&b"hello"[..]));
    }

    #[test]
    fn every_reason_is_reported_and_counted() {
        let (mut client, mut server) = pair();
        let first = sealed(&mut client, at(0), b"x");
        let mut forged = first.clone();
        *forged.last_mut().expect("not empty") ^= 1;
        let length = OVERHEAD - 1;
        let short = server.open(at(0), &mut first.clone()[..length]).unwrap_err();
        assert_eq!(short, OpenError::Short { length });
        let other_way = client.open(at(0), &mut first.clone()).unwrap_err();
        assert_eq!(other_way, OpenError::WrongDirection);
        let not_ours = server.open(at(0), &mut forged).unwrap_err();
        assert_eq!(not_ours, OpenError::Forged { sequence: 0 });
        assert!(server.open(at(0), &mut first.clone()).is_ok(), "a forged one does not block it");
        let again = server.open(at(0), &mut first.clone()).unwrap_err();
        assert_eq!(again, OpenError::Replayed { sequence: 0 });
        client.next = 1 << 20;
        let mut far = sealed(&mut client, at(0), b"");
        assert!(server.open(at(0), &mut far).is_ok());
        let old = server.open(at(0), &mut first.clone()).unwrap_err();
        assert_eq!(old, OpenError::TooOld { sequence: 0 });
        let expected = Dropped { short: 1, wrong_direction: 0, replayed: 1, too_old: 1, forged: 1 };
        assert_eq!((server.dropped(), server.dropped().total()), (expected, 4));
        assert_eq!((client.dropped().wrong_direction, server.opened()), (1, 2));
    }

    #[test]
    fn rtt_samples_exclude_the_time_a_timestamp_was_held() {
        let (mut client, mut server) = pair();
        let mut there = sealed(&mut client, at(65_530), b"");
        server.open(at(65_560), &mut there).expect("authentic");
        let mut back = sealed(&mut server, at(65_760), b"");
        let opened = client.open(at(65_800), &mut back).expect("authentic");
        assert_eq!(opened.rtt, Some(Span::from_millis(70)), "30 there, 200 held, 40 back");
        let mut again = sealed(&mut server, at(65_770), b"");
        let opened = client.open(at(65_810), &mut again).expect("authentic");
        assert_eq!(opened.rtt, None, "it is echoed once");
        assert_eq!(client.rtt().srtt(), Some(Span::from_millis(70)));
    }

    #[test]
    fn an_old_timestamp_is_not_echoed() {
        let (mut client, mut server) = pair();
        let mut there = sealed(&mut client, at(0), b"");
        server.open(at(1), &mut there).expect("authentic");
        let mut back = sealed(&mut server, at(1001), b"");
        assert_eq!(client.open(at(1002), &mut back).map(|opened| opened.rtt), Ok(None));
    }

    #[test]
    fn a_late_datagrams_timestamp_is_not_used() {
        let (mut client, mut server) = pair();
        let mut early = sealed(&mut client, at(0), b"");
        let mut late = sealed(&mut client, at(500), b"");
        server.open(at(510), &mut late).expect("authentic");
        let opened = server.open(at(520), &mut early).expect("authentic, if late");
        assert!(!opened.newest);
        let mut back = sealed(&mut server, at(520), b"");
        let opened = client.open(at(530), &mut back).expect("authentic");
        assert_eq!(opened.rtt, Some(Span::from_millis(20)), "it echoes the newest: 500");
    }

    #[test]
    fn the_value_for_no_timestamp_is_never_sent_as_a_time() {
        assert_eq!([65_534, 65_535, 65_536].map(|millis| timestamp(at(millis))), [65_534, 0, 0]);
    }

    #[test]
    fn a_key_has_a_limit() {
        let (mut client, _) = pair();
        client.blocks = BLOCKS - 4;
        let mut datagram = Vec::new();
        assert_eq!(client.seal(at(0), &[&[0; 30]], &mut datagram), Err(SealError::Exhausted));
        assert!(datagram.is_empty() && client.sealed() == 0);
        assert!(client.seal(at(0), &[&[0; 28]], &mut datagram).is_ok());
        assert_eq!(client.seal(at(0), &[], &mut datagram), Err(SealError::Exhausted));
        assert!(SealError::Exhausted.to_string().contains("start a new session"));
    }

    #[test]
    fn a_payload_that_fits_no_datagram_is_rejected() {
        let (mut client, mut server) = pair();
        let mut datagram = Vec::new();
        client.seal(at(0), &[&[1; LONGEST]], &mut datagram).expect("just short enough");
        assert_eq!(datagram.len(), 65_507);
        assert!(server.open(at(0), &mut datagram).is_ok());
        let error = client.seal(at(0), &[&[1; LONGEST], &[1]], &mut datagram).unwrap_err();
        assert_eq!(error, SealError::TooLong { length: LONGEST + 1 });
    }

    proptest! {
        /// If anything is changed, cut off or added, the datagram does not open.
        #[test]
        fn only_the_original_opens(
            payload in prop::collection::vec(any::<u8>(), 0..100),
            place in any::<prop::sample::Index>(),
            flip in 1u8..,
            cut in any::<prop::sample::Index>(),
            extra in prop::collection::vec(any::<u8>(), 1..40),
        ) {
            let (mut client, mut server) = pair();
            let datagram = sealed(&mut client, at(0), &payload);
            let mut changed = datagram.clone();
            changed[place.index(datagram.len())] ^= flip;
            prop_assert!(server.open(at(0), &mut changed).is_err());
            let mut shorter = datagram[..cut.index(datagram.len())].to_vec();
            prop_assert!(server.open(at(0), &mut shorter).is_err());
            let mut longer = datagram.clone();
            longer.extend(extra);
            prop_assert!(server.open(at(0), &mut longer).is_err());
            let mut other = Session::new(&Key::from_bytes([4; 16]), Role::Server);
            prop_assert!(other.open(at(0), &mut datagram.clone()).is_err());
            let mut original = datagram.clone();
            let opened = server.open(at(0), &mut original).map(|opened| opened.payload);
            prop_assert_eq!(opened, Ok(payload.as_slice()));
            prop_assert_eq!(server.dropped().total(), 3);
        }

        #[test]
        fn any_other_bytes_are_rejected(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let (_, mut server) = pair();
            prop_assert!(server.open(at(0), &mut bytes).is_err());
            prop_assert_eq!(server.dropped().total(), 1);
        }
    }
}
