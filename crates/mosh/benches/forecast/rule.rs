//! [`Forecast`]: Sprout's window in place of ours.

use crate::states::Channels;
use crate::way::Datagram;
use exm_sprout::{Endpoint, Header, Settings};
use exm_ssp::{ACK_DELAY, ACK_INTERVAL, Rtt, Sided, State, StreamLog, StreamReader, Transport};
use exm_units::{Bytes, Instant, Span};
use std::collections::VecDeque;

/// The bytes of a full packet on the link.
const FULL: u64 = 1280;
/// Room for a keystroke or its echo.
const SMALL: usize = 120;
/// The smallest part of the stream that is worth an instruction, and the most of it that may be unacknowledged.
pub(crate) const PIECE: usize = 1000;
const MOST: u64 = 512 << 10;
/// The share of the window that the stream's bytes take; the rest are headers.
const SHARE: (usize, usize) = (9, 10);

/// What an end may send by Sprout's forecast, and the stream that takes what the state itself leaves of that.
pub(crate) struct Forecast {
    pub(crate) endpoint: Endpoint,
    pub(crate) channels: Channels,
    has_beats: bool,
    reader: StreamReader,
    log: StreamLog,
    /// The end of the stream in what was sent.
    sent: u64,
    /// The ends that are not acknowledged, and when they were sent.
    flights: VecDeque<(u64, Instant)>,
}

impl Forecast {
    pub(crate) fn new(
        now: Instant,
        channels: Channels,
        has_beats: bool,
        ahead: (usize, Span),
    ) -> Forecast {
        let (lookahead, queueing) = ahead;
        let packet = Bytes::new(FULL);
        let mut settings = Settings { packet, lookahead, queueing, ..Settings::default() };
        if !has_beats {
            // Nothing may come for as long as between mosh's empty acknowledgements.
            settings.heartbeat = ACK_INTERVAL;
        }
        Forecast {
            endpoint: Endpoint::new(now, settings),
            channels,
            has_beats,
            reader: StreamReader::default(),
            log: StreamLog::new(),
            sent: 0,
            flights: VecDeque::new(),
        }
    }

    pub(crate) fn read(&mut self, remote: &StreamLog) -> bool {
        self.reader.read(remote).is_ok_and(|bytes| self.channels.receive(&bytes))
    }

    fn window(&self) -> usize {
        self.endpoint.window().get() as usize
    }

    /// Makes the stream as long as the window allows beside `need` bytes.
    pub(crate) fn update<L: State, R: State>(
        &mut self,
        now: Instant,
        rtt: &Rtt,
        need: Option<usize>,
        transport: &mut Transport<Sided<L>, R>,
    ) {
        self.endpoint.advance(now);
        let local = transport.local().stream.end();
        let acknowledged = transport.local().stream.start();
        self.log.forget(acknowledged);
        while self.flights.front().is_some_and(|(end, _)| *end <= acknowledged) {
            self.flights.pop_front();
        }
        let room = self.window().saturating_sub(need.unwrap_or(0) + SMALL) * SHARE.0 / SHARE.1;
        let patience = rtt.timeout.saturating_add(ACK_DELAY);
        let first = self.flights.front();
        let is_lost = first.is_some_and(|(_, at)| now >= at.saturating_add(patience));
        let limit = if is_lost {
            // A retransmission has at least a piece, and no more than what was sent.
            self.sent.min(acknowledged + room.max(PIECE) as u64)
        } else {
            let sent = self.sent.max(acknowledged);
            if room < PIECE {
                sent
            } else {
                (sent + room as u64).min(acknowledged + MOST).max(sent)
            }
        };
        if self.log.end() < limit && self.channels.has_output() {
            self.log.append(&self.channels.pull((limit - self.log.end()) as usize));
        }
        let end = limit.min(self.log.end());
        if end != local {
            let state = transport.local().state.clone();
            transport.set_local(Sided { state, stream: self.log.until(end) });
        }
    }

    /// Whether there is room for what is due: for acknowledgements, keys and their echoes there always is. Otherwise they would wait
    /// for many seconds where another program fills the queue.
    pub(crate) fn has_room(&self, need: Option<usize>) -> bool {
        need.is_none_or(|need| need < PIECE || need <= self.window())
    }

    /// Data was sent whose stream ends at `end`.
    pub(crate) fn sent(&mut self, now: Instant, end: u64) {
        if end < self.sent {
            // The rest is lost, too.
            self.flights.clear();
        }
        if end != self.sent || self.flights.is_empty() {
            self.sent = end;
            self.flights.push_back((end, now));
        }
    }

    /// The header of a datagram with a payload of `length` bytes.
    pub(crate) fn header(&mut self, now: Instant, length: usize, data: bool, more: bool) -> Header {
        let size = Bytes::new(Datagram::size(length, true).into());
        self.endpoint.send(now, size, data, more.then_some(Bytes::new(FULL)))
    }

    pub(crate) fn is_beat_due(&self, now: Instant) -> bool {
        self.has_beats && self.endpoint.is_due(now)
    }
}
