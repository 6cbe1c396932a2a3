//! [`Sender`]: keeps what it sends within what is forecast.

use crate::header::micros;
use crate::least::Least;
use crate::{Echo, Forecast, HORIZON, Header, Settings, TICK};
use exm_units::{Bytes, Instant, Span};
use std::collections::VecDeque;

/// Packets sent more than this apart never overtake each other (thesis, section 2.3.4).
const REORDERING: Span = Span::from_millis(10);
/// Sends closer than this count as one, as the earliest of them, where it comes to [`REORDERING`].
const SAME: Span = Span::from_millis(1);

/// Packets go in trains of a full packet's bytes, and, where these are due no further apart than this, at more
/// than 9 Mbit/s, of two's: a host that wakes for every other needs a third less of a processor. More at a
/// time would leave links idle.
const PAIRED: Span = Span::from_micros(1300);
/// So many full packets may be under way whatever is forecast: a receiver that sees nothing of a link never
/// learns that it has recovered.
const LEAST: u64 = 2;
/// And up to so many that would be through the queue within so long: a receiver that sees little of a link
/// forecasts little, by which its sender would send little for many seconds, however much the link could
/// carry.
const MOST_PROBES: u64 = 10;
const PROBING: Span = Span::from_millis(15);
/// But not when so many ticks have passed without a forecast.
const FRESH: usize = 2;
/// By no more than this a host's wakes are late.
const LATENESS: Span = Span::from_millis(2);
/// So old may be what arrives, and it is no outage yet.
const PASSING: Span = Span::from_millis(400);
/// So long without a word may be the way back's fault, while everything arrives.
const SILENCE: Span = Span::from_secs(1);

/// The sending half of an endpoint (thesis, section 2.3.5).
#[derive(Clone, Debug)]
pub struct Sender {
    /// The size of a full packet.
    packet: Bytes,
    /// Within so many ticks each packet is to have left the queue.
    lookahead: usize,
    /// So long may it wait in it, whatever propagation takes.
    queueing: Span,
    /// Round-trip times.
    rtts: Least,
    /// The longest wait in the queue of late, which counts for a fifth less with each forecast.
    waited: Span,
    forecast: Forecast,
    /// When the forecast came, and how many ticks have passed since.
    forecast_at: Instant,
    tick: usize,
    /// Bytes sent.
    sent: u64,
    /// Those of them that are believed to be still under way.
    queue: u64,
    /// When the packet was sent that was sent last of those known to have arrived, or, if that is
    /// later, the first after all that had been sent had arrived.
    fresh_at: Instant,
    /// The time that a full packet takes: what there is room for is spread over a tick.
    gap: Span,
    /// When the last packet was sent.
    sent_at: Instant,
    /// Its size.
    last: Bytes,
    /// How many bytes were sent at the same instant, with it.
    train: u64,
    /// When it was sent, or should have been by a host whose wakes are never late, or, within a train, had it
    /// been sent by itself.
    paced_from: Instant,
    /// When packets were sent and which byte came after them, for the last [`REORDERING`].
    recent: VecDeque<(Instant, u64)>,
    /// All before this byte was sent longer ago than that.
    throwaway: u64,
}

