//! [`Client`]: the recording end, which has two paths.

use crate::arrivals::{ArrivalLog, Collector};
use crate::message::{Arrival, Message};
use crate::sending::{Paths, Sending};
use crate::window::Window;
use crate::wire::{COOKIE_REPLY, HANDSHAKE, INITIATION, Path, RESPONSE, STATUS_EVERY, Settings};
use exm_datagram::{Key, KeyError, Role};
use exm_endpoint::Initiator;
use exm_units::{Instant, Span};
use std::collections::VecDeque;

/// How often an initiation is sent until the server responds.
const INITIATE_EVERY: Span = Span::from_millis(500);
/// The longest wait for outstanding reports at the end, and the longest silence during it, as the last packets may
/// be lost.
const FINAL_WAIT: Span = Span::from_secs(12);
const FINAL_SILENCE: Span = Span::from_secs(4);

/// A packet that arrived at either end. Its arrival time is of the receiver's clock, its sending time of the
/// sender's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet from the server, and the server's window when it was sent.
    Down(Arrival, u32),
    /// A packet from this end, and our window when its arrival was reported.
    Up(Arrival, u32),
}

/// The end under test: starts a recording at a server, saturates the path to it, acknowledges the data of the
/// opposite direction, and returns the arrivals of both directions in order. Its user owns the sockets and the
/// clock.
#[derive(Debug)]
pub struct Client {
    settings: Settings,
    state: State,
    events: VecDeque<Event>,
    ending_since: Option<Instant>,
}

#[derive(Debug)]
enum State {
    Connecting { initiator: Box<Initiator>, next: Instant },
    Running(Box<Running>),
}

#[derive(Debug)]
struct Running {
    paths: Paths,
    up: Sending,
    /// The arrivals here, to be reported.
    down: ArrivalLog,
    /// The reported arrivals at the server.
    collector: Collector,
    /// The time of the first arrival at the server, by its clock.
    first: Option<Instant>,
    /// When an arrival was last reported.
    reported_at: Instant,
    /// The number of impossible reports.
    implausible: u64,
    status_at: Instant,
    last_received_at: Instant,
    began: Instant,
}

impl Client {
    /// A client of the server that has `key`.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn new(now: Instant, key: &Key, settings: Settings) -> Result<Client, KeyError> {
        let initiator = Box::new(HANDSHAKE.initiate(key)?);
        let state = State::Connecting { initiator, next: now };
        Ok(Client { settings, state, events: VecDeque::new(), ending_since: None })
    }

    /// Processes `datagram`, received over `path` at `now`. Datagrams that are not the server's are dropped.
    pub fn receive(&mut self, now: Instant, path: Path, datagram: &mut [u8]) {
        let Some((&mut tag, sealed)) = datagram.split_first_mut() else { return };
        match &mut self.state {
            State::Connecting { .. } if path == Path::Control => {
                self.receive_reply(now, tag, sealed);
            }
            State::Running(running) if tag == path.tag() => {
                running.receive(now, path, sealed, &mut self.events);
            }
            _ => {}
        }
    }

    /// The server's reply to our initiation.
    fn receive_reply(&mut self, now: Instant, tag: u8, reply: &[u8]) {
        let State::Connecting { initiator, next } = &mut self.state else { return };
        if tag == COOKIE_REPLY && initiator.retry(reply) {
            *next = now;
        } else if tag == RESPONSE
            && let Some(keys) = initiator.finish(reply)
            && let Some(paths) = Paths::new(&keys, Role::Client)
        {
            self.state = State::Running(Box::new(Running::new(now, paths)));
        }
    }

    /// Writes the next datagram to send at `now` to `out`, and returns its path; `None` if nothing may be sent
    /// now.
    pub fn transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<Path> {
        match &mut self.state {
            State::Connecting { initiator, next } => {
                if now < *next {
                    return None;
                }
                *next = now + INITIATE_EVERY;
                out.clear();
                out.push(INITIATION);
                out.extend_from_slice(initiator.initiation());
                Some(Path::Control)
            }
            State::Running(running) => {
                let is_over = self.ending_since.is_some();
                let message = running.next(now, self.settings, is_over)?;
                running.paths.seal(now, &message, self.settings, out)
            }
        }
    }

    /// When to call [`Client::transmit`] again, unless a datagram arrives before.
    pub fn next_wake(&self) -> Instant {
        match &self.state {
            State::Connecting { next, .. } => *next,
            State::Running(running) => {
                let data = match self.ending_since {
                    None => running.up.window().next_send(),
                    Some(_) => Instant::MAX,
                };
                data.min(running.status_at).min(running.collector.next_request())
            }
        }
    }

    /// The next packet that arrived, at either end.
    pub fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Ends the recording: no more data is sent, but the server's outstanding reports are awaited.
    pub fn end(&mut self, now: Instant) {
        self.ending_since.get_or_insert(now);
    }

    /// Whether it is ending.
    pub fn is_ending(&self) -> bool {
        self.ending_since.is_some()
    }

    /// Whether it has ended, and all reports have arrived or been given up.
    pub fn is_done(&self, now: Instant) -> bool {
        let Some(since) = self.ending_since else { return false };
        match &self.state {
            State::Connecting { .. } => true,
            State::Running(running) => {
                // Packets in flight at the end still arrive and are reported.
                let is_reported = running.up.window().in_flight() == 0
                    || now.saturating_since(running.reported_at.max(since)) > FINAL_SILENCE;
                let waited = now.saturating_since(since);
                (running.collector.is_complete() && is_reported) || waited > FINAL_WAIT
            }
        }
    }

    /// Whether the server has answered.
    pub fn is_connected(&self) -> bool {
        matches!(self.state, State::Running(_))
    }

    /// The time since the server's last datagram; `None` before its first response.
    pub fn silence(&self, now: Instant) -> Option<Span> {
        match &self.state {
            State::Connecting { .. } => None,
            State::Running(running) => Some(now.saturating_since(running.last_received_at)),
        }
    }

    /// Our window; `None` before the server has answered.
    pub fn window(&self) -> Option<&Window> {
        match &self.state {
            State::Connecting { .. } => None,
            State::Running(running) => Some(running.up.window()),
        }
    }

    /// How many arrivals at the server were never reported, or implausibly.
    pub fn given_up(&self) -> u64 {
        match &self.state {
            State::Connecting { .. } => 0,
            State::Running(running) => running.collector.given_up() + running.implausible,
        }
    }
}

