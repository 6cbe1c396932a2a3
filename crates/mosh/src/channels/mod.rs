//! [`Channels`]: many byte streams over one, with flow control for each.

mod channel;
mod frame;
mod opening;
mod wire;

pub use opening::{Opening, Reason};

use crate::Extensions;
use channel::{Channel, Ending, Phase};
use frame::{Decoder, Frame};
use std::collections::BTreeMap;
use wire::Malformed;

/// The version of the extensions.
const VERSION: u64 = 1;
/// The most channels that each end may have opened.
pub const MAX_CHANNELS: usize = 64;
/// The most bytes that a channel's reader may leave unread before its writer has to wait.
pub const CREDIT: usize = 256 << 10;
/// The most bytes that wait to be sent on a channel.
const MOST_WRITTEN: usize = 64 << 10;
/// The longest data of a frame: channels take turns.
const FRAME: usize = 4 << 10;
/// The most bytes that a frame with data has beside them.
const FRAME_HEADER: usize = 1 + 3 + 5;
/// The most bytes of frames without data that wait. A peer that causes more is malicious.
const MOST_CONTROL: usize = 256 << 10;

/// The number of a channel: even if the client has opened it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChannelId(pub u32);

/// What happened on a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The peer wants to open it: [`Channels::accept`] or [`Channels::refuse`] it.
    Opened(ChannelId, Opening),
    /// The peer has accepted it.
    Accepted(ChannelId),
    /// The peer has refused it. The channel is gone.
    Refused(ChannelId, Reason),
    /// There are bytes to [`Channels::read`]. It is reported once for what has arrived; what is left unread keeps the peer from
    /// sending more than [`CREDIT`] bytes.
    Data(ChannelId),
    /// All was read that the peer sends. This end may still write.
    Ended(ChannelId),
    /// The channel is gone: either end has closed it, or both directions have ended.
    Closed(ChannelId, Reason),
}

/// Why no channel can be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The other end has not granted it: not yet, never, or no more.
    #[error("the other end does not grant this extension")]
    NotGranted,
    /// 64 are open.
    #[error("{MAX_CHANNELS} channels are open")]
    TooMany,
}

/// Multiplexes channels over a pair of byte streams, for one of two ends.
///
/// Its owner moves bytes: from the peer to [`Channels::receive`], and to the peer from [`Channels::pull`].
#[derive(Clone, Debug)]
pub struct Channels {
    is_client: bool,
    /// What a client asks for, or a server may grant.
    offered: Extensions,
    /// What both have agreed on.
    granted: Option<Extensions>,
    has_failed: bool,
    decoder: Decoder,
    /// Encoded frames without data, in order. They go first.
    control: Vec<u8>,
    channels: BTreeMap<u32, Channel>,
    /// The number of this end's next channel.
    next_id: u32,
    /// The lowest number that the peer may use next.
    peer_id: u32,
    /// The channel that sent data last.
    turn: u32,
}

impl Channels {
    /// A client's, which asks for `extensions`.
    pub fn client(extensions: Extensions) -> Channels {
        let mut channels = Channels::new(true, extensions);
        if extensions.is_any() {
            channels.hello(extensions);
        }
        channels
    }

    /// A server's, which grants `extensions` to a client that asks for them.
    pub fn server(extensions: Extensions) -> Channels {
        Channels::new(false, extensions)
    }

    fn new(is_client: bool, offered: Extensions) -> Channels {
        Channels {
            is_client,
            offered,
            granted: None,
            has_failed: false,
            decoder: Decoder::default(),
            control: Vec::new(),
            channels: BTreeMap::new(),
            next_id: u32::from(!is_client),
            peer_id: u32::from(is_client),
            turn: 0,
        }
    }

    fn hello(&mut self, extensions: Extensions) {
        self.push(&Frame::Hello { version: VERSION, extensions: extensions.bits() });
    }

    fn push(&mut self, frame: &Frame) {
        frame.put(&mut self.control);
    }

    /// What both ends have agreed on; none until then, or if the peer has failed.
    pub fn granted(&self) -> Option<Extensions> {
        self.granted
    }

