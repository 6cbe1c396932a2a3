//! [`Party`]: all that an end of a session does but the sockets. It is told of the time and of what
//! came, and asked what to send.

use crate::handshake::{COOKIE_REPLY, HANDSHAKE, INITIATION, RESPONSE, framed};
use crate::live::{Heard, Live, Outgoing, Sent};
use crate::settings::Settings;
use crate::stats::{Counters, State, Stats};
use crate::traffic::Source;
use exm_datagram::{Initiator, Key, OpenError, Reply, Responder, Roaming, Role, Stranger};
use exm_sprout::Forecast;
use exm_units::{Bytes, Instant, Span};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

/// An initiation without a reply is sent again after so long, and then after twice as long each time.
const FIRST_WAIT: Span = Span::from_millis(200);
const LONGEST_WAIT: Span = Span::from_secs(2);
/// No more replies wait to be sent: as many as are read at a time, so that a flood displaces nobody.
const MOST_REPLIES: usize = 256;

/// Where a datagram comes from or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    /// The other end.
    pub(crate) remote: SocketAddr,
    /// This end, where it is known and matters: replies are to come from the address that was spoken to.
    pub(crate) local: Option<IpAddr>,
}

/// One end, without its sockets.
pub(crate) struct Party {
    settings: Settings,
    part: Part,
    live: Option<Live>,
    roaming: Roaming,
    /// Where to send, once there is a session and a client has proven where it is.
    path: Option<Path>,
    /// Where the client's newest datagram came from, if that is not proven.
    unproven: Option<Path>,
    /// The round-trip time measured last.
    rtt: Option<Span>,
    counters: Counters,
    outgoing: Outgoing,
}

/// What the two parties do differently.
enum Part {
    Client(Client),
    Server(Server),
}

struct Client {
    key: Key,
    /// The server's addresses, each of which is tried in turn.
    servers: Vec<SocketAddr>,
    /// How many initiations were sent.
    tried: usize,
    initiator: Option<Initiator>,
    next_try: Instant,
    wait: Span,
}

struct Server {
    responder: Responder,
    replies: VecDeque<(Path, Vec<u8>)>,
}

impl Party {
    /// A client of the server that has `key` and is at one of `servers`, which are not none.
    pub(crate) fn client(
        now: Instant,
        key: Key,
        settings: Settings,
        servers: Vec<SocketAddr>,
    ) -> Party {
        let roaming = Roaming::client(servers[0]);
        let (tried, initiator, wait) = (0, None, FIRST_WAIT);
        let client = Client { key, servers, tried, initiator, next_try: now, wait };
        Party::new(settings, Part::Client(client), roaming)
    }

    /// A server for the client that has `key`.
    pub(crate) fn server(key: Key, settings: Settings) -> Party {
        let server = Server { responder: Responder::new(HANDSHAKE, key), replies: VecDeque::new() };
        Party::new(settings, Part::Server(server), Roaming::server())
    }

    fn new(settings: Settings, part: Part, roaming: Roaming) -> Party {
        let outgoing = Outgoing::new(settings.max_payload());
        let (live, rtt, counters) = (None, None, Counters::default());
        let (path, unproven) = (None, None);
        Party { settings, part, live, roaming, path, unproven, rtt, counters, outgoing }
    }

