//! [`Endpoint`]: one end of a session without its sockets. The caller passes in the time and received
//! datagrams, and asks for datagrams to send.

mod displaced;

use crate::connection::{Connection, Outgoing, Received, Sent};
use crate::handshake::{COOKIE_REPLY, HANDSHAKE, INITIATION, RESPONSE, framed};
use crate::recorder::RecordedDatagram;
use crate::settings::Settings;
use crate::stats::{Counters, State, Stats};
use crate::traffic::Source;
use displaced::Displaced;
pub use displaced::Farewell;
use exm_datagram::{Key, OpenError, Roaming, Role};
use exm_endpoint::{Initiator, Path, Reply, Responder, Unauthenticated};
use exm_sprout::Forecast;
use exm_units::{Bytes, Instant, Span};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// The time after which an unanswered initiation is retransmitted; it doubles each time, up to the maximum.
const INITIAL_BACKOFF: Span = Span::from_millis(200);
const MAX_BACKOFF: Span = Span::from_secs(2);
/// The most replies that wait to be sent. As many are read in one batch, so a flood displaces no others.
const MAX_REPLIES: usize = 256;

/// One end of a session, without its sockets.
pub(crate) struct Endpoint {
    settings: Settings,
    side: Side,
    connection: Option<Connection>,
    roaming: Roaming,
    /// Where to send, once there is a session and the client's address is validated.
    path: Option<Path>,
    /// Where the client's newest datagram came from, if that address is not validated.
    unproven: Option<Path>,
    /// The latest RTT sample.
    rtt: Option<Span>,
    counters: Counters,
    outgoing: Outgoing,
    /// The last datagram sent and received that a recorder has not been told.
    last_sent: Option<RecordedDatagram>,
    last_received: Option<RecordedDatagram>,
}

/// The state that only a client or only a server has.
enum Side {
    Client(Client),
    Server(Server),
}

struct Client {
    key: Key,
    /// The server's addresses, which are attempts in turn.
    servers: Vec<SocketAddr>,
    /// How many initiations were sent.
    attempts: usize,
    initiator: Option<Initiator>,
    next_attempt: Instant,
    wait: Span,
}

struct Server {
    responder: Responder,
    replies: VecDeque<(Path, Vec<u8>)>,
    /// What a client is told that another one with its key has displaced.
    farewell: Option<Farewell>,
    displaced: Option<Box<Displaced>>,
}

impl Endpoint {
    /// A client of the server that has `key` and listens at one of `servers`, which must not be empty.
    pub(crate) fn client(
        now: Instant,
        key: Key,
        settings: Settings,
        servers: Vec<SocketAddr>,
    ) -> Endpoint {
        let roaming = Roaming::client(servers[0]);
        let (attempts, initiator, wait) = (0, None, INITIAL_BACKOFF);
        let client = Client { key, servers, attempts, initiator, next_attempt: now, wait };
        Endpoint::new(settings, Side::Client(client), roaming)
    }

    /// A server for the client that has `key`.
    pub(crate) fn server(key: Key, settings: Settings) -> Endpoint {
        let (replies, farewell, displaced) = (VecDeque::new(), None, None);
        let server =
            Server { responder: Responder::new(HANDSHAKE, key), replies, farewell, displaced };
        Endpoint::new(settings, Side::Server(server), Roaming::server())
    }

    fn new(settings: Settings, side: Side, roaming: Roaming) -> Endpoint {
        let outgoing = Outgoing::new(settings.max_payload());
        let (connection, rtt, counters) = (None, None, Counters::default());
        let (path, unproven) = (None, None);
        let (last_sent, last_received) = (None, None);
        Endpoint {
            settings,
            side,
            connection,
            roaming,
            path,
            unproven,
            rtt,
            counters,
            outgoing,
            last_sent,
            last_received,
        }
    }

