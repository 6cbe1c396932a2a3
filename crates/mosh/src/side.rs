//! [`Side`]: the channels of one end, as a byte stream beside its synchronised state.

use crate::channels::Channels;
use exm_ssp::{Rtt, Sided, State, StreamLog, StreamReader, Transport, Window};
use exm_units::Instant;

/// Moves the bytes of channels into the states of this end, as many as the congestion window allows, and out of those of the
/// peer.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) channels: Channels,
    reader: StreamReader,
    /// What was taken from the channels and is not acknowledged.
    log: StreamLog,
    window: Window,
    /// The number of the state that was sent last, and where its stream ends.
    sent: (u64, u64),
}

impl Side {
    pub(crate) fn new(channels: Channels) -> Side {
        Side {
            channels,
            reader: StreamReader::default(),
            log: StreamLog::new(),
            window: Window::new(),
            sent: (0, 0),
        }
    }

    /// Reads what is new in the peer's newest state. Returns false if it is malformed.
    pub(crate) fn receive(&mut self, remote: &StreamLog) -> bool {
        match self.reader.read(remote) {
            Ok(bytes) => self.channels.receive(&bytes),
            Err(_) => {
                self.channels.fail();
                false
            }
        }
    }

    /// Makes the stream of the local state of `transport` as long as the window allows; while it `is_held`, no longer than what is
    /// acknowledged.
    pub(crate) fn update<L: State, R: State>(
        &mut self,
        now: Instant,
        rtt: &Rtt,
        transport: &mut Transport<Sided<L>, R>,
        is_held: bool,
    ) {
        let local = &transport.local().stream;
        let acknowledged = local.start();
        self.log.forget(acknowledged);
        self.window.acknowledged(now, acknowledged);
        self.window.check(now, rtt);
        let limit = acknowledged + self.window.limit() as u64;
        let limit = limit.min(self.sent.1.max(acknowledged) + self.window.frame() as u64);
        if self.log.end() < limit && self.channels.has_output() {
            self.log.append(&self.channels.pull((limit - self.log.end()) as usize));
        }
        // What was sent stays, unless it is lost: a retransmission is no longer than the window, which has shrunk.
        let end = limit.min(self.log.end());
        let end = if is_held { acknowledged } else { end };
        let end = if is_held || self.window.is_recovering() { end } else { end.max(local.end()) };
        // To change the state, even to the same, delays it.
        if end != local.end() {
            transport.local_mut().stream = self.log.until(end);
        }
    }

    /// The state with this `number` was sent last, in which the stream ends at `end`.
    pub(crate) fn sent(&mut self, now: Instant, number: u64, end: u64) {
        if number != self.sent.0 {
            self.sent = (number, end);
            self.window.sent(now, end);
        }
    }

    /// When to call [`Side::update`] next.
    pub(crate) fn next_wake(&self, rtt: &Rtt) -> Instant {
        self.window.timeout(rtt)
    }
}