impl Running {
    fn new(now: Instant, paths: Paths) -> Running {
        Running {
            paths,
            up: Sending::default(),
            down: ArrivalLog::new(),
            collector: Collector::new(),
            first: None,
            reported_at: now,
            implausible: 0,
            status_at: now,
            last_received_at: now,
            began: now,
        }
    }

    fn receive(
        &mut self,
        now: Instant,
        path: Path,
        sealed: &mut [u8],
        events: &mut VecDeque<Event>,
    ) {
        let Some((message, _)) = self.paths.open(now, path, sealed) else { return };
        self.last_received_at = now;
        match message {
            Message::Data { number, sent_at, window } => {
                let arrival = Arrival { number, sent_at, received_at: now };
                self.down.push(arrival);
                events.push_back(Event::Down(arrival, window));
            }
            Message::Arrivals { first, arrivals } => {
                self.up.reported(now, first, &arrivals);
                self.collector.reported(now, first, &arrivals);
                self.collect(now, events);
            }
            Message::Status { arrivals, .. } => {
                self.collector.expect(arrivals);
                self.collect(now, events);
            }
            // Servers send no requests.
            Message::Request { .. } => {}
        }
    }

    fn collect(&mut self, now: Instant, events: &mut VecDeque<Event>) {
        while let Some(arrival) = self.collector.take(now) {
            self.reported_at = now;
            if self.is_plausible(now, &arrival) {
                events.push_back(Event::Up(arrival, self.up.window().size()));
            } else {
                self.implausible += 1;
            }
        }
    }

    /// Whether a reported packet was sent, and its arrival time is possible for a clock that is not much faster
    /// than ours.
    fn is_plausible(&mut self, now: Instant, arrival: &Arrival) -> bool {
        let first = *self.first.get_or_insert(arrival.received_at);
        let most = now.saturating_since(self.began) * 2;
        let is_sent = arrival.number < self.up.window().sent() && arrival.sent_at <= now;
        is_sent && arrival.received_at >= first && arrival.received_at - first <= most
    }

    /// The next message to send.
    fn next(&mut self, now: Instant, settings: Settings, is_over: bool) -> Option<Message> {
        if let Some(message) = self.down.report() {
            return Some(message);
        }
        if now >= self.status_at {
            self.status_at = now + STATUS_EVERY;
            let (arrivals, size) = (self.down.count(), settings.size());
            return Some(Message::Status { arrivals, size, is_over });
        }
        if let Some(message) = self.collector.request(now) {
            return Some(message);
        }
        if is_over { None } else { self.up.next(now) }
    }
}