impl Sender {
    /// A sender that has sent nothing, and believes `forecast` until it hears better.
    pub fn new(now: Instant, settings: &Settings, forecast: Forecast) -> Sender {
        Sender {
            packet: settings.packet,
            lookahead: settings.lookahead,
            queueing: settings.queueing,
            rtts: Least::default(),
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

    /// A forecast has come, with an echo of what had arrived last. One that is not newer than the last
    /// changes nothing.
    pub fn hear(&mut self, now: Instant, forecast: &Forecast, echo: Option<Echo>) {
        let newer = forecast.tick.wrapping_sub(self.forecast.tick) as i32 > 0;
        // Nobody has received what was not sent.
        if !newer || forecast.received.get() > self.sent {
            return;
        }
        if let Some(echo) = echo {
            self.hear_echo(now, echo);
        }
        self.forecast = *forecast;
        self.forecast_at = now;
        self.tick = 0;
        self.queue = self.sent - forecast.received.get();
        self.pace();
    }

    /// An echo of the future, or of longer ago than half a turn of a header's clock, tells nothing.
    fn hear_echo(&mut self, now: Instant, echo: Echo) {
        let ago = micros(now).wrapping_sub(echo.sent_at);
        let held = (echo.held().as_nanos() / 1000) as u32;
        if ago <= u32::MAX / 2 && held <= ago {
            let waited = self.rtts.see(now, ago - held);
            self.waited = waited.max(self.waited * 4 / 5);
            let sent_at = now.as_nanos().saturating_sub(u64::from(ago) * 1000);
            self.fresh_at = self.fresh_at.max(Instant::from_nanos(sent_at));
        }
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

    /// Whether the next packet goes with those that were just sent, at `now` to the nanosecond.
    fn has_train(&self, now: Instant) -> bool {
        let packets = if self.gap <= PAIRED { 2 } else { 1 };
        self.sent_at == now && self.train < packets * self.packet.get()
    }

    /// When the next packet is due.
    fn paced_at(&self) -> Instant {
        let nanos = self.gap.as_nanos() * self.last.get() / self.packet.get();
        self.paced_from.saturating_add(Span::from_nanos(nanos))
    }

    /// Ticks pass: what the forecast says is delivered in each leaves the queue.
    pub fn advance(&mut self, now: Instant) {
        while self.tick < HORIZON && now >= self.tick_ends() {
            let (before, after) =
                (self.forecast.after(self.tick), self.forecast.after(self.tick + 1));
            self.queue = self.queue.saturating_sub((after - before).get());
            self.tick += 1;
            self.pace();
        }
    }

    /// When the tick that runs ends; never where the forecast has no more.
    pub fn tick_ends(&self) -> Instant {
        match self.tick {
            HORIZON => Instant::MAX,
            tick => self.forecast_at + TICK * (tick as u64 + 1),
        }
    }

    /// How many bytes may be sent now, as of the last [`Sender::advance`]: those that the forecast has room
    /// for, and so that a few packets are under way whatever it says.
    pub fn window(&self) -> Bytes {
        let unacknowledged = self.sent - self.forecast.received.get();
        let probes = Bytes::new((self.probes() * self.packet.get()).saturating_sub(unacknowledged));
        self.window_at(self.tick, self.queue).max(probes)
    }

    /// How many full packets may be under way whatever is forecast: all that would be through the queue within
    /// [`PROBING`], should each take as long as the longest wait of late.
    fn probes(&self) -> u64 {
        let most = if self.tick > FRESH { LEAST } else { MOST_PROBES };
        (PROBING.as_nanos() / self.waited.as_nanos().max(1)).clamp(LEAST, most)
    }

    /// How many may be sent in tick `tick`, when `queue` bytes are under way.
    fn window_at(&self, tick: usize, queue: u64) -> Bytes {
        // What propagates is under way, and counted, as well.
        let rtt = self.rtts.get().map_or(Span::ZERO, |micros| Span::from_micros(micros.into()));
        let ahead = (TICK * self.lookahead as u64).max(self.queueing + rtt);
        let until = self.forecast.within(TICK * tick as u64 + ahead);
        let delivered = until - self.forecast.after(tick);
        Bytes::new(delivered.get().saturating_sub(queue))
    }

    /// When, if no newer forecast comes, there will be room for `size` bytes; not before the next
    /// tick. Nothing where there will not.
    pub fn room_at(&self, size: Bytes) -> Option<Instant> {
        let mut queue = self.queue;
        (self.tick..HORIZON).find_map(|tick| {
            let delivered = self.forecast.after(tick + 1) - self.forecast.after(tick);
            queue = queue.saturating_sub(delivered.get());
            let room = self.window_at(tick + 1, queue) >= size;
            room.then(|| self.forecast_at + TICK * (tick as u64 + 1))
        })
    }

    /// A packet of `size` bytes is sent. Its header is complete but for the time to the next and
    /// the forecast.
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
        // A host that wakes late makes up for it, but not for having had nothing to send.
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

    /// For how long there is reason to believe that only what was sent long ago arrives, though
    /// something is in flight: the peer's forecasts arrive but acknowledge nothing newer, or nothing
    /// has come from the peer for long.
    pub fn stalled(&self, now: Instant) -> Span {
        if self.sent == self.forecast.received.get() {
            return Span::ZERO;
        }
        let arrival = self.forecast_at.max(self.fresh_at);
        let aged = (arrival - self.fresh_at).saturating_sub(PASSING);
        aged + now.saturating_since(arrival).saturating_sub(SILENCE)
    }

    /// How many bytes are believed to be in flight.
    pub fn in_flight(&self) -> Bytes {
        Bytes::new(self.queue)
    }

    /// The forecast in force.
    pub fn forecast(&self) -> &Forecast {
        &self.forecast
    }

    /// How much will be delivered over what is left of the forecast's life.
    pub fn deliverable(&self) -> Bytes {
        self.forecast.after(HORIZON) - self.forecast.after(self.tick)
    }
}