    /// Whether either end has given up: the other one has sent what cannot be understood.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Opens a channel. Its end follows as an event: [`Event::Accepted`] or [`Event::Refused`].
    ///
    /// # Errors
    /// The extension is not granted, or this end does not open such channels, or too many are open.
    pub fn open(&mut self, opening: Opening) -> Result<ChannelId, OpenError> {
        let granted = self.granted.ok_or(OpenError::NotGranted)?;
        if opening.is_by_client() != self.is_client || !opening.is_within(granted) {
            return Err(OpenError::NotGranted);
        }
        let id = self.next_id;
        if self.count(id) >= MAX_CHANNELS {
            return Err(OpenError::TooMany);
        }
        // No session opens 2^31 channels.
        self.next_id = id.checked_add(2).ok_or(OpenError::TooMany)?;
        self.push(&Frame::Open { id, opening: Some(opening.clone()) });
        self.channels.insert(id, Channel::new(opening, Phase::Asked));
        Ok(ChannelId(id))
    }

    /// How many channels there are that the same end has opened as `id`.
    fn count(&self, id: u32) -> usize {
        self.channels.keys().filter(|other| *other % 2 == id % 2).count()
    }

    /// The next thing that has happened; none if all were returned. Channels of [`Opening::History`] are not reported.
    pub fn next_event(&mut self) -> Option<Event> {
        self.event_of(|opening| *opening != Opening::History)
    }

    /// The next thing that has happened on a channel of [`Opening::History`].
    pub(crate) fn next_history_event(&mut self) -> Option<Event> {
        self.event_of(|opening| *opening == Opening::History)
    }

    fn event_of(&mut self, wanted: impl Fn(&Opening) -> bool) -> Option<Event> {
        let channels = self.channels.iter_mut().filter(|(_, channel)| wanted(&channel.opening));
        let mut events = channels.filter_map(|(id, channel)| {
            channel.next_event(ChannelId(*id)).map(|(event, is_last)| (*id, event, is_last))
        });
        let (id, event, is_last) = events.next()?;
        drop(events);
        if is_last {
            self.channels.remove(&id);
        }
        Some(event)
    }

    /// Accepts a channel that the peer has opened. Others are left alone, here and below.
    pub fn accept(&mut self, id: ChannelId) {
        if let Some(channel) = self.offered_channel(id) {
            channel.phase = Phase::Open;
            self.push(&Frame::Accept { id: id.0 });
        }
    }

    /// Refuses a channel that the peer has opened.
    pub fn refuse(&mut self, id: ChannelId, reason: Reason) {
        if self.offered_channel(id).is_some() {
            self.channels.remove(&id.0);
            self.push(&Frame::Refuse { id: id.0, reason });
        }
    }

    /// A channel that was neither accepted nor refused.
    fn offered_channel(&mut self, id: ChannelId) -> Option<&mut Channel> {
        self.channels.get_mut(&id.0).filter(|channel| channel.phase == Phase::Offered)
    }

    /// How many bytes [`Channels::write`] would take.
    pub fn writable(&self, id: ChannelId) -> usize {
        self.channels.get(&id.0).map_or(0, Channel::writable)
    }

    /// Writes as many of `bytes` as there is room for, and returns their number.
    pub fn write(&mut self, id: ChannelId, bytes: &[u8]) -> usize {
        let Some(channel) = self.channels.get_mut(&id.0) else { return 0 };
        let count = channel.writable().min(bytes.len());
        channel.outgoing.extend(&bytes[..count]);
        count
    }

    /// How many bytes were written and not sent.
    pub fn unsent(&self, id: ChannelId) -> usize {
        self.channels.get(&id.0).map_or(0, |channel| channel.outgoing.len())
    }

    /// Takes at most `most` bytes that have arrived. The peer may then send as many more.
    pub fn read(&mut self, id: ChannelId, most: usize) -> Vec<u8> {
        let Some(channel) = self.channels.get_mut(&id.0) else { return Vec::new() };
        let (bytes, credit) = channel.read(most);
        if let Some(bytes) = credit {
            self.push(&Frame::Credit { id: id.0, bytes });
        }
        bytes
    }

