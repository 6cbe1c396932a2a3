//! [`Handshake`]: fresh session keys from a shared key.
//!
//! The key of a [`Session`](exm_datagram::Session) must not be used for two sessions, yet programs restart
//! and keep their key. So the shared key is used only for a Noise handshake
//! (`Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s`, revision 34 of T. Perrin's framework), in which the responder
//! sends new keys. Without the shared key it is impossible to take part or to read them, and anyone who obtains
//! it later cannot decrypt recorded sessions.
//!
//! An initiation can be recorded and replayed from any source address. So a [`Responder`] responds at once only
//! while no other response is pending. Otherwise it requires proof that the initiation is new and its address
//! genuine: it sends a cookie, which the [`Initiator`] puts into a new initiation (as WireGuard does under
//! load, section 5.3 of J. Donenfeld, "WireGuard", NDSS 2017, and QUIC by Retry, RFC 9000, section 8.1.2).
//! Cookies need no state. Clocks are not compared: a client may have none, several may share a key, and a
//! server may be restarted.
//!
//! | message | bytes |
//! |---|---|
//! | initiation | ephemeral key 32; encrypted: cookie or zeros 16, zeros 16 for each key but the first; tag 16 |
//! | response | ephemeral key 32; encrypted: keys, 16 each; tag 16 |
//! | cookie reply | cookie 16, tag 16 |
//!
//! No reply is longer than its initiation, so there is no amplification.

use blake2::Blake2sMac;
use blake2::digest::Mac;
use blake2::digest::consts::U16;
use exm_datagram::{Key, KeyError};
use exm_units::{Instant, Span};
use snow::{Builder, HandshakeState};
use std::collections::VecDeque;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use zeroize::Zeroizing;

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// The overhead of a message in bytes: an ephemeral key and a tag.
const OVERHEAD: usize = 32 + 16;
/// The size of a key, of a cookie and of the tag of a cookie reply, in bytes.
const KEY: usize = 16;
/// The second halves of the 32-byte secrets derived from the shared key, for Noise and for cookie replies.
const FOR_NOISE: &[u8; 16] = b"exm handshake  2";
const FOR_COOKIES: &[u8; 16] = b"exm cookies    2";

/// How long a response is pending.
const RESPONSE_LIFETIME: Span = Span::from_secs(30);
/// The lifetime of a cookie, which is good for one session only.
const COOKIE_LIFETIME: Span = Span::from_secs(60);
/// The most pending responses.
const MAX_PENDING: usize = 4;

type Cookie = [u8; KEY];
type CookieMac = Blake2sMac<U16>;

/// The purpose of a handshake and its number of keys, which must be the same at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    purpose: &'static str,
    keys: usize,
}

impl Handshake {
    /// A handshake for `keys` keys, at least one, and the purpose `purpose`, a name with a version such as
    /// "exm saturate 2".
    pub const fn new(purpose: &'static str, keys: usize) -> Handshake {
        Handshake { purpose, keys }
    }

    /// The size of an initiation and of its response in bytes; a cookie reply is shorter.
    pub const fn length(&self) -> usize {
        OVERHEAD + KEY * self.keys
    }

    /// Begins a handshake with a server that has `key`.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn initiate(self, key: &Key) -> Result<Initiator, KeyError> {
        self.initiate_with(key, &Cookie::default())
    }

    fn initiate_with(self, key: &Key, cookie: &Cookie) -> Result<Initiator, KeyError> {
        let secret = derived(key, FOR_NOISE);
        let unsound = || KeyError::NoRandomness(getrandom::Error::UNEXPECTED);
        let builder = self.builder(&secret).ok_or_else(unsound)?;
        let mut state = builder.build_initiator().map_err(|_| unsound())?;
        let mut initiation = vec![0; self.length()];
        // As many bytes as the response has for its keys.
        let mut payload = vec![0; KEY * self.keys];
        payload[..KEY].copy_from_slice(cookie);
        state.write_message(&payload, &mut initiation).map_err(|_| unsound())?;
        Ok(Initiator { handshake: self, key: key.clone(), state: Box::new(state), initiation })
    }

    fn builder(self, secret: &[u8; 32]) -> Option<Builder<'_>> {
        let builder = Builder::new(PATTERN.parse().ok()?);
        builder.psk(0, secret).ok()?.prologue(self.purpose.as_bytes()).ok()
    }

    /// The authentication of `cookie` as the reply to `initiation`, by the holder of `key`.
    fn cookie_tag(self, key: &Key, initiation: &[u8], cookie: &[u8]) -> CookieMac {
        let mac = CookieMac::new_from_slice(derived(key, FOR_COOKIES).as_slice());
        mac.expect("32 bytes are a key of BLAKE2s").chain_update(initiation).chain_update(cookie)
    }
}

