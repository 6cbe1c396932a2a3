//! [`Party`]: all that an end of a session does but the sockets. It is told of the time and of what
//! came, and asked what to send.

use crate::greeting::{self, ANSWER, Greeting, Message, QUESTION};
use crate::live::{Heard, Live, Outgoing, Sent};
use crate::settings::Settings;
use crate::stats::{Counters, State, Stats};
use crate::traffic::Source;
use exm_datagram::{Key, OpenError, Roaming, Role};
use exm_sprout::Forecast;
use exm_units::{Bytes, Instant, Span};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

/// A question without an answer is asked again after so long, and then after twice as long each time.
const FIRST_WAIT: Span = Span::from_millis(200);
const LONGEST_WAIT: Span = Span::from_secs(2);
/// For so long a server remembers whom it answered.
const REMEMBERED: Span = Span::from_secs(30);
/// No more answers are remembered, nor wait to be sent.
const MOST_ANSWERS: usize = 4;
/// No more new questions are answered in a second: an answer takes a tenth of a millisecond, and
/// whoever recorded questions can ask them again.
const ANSWERS_A_SECOND: u32 = 20;

/// Where a datagram comes from or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    /// The other end.
    pub(crate) remote: SocketAddr,
    /// This end, where it is known and matters: answers are to come from where was asked.
    pub(crate) local: Option<IpAddr>,
}

/// One end, without its sockets.
pub(crate) struct Party {
    key: Key,
    settings: Settings,
    part: Part,
    live: Option<Live>,
    roaming: Roaming,
    /// Where to send, once there is a session.
    path: Option<Path>,
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
    /// The server's addresses, of which each is asked in turn.
    servers: Vec<SocketAddr>,
    asked: usize,
    greeting: Option<Greeting>,
    next_question: Instant,
    wait: Span,
}

#[derive(Default)]
struct Server {
    answered: VecDeque<Answered>,
    to_send: VecDeque<(Path, Message)>,
    /// How many answers were made in the second that began then.
    lately: (Instant, u32),
}