    /// This end writes nothing more on the channel: the peer gets [`Event::Ended`] after what was written. Once both directions have
    /// ended, the channel is closed.
    pub fn end(&mut self, id: ChannelId) {
        if let Some(channel) = self.channels.get_mut(&id.0)
            && channel.ending == Ending::No
        {
            channel.ending = Ending::Wanted;
        }
    }

    /// Closes the channel at once, and drops what waits in either direction. [`Event::Closed`] follows, or [`Event::Refused`]
    /// if the peer refuses it now.
    pub fn close(&mut self, id: ChannelId, reason: Reason) {
        let Some(channel) = self.channels.get_mut(&id.0) else { return };
        match channel.phase {
            Phase::Offered => self.refuse(id, reason),
            // The peer must answer first.
            Phase::Asked => channel.abandon(reason),
            Phase::Open => {
                channel.abandon(reason.clone());
                self.send_close(id.0, reason);
            }
            Phase::Refused => {}
        }
    }

    fn send_close(&mut self, id: u32, reason: Reason) {
        if let Some(channel) = self.channels.get_mut(&id)
            && !std::mem::replace(&mut channel.is_close_sent, true)
        {
            self.push(&Frame::Close { id, reason });
        }
    }

    /// Whether [`Channels::pull`] has something to return.
    pub fn has_output(&self) -> bool {
        !self.control.is_empty()
            || self
                .channels
                .values()
                .any(|channel| channel.sendable() > 0 || channel.is_ending_due())
    }

    /// At most `most` bytes for the peer. Channels take turns.
    pub fn pull(&mut self, most: usize) -> Vec<u8> {
        let mut out = Vec::new();
        self.pull_control(most, &mut out);
        while self.control.is_empty() && out.len() + FRAME_HEADER < most {
            let Some(id) = self.next_turn() else { break };
            self.turn = id;
            let Some(channel) = self.channels.get_mut(&id) else { break };
            let room = (most - out.len() - FRAME_HEADER).min(FRAME);
            let count = channel.sendable().min(room);
            if count > 0 {
                channel.credit -= count;
                let bytes = channel.outgoing.drain(..count).collect();
                Frame::Data { id, bytes }.put(&mut out);
            }
            if channel.is_ending_due() {
                channel.ending = Ending::Sent;
                self.push(&Frame::End { id });
                self.finish(id);
                self.pull_control(most, &mut out);
            }
        }
        out
    }

    fn pull_control(&mut self, most: usize, out: &mut Vec<u8>) {
        let count = self.control.len().min(most - out.len());
        out.extend(self.control.drain(..count));
    }

    /// The channel that sends next.
    fn next_turn(&self) -> Option<u32> {
        let is_ready =
            |(_, channel): &(&u32, &Channel)| channel.sendable() > 0 || channel.is_ending_due();
        let after = self.channels.range(self.turn.saturating_add(1)..).find(is_ready);
        let found = after.or_else(|| self.channels.iter().find(is_ready));
        found.map(|(id, _)| *id)
    }

    /// Closes a channel both directions of which have ended.
    fn finish(&mut self, id: u32) {
        if self.channels.get(&id).is_some_and(Channel::is_finished) {
            self.send_close(id, Reason::Finished);
        }
    }

    /// Processes `bytes` of the peer. Returns false if they are malformed, and were not before: then both ends give up all
    /// channels, and [`Channels::granted`] is none.
    pub fn receive(&mut self, bytes: &[u8]) -> bool {
        if self.has_failed {
            return true;
        }
        let mut decoder = std::mem::take(&mut self.decoder);
        let result = decoder.add(bytes, |frame| self.accept_frame(frame));
        self.decoder = decoder;
        if result.is_err() {
            self.fail();
        }
        result.is_ok()
    }

    /// Gives up all channels, and notifies the peer if it knows the extensions. Nothing can be opened or received any more.
    pub(crate) fn fail(&mut self) {
        let is_known = self.granted.is_some() && !self.has_failed;
        self.give_up();
        if is_known {
            self.push(&Frame::Abort);
        }
    }

