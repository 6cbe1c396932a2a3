//! [`Endpoint`]: one end of a Sprout session.

use crate::{Forecast, Forecaster, Header, Method, Receiver, Sender};
use exm_units::{Bytes, Instant, Span};

/// How an endpoint works; both ends of a session have the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How it forecasts.
    pub method: Method,
    /// The size of a full packet, by which packets are counted.
    pub packet: Bytes,
    /// Within so many ticks each packet is to have left the queue: the paper's are five, 100 ms
    /// (thesis, section 2.3.5).
    pub lookahead: usize,
    /// Where the round trip leaves less of the lookahead, a packet may be in the queue for so long all
    /// the same, as far as forecasts reach. The paper's is zero.
    pub queueing: Span,
    /// The longest silence but in an outage, and when neither end has had anything to send for long: an
    /// endpoint that has nothing to send says so (thesis, section 2.3.4).
    pub heartbeat: Span,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            method: Method::default(),
            packet: Bytes::new(1500),
            lookahead: 5,
            queueing: Span::from_millis(61),
            heartbeat: Span::from_millis(40),
        }
    }
}

/// For so long after the last of the other end's data its forecast goes out at every tick; later,
/// with the heartbeats.
const LIVELY: Span = Span::from_millis(500);

/// After so long without data either way heartbeats come so much more rarely: on a phone they would cost
/// nine megabytes an hour, and keep its radio on.
const RESTFUL: Span = Span::from_secs(5);
const RESTING: Span = Span::from_millis(500);

/// In an outage heartbeats come ever more rarely, each after another such part of the time it has
/// lasted: they would fill the queue, and the link could deliver none that is fresh when it is over.
const PATIENCE: u64 = 4;

/// One end of a session: it sends, and tells the other end how much that may send.
///
/// A host tells it of every packet with [`Endpoint::receive`], and wakes it at
/// [`Endpoint::next_wake`] with [`Endpoint::advance`]. After either it sends what it has while the
/// [`Endpoint::window`] has room, and then, if one is [due](Endpoint::is_due), a packet without data.
/// Sizes are those of packets as the link sees them, and bytes are what its rate is counted in.
#[derive(Clone, Debug)]
pub struct Endpoint {
    settings: Settings,
    /// How far time has passed.
    now: Instant,
    sender: Sender,
    receiver: Receiver,
    /// Until when the other end has been told that nothing need come.
    silent_until: Instant,
    /// The tick of the forecast that was sent last.
    told: u32,
    /// When the other end's data last came.
    data_at: Option<Instant>,
    /// When data last came or went.
    active_at: Instant,
}

impl Endpoint {
    /// An endpoint that has received nothing.
    pub fn new(now: Instant, settings: Settings) -> Endpoint {
        let forecaster = Forecaster::new(settings.method, settings.packet);
        let receiver = Receiver::new(now, forecaster);
        // Until the peer's forecast arrives, assume the one of a peer that has received nothing either.
        let sender = Sender::new(now, &settings, *receiver.forecast());
        Endpoint {
            settings,
            now,
            sender,
            receiver,
            silent_until: now,
            told: 0,
            data_at: None,
            active_at: now,
        }
    }

    /// At `now` a packet of `size` bytes has arrived that begins with `header`, and carries data or
    /// does not.
    pub fn receive(&mut self, now: Instant, header: &Header, size: Bytes, data: bool) {
        self.advance(now);
        self.receiver.receive(now, header, size);
        if let Some(forecast) = &header.forecast {
            let put_off = self.silent_until > now + self.settings.heartbeat
                && self.sender.stalled(now) > Span::ZERO;
            self.sender.hear(now, forecast, header.echo);
            // The outage is over: what it put off is due.
            if put_off && self.sender.stalled(now) == Span::ZERO {
                self.silent_until = now;
            }
        }
        if data {
            self.data_at = Some(now);
            self.active_at = now;
        }
    }