/// Whom a server has answered, who has not yet been heard under the new key.
struct Answered {
    at: Instant,
    question: Message,
    answer: Message,
    key: Key,
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
        let client =
            Client { servers, asked: 0, greeting: None, next_question: now, wait: FIRST_WAIT };
        Party::new(key, settings, Part::Client(client), roaming)
    }

    /// A server for the client that has `key`.
    pub(crate) fn server(key: Key, settings: Settings) -> Party {
        Party::new(key, settings, Part::Server(Server::default()), Roaming::server())
    }

    fn new(key: Key, settings: Settings, part: Part, roaming: Roaming) -> Party {
        let outgoing = Outgoing::new(settings.max_payload());
        let (live, path, rtt, counters) = (None, None, None, Counters::default());
        Party { key, settings, part, live, roaming, path, rtt, counters, outgoing }
    }

    /// `datagram` came at `now`. What it delivers, if anything.
    pub(crate) fn receive<'a>(
        &mut self,
        now: Instant,
        path: Path,
        datagram: &'a mut [u8],
    ) -> Option<&'a [u8]> {
        match datagram.first() {
            Some(&QUESTION) => {
                self.hear_question(now, path, datagram);
                None
            }
            Some(&ANSWER) => {
                self.hear_answer(now, path, datagram);
                None
            }
            _ => self.hear_datagram(now, path, datagram),
        }
    }

    fn hear_question(&mut self, now: Instant, path: Path, question: &[u8]) {
        let (Part::Server(server), Ok(question)) = (&mut self.part, question.try_into()) else {
            self.counters.strangers += 1;
            return;
        };
        match server.answer(now, &self.key, question) {
            Ok(Some(answer)) if server.to_send.len() < MOST_ANSWERS => {
                server.to_send.push_back((path, answer));
            }
            Ok(_) => {}
            Err(Stranger) => self.counters.strangers += 1,
        }
    }

    fn hear_answer(&mut self, now: Instant, path: Path, answer: &[u8]) {
        let Part::Client(client) = &mut self.part else {
            self.counters.strangers += 1;
            return;
        };
        // One to a question that is settled.
        let Some(greeting) = &mut client.greeting else { return };
        let Some(key) = greeting.answered(answer) else {
            self.counters.strangers += 1;
            return;
        };
        client.greeting = None;
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
            client.greeting = None;
        } else if opened.newest {
            let before = self.roaming.moves();
            self.roaming.heard(&opened, path.remote);
            self.counters.moves += self.roaming.moves() - before;
            self.path = Some(path);
        }
        self.counters.delivered += u64::from(!payload.is_empty());
        (!payload.is_empty()).then_some(payload)
    }

    /// Where `datagram` is the first under a key that was given in an answer, the session of that key
    /// begins.
    fn adopt(&mut self, now: Instant, datagram: &[u8]) {
        let Part::Server(server) = &mut self.part else { return };
        let Some(key) = server.key_of(now, datagram) else { return };
        self.live = Some(Live::new(now, &key, Role::Server, &self.settings));
        self.roaming = Roaming::server();
        self.counters.sessions += 1;
    }

    /// Puts the next datagram to send at `now` together, which is then in [`Party::datagram`], and
    /// tells where to send it; nowhere once all is sent that may be.
    pub(crate) fn transmit(&mut self, now: Instant, source: &mut impl Source) -> Option<Path> {
        let greeting = match &mut self.part {
            Part::Client(client) => client.question(now, &self.key, self.live.as_ref()),
            Part::Server(server) => server.to_send.pop_front(),
        };
        if let Some((path, message)) = greeting {
            self.outgoing.datagram.clear();
            self.outgoing.datagram.extend_from_slice(&message);
            return Some(path);
        }
        let (live, path) = (self.live.as_mut()?, self.path?);
        live.advance(now);
        match live.transmit(now, source, &mut self.outgoing) {
            Ok(Sent::Nothing) => None,
            Ok(sent) => {
                self.counters.sent += 1;
                self.counters.sent_bytes += Bytes::new(self.outgoing.datagram.len() as u64);
                self.counters.carried += u64::from(sent == Sent::Payload);
                Some(path)
            }
            // Its key is worn out: the client asks for another once it hears nothing.
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
            Part::Client(client) if client.is_asking(now, self.live.as_ref()) => {
                wake.min(client.next_question)
            }
            Part::Server(server) if !server.to_send.is_empty() => now,
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
    /// Whether a question is to be asked at `now` or later: there is no session, or silence in it.
    fn is_asking(&self, now: Instant, live: Option<&Live>) -> bool {
        live.is_none_or(|live| live.is_silent(now))
    }

    /// The question that is to be asked at `now`, if one is, and whom.
    fn question(
        &mut self,
        now: Instant,
        key: &Key,
        live: Option<&Live>,
    ) -> Option<(Path, Message)> {
        if now < self.next_question || !self.is_asking(now, live) {
            return None;
        }
        if self.greeting.is_none() {
            self.wait = FIRST_WAIT;
            self.greeting = Greeting::new(key);
        }
        let remote = self.servers[self.asked % self.servers.len()];
        self.asked += 1;
        self.next_question = now.saturating_add(self.wait);
        if self.asked.is_multiple_of(self.servers.len()) {
            self.wait = (self.wait * 2).min(LONGEST_WAIT);
        }
        // Without randomness there is none, and it is tried again.
        let question = *self.greeting.as_ref()?.question();
        Some((Path { remote, local: None }, question))
    }
}

/// One who asks and does not have the key.
struct Stranger;

impl Server {
    /// The answer to `question`; nothing where there were too many of late.
    fn answer(
        &mut self,
        now: Instant,
        key: &Key,
        question: &Message,
    ) -> Result<Option<Message>, Stranger> {
        self.forget(now);
        let known = self.answered.iter().find(|answered| answered.question == *question);
        if let Some(answered) = known {
            return Ok(Some(answered.answer));
        }
        if now.saturating_since(self.lately.0) >= Span::from_secs(1) {
            self.lately = (now, 0);
        }
        if self.lately.1 >= ANSWERS_A_SECOND {
            return Ok(None);
        }
        let (answer, key) = greeting::answer(key, question).ok_or(Stranger)?;
        self.lately.1 += 1;
        if self.answered.len() == MOST_ANSWERS {
            self.answered.pop_front();
        }
        self.answered.push_back(Answered { at: now, question: *question, answer, key });
        Ok(Some(answer))
    }

    /// The key that was given in an answer, and under which `datagram` is authentic. It is given out
    /// no more.
    fn key_of(&mut self, now: Instant, datagram: &[u8]) -> Option<Key> {
        self.forget(now);
        let opens = |answered: &Answered| {
            let mut session = exm_datagram::Session::new(&answered.key, Role::Server);
            session.open(now, &mut datagram.to_vec()).is_ok()
        };
        let place = self.answered.iter().position(opens)?;
        self.answered.remove(place).map(|answered| answered.key)
    }

    fn forget(&mut self, now: Instant) {
        let is_old = |answered: &Answered| now.saturating_since(answered.at) >= REMEMBERED;
        while self.answered.front().is_some_and(is_old) {
            self.answered.pop_front();
        }
    }
}

#[cfg(test)]
mod tests;
