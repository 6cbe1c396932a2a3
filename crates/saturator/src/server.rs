//! [`Server`]: the end with a good connection.

use crate::arrivals::{Arrival, ArrivalLog};
use crate::message::{Message, STATUS_LENGTH};
use crate::sending::{Paths, Sending};
use crate::wire::{
    COOKIE_REPLY, HANDSHAKE, INITIATION, OVER_CONTROL, OVER_DATA, Path, RESPONSE, STATUS_EVERY,
    Settings,
};
use exm_datagram::{Key, OVERHEAD, Reply, Responder, Roaming, Role};
use exm_units::{Instant, Span};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// How many replies to handshakes may wait to be sent: as many as are read at a time, so that a flood
/// displaces nobody.
const MOST_REPLIES: usize = 64;
/// How many messages may wait to be sent that were asked for.
const MOST_QUEUED: usize = 64;
/// Without a word over the control path for so long, no more data is sent.
const SILENCE: Span = Span::from_secs(5);

/// The end that is asked for recordings: one at a time, of whoever has the key. It keeps the way to
/// the client full, and tells what arrives from there. Its user owns the socket and the clock.
#[derive(Debug)]
pub struct Server {
    responder: Responder,
    live: Option<Box<Live>>,
    /// Replies to handshakes.
    replies: VecDeque<(SocketAddr, Vec<u8>)>,
    copy: Vec<u8>,
}

/// A recording.
#[derive(Debug)]
struct Live {
    paths: Paths,
    /// Where the client is, over each path.
    data_at: Roaming,
    control_at: Roaming,
    settings: Settings,
    down: Sending,
    /// What arrived here, to be told.
    up: ArrivalLog,
    asked: VecDeque<Message>,
    status_at: Instant,
    heard_at: Instant,
    is_over: bool,
}

impl Server {
    /// Serves those who have `key`.
    pub fn new(key: Key) -> Server {
        Server {
            responder: Responder::new(HANDSHAKE, key),
            live: None,
            replies: VecDeque::new(),
            copy: Vec::new(),
        }
    }

    /// `datagram` came at `now` from `from`. Strangers are not answered.
    pub fn receive(&mut self, now: Instant, from: SocketAddr, datagram: &mut [u8]) {
        let Some((&mut tag, sealed)) = datagram.split_first_mut() else { return };
        match tag {
            INITIATION => self.initiated(now, from, sealed),
            OVER_CONTROL => self.heard(now, from, sealed),
            OVER_DATA => {
                if let Some(live) = &mut self.live {
                    live.receive(now, Path::Data, from, sealed);
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
        if self.replies.len() < MOST_REPLIES {
            self.replies.push_back((from, [&[kind], &message[..]].concat()));
        }
    }

    /// The client of the present recording, or one that has finished its handshake and is the new
    /// one.
    fn heard(&mut self, now: Instant, from: SocketAddr, sealed: &mut [u8]) {
        // What fails to open is spoilt.
        self.copy.clear();
        self.copy.extend_from_slice(sealed);
        if let Some(live) = &mut self.live
            && live.receive(now, Path::Control, from, sealed)
        {
            return;
        }
        let Server { responder, copy, .. } = self;
        let begun = responder.accept(now, |keys| {
            let mut live = Live::new(now, Paths::new(keys, Role::Server)?);
            sealed.copy_from_slice(copy);
            live.receive(now, Path::Control, from, sealed).then_some(live)
        });
        if let Some((mut live, proven)) = begun {
            live.control_at = proven.map_or_else(Roaming::server, Roaming::server_of);
            self.live = Some(Box::new(live));
        }
    }

    /// Puts the next datagram to be sent at `now` into `out`, and says where to; nothing where there
    /// is none for now.
    pub fn transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<SocketAddr> {
        if let Some((to, reply)) = self.replies.pop_front() {
            *out = reply;
            return Some(to);
        }
        self.live.as_mut()?.transmit(now, out)
    }

    /// When it is to be woken, unless something comes before.
    pub fn next_wake(&self, now: Instant) -> Instant {
        match &self.live {
            Some(live) if !live.is_silent(now) => {
                let data =
                    if live.may_send() { live.down.window().next_send() } else { Instant::MAX };
                data.min(live.status_at)
            }
            _ => Instant::MAX,
        }
    }

    /// Where the client of the present recording is, over the control path; nothing where there is
    /// none, it is over, or nothing was heard for 5 s.
    pub fn client(&self, now: Instant) -> Option<SocketAddr> {
        let live = self.live.as_ref().filter(|live| !live.is_over && !live.is_silent(now))?;
        live.control_at.peer()
    }

    /// How many data packets of the present or last recording were sent, and how many arrived.
    pub fn counts(&self) -> (u64, u64) {
        self.live.as_ref().map_or((0, 0), |live| (live.down.window().sent(), live.up.count()))
    }
}

impl Live {
    fn new(now: Instant, paths: Paths) -> Live {
        Live {
            paths,
            data_at: Roaming::server(),
            control_at: Roaming::server(),
            settings: Settings::default(),
            down: Sending::default(),
            up: ArrivalLog::new(),
            asked: VecDeque::new(),
            status_at: now,
            heard_at: now,
            is_over: false,
        }
    }

    fn is_silent(&self, now: Instant) -> bool {
        now.saturating_since(self.heard_at) > SILENCE
    }

    /// Whether data is to be sent at all, were there room for it.
    fn may_send(&self) -> bool {
        !self.is_over && self.data_at.peer().is_some()
    }

    /// Whether the datagram is one of this recording's client.
    fn receive(&mut self, now: Instant, path: Path, from: SocketAddr, sealed: &mut [u8]) -> bool {
        let Some((message, opened)) = self.paths.open(now, path, sealed) else { return false };
        match path {
            Path::Data => self.data_at.heard(now, &opened, from),
            Path::Control => self.control_at.heard(now, &opened, from),
        };
        if opened.newest && path == Path::Control {
            self.heard_at = now;
        }
        match message {
            Message::Data { number, sent_at, .. } => {
                self.up.push(Arrival { number, sent_at, received_at: now });
            }
            Message::Arrivals { first, arrivals } => self.down.told(now, first, &arrivals),
            Message::Request { first, count } => {
                let room = MOST_QUEUED.saturating_sub(self.asked.len());
                self.asked.extend(self.up.tell_again(first, count).take(room));
            }
            Message::Status { size, is_over, .. } => {
                self.is_over |= is_over;
                self.settings = Settings::new(size).unwrap_or(self.settings);
            }
        }
        true
    }

    /// Puts the next datagram into `out`, and says where to.
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

    /// What is sent to an address that is still to be proven: where it stands over the control path,
    /// and data over the other, which is what that is for.
    fn challenge(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<SocketAddr> {
        let size = usize::from(self.settings.size());
        let data = |live: &mut Live| {
            let may_send = !live.is_over && live.down.window().is_open(now);
            let challenge = may_send.then(|| live.data_at.challenge(now, size))??;
            Some((challenge, live.down.next(now)?))
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

    /// The next message to be sent.
    fn next(&mut self, now: Instant) -> Option<Message> {
        if let Some(message) = self.up.tell().or_else(|| self.asked.pop_front()) {
            return Some(message);
        }
        if now >= self.status_at {
            self.status_at = now + STATUS_EVERY;
            return Some(self.status());
        }
        if self.may_send() { self.down.next(now) } else { None }
    }
}
