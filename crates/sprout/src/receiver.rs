//! [`Receiver`]: counts arrivals, and forecasts in every tick.

use crate::exposure::{Exposed, Exposure};
use crate::forecaster::Observation;
use crate::{Echo, Forecast, Forecaster, Header, TICK};
use exm_units::{Bytes, Instant, Span};

/// After this many ticks of silence the filter is no longer advanced: ten seconds, in which the
/// rate can wander anywhere.
const MOST_TICKS: u64 = 500;
/// The maximum number of separate out-of-order pieces.
const MOST_PIECES: usize = 256;

/// The receiver of an endpoint.
#[derive(Clone, Debug)]
pub struct Receiver {
    forecaster: Forecaster,
    pieces: Pieces,
    /// When the current tick ends.
    tick_ends: Instant,
    ticks: u32,
    /// The bytes that have arrived in it.
    bytes: Bytes,
    /// The time until which the sender expected to send nothing.
    quiet_until: Option<Instant>,
    exposure: Exposure,
    forecast: Forecast,
    /// The arrival time and send time of the most recently sent packet that has arrived.
    newest: Option<(Instant, u32)>,
}

impl Receiver {
    /// A receiver whose first tick starts at `now`.
    pub fn new(now: Instant, forecaster: Forecaster) -> Receiver {
        let delivered = forecaster.forecast();
        Receiver {
            forecaster,
            pieces: Pieces::default(),
            tick_ends: now + TICK,
            ticks: 0,
            bytes: Bytes::ZERO,
            quiet_until: None,
            exposure: Exposure::default(),
            forecast: Forecast { tick: 0, received: Bytes::ZERO, delivered },
            newest: None,
        }
    }

    /// A packet of `size` bytes that begins with `header` has arrived at `now`. Returns how long it waited at the
    /// link.
    pub fn receive(&mut self, now: Instant, header: &Header, size: Bytes) -> Span {
        self.advance(now);
        self.bytes = Bytes::new(self.bytes.get().saturating_add(size.get()));
        self.pieces.receive(header, size.get());
        if let Some(until) = self.quiet_until {
            self.exposure.wait(until, now);
        }
        let waited = self.exposure.arrive(now, header);
        let later = |(_, sent_at)| header.sent_at.wrapping_sub(sent_at) as i32 >= 0;
        if self.newest.is_none_or(later) {
            self.newest = Some((now, header.sent_at));
        }
        let next = now.saturating_add(header.time_to_next);
        self.quiet_until = self.quiet_until.max(Some(next));
        waited
    }

    /// Ends the ticks that are over at `now`.
    pub fn advance(&mut self, now: Instant) {
        if now < self.tick_ends {
            return;
        }
        let over = (now - self.tick_ends).as_nanos() / TICK.as_nanos() + 1;
        let skipped = over.saturating_sub(MOST_TICKS);
        self.tick_ends += TICK * skipped;
        self.ticks = self.ticks.wrapping_add(skipped as u32);
        while now >= self.tick_ends {
            self.end_tick();
        }
        self.forecast = Forecast {
            tick: self.ticks,
            received: self.pieces.received(),
            delivered: self.forecaster.forecast(),
        };
    }

    /// Ends a tick. It is an observation of the link if packets arrived, or should have arrived.
    fn end_tick(&mut self) {
        if let Some(until) = self.quiet_until {
            self.exposure.wait(until, self.tick_ends);
        }
        let Exposed { busy, free } = self.exposure.take(self.tick_ends);
        let observed = busy > Span::ZERO || self.bytes > Bytes::ZERO;
        let part = |span: Span| span.as_secs_f64() / TICK.as_secs_f64();
        let seen = Observation { bytes: self.bytes, busy: part(busy), free: part(free) };
        self.forecaster.tick(observed.then_some(seen));
        self.bytes = Bytes::ZERO;
        self.tick_ends += TICK;
        self.ticks = self.ticks.wrapping_add(1);
    }

    /// When the current tick ends.
    pub fn tick_ends(&self) -> Instant {
        self.tick_ends
    }

    /// The forecast made at the end of the last tick.
    pub fn forecast(&self) -> &Forecast {
        &self.forecast
    }

    /// The echo at `now` of the last packet that arrived.
    pub(crate) fn echo(&self, now: Instant) -> Option<Echo> {
        let (at, sent_at) = self.newest?;
        Echo::new(sent_at, now.saturating_since(at))
    }

    /// The forecaster.
    pub fn forecaster(&self) -> &Forecaster {
        &self.forecaster
    }
}

/// Which bytes have arrived or been written off.
#[derive(Clone, Debug, Default)]
struct Pieces {
    /// All bytes before this have arrived or never will.
    floor: u64,
    /// The bytes that arrived beyond it, as ordered ranges that neither touch nor overlap.
    beyond: Vec<(u64, u64)>,
}

impl Pieces {
    fn receive(&mut self, header: &Header, size: u64) {
        let Some(end) = header.sequence.checked_add(size) else { return };
        self.add(header.sequence, end);
        self.raise(header.throwaway.min(header.sequence));
        while self.beyond.len() > MOST_PIECES {
            self.raise(self.beyond[0].1);
        }
    }

    /// The bytes from `start` to before `end` have arrived.
    fn add(&mut self, start: u64, end: u64) {
        let first = self.beyond.partition_point(|&(_, to)| to < start);
        let past = self.beyond.partition_point(|&(from, _)| from <= end);
        let touched = self.beyond.drain(first..past);
        let (start, end) =
            touched.fold((start, end), |(low, high), (from, to)| (low.min(from), high.max(to)));
        self.beyond.insert(first, (start, end));
        self.raise(self.floor);
    }

    /// All bytes before `floor` have arrived or never will.
    fn raise(&mut self, floor: u64) {
        self.floor = self.floor.max(floor);
        let under = self.beyond.partition_point(|&(start, _)| start <= self.floor);
        for (_, end) in self.beyond.drain(..under) {
            self.floor = self.floor.max(end);
        }
    }

    /// How many bytes have arrived or been written off.
    fn received(&self) -> Bytes {
        let beyond: u64 = self.beyond.iter().map(|(start, end)| end - start).sum();
        Bytes::new(self.floor.saturating_add(beyond))
    }
}
