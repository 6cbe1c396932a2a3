//! [`Endpoint`]: one endpoint of a Sprout session.

use crate::{Forecast, Forecaster, Header, Method, Receiver, Sender};
use exm_units::{Bytes, Instant, Span};

/// The settings of an endpoint; both endpoints of a session must have the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How the receiver forecasts.
    pub method: Method,
    /// The size of a full packet, in units of which packets are counted.
    pub packet: Bytes,
    /// Each packet should have left the queue within this many ticks: five in the paper, 100 ms (thesis,
    /// section 2.3.5).
    pub lookahead: usize,
    /// The queueing delay that is allowed even if the RTT leaves less of the lookahead, as far as
    /// forecasts reach. Zero in the paper.
    pub queueing: Span,
    /// The longest silence, except in an outage or when neither endpoint has had anything to send for
    /// long: an endpoint without data sends heartbeats (thesis, section 2.3.4).
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

/// For this long after the peer's last data, forecasts are sent at every tick; later, with the
/// heartbeats.
const LIVELY: Span = Span::from_millis(500);

/// After this long without data in either direction, heartbeats are sent this much less often: on a phone
/// they would cost nine megabytes an hour, and keep its radio active.
const RESTFUL: Span = Span::from_secs(5);
const RESTING: Span = Span::from_millis(500);

/// In an outage heartbeats back off: each waits for a further fraction of the outage's length. Otherwise
/// they would fill the queue, and the link would first deliver old ones when the outage ends. They wait for no longer
/// than this, unless the session rests: a link that delivers a packet a second keeps up with them, and the outage may
/// be that of the return path alone.
const PATIENCE: u64 = 8;
const LONGEST_WAIT: Span = Span::from_millis(150);

/// An endpoint of a session: it sends data, and forecasts how much its peer may send.
///
/// A host calls [`Endpoint::receive`] for every packet, and [`Endpoint::advance`] at
/// [`Endpoint::next_wake`]. After either it sends its data while the [`Endpoint::window`] has room, and
/// then, if one is [due](Endpoint::is_due), a heartbeat. Packet sizes are those on the link, including
/// all headers.
#[derive(Clone, Debug)]
pub struct Endpoint {
    settings: Settings,
    /// The time to which it has advanced.
    now: Instant,
    sender: Sender,
    receiver: Receiver,
    /// The time until which the peer expects no packet.
    silent_until: Instant,
    /// The tick of the last forecast that was sent.
    last_forecast_sent: u32,
    /// When the peer's data last arrived.
    data_at: Option<Instant>,
    /// When data was last sent or received.
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
            last_forecast_sent: 0,
            data_at: None,
            active_at: now,
        }
    }

    /// A packet of `size` bytes that begins with `header` has arrived at `now`; `data` if it carries
    /// data.
    pub fn receive(&mut self, now: Instant, header: &Header, size: Bytes, data: bool) {
        self.advance(now);
        let waited = self.receiver.receive(now, header, size);
        if let Some(forecast) = &header.forecast {
            let put_off = self.silent_until > now + self.settings.heartbeat
                && self.sender.stalled(now) > Span::ZERO;
            self.sender.on_forecast(now, forecast, header.echo, waited);
            // The outage is over: heartbeats that it delayed are due.
            if put_off && self.sender.stalled(now) == Span::ZERO {
                self.silent_until = now;
            }
        }
        if data {
            self.data_at = Some(now);
            self.active_at = now;
        }
    }

    /// Advances the time to `now`.
    pub fn advance(&mut self, now: Instant) {
        self.now = now;
        self.receiver.advance(now);
        self.sender.advance(now);
    }

    /// How many bytes may be sent, as of the last [`Endpoint::advance`].
    pub fn window(&self) -> Bytes {
        self.sender.window()
    }

    /// When a packet of `size` bytes may be sent, as of the last [`Endpoint::advance`]; none if it
    /// exceeds the window.
    pub fn send_at(&self, now: Instant, size: Bytes) -> Option<Instant> {
        (size <= self.window()).then(|| self.sender.pace_at(now).max(now))
    }

    /// A packet of `size` bytes is sent at `now`, with data or without, beginning with the returned
    /// header. `pending` is the size of the next packet waiting, if any: if the window has room for it,
    /// it must be sent at once.
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
        // Rounded as in headers, and not too early: otherwise an extra heartbeat would be sent.
        header.time_to_next = Span::from_micros(silence.as_nanos().div_ceil(1000));
        self.silent_until = now + header.time_to_next;
        let forecast = self.receiver.forecast();
        if forecast.tick != self.last_forecast_sent {
            self.last_forecast_sent = forecast.tick;
            header.forecast = Some(*forecast);
            header.echo = self.receiver.echo(now);
        }
        header
    }

    /// As [`Endpoint::send`], for a heartbeat to an additional address where the peer may be, besides the
    /// one to its last known address: both have the same header, so losing this one creates no gap.
    pub fn send_aside(&mut self, now: Instant, size: Bytes, pending: Option<Bytes>) -> Header {
        let mut header = self.sender.send(now, size);
        header.satisfied = pending.is_none();
        let silence = self.silent_until.saturating_since(now);
        header.time_to_next = Span::from_micros(silence.as_nanos().div_ceil(1000));
        header.forecast = Some(*self.receiver.forecast());
        header.echo = self.receiver.echo(now);
        header
    }

    /// How long there will be nothing to send: until the window has room for the pending packet.
    fn silence(&self, now: Instant, pending: Option<Bytes>) -> Span {
        let room_at = pending.and_then(|size| self.sender.room_at(size));
        let silence = room_at.map_or(Span::MAX, |at| at.saturating_since(now));
        let rests = now.saturating_since(self.active_at) >= RESTFUL;
        let heartbeat = self.settings.heartbeat.max(if rests { RESTING } else { Span::ZERO });
        let longest = heartbeat.max((self.sender.stalled(now) / PATIENCE).min(LONGEST_WAIT));
        silence.min(longest)
    }

    /// Whether a heartbeat is to be sent at `now`: because the peer expects a packet, or waits for a
    /// forecast.
    pub fn is_due(&self, now: Instant) -> bool {
        now >= self.silent_until || self.owes_forecast(now)
    }

    fn owes_forecast(&self, now: Instant) -> bool {
        let lively = self.data_at.is_some_and(|at| now.saturating_since(at) < LIVELY);
        lively && self.receiver.forecast().tick != self.last_forecast_sent
    }

    /// When it must next be woken: at the end of a tick, or when a heartbeat becomes
    /// [due](Endpoint::is_due). A heartbeat that is already due is not included.
    pub fn next_wake(&self) -> Instant {
        let silence = if self.silent_until > self.now { self.silent_until } else { Instant::MAX };
        self.receiver.tick_ends().min(self.sender.tick_ends()).min(silence)
    }

    /// The peer's latest forecast, which the sender follows.
    pub fn peer_forecast(&self) -> &Forecast {
        self.sender.forecast()
    }

    /// The sender.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The receiver.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }
}