    fn give_up(&mut self) {
        (self.granted, self.has_failed) = (None, true);
        self.channels.clear();
        self.decoder = Decoder::default();
        // What is cut in the middle leaves the peer waiting for the rest of a frame, which is no worse.
        self.control.clear();
    }

    fn accept_frame(&mut self, frame: Frame) -> Result<(), Malformed> {
        if self.has_failed {
            return Ok(());
        }
        if let Frame::Hello { version, extensions } = frame {
            return self.accept_hello(version, Extensions::from_bits(extensions));
        }
        let granted = self.granted.ok_or(Malformed("nothing was agreed on"))?;
        match frame {
            Frame::Open { id, opening } => self.opened(id, opening, granted)?,
            Frame::Abort => self.give_up(),
            Frame::Accept { id } => self.accepted(id)?,
            Frame::Refuse { id, reason } => {
                let channel = self.channel(id, Phase::Asked)?;
                channel.phase = Phase::Refused;
                channel.announce(Event::Refused(ChannelId(id), reason));
            }
            Frame::Data { id, bytes } => self.channel(id, Phase::Open)?.receive(&bytes)?,
            Frame::End { id } => {
                let channel = self.channel(id, Phase::Open)?;
                if std::mem::replace(&mut channel.is_ended, true) {
                    return Err(Malformed("a direction ends twice"));
                }
                self.finish(id);
            }
            Frame::Close { id, reason } => {
                let channel = self.channels.get_mut(&id).ok_or(Malformed("no such channel"))?;
                channel.close_received(reason)?;
                self.send_close(id, Reason::Finished);
            }
            Frame::Credit { id, bytes } => self.channel(id, Phase::Open)?.add_credit(bytes)?,
            Frame::Hello { .. } => {}
        }
        if self.control.len() > MOST_CONTROL {
            return Err(Malformed("the peer causes too many answers"));
        }
        Ok(())
    }

    fn accept_hello(&mut self, version: u64, extensions: Extensions) -> Result<(), Malformed> {
        let is_expected = self.granted.is_none() && (!self.is_client || self.offered.is_any());
        if !is_expected || version == 0 {
            return Err(Malformed("an unexpected greeting"));
        }
        let granted = self.offered.and(extensions);
        if !self.is_client {
            self.hello(granted);
        }
        self.granted = Some(granted);
        Ok(())
    }

    /// The channel `id`, if it is in `phase`.
    fn channel(&mut self, id: u32, phase: Phase) -> Result<&mut Channel, Malformed> {
        let channel = self.channels.get_mut(&id).filter(|channel| channel.phase == phase);
        channel.ok_or(Malformed("no such channel"))
    }

    /// The peer opens the channel `id`.
    fn opened(
        &mut self,
        id: u32,
        opening: Option<Opening>,
        granted: Extensions,
    ) -> Result<(), Malformed> {
        if id < self.peer_id || id % 2 != self.peer_id % 2 {
            return Err(Malformed("a channel's number is not the peer's next"));
        }
        self.peer_id = id.checked_add(2).ok_or(Malformed("there are no more numbers"))?;
        let refuse = |reason| Frame::Refuse { id, reason };
        let refusal = match &opening {
            None => Some(refuse(Reason::Unsupported)),
            Some(opening)
                if opening.is_by_client() == self.is_client || !opening.is_within(granted) =>
            {
                Some(refuse(Reason::Denied))
            }
            Some(_) if self.count(id) >= MAX_CHANNELS => Some(refuse(Reason::TooMany)),
            Some(_) => None,
        };
        match (refusal, opening) {
            (None, Some(opening)) => {
                let mut channel = Channel::new(opening.clone(), Phase::Offered);
                channel.announce(Event::Opened(ChannelId(id), opening));
                self.channels.insert(id, channel);
            }
            (refusal, _) => refusal.iter().for_each(|frame| self.push(frame)),
        }
        Ok(())
    }

    /// The peer has accepted the channel `id`.
    fn accepted(&mut self, id: u32) -> Result<(), Malformed> {
        let channel = self.channel(id, Phase::Asked)?;
        channel.phase = Phase::Open;
        match channel.closing.clone() {
            Some(reason) => self.send_close(id, reason),
            None => channel.announce(Event::Accepted(ChannelId(id))),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