    /// `datagram` came at `now`. What it delivers, if anything.
    pub(crate) fn receive<'a>(
        &mut self,
        now: Instant,
        path: Path,
        datagram: &'a mut [u8],
    ) -> Option<&'a [u8]> {
        match datagram.split_first() {
            Some((&INITIATION, initiation)) => {
                self.hear_initiation(now, path, initiation);
                None
            }
            Some((&kind @ (RESPONSE | COOKIE_REPLY), reply)) => {
                self.hear_reply(now, path, kind, reply);
                None
            }
            _ => self.hear_datagram(now, path, datagram),
        }
    }

    fn hear_initiation(&mut self, now: Instant, path: Path, initiation: &[u8]) {
        let reply = match &mut self.part {
            Part::Server(server) => server.responder.reply(now, path.remote, initiation),
            Part::Client(_) => Err(Stranger),
        };
        let message = match reply {
            Ok(Some(Reply::Response(response))) => framed(RESPONSE, &response),
            Ok(Some(Reply::Cookie(cookie))) => framed(COOKIE_REPLY, &cookie),
            Ok(None) => return,
            Err(Stranger) => {
                self.counters.strangers += 1;
                return;
            }
        };
        if let Part::Server(server) = &mut self.part
            && server.replies.len() < MOST_REPLIES
        {
            server.replies.push_back((path, message));
        }
    }

    fn hear_reply(&mut self, now: Instant, path: Path, kind: u8, reply: &[u8]) {
        let Part::Client(client) = &mut self.part else {
            self.counters.strangers += 1;
            return;
        };
        // One to a handshake that is over.
        let Some(initiator) = &mut client.initiator else { return };
        if kind == COOKIE_REPLY {
            if initiator.retry(reply) {
                client.try_at_once(now, path.remote);
            } else {
                self.counters.strangers += 1;
            }
            return;
        }
        let Some(key) = initiator.finish(reply).and_then(|mut keys| keys.pop()) else {
            self.counters.strangers += 1;
            return;
        };
        client.initiator = None;
        self.live = Some(Live::new(now, &key, Role::Client, &self.settings));
        self.counters.sessions += 1;
        self.roaming = Roaming::client(path.remote);
        self.path = Some(Path { remote: path.remote, local: None });
    }

    fn hear_datagram<'a>(
        &mut self,
        now: Instant,
        path: Path,
        datagram: &'a mut [u8],
    ) -> Option<&'a [u8]> {
        let length = datagram.len() as u64;
        self.adopt(now, datagram);
        let Some(live) = &mut self.live else {
            self.counters.dropped.count(OpenError::Forged { sequence: 0 });
            return None;
        };
        let Heard { payload, opened } = match live.receive(now, datagram, &mut self.counters) {
            Ok(heard) => heard,
            Err(why) => {
                self.counters.dropped.count(why);
                return None;
            }
        };
        if opened.rtt.is_some() {
            self.rtt = opened.rtt;
            self.counters.rtts += 1;
        }
        self.counters.received += 1;
        self.counters.received_bytes += Bytes::new(length);
        if let Part::Client(client) = &mut self.part {
            client.initiator = None;
        } else if opened.newest {
            let before = self.roaming.moves();
            self.roaming.heard(now, &opened, path.remote);
            self.counters.moves += self.roaming.moves() - before;
            let is_proven = self.roaming.peer() == Some(path.remote);
            *(if is_proven { &mut self.path } else { &mut self.unproven }) = Some(path);
        }
        self.counters.delivered += u64::from(!payload.is_empty());
        (!payload.is_empty()).then_some(payload)
    }

    /// Where `datagram` is the first under a key that was sent in a response, the session of that key
    /// begins.
    fn adopt(&mut self, now: Instant, datagram: &[u8]) {
        let Part::Server(server) = &mut self.part else { return };
        let opens = |keys: &[Key]| {
            let key = keys.first()?;
            let mut session = exm_datagram::Session::new(key, Role::Server);
            session.open(now, &mut datagram.to_vec()).is_ok().then(|| key.clone())
        };
        let Some((key, proven)) = server.responder.accept(now, opens) else { return };
        self.live = Some(Live::new(now, &key, Role::Server, &self.settings));
        self.roaming = proven.map_or_else(Roaming::server, Roaming::server_of);
        self.path = proven.map(|remote| Path { remote, local: None });
        self.unproven = None;
        self.counters.sessions += 1;
    }

    /// Puts the next datagram to send at `now` together, which is then in [`Party::datagram`], and
    /// tells where to send it; nowhere once all is sent that may be.
    pub(crate) fn transmit(&mut self, now: Instant, source: &mut impl Source) -> Option<Path> {
        let handshake = match &mut self.part {
            Part::Client(client) => client.initiation(now, self.live.as_ref()),
            Part::Server(server) => server.replies.pop_front(),
        };
        if let Some((path, message)) = handshake {
            self.outgoing.datagram = message;
            return Some(path);
        }
        let live = self.live.as_mut()?;
        live.advance(now);
        let challenge = self.unproven.and_then(|path| {
            let (to, mark) = self.roaming.challenge(now, Settings::HEARTBEAT)?;
            (to == path.remote).then_some((path, mark))
        });
        let (path, sent) = match challenge {
            Some((path, mark)) => (path, live.challenge(now, mark, source, &mut self.outgoing)),
            None => (self.path?, live.transmit(now, source, &mut self.outgoing)),
        };
        match sent {
            Ok(Sent::Nothing) => None,
            Ok(sent) => {
                self.counters.sent += 1;
                self.counters.sent_bytes += Bytes::new(self.outgoing.datagram.len() as u64);
                self.counters.carried += u64::from(sent == Sent::Payload);
                Some(path)
            }
            // Its key is worn out: the client begins another session once it hears nothing.
            Err(_) => {
                self.live = None;
                None
            }
        }
    }

    /// The datagram that was put together last.
    pub(crate) fn datagram(&self) -> &[u8] {
        &self.outgoing.datagram
    }

    /// Another socket was opened.
    pub(crate) fn hopped(&mut self) {
        self.counters.hops += 1;
    }

    /// When it is to be asked again what to send, unless something comes before.
    pub(crate) fn next_wake(&self, now: Instant) -> Instant {
        let live = self.live.as_ref().filter(|_| self.path.is_some());
        let wake = live.map_or(Instant::MAX, |live| live.next_wake(now));
        match &self.part {
            Part::Client(client) if client.is_trying(now, self.live.as_ref()) => {
                wake.min(client.next_try)
            }
            Part::Server(server) if !server.replies.is_empty() => now,
            _ => wake,
        }
    }

    /// When the peer was last heard, in this session or an earlier one.
    pub(crate) fn heard_at(&self) -> Option<Instant> {
        self.live.as_ref().and_then(Live::heard_at)
    }

    /// The round-trip time measured last.
    pub(crate) fn rtt(&self) -> Option<Span> {
        self.rtt
    }

    /// What may be sent.
    pub(crate) fn window(&self) -> Bytes {
        self.live.as_ref().map_or(Bytes::ZERO, |live| live.endpoint().window())
    }

    /// What will be delivered over the life of the peer's forecast.
    pub(crate) fn deliverable(&self) -> Bytes {
        self.live.as_ref().map_or(Bytes::ZERO, |live| live.endpoint().sender().deliverable())
    }

    pub(crate) fn counters(&self) -> Counters {
        Counters { unfit: self.outgoing.unfit, ..self.counters }
    }

    pub(crate) fn stats(&self, now: Instant) -> Stats {
        let live = self.live.as_ref();
        let state = match live {
            None => State::Waiting,
            Some(live) if live.is_silent(now) => State::Silent,
            Some(_) => State::Established,
        };
        let endpoint = live.map(Live::endpoint);
        Stats {
            state,
            peer: self.path.map(|path| path.remote),
            heard_at: self.heard_at(),
            rtt: self.rtt,
            srtt: live.and_then(|live| live.crypto().rtt().srtt()),
            window: self.window(),
            in_flight: endpoint.map_or(Bytes::ZERO, |endpoint| endpoint.sender().in_flight()),
            deliverable: self.deliverable(),
            heard: endpoint.map_or(Forecast::default(), |endpoint| *endpoint.heard()),
            made: endpoint.map_or(Forecast::default(), |endpoint| *endpoint.receiver().forecast()),
            counters: self.counters(),
        }
    }
}