    /// Time passes.
    pub fn advance(&mut self, now: Instant) {
        self.now = now;
        self.receiver.advance(now);
        self.sender.advance(now);
    }

    /// How many bytes may be sent now, as of the last [`Endpoint::advance`].
    pub fn window(&self) -> Bytes {
        self.sender.window()
    }

    /// When a packet of `size` bytes may be sent, as of the last [`Endpoint::advance`]; nothing where
    /// the window has no room for it.
    pub fn send_at(&self, now: Instant, size: Bytes) -> Option<Instant> {
        (size <= self.window()).then(|| self.sender.pace_at(now).max(now))
    }

    /// A packet of `size` bytes is sent at `now`, with data or without, and begins with the header
    /// returned. `pending` is the size of the packet that waits to be sent next, if there is one: where
    /// the window has room for it, it must follow at once.
    pub fn send(
        &mut self,
        now: Instant,
        size: Bytes,
        data: bool,
        pending: Option<Bytes>,
    ) -> Header {
        let mut header = self.sender.send(now, size);
        header.satisfied = pending.is_none();
        if data || pending.is_some() {
            self.active_at = now;
        }
        let follows = pending.is_some_and(|size| size <= self.window());
        let silence = if follows {
            self.sender.pace_at(now).saturating_since(now)
        } else {
            self.silence(now, pending)
        };
        // As headers tell it, and not before it is over: there would be a packet without data.
        header.time_to_next = Span::from_micros(silence.as_nanos().div_ceil(1000));
        self.silent_until = now + header.time_to_next;
        let forecast = self.receiver.forecast();
        if forecast.tick != self.told {
            self.told = forecast.tick;
            header.forecast = Some(*forecast);
            header.echo = self.receiver.echo(now);
        }
        header
    }

    /// As [`Endpoint::send`], of a packet without data that goes where the other end may be, beside those
    /// that go where it was last: both tell the same, and should this one be lost, no other is missing
    /// anything.
    pub fn send_aside(&mut self, now: Instant, size: Bytes, pending: Option<Bytes>) -> Header {
        let mut header = self.sender.send(now, size);
        header.satisfied = pending.is_none();
        let silence = self.silent_until.saturating_since(now);
        header.time_to_next = Span::from_micros(silence.as_nanos().div_ceil(1000));
        header.forecast = Some(*self.receiver.forecast());
        header.echo = self.receiver.echo(now);
        header
    }

    /// For how long there will be nothing to send: until there is room for what is pending.
    fn silence(&self, now: Instant, pending: Option<Bytes>) -> Span {
        let room_at = pending.and_then(|size| self.sender.room_at(size));
        let silence = room_at.map_or(Span::MAX, |at| at.saturating_since(now));
        let rests = now.saturating_since(self.active_at) >= RESTFUL;
        let heartbeat = self.settings.heartbeat.max(if rests { RESTING } else { Span::ZERO });
        let longest = heartbeat.max(self.sender.stalled(now) / PATIENCE);
        silence.min(longest)
    }

    /// Whether a packet without data is to be sent at `now`: because the other end expects one, or
    /// waits for a forecast.
    pub fn is_due(&self, now: Instant) -> bool {
        now >= self.silent_until || self.owes_forecast(now)
    }

    fn owes_forecast(&self, now: Instant) -> bool {
        let lively = self.data_at.is_some_and(|at| now.saturating_since(at) < LIVELY);
        lively && self.receiver.forecast().tick != self.told
    }

    /// When it wants to be woken, whatever happens: when a tick ends, or a packet without data will
    /// be [due](Endpoint::is_due). Of one that is due already it does not tell again.
    pub fn next_wake(&self) -> Instant {
        let silence = if self.silent_until > self.now { self.silent_until } else { Instant::MAX };
        self.receiver.tick_ends().min(self.sender.tick_ends()).min(silence)
    }

    /// The peer's latest forecast, which the sending half goes by.
    pub fn peer_forecast(&self) -> &Forecast {
        self.sender.forecast()
    }

    /// The sending half.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The receiving half.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }
}