/// The client's half of a [`Handshake`]: an initiation that waits for its response.
pub struct Initiator {
    handshake: Handshake,
    key: Key,
    state: Box<HandshakeState>,
    initiation: Vec<u8>,
}

impl Initiator {
    /// The message to send, repeatedly if necessary.
    pub fn initiation(&self) -> &[u8] {
        &self.initiation
    }

    /// The keys in `response`, if that is the response to this initiation; once.
    pub fn finish(&mut self, response: &[u8]) -> Option<Vec<Key>> {
        if response.len() != self.handshake.length() {
            return None;
        }
        let mut payload = Zeroizing::new(vec![0; response.len()]);
        let length = self.state.read_message(response, &mut payload).ok()?;
        let key = |bytes: &[u8]| Some(Key::from_bytes(bytes.try_into().ok()?));
        payload.get(..length)?.chunks(KEY).map(key).collect()
    }

    /// If `reply` is the cookie reply to this initiation, begins again with that cookie. Returns whether
    /// there is a new initiation, to be sent to where the reply came from.
    pub fn retry(&mut self, reply: &[u8]) -> bool {
        let Some((cookie, tag)) = reply.split_first_chunk::<KEY>() else { return false };
        let expected = self.handshake.cookie_tag(&self.key, &self.initiation, cookie);
        if expected.verify_slice(tag).is_err() {
            return false;
        }
        // Without randomness the old initiation stays.
        let retried = self.handshake.initiate_with(&self.key, cookie);
        retried.map(|retried| *self = retried).is_ok()
    }
}

impl fmt::Debug for Initiator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Initiator").field("handshake", &self.handshake).finish_non_exhaustive()
    }
}

/// The reply of a [`Responder`], to be sent to where the initiation came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The new keys, encrypted, for [`Initiator::finish`].
    Response(Vec<u8>),
    /// A cookie, for [`Initiator::retry`].
    Cookie(Vec<u8>),
}

/// The sender of the initiation does not have the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sender of the handshake does not have the key")]
pub struct Unauthenticated;

/// The server's half of a [`Handshake`]. Its memory is bounded; a replayed initiation costs a few hashes and
/// no public-key operation.
#[derive(Debug)]
pub struct Responder {
    handshake: Handshake,
    key: Key,
    /// Oldest first.
    pending: VecDeque<Pending>,
    /// The key of cookies, and since when it has been used.
    secret: Option<(Key, Instant)>,
}

/// A response whose keys have not been used yet.
#[derive(Debug)]
struct Pending {
    at: Instant,
    /// The destination of the response; `None` if there was more than one.
    to: Option<SocketAddr>,
    initiation: Vec<u8>,
    response: Vec<u8>,
    keys: Vec<Key>,
}

impl Responder {
    /// A responder for initiators that have `key`.
    pub fn new(handshake: Handshake, key: Key) -> Responder {
        Responder { handshake, key, pending: VecDeque::new(), secret: None }
    }

    /// Whether the sender of `initiation` has the key. It costs a few hashes, as a replayed one does: a server
    /// that has many keys finds the one that [`Responder::reply`] needs.
    pub fn recognizes(&self, initiation: &[u8]) -> bool {
        self.pending.iter().any(|pending| pending.initiation == initiation)
            || self.read(initiation).is_some()
    }

