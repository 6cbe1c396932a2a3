//! [`Sender`]: limits its sending to the forecast.

use crate::crowding::Crowding;
use crate::header::micros;
use crate::least::Least;
use crate::{Echo, Forecast, HORIZON, Header, Settings, TICK};
use exm_units::{Bytes, Instant, Span};
use std::collections::VecDeque;

/// Packets sent more than this apart never overtake each other (thesis, section 2.3.4).
const REORDERING: Span = Span::from_millis(10);
/// Packets sent closer together than this count as one, sent at the time of the earliest, in applying
/// [`REORDERING`].
const SAME: Span = Span::from_millis(1);

/// Packets are sent in trains of one full packet's bytes or, if full packets are due no further apart than
/// this (above 9 Mbit/s), of two's: a host that wakes half as often needs a third less CPU time. Larger trains
/// would leave links idle.
const PAIRED: Span = Span::from_micros(1300);
/// How many full packets may be in flight regardless of the forecast: a receiver that sees no packets never
/// learns that the link has recovered.
const LEAST: u64 = 2;
/// And at most this many that would pass the queue within this time: a receiver that sees few packets
/// forecasts little, so its sender would send little for many seconds, however much the link could carry.
const MOST_PROBES: u64 = 10;
const PROBING: Span = Span::from_millis(15);
/// But not after this many ticks without a forecast.
const FRESH: usize = 2;
/// The largest delay of a host's wake-ups that is made up for.
const LATENESS: Span = Span::from_millis(2);
/// The windows of the minimum RTT. Queues of several senders seldom empty; a longer route may take its place.
const RTT_WINDOW: Span = Span::from_secs(30);
const LONG_WINDOW: Span = Span::from_secs(150);
/// The age of arriving packets at which an outage is assumed.
const PASSING: Span = Span::from_millis(400);
/// A forecast that waited at the link that leads back is older by that time: what it forecasts for the time has been
/// delivered. At most this much counts, so that the rest of a forecast still reaches 100 ms ahead.
const OLDEST: Span = Span::from_millis(60);
/// A silence of the peer up to this long may be due to the return path, while everything arrives.
const SILENCE: Span = Span::from_secs(1);

/// The sender of an endpoint (thesis, section 2.3.5).
#[derive(Clone, Debug)]
pub struct Sender {
    /// The size of a full packet.
    packet: Bytes,
    /// Each packet should have left the queue within this many ticks.
    lookahead: usize,
    /// The queueing delay allowed in any case.
    queueing: Span,
    /// Round-trip times of the last minute, and of the last minutes.
    rtts: Least,
    long_rtts: Least,
    crowding: Crowding,
    /// The longest recent queueing delay, which decays by a fifth with each forecast.
    waited: Span,
    forecast: Forecast,
    /// When the forecast arrived, and how many ticks have passed since.
    forecast_at: Instant,
    tick: usize,
    /// Bytes sent.
    sent: u64,
    /// Those of them that are believed to be in flight.
    queue: u64,
    /// When the most recently sent packet known to have arrived was sent or, if later, the first packet sent
    /// after everything had arrived.
    fresh_at: Instant,
    /// The time per full packet: the window is spread over a tick.
    gap: Span,
    /// When the last packet was sent.
    sent_at: Instant,
    /// Its size.
    last: Bytes,
    /// How many bytes were sent at the same instant, including it.
    train: u64,
    /// When it was sent, or would have been by a host without delays or, within a train, if packets were sent
    /// individually.
    paced_from: Instant,
    /// The send times of the last [`REORDERING`], and the byte after each packet.
    recent: VecDeque<(Instant, u64)>,
    /// All bytes before this one were sent longer ago than that.
    throwaway: u64,
}

impl Sender {
    /// A sender that has sent nothing, and uses `forecast` until a better one arrives.
    pub fn new(now: Instant, settings: &Settings, forecast: Forecast) -> Sender {
        Sender {
            packet: settings.packet,
            lookahead: settings.lookahead,
            queueing: settings.queueing,
            rtts: Least::over(RTT_WINDOW),
            long_rtts: Least::over(LONG_WINDOW),
            crowding: Crowding::default(),
            waited: PASSING,
            forecast,
            forecast_at: now,
            tick: 0,
            sent: 0,
            queue: 0,
            fresh_at: now,
            gap: Span::ZERO,
            sent_at: now,
            last: Bytes::ZERO,
            train: 0,
            paced_from: now,
            recent: VecDeque::new(),
            throwaway: 0,
        }
    }