    /// Processes `datagram`, received at `now`, and returns the application datagram in it, if any.
    pub(crate) fn receive<'a>(
        &mut self,
        now: Instant,
        path: Path,
        datagram: &'a mut [u8],
    ) -> Option<&'a [u8]> {
        match datagram.split_first() {
            Some((&INITIATION, initiation)) => {
                self.receive_initiation(now, path, initiation);
                None
            }
            Some((&kind @ (RESPONSE | COOKIE_REPLY), reply)) => {
                self.receive_reply(now, path, kind, reply);
                None
            }
            _ => self.receive_datagram(now, path, datagram),
        }
    }

    fn receive_initiation(&mut self, now: Instant, path: Path, initiation: &[u8]) {
        let reply = match &mut self.side {
            Side::Server(server) => server.responder.reply(now, path.remote, initiation),
            Side::Client(_) => Err(Unauthenticated),
        };
        let message = match reply {
            Ok(Some(Reply::Response(response))) => framed(RESPONSE, &response),
            Ok(Some(Reply::Cookie(cookie))) => framed(COOKIE_REPLY, &cookie),
            Ok(None) => return,
            Err(Unauthenticated) => {
                self.counters.unauthenticated += 1;
                return;
            }
        };
        if let Side::Server(server) = &mut self.side
            && server.replies.len() < MAX_REPLIES
        {
            server.replies.push_back((path, message));
        }
    }

    fn receive_reply(&mut self, now: Instant, path: Path, kind: u8, reply: &[u8]) {
        let Side::Client(client) = &mut self.side else {
            self.counters.unauthenticated += 1;
            return;
        };
        // A copy of a genuine reply, sent from elsewhere, must not become the server's address.
        if !client.servers.contains(&path.remote) {
            self.counters.unauthenticated += 1;
            return;
        }
        // It belongs to a handshake that has ended.
        let Some(initiator) = &mut client.initiator else { return };
        if kind == COOKIE_REPLY {
            if initiator.retry(reply) {
                client.retry_at_once(now, path.remote);
            } else {
                self.counters.unauthenticated += 1;
            }
            return;
        }
        let Some(key) = initiator.finish(reply).and_then(|mut keys| keys.pop()) else {
            self.counters.unauthenticated += 1;
            return;
        };
        client.initiator = None;
        self.connection = Some(Connection::new(now, &key, Role::Client, &self.settings));
        self.counters.sessions += 1;
        self.roaming = Roaming::client(path.remote);
        self.path = Some(Path { remote: path.remote, local: None });
    }

    fn receive_datagram<'a>(
        &mut self,
        now: Instant,
        path: Path,
        datagram: &'a mut [u8],
    ) -> Option<&'a [u8]> {
        match self.open(now, path, datagram) {
            Ok(payload) => payload,
            Err(why) => {
                self.counters.dropped.count(why);
                None
            }
        }
    }

    /// Processes `datagram`, which is not of a handshake and was received at `now`, and returns the application
    /// datagram in it, if any. Nothing changes if it is not of this session, so that an end that serves several
    /// clients can try the next one's.
    pub(crate) fn open<'a>(
        &mut self,
        now: Instant,
        path: Path,
        datagram: &'a mut [u8],
    ) -> Result<Option<&'a [u8]>, OpenError> {
        let length = datagram.len() as u64;
        self.accept(now, path, datagram);
        if self.is_displaced(now, path, datagram) {
            return Ok(None);
        }
        let connection = self.connection.as_mut().ok_or(OpenError::Forged { sequence: 0 })?;
        let received = connection.receive(now, datagram, &mut self.counters)?;
        let Received { payload, opened } = received;
        if opened.rtt.is_some() {
            self.rtt = opened.rtt;
            self.counters.rtts += 1;
        }
        self.counters.received += 1;
        self.counters.received_bytes += Bytes::new(length);
        self.last_received = Some(RecordedDatagram {
            session: self.counters.sessions,
            sequence: opened.sequence,
            size: Bytes::new(length),
            payload: Bytes::new(payload.len() as u64),
        });
        if let Side::Client(client) = &mut self.side {
            client.initiator = None;
        } else if opened.newest {
            let before = self.roaming.moves();
            self.roaming.receive(now, &opened, path.remote);
            self.counters.moves += self.roaming.moves() - before;
            let is_proven = self.roaming.peer() == Some(path.remote);
            *(if is_proven { &mut self.path } else { &mut self.unproven }) = Some(path);
        }
        self.counters.delivered += u64::from(!payload.is_empty());
        Ok((!payload.is_empty()).then_some(payload))
    }

    /// Begins a new session if `datagram` is the first under a key that was sent in a response.
    fn accept(&mut self, now: Instant, path: Path, datagram: &[u8]) {
        let Side::Server(server) = &mut self.side else { return };
        let opens = |keys: &[Key]| {
            let key = keys.first()?;
            let mut session = exm_datagram::Session::new(key, Role::Server);
            session.open(now, &mut datagram.to_vec()).is_ok().then(|| key.clone())
        };
        let Some((key, proven)) = server.responder.accept(now, opens) else { return };
        let connection = Connection::new(now, &key, Role::Server, &self.settings);
        let before = self.connection.replace(connection);
        if server.farewell.is_some() {
            let before = before.filter(|before| !before.is_silent(now));
            server.displaced =
                before.map(|before| Box::new(Displaced::new(now, before, path.remote)));
        }
        self.roaming = proven.map_or_else(Roaming::server, Roaming::server_of);
        self.path = proven.map(|remote| Path { remote, local: None });
        self.unproven = None;
        self.counters.sessions += 1;
    }

    /// Assembles the next datagram to send at `now`, which [`Endpoint::datagram`] then returns, and returns
    /// its destination; `None` if nothing more may be sent now.
    pub(crate) fn transmit(&mut self, now: Instant, source: &mut impl Source) -> Option<Path> {
        let handshake = match &mut self.side {
            Side::Client(client) => client.initiation(now, self.connection.as_ref()),
            Side::Server(server) => server.replies.pop_front(),
        };
        if let Some((path, message)) = handshake {
            self.outgoing.datagram = message;
            return Some(path);
        }
        let connection = self.connection.as_mut()?;
        connection.advance(now);
        let challenge = self.unproven.and_then(|path| {
            let (to, mark) = self.roaming.challenge(now, Settings::HEARTBEAT)?;
            (to == path.remote).then_some((path, mark))
        });
        let (path, sent) = match challenge {
            Some((path, mark)) => {
                (path, connection.challenge(now, mark, source, &mut self.outgoing))
            }
            None => (self.path?, connection.transmit(now, source, &mut self.outgoing)),
        };
        match sent {
            Ok(Sent::Nothing) => None,
            Ok(sent) => {
                self.counters.sent += 1;
                self.counters.sent_bytes += Bytes::new(self.outgoing.datagram.len() as u64);
                self.counters.carried += u64::from(sent == Sent::Payload);
                let is_payload = sent == Sent::Payload;
                let payload = if is_payload { self.outgoing.payload_len() as u64 } else { 0 };
                self.last_sent = Some(RecordedDatagram {
                    session: self.counters.sessions,
                    sequence: connection.crypto().sealed().saturating_sub(1),
                    size: Bytes::new(self.outgoing.datagram.len() as u64),
                    payload: Bytes::new(payload),
                });
                Some(path)
            }
            // The key has reached its limit: after the silence the client starts another handshake.
            Err(_) => {
                self.connection = None;
                None
            }
        }
    }

    /// The datagram that was assembled last.
    pub(crate) fn datagram(&self) -> &[u8] {
        &self.outgoing.datagram
    }

    /// The last datagram sent, without handshakes, each once.
    pub(crate) fn take_sent(&mut self) -> Option<RecordedDatagram> {
        self.last_sent.take()
    }

    /// The last authentic datagram received, each once.
    pub(crate) fn take_received(&mut self) -> Option<RecordedDatagram> {
        self.last_received.take()
    }

    /// Sets what a client is told that another one with its key has displaced.
    pub(crate) fn set_farewell(&mut self, farewell: Farewell) {
        if let Side::Server(server) = &mut self.side {
            server.farewell = Some(farewell);
        }
    }

    /// Assembles a last datagram with `payload`, whatever the window, and returns its destination; `None` if
    /// there is no session.
    pub(crate) fn part(&mut self, now: Instant, payload: &[u8]) -> Option<Path> {
        let (path, connection) = (self.path?, self.connection.as_mut()?);
        connection.part(now, payload, &mut self.outgoing).ok()?;
        Some(path)
    }

    /// Whether the sender of `initiation`, without its first byte, has the key of this server.
    pub(crate) fn recognizes(&self, initiation: &[u8]) -> bool {
        match &self.side {
            Side::Server(server) => server.responder.recognizes(initiation),
            Side::Client(_) => false,
        }
    }

    /// With how many keys [`Endpoint::open`] tries to open a datagram.
    pub(crate) fn keys(&self) -> u64 {
        let others = match &self.side {
            Side::Server(server) => {
                server.responder.pending() + usize::from(server.displaced.is_some())
            }
            Side::Client(_) => 0,
        };
        others as u64 + u64::from(self.connection.is_some())
    }

    /// Counts a port hop.
    pub(crate) fn hopped(&mut self) {
        self.counters.hops += 1;
    }

    /// When to call [`Endpoint::transmit`] again, unless a datagram arrives before.
    pub(crate) fn next_wake(&self, now: Instant) -> Instant {
        let connection = self.connection.as_ref().filter(|_| self.path.is_some());
        let wake = connection.map_or(Instant::MAX, |connection| connection.next_wake(now));
        match &self.side {
            Side::Client(client) if client.is_initiating(now, self.connection.as_ref()) => {
                wake.min(client.next_attempt)
            }
            Side::Server(server) if !server.replies.is_empty() => now,
            _ => wake,
        }
    }

    /// When the peer's last datagram in this session arrived.
    pub(crate) fn last_received_at(&self) -> Option<Instant> {
        self.connection.as_ref().and_then(Connection::last_received_at)
    }

    /// The latest RTT sample.
    pub(crate) fn rtt(&self) -> Option<Span> {
        self.rtt
    }

    /// The number of bytes that may be sent now.
    pub(crate) fn window(&self) -> Bytes {
        self.connection.as_ref().map_or(Bytes::ZERO, |connection| connection.sprout().window())
    }

    /// The number of bytes that the link will deliver, by the peer's forecast.
    pub(crate) fn deliverable(&self) -> Bytes {
        self.connection
            .as_ref()
            .map_or(Bytes::ZERO, |connection| connection.sprout().sender().deliverable())
    }

    pub(crate) fn forecast(&self, time: Span) -> Bytes {
        self.connection
            .as_ref()
            .map_or(Bytes::ZERO, |connection| connection.sprout().sender().forecast().within(time))
    }

    pub(crate) fn counters(&self) -> Counters {
        Counters { unsendable: self.outgoing.unsendable, ..self.counters }
    }

    pub(crate) fn stats(&self, now: Instant) -> Stats {
        let connection = self.connection.as_ref();
        let state = match connection {
            None => State::Waiting,
            Some(connection) if connection.is_silent(now) => State::Silent,
            Some(_) => State::Established,
        };
        let sprout = connection.map(Connection::sprout);
        Stats {
            state,
            peer: self.path.map(|path| path.remote),
            last_received_at: self.last_received_at(),
            rtt: self.rtt,
            srtt: connection.and_then(|connection| connection.crypto().rtt().srtt()),
            window: self.window(),
            in_flight: sprout.map_or(Bytes::ZERO, |sprout| sprout.sender().in_flight()),
            is_crowded: sprout.is_some_and(|sprout| sprout.sender().is_crowded()),
            deliverable: self.deliverable(),
            peer_forecast: sprout.map_or(Forecast::default(), |sprout| *sprout.peer_forecast()),
            own_forecast: sprout
                .map_or(Forecast::default(), |sprout| *sprout.receiver().forecast()),
            counters: self.counters(),
        }
    }
}

