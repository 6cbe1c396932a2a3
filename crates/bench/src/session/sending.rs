//! [`Sending`]: the datagrams that one end of a benchmark sends.

use super::packet;
use super::wire::{DATA_LENGTH, Message};
use exm_os::Clock;
use exm_units::{Instant, Rate, Span};
use std::collections::VecDeque;

/// At a fixed rate, the longest backlog that is caught up with.
const BACKLOG: Span = Span::from_millis(100);

/// Control messages, and after them numbered datagrams, as fast as the window allows or at a fixed rate.
#[derive(Debug)]
pub(super) struct Sending {
    clock: Clock,
    messages: VecDeque<Vec<u8>>,
    data: Option<Data>,
}

/// The numbered datagrams.
#[derive(Debug)]
struct Data {
    run: u32,
    length: usize,
    /// The interval between two datagrams, at a fixed rate.
    interval: Option<Span>,
    /// When the next may be sent.
    next_at: Instant,
    until: Instant,
    sent: u64,
}

impl Sending {
    pub(super) fn new(clock: Clock) -> Sending {
        Sending { clock, messages: VecDeque::new(), data: None }
    }

    /// Queues `message`.
    pub(super) fn queue(&mut self, message: &Message) {
        let mut encoded = Vec::new();
        message.encode(&mut encoded);
        self.messages.push_back(encoded);
    }

    /// Sends datagrams of `length` bytes from `now` on and before `until`, at `rate` if given.
    pub(super) fn begin(
        &mut self,
        run: u32,
        length: usize,
        rate: Option<Rate>,
        [now, until]: [Instant; 2],
    ) {
        let interval = rate.map(|rate| rate.service_time(packet(length)));
        self.data = Some(Data { run, length, interval, next_at: now, until, sent: 0 });
    }

    /// Whether no message is queued.
    pub(super) fn is_quiet(&self) -> bool {
        self.messages.is_empty()
    }

    /// The number of datagrams sent.
    pub(super) fn sent(&self) -> u64 {
        self.data.as_ref().map_or(0, |data| data.sent)
    }

    /// When the next datagram becomes available.
    pub(super) fn next_wake(&self, now: Instant) -> Instant {
        let next = self.data.as_ref().filter(|data| data.interval.is_some() && data.next_at > now);
        next.map_or(Instant::MAX, |data| data.next_at)
    }

    pub(super) fn waiting(&mut self, now: Instant) -> Option<usize> {
        let data = self.data.as_ref().filter(|data| data.next_at <= now && now < data.until);
        self.messages.front().map(Vec::len).or(data.map(|data| data.length))
    }

    pub(super) fn pull(&mut self, now: Instant, payload: &mut Vec<u8>) {
        if let Some(message) = self.messages.pop_front() {
            payload.extend_from_slice(&message);
            return;
        }
        let Some(data) = &mut self.data else { return };
        let sent_at = machine_time(self.clock, self.clock.now());
        let end = payload.len() + data.length.max(DATA_LENGTH);
        Message::Data { run: data.run, number: data.sent, sent_at }.encode(payload);
        payload.resize(end, 0);
        data.sent += 1;
        if let Some(interval) = data.interval {
            let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(BACKLOG.as_nanos()));
            data.next_at = data.next_at.max(earliest).saturating_add(interval);
        }
    }
}

/// `at` on the clock that all programs of this machine share.
pub(super) fn machine_time(clock: Clock, at: Instant) -> Instant {
    at.saturating_add(Span::from_nanos(clock.start_nanos()))
}