    /// A forecast has arrived, with an echo of the last packet that arrived there, in a packet that waited for
    /// `waited` on its way. One that is not newer than the last is ignored.
    pub fn on_forecast(
        &mut self,
        now: Instant,
        forecast: &Forecast,
        echo: Option<Echo>,
        waited: Span,
    ) {
        let newer = forecast.tick.wrapping_sub(self.forecast.tick) as i32 > 0;
        // The peer cannot have received what was not sent.
        if !newer || forecast.received.get() > self.sent {
            return;
        }
        if let Some(echo) = echo {
            self.on_echo(now, echo);
        }
        self.forecast = *forecast;
        let age = waited.min(OLDEST);
        self.forecast_at = Instant::from_nanos(now.as_nanos().saturating_sub(age.as_nanos()));
        self.tick = 0;
        self.queue = self.sent - forecast.received.get();
        self.pace();
        self.advance(now);
    }

    /// An echo from the future, or from longer ago than half the range of a header's clock, is ignored.
    fn on_echo(&mut self, now: Instant, echo: Echo) {
        let ago = micros(now).wrapping_sub(echo.sent_at);
        let held = (echo.held().as_nanos() / 1000) as u32;
        if ago <= u32::MAX / 2 && held <= ago {
            let waited = self.rtts.see(now, ago - held);
            // The queues of others do not become the minimum.
            if !self.crowding.is_crowded() {
                self.long_rtts.see(now, ago - held);
            }
            self.see_crowd(now, Span::from_micros((ago - held).into()));
            self.waited = waited.max(self.waited * 4 / 5);
            let sent_at = now.as_nanos().saturating_sub(u64::from(ago) * 1000);
            self.fresh_at = self.fresh_at.max(Instant::from_nanos(sent_at));
        }
    }

    /// An echo has taken `rtt`.
    fn see_crowd(&mut self, now: Instant, rtt: Span) {
        let least = self.long_rtts.get().map_or(rtt, |micros| Span::from_micros(micros.into()));
        let in_flight = (self.sent - self.forecast.received.get()) / self.packet.get();
        let delivered = self.forecast.delivered[HORIZON - 1].get() / self.packet.get();
        let horizons = rtt.as_secs_f64() / (TICK * HORIZON as u64).as_secs_f64();
        let waited = rtt.saturating_sub(least);
        self.crowding.see(now, (rtt, waited), in_flight, (delivered as f64 * horizons) as u64);
    }

    /// Spreads the window over a tick.
    fn pace(&mut self) {
        let packets = self.window().get() / self.packet.get();
        self.gap = TICK / packets.max(1);
    }

    /// When the next packet may be sent at `now` or later, if there is room for it.
    pub fn pace_at(&self, now: Instant) -> Instant {
        if self.has_train(now) { now } else { self.paced_at() }
    }

    /// Whether the next packet belongs to the train just sent, at exactly `now`.
    fn has_train(&self, now: Instant) -> bool {
        let packets = if self.gap <= PAIRED { 2 } else { 1 };
        self.sent_at == now && self.train < packets * self.packet.get()
    }

    /// When the next packet is due.
    fn paced_at(&self) -> Instant {
        let nanos = self.gap.as_nanos() * self.last.get() / self.packet.get();
        self.paced_from.saturating_add(Span::from_nanos(nanos))
    }

    /// Advances by ticks: the bytes that the forecast delivers in each leave the queue.
    pub fn advance(&mut self, now: Instant) {
        while self.tick < HORIZON && now >= self.tick_ends() {
            let (before, after) =
                (self.forecast.after(self.tick), self.forecast.after(self.tick + 1));
            self.queue = self.queue.saturating_sub((after - before).get());
            self.tick += 1;
            self.pace();
        }
    }

    /// When the current tick ends; never if the forecast is used up.
    pub fn tick_ends(&self) -> Instant {
        match self.tick {
            HORIZON => Instant::MAX,
            tick => self.forecast_at + TICK * (tick as u64 + 1),
        }
    }

    /// How many bytes may be sent, as of the last [`Sender::advance`]: as many as the forecast has room for,
    /// and at least enough to keep a few packets in flight.
    pub fn window(&self) -> Bytes {
        let unacknowledged = self.sent - self.forecast.received.get();
        let probes = Bytes::new((self.probes() * self.packet.get()).saturating_sub(unacknowledged));
        self.window_at(self.tick, self.queue).max(probes)
    }