impl Client {
    /// Whether initiations are sent at `now`: there is no session, or its peer is silent.
    fn is_initiating(&self, now: Instant, connection: Option<&Connection>) -> bool {
        connection.is_none_or(|connection| connection.is_silent(now))
    }

    /// Makes the next initiation due at once, to `server`.
    fn retry_at_once(&mut self, now: Instant, server: SocketAddr) {
        if let Some(index) = self.servers.iter().position(|&known| known == server) {
            self.attempts = index;
        }
        self.next_attempt = now;
    }

    /// The initiation that is due at `now`, if any, and its destination.
    fn initiation(
        &mut self,
        now: Instant,
        connection: Option<&Connection>,
    ) -> Option<(Path, Vec<u8>)> {
        if now < self.next_attempt || !self.is_initiating(now, connection) {
            return None;
        }
        if self.initiator.is_none() {
            self.wait = INITIAL_BACKOFF;
            self.initiator = HANDSHAKE.initiate(&self.key).ok();
        }
        let remote = self.servers[self.attempts % self.servers.len()];
        self.attempts += 1;
        self.next_attempt = now.saturating_add(self.wait);
        if self.attempts.is_multiple_of(self.servers.len()) {
            self.wait = (self.wait * 2).min(MAX_BACKOFF);
        }
        // If the system has no randomness, the next attempt may succeed.
        let initiation = framed(INITIATION, self.initiator.as_ref()?.initiation());
        Some((Path { remote, local: None }, initiation))
    }
}

#[cfg(test)]
mod tests;