impl Client {
    /// Whether initiations are sent at `now`: there is no session, or silence in it.
    fn is_trying(&self, now: Instant, live: Option<&Live>) -> bool {
        live.is_none_or(|live| live.is_silent(now))
    }

    /// The next initiation goes to `server` and is due.
    fn try_at_once(&mut self, now: Instant, server: SocketAddr) {
        if let Some(index) = self.servers.iter().position(|&known| known == server) {
            self.tried = index;
        }
        self.next_try = now;
    }

    /// The initiation that is due at `now`, if one is, and where to send it.
    fn initiation(&mut self, now: Instant, live: Option<&Live>) -> Option<(Path, Vec<u8>)> {
        if now < self.next_try || !self.is_trying(now, live) {
            return None;
        }
        if self.initiator.is_none() {
            self.wait = FIRST_WAIT;
            self.initiator = HANDSHAKE.initiate(&self.key).ok();
        }
        let remote = self.servers[self.tried % self.servers.len()];
        self.tried += 1;
        self.next_try = now.saturating_add(self.wait);
        if self.tried.is_multiple_of(self.servers.len()) {
            self.wait = (self.wait * 2).min(LONGEST_WAIT);
        }
        // Without randomness there is none, and it is tried again.
        let initiation = framed(INITIATION, self.initiator.as_ref()?.initiation());
        Some((Path { remote, local: None }, initiation))
    }
}

#[cfg(test)]
mod tests;