    /// How many full packets may be in flight regardless of the forecast: those that would pass the queue
    /// within [`PROBING`] if each took as long as the longest recent queueing delay, or more where others fill the queue.
    fn probes(&self) -> u64 {
        let most = if self.tick > FRESH { LEAST } else { MOST_PROBES };
        let probes = (PROBING.as_nanos() / self.waited.as_nanos().max(1)).clamp(LEAST, most);
        probes.max(self.crowding.packets())
    }

    /// Whether other senders fill the queue of the link, so that packets wait although few are sent.
    pub fn is_crowded(&self) -> bool {
        self.crowding.is_crowded()
    }

    /// How far ahead the forecast is used. Bytes in propagation are in flight, too, and counted, so a longer RTT adds
    /// to it. But other senders' queues may look like one: only the RTT of the last minutes takes it beyond the horizon.
    fn ahead(&self) -> Span {
        let with = |rtts: &Least| {
            let rtt = rtts.get().map_or(Span::ZERO, |micros| Span::from_micros(micros.into()));
            self.queueing + rtt
        };
        let most = with(&self.long_rtts).max(TICK * HORIZON as u64);
        (TICK * self.lookahead as u64).max(with(&self.rtts).min(most))
    }

    /// How many bytes may be sent in tick `tick`, with `queue` bytes in flight.
    fn window_at(&self, tick: usize, queue: u64) -> Bytes {
        let until = self.forecast.within(TICK * tick as u64 + self.ahead());
        let delivered = until - self.forecast.after(tick);
        Bytes::new(delivered.get().saturating_sub(queue))
    }

    /// When the window will have room for `size` bytes if no newer forecast arrives; not before the next tick.
    /// None if it will not.
    pub fn room_at(&self, size: Bytes) -> Option<Instant> {
        let mut queue = self.queue;
        (self.tick..HORIZON).find_map(|tick| {
            let delivered = self.forecast.after(tick + 1) - self.forecast.after(tick);
            queue = queue.saturating_sub(delivered.get());
            let room = self.window_at(tick + 1, queue) >= size;
            room.then(|| self.forecast_at + TICK * (tick as u64 + 1))
        })
    }

    /// A packet of `size` bytes is sent. Its header is complete except for the time to the next packet and the
    /// forecast.
    pub fn send(&mut self, now: Instant, size: Bytes) -> Header {
        while let Some(&(_, end)) =
            self.recent.front().filter(|(at, _)| now - *at > REORDERING + SAME)
        {
            self.throwaway = end;
            self.recent.pop_front();
        }
        let header = Header {
            sequence: self.sent,
            throwaway: self.throwaway,
            sent_at: micros(now),
            ..Header::default()
        };
        if self.sent == self.forecast.received.get() {
            self.fresh_at = now;
        }
        self.sent += size.get();
        self.queue += size.get();
        // A host that wakes late catches up, but idle time is not made up for.
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(LATENESS.as_nanos()));
        let latest = if self.has_train(now) { Instant::MAX } else { now };
        self.paced_from = self.paced_at().max(earliest).min(latest);
        let before = if self.sent_at == now { self.train } else { 0 };
        (self.sent_at, self.last, self.train) = (now, size, before + size.get());
        match self.recent.back_mut() {
            Some((at, end)) if now - *at < SAME => *end = self.sent,
            _ => self.recent.push_back((now, self.sent)),
        }
        header
    }

    /// How long an outage has probably lasted: something is in flight, but the peer's forecasts acknowledge
    /// nothing newer, or nothing has arrived from the peer for long.
    pub fn stalled(&self, now: Instant) -> Span {
        if self.sent == self.forecast.received.get() {
            return Span::ZERO;
        }
        let arrival = self.forecast_at.max(self.fresh_at);
        let aged = (arrival - self.fresh_at).saturating_sub(PASSING);
        aged + now.saturating_since(arrival).saturating_sub(SILENCE)
    }

    /// The estimated bytes in flight.
    pub fn in_flight(&self) -> Bytes {
        Bytes::new(self.queue)
    }

    /// The forecast in force.
    pub fn forecast(&self) -> &Forecast {
        &self.forecast
    }

    /// The bytes that the forecast still delivers.
    pub fn deliverable(&self) -> Bytes {
        self.forecast.after(HORIZON) - self.forecast.after(self.tick)
    }
}
