//! [`Channel`]: one channel of the multiplexer, at one end.

use super::opening::{Opening, Reason};
use super::wire::Malformed;
use super::{CREDIT, Event, MOST_WRITTEN};
use std::collections::VecDeque;

/// Whether a channel was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// This end has opened it.
    Asked,
    /// The peer has opened it.
    Offered,
    /// It was accepted.
    Open,
    /// It was refused: only the event is left.
    Refused,
}

/// How far this end's direction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// More may be written.
    No,
    /// What was written has yet to be sent, and then the end.
    Wanted,
    /// The end was sent.
    Sent,
}

#[derive(Clone, Debug)]
pub(crate) struct Channel {
    pub(crate) opening: Opening,
    pub(crate) phase: Phase,
    /// What happened to it first, until it is reported.
    announcement: Option<Event>,
    /// Written here, and not sent.
    pub(crate) outgoing: VecDeque<u8>,
    /// How much may be sent.
    pub(crate) credit: usize,
    /// Received, and not read.
    incoming: VecDeque<u8>,
    /// How much the peer may send.
    allowed: usize,
    /// Read since the last credit was given.
    consumed: usize,
    pub(crate) ending: Ending,
    /// Whether the peer's direction has ended.
    pub(crate) is_ended: bool,
    has_news: bool,
    is_end_reported: bool,
    /// Why this end wants to close it.
    pub(crate) closing: Option<Reason>,
    pub(crate) is_close_sent: bool,
    /// Why the peer has closed it.
    closed: Option<Reason>,
}

impl Channel {
    pub(crate) fn new(opening: Opening, phase: Phase) -> Channel {
        Channel {
            opening,
            phase,
            announcement: None,
            outgoing: VecDeque::new(),
            credit: CREDIT,
            incoming: VecDeque::new(),
            allowed: CREDIT,
            consumed: 0,
            ending: Ending::No,
            is_ended: false,
            has_news: false,
            is_end_reported: false,
            closing: None,
            is_close_sent: false,
            closed: None,
        }
    }

    /// How many bytes wait to be read.
    #[cfg(test)]
    pub(crate) fn held_incoming(&self) -> usize {
        self.incoming.len()
    }

    pub(crate) fn announce(&mut self, event: Event) {
        self.announcement = Some(event);
    }

    /// The next event of this channel, which is `id`, and whether it was the last.
    pub(crate) fn next_event(&mut self, id: super::ChannelId) -> Option<(Event, bool)> {
        if let Some(event) = self.announcement.take() {
            return Some((event, self.phase == Phase::Refused));
        }
        if std::mem::take(&mut self.has_news) {
            return Some((Event::Data(id), false));
        }
        if !self.incoming.is_empty() {
            return None;
        }
        if self.is_ended && !self.is_end_reported && self.closing.is_none() {
            self.is_end_reported = true;
            return Some((Event::Ended(id), false));
        }
        let reason = self.closed.clone().filter(|_| self.is_close_sent)?;
        // The end that closes it first says why.
        let reason = self.closing.clone().filter(|_| reason == Reason::Finished).unwrap_or(reason);
        Some((Event::Closed(id, reason), true))
    }

    /// Bytes that the peer has sent.
    pub(crate) fn receive(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        if self.phase != Phase::Open || self.is_ended || self.closed.is_some() {
            return Err(Malformed("data on a channel that is not open"));
        }
        self.allowed = self
            .allowed
            .checked_sub(bytes.len())
            .ok_or(Malformed("more data than the credit allows"))?;
        // Nobody reads it any more.
        if self.closing.is_none() && !bytes.is_empty() {
            self.incoming.extend(bytes);
            self.has_news = true;
        }
        Ok(())
    }

    /// Takes at most `most` bytes, and returns the credit to give for them, if it is time.
    pub(crate) fn read(&mut self, most: usize) -> (Vec<u8>, Option<u32>) {
        let bytes: Vec<u8> = self.incoming.drain(..most.min(self.incoming.len())).collect();
        self.consumed += bytes.len();
        let is_due = self.consumed >= CREDIT / 4
            && !self.is_ended
            && self.closed.is_none()
            && self.closing.is_none();
        if !is_due {
            return (bytes, None);
        }
        let credit = std::mem::take(&mut self.consumed);
        self.allowed += credit;
        (bytes, Some(credit as u32))
    }

    pub(crate) fn add_credit(&mut self, bytes: u32) -> Result<(), Malformed> {
        self.credit += bytes as usize;
        if self.credit > CREDIT || self.phase != Phase::Open {
            return Err(Malformed("more credit than was used"));
        }
        Ok(())
    }

    /// How many bytes may be written now.
    pub(crate) fn writable(&self) -> usize {
        let is_open = self.phase == Phase::Open
            && self.ending == Ending::No
            && self.closing.is_none()
            && self.closed.is_none();
        if is_open { MOST_WRITTEN - self.outgoing.len() } else { 0 }
    }

    /// How many bytes may be sent now.
    pub(crate) fn sendable(&self) -> usize {
        if self.phase == Phase::Open { self.outgoing.len().min(self.credit) } else { 0 }
    }

    /// Whether it is time to send the end.
    pub(crate) fn is_ending_due(&self) -> bool {
        self.phase == Phase::Open
            && self.ending == Ending::Wanted
            && self.outgoing.is_empty()
            && !self.is_close_sent
    }

    /// Whether both directions have ended, and nothing was said about closing.
    pub(crate) fn is_finished(&self) -> bool {
        self.ending == Ending::Sent && self.is_ended && !self.is_close_sent
    }

    /// The peer closes it: what it has sent before can still be read.
    pub(crate) fn close_received(&mut self, reason: Reason) -> Result<(), Malformed> {
        if self.phase != Phase::Open || self.closed.is_some() {
            return Err(Malformed("a channel is closed that is not open"));
        }
        self.closed = Some(reason);
        self.outgoing.clear();
        Ok(())
    }

    /// This end does not want any more of it.
    pub(crate) fn abandon(&mut self, reason: Reason) {
        self.closing.get_or_insert(reason);
        self.outgoing.clear();
        self.incoming.clear();
        self.has_news = false;
    }
}