    /// How many responses are pending, at most four.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// The reply to `initiation`, received from `from` at `now`; `None` if the system has no randomness.
    ///
    /// # Errors
    /// The sender does not have the key, and gets no reply.
    pub fn reply(
        &mut self,
        now: Instant,
        from: SocketAddr,
        initiation: &[u8],
    ) -> Result<Option<Reply>, Unauthenticated> {
        self.forget(now);
        let known = self.pending.iter_mut().find(|pending| pending.initiation == initiation);
        if let Some(pending) = known {
            pending.to = pending.to.filter(|&to| to == from);
            return Ok(Some(Reply::Response(pending.response.clone())));
        }
        let (state, cookie) = self.read(initiation).ok_or(Unauthenticated)?;
        let Some(expected) = self.cookie(now, from) else { return Ok(None) };
        if !self.pending.is_empty() && expected.clone().verify_slice(&cookie).is_err() {
            let mut reply = expected.finalize().into_bytes().to_vec();
            let tag = self.handshake.cookie_tag(&self.key, initiation, &reply);
            reply.extend_from_slice(&tag.finalize().into_bytes());
            return Ok(Some(Reply::Cookie(reply)));
        }
        Ok(self.respond(now, from, initiation, state).map(Reply::Response))
    }

    /// Passes the keys of each pending response to `open`, newest first, until it returns a value: then a
    /// session begins. Older responses and all cookies become void, as their initiators have been overtaken.
    ///
    /// The returned address is that of the response, which the peer has thereby validated; `None` if the
    /// response was sent to several addresses.
    pub fn accept<T>(
        &mut self,
        now: Instant,
        mut open: impl FnMut(&[Key]) -> Option<T>,
    ) -> Option<(T, Option<SocketAddr>)> {
        self.forget(now);
        let newest_first = self.pending.iter().enumerate().rev();
        let (index, opened) = newest_first
            .filter_map(|(index, pending)| Some((index, open(&pending.keys)?)))
            .next()?;
        let to = self.pending.drain(..=index).next_back().and_then(|pending| pending.to);
        self.secret = None;
        Some((opened, to))
    }

    /// The handshake that `initiation` begins, and the cookie in it.
    fn read(&self, initiation: &[u8]) -> Option<(HandshakeState, Cookie)> {
        if initiation.len() != self.handshake.length() {
            return None;
        }
        let secret = derived(&self.key, FOR_NOISE);
        let mut state = self.handshake.builder(&secret)?.build_responder().ok()?;
        let mut payload = vec![0; KEY * self.handshake.keys];
        state.read_message(initiation, &mut payload).ok()?;
        Some((state, *payload.first_chunk()?))
    }

    /// The authentication of `from` at this time.
    fn cookie(&mut self, now: Instant, from: SocketAddr) -> Option<CookieMac> {
        let is_old = |(_, since): &(Key, Instant)| now.saturating_since(*since) >= COOKIE_LIFETIME;
        if self.secret.as_ref().is_none_or(is_old) {
            self.secret = Some((Key::generate().ok()?, now));
        }
        let (secret, _) = self.secret.as_ref()?;
        let mac = CookieMac::new_from_slice(secret.bytes()).ok()?;
        let ip = match from.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        Some(mac.chain_update(ip.octets()).chain_update(from.port().to_be_bytes()))
    }

    fn respond(
        &mut self,
        now: Instant,
        from: SocketAddr,
        initiation: &[u8],
        mut state: HandshakeState,
    ) -> Option<Vec<u8>> {
        let keys = std::iter::repeat_with(Key::generate).take(self.handshake.keys);
        let keys: Vec<Key> = keys.collect::<Result<_, _>>().ok()?;
        let payload: Vec<u8> = keys.iter().flat_map(|key| *key.bytes()).collect();
        let payload = Zeroizing::new(payload);
        let mut response = vec![0; self.handshake.length()];
        state.write_message(&payload, &mut response).ok()?;
        if self.pending.len() == MAX_PENDING {
            self.pending.pop_front();
        }
        let (at, to, initiation) = (now, Some(from), initiation.to_vec());
        self.pending.push_back(Pending { at, to, initiation, response: response.clone(), keys });
        Some(response)
    }

    fn forget(&mut self, now: Instant) {
        let is_old = |pending: &Pending| now.saturating_since(pending.at) >= RESPONSE_LIFETIME;
        while self.pending.front().is_some_and(is_old) {
            self.pending.pop_front();
        }
    }
}

/// A 32-byte secret: the shared key and a purpose.
fn derived(key: &Key, purpose: &[u8; 16]) -> Zeroizing<[u8; 32]> {
    let mut secret = Zeroizing::new([0; 32]);
    secret[..16].copy_from_slice(key.bytes());
    secret[16..].copy_from_slice(purpose);
    secret
}

#[cfg(test)]
mod tests;
