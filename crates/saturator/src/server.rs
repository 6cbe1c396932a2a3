//! [`Server`]: the end that takes part in recordings.

use crate::arrivals::ArrivalLog;
use crate::message::{Arrival, Message, STATUS_LENGTH};
use crate::sending::{Paths, Sending};
use crate::wire::{
    COOKIE_REPLY, HANDSHAKE, INITIATION, OVER_CONTROL, OVER_DATA, Path, RESPONSE, STATUS_EVERY,
    Settings,
};
use exm_datagram::{Key, OVERHEAD, Roaming, Role};
use exm_endpoint::{Reply, Responder};
use exm_units::{Instant, Span};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// The most handshake replies that wait to be sent: as many as are read at once, so that a flood displaces no
/// others.
const MAX_REPLIES: usize = 64;
/// The most requested messages that wait to be sent.
const MAX_QUEUED: usize = 64;
/// After this long without a datagram over the control path, no more data is sent.
const SILENCE: Span = Span::from_secs(5);

/// The end that takes part in recordings of clients with the key, one at a time. It saturates the path to the
/// client and reports what arrives from there. Its user owns the socket and the clock.
#[derive(Debug)]
pub struct Server {
    responder: Responder,
    recording: Option<Box<Recording>>,
    /// Replies to handshakes.
    replies: VecDeque<(SocketAddr, Vec<u8>)>,
    copy: Vec<u8>,
}

/// A recording.
#[derive(Debug)]
struct Recording {
    paths: Paths,
    /// The client's addresses on each path.
    data_at: Roaming,
    control_at: Roaming,
    settings: Settings,
    down: Sending,
    /// The arrivals here, to be reported.
    up: ArrivalLog,
    asked: VecDeque<Message>,
    status_at: Instant,
    last_received_at: Instant,
    is_over: bool,
}

impl Server {
    /// A server for clients that have `key`.
    pub fn new(key: Key) -> Server {
        Server {
            responder: Responder::new(HANDSHAKE, key),
            recording: None,
            replies: VecDeque::new(),
            copy: Vec::new(),
        }
    }

    /// Processes `datagram`, received from `from` at `now`. Senders without the key get no reply.
    pub fn receive(&mut self, now: Instant, from: SocketAddr, datagram: &mut [u8]) {
        let Some((&mut tag, sealed)) = datagram.split_first_mut() else { return };
        match tag {
            INITIATION => self.initiated(now, from, sealed),
            OVER_CONTROL => self.receive_control(now, from, sealed),
            OVER_DATA => {
                if let Some(recording) = &mut self.recording {
                    recording.receive(now, Path::Data, from, sealed);
                }
            }
            _ => {}
        }
    }

    fn initiated(&mut self, now: Instant, from: SocketAddr, initiation: &[u8]) {
        let Ok(Some(reply)) = self.responder.reply(now, from, initiation) else { return };
        let (kind, message) = match reply {
            Reply::Response(response) => (RESPONSE, response),
            Reply::Cookie(cookie) => (COOKIE_REPLY, cookie),
        };
        if self.replies.len() < MAX_REPLIES {
            self.replies.push_back((from, [&[kind], &message[..]].concat()));
        }
    }

    /// Processes a datagram of the present client, or of a new one that has finished its handshake.
    fn receive_control(&mut self, now: Instant, from: SocketAddr, sealed: &mut [u8]) {
        // A failed attempt to open a datagram destroys its contents.
        self.copy.clear();
        self.copy.extend_from_slice(sealed);
        if let Some(recording) = &mut self.recording
            && recording.receive(now, Path::Control, from, sealed)
        {
            return;
        }
        let Server { responder, copy, .. } = self;
        let begun = responder.accept(now, |keys| {
            let mut recording = Recording::new(now, Paths::new(keys, Role::Server)?);
            sealed.copy_from_slice(copy);
            recording.receive(now, Path::Control, from, sealed).then_some(recording)
        });
        if let Some((mut recording, proven)) = begun {
            recording.control_at = proven.map_or_else(Roaming::server, Roaming::server_of);
            self.recording = Some(Box::new(recording));
        }
    }

    /// Writes the next datagram to send at `now` to `out`, and returns its destination; `None` if nothing may be
    /// sent now.
    pub fn transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<SocketAddr> {
        if let Some((to, reply)) = self.replies.pop_front() {
            *out = reply;
            return Some(to);
        }
        self.recording.as_mut()?.transmit(now, out)
    }

    /// When to call [`Server::transmit`] again, unless a datagram arrives before.
    pub fn next_wake(&self, now: Instant) -> Instant {
        match &self.recording {
            Some(recording) if !recording.is_silent(now) => {
                let data = if recording.may_send() {
                    recording.down.window().next_send()
                } else {
                    Instant::MAX
                };
                data.min(recording.status_at)
            }
            _ => Instant::MAX,
        }
    }

    /// The present client's address on the control path; `None` if there is no recording, it is over, or the client
    /// has been silent for 5 s.
    pub fn client(&self, now: Instant) -> Option<SocketAddr> {
        let recording = self
            .recording
            .as_ref()
            .filter(|recording| !recording.is_over && !recording.is_silent(now))?;
        recording.control_at.peer()
    }

    /// The numbers of data packets sent and received in the present or last recording.
    pub fn counts(&self) -> (u64, u64) {
        self.recording
            .as_ref()
            .map_or((0, 0), |recording| (recording.down.window().sent(), recording.up.count()))
    }
}

impl Recording {
    fn new(now: Instant, paths: Paths) -> Recording {
        Recording {
            paths,
            data_at: Roaming::server(),
            control_at: Roaming::server(),
            settings: Settings::default(),
            down: Sending::default(),
            up: ArrivalLog::new(),
            asked: VecDeque::new(),
            status_at: now,
            last_received_at: now,
            is_over: false,
        }
    }

    fn is_silent(&self, now: Instant) -> bool {
        now.saturating_since(self.last_received_at) > SILENCE
    }

    /// Whether data may be sent if the window allows it.
    fn may_send(&self) -> bool {
        !self.is_over && self.data_at.peer().is_some()
    }

    /// Processes a datagram; returns whether it is of this recording's client.
    fn receive(&mut self, now: Instant, path: Path, from: SocketAddr, sealed: &mut [u8]) -> bool {
        let Some((message, opened)) = self.paths.open(now, path, sealed) else { return false };
        match path {
            Path::Data => self.data_at.receive(now, &opened, from),
            Path::Control => self.control_at.receive(now, &opened, from),
        };
        if opened.newest && path == Path::Control {
            self.last_received_at = now;
        }
        match message {
            Message::Data { number, sent_at, .. } => {
                self.up.push(Arrival { number, sent_at, received_at: now });
            }
            Message::Arrivals { first, arrivals } => self.down.reported(now, first, &arrivals),
            Message::Request { first, count } => {
                let room = MAX_QUEUED.saturating_sub(self.asked.len());
                self.asked.extend(self.up.repeat(first, count).take(room));
            }
            Message::Status { size, is_over, .. } => {
                self.is_over |= is_over;
                self.settings = Settings::new(size).unwrap_or(self.settings);
            }
        }
        true
    }

    /// Writes the next datagram to `out`, and returns its destination.
    fn transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<SocketAddr> {
        if self.is_silent(now) {
            return None;
        }
        if let Some(to) = self.challenge(now, out) {
            return Some(to);
        }
        self.control_at.peer()?;
        let message = self.next(now)?;
        match self.paths.seal(now, &message, self.settings, out)? {
            Path::Data => self.data_at.peer(),
            Path::Control => self.control_at.peer(),
        }
    }

    /// Writes a path challenge for an address that is not validated: a status on the control path, or a data
    /// packet on the data path.
    fn challenge(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<SocketAddr> {
        let size = usize::from(self.settings.size());
        let data = |recording: &mut Recording| {
            let may_send = !recording.is_over && recording.down.window().is_open(now);
            let challenge = may_send.then(|| recording.data_at.challenge(now, size))??;
            Some((challenge, recording.down.next(now)?))
        };
        let ((to, mark), message) = data(self).or_else(|| {
            let status = self.status();
            Some((self.control_at.challenge(now, 1 + OVERHEAD + STATUS_LENGTH)?, status))
        })?;
        self.paths.seal_marked(now, mark, (&message, self.settings), out)?;
        Some(to)
    }

    fn status(&self) -> Message {
        let (arrivals, size, is_over) = (self.up.count(), self.settings.size(), self.is_over);
        Message::Status { arrivals, size, is_over }
    }

    /// The next message to send.
    fn next(&mut self, now: Instant) -> Option<Message> {
        if let Some(message) = self.up.report().or_else(|| self.asked.pop_front()) {
            return Some(message);
        }
        if now >= self.status_at {
            self.status_at = now + STATUS_EVERY;
            return Some(self.status());
        }
        if self.may_send() { self.down.next(now) } else { None }
    }
}
