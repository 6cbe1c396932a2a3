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
    promise: Option<Promise>,
    exposure: Exposure,
    doubt: Option<Doubt>,
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
            promise: None,
            exposure: Exposure::default(),
            doubt: None,
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
        let came = self.exposure.came(now, header);
        self.keep_promise(came, now, header);
        self.exposure.arrive(came, now, header);
        let later = |(_, sent_at)| header.sent_at.wrapping_sub(sent_at) as i32 >= 0;
        if self.newest.is_none_or(later) {
            self.newest = Some((now, header.sent_at));
        }
        let until = now.saturating_add(header.time_to_next);
        let sequence = header.sequence.saturating_add(size.get());
        let before = self.promise.unwrap_or(Promise { until, sequence });
        self.promise = Some(Promise {
            until: before.until.max(until),
            sequence: before.sequence.max(sequence),
        });
        now - came
    }

    /// Counts the time since the promised packet was due: it waited, or another that was lost; unless it is this one, and was sent
    /// late.
    fn keep_promise(&mut self, came: Instant, now: Instant, header: &Header) {
        let doubt = self.doubt.take();
        let Some(promise) = self.promise else { return };
        if header.sequence != promise.sequence || came <= promise.until + PUNCTUAL {
            self.exposure.wait(promise.until, now);
            return;
        }
        if let Some(doubt) = doubt {
            self.forecaster = doubt.settle(promise.until, came);
        }
        self.exposure.lull(promise.until, came);
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
        let mut tick =
            Tick { ends: self.tick_ends, bytes: self.bytes, exposed: Exposed::default() };
        if let Some(promise) = self.promise.filter(|promise| promise.until < self.tick_ends) {
            self.exposure.idle(promise.until);
            let sure = Tick { exposed: self.exposure.so_far(), ..tick };
            let forecaster = &self.forecaster;
            let doubt = self.doubt.get_or_insert_with(|| Doubt::before(forecaster.clone()));
            doubt.add(sure);
            self.exposure.wait(promise.until, self.tick_ends);
        }
        tick.exposed = self.exposure.take(self.tick_ends);
        tick.observe(&mut self.forecaster);
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

/// What the sender said of its next packet.
#[derive(Clone, Copy, Debug)]
struct Promise {
    /// It will be sent no later than this, less the minimum delay to here.
    until: Instant,
    /// The number of its first byte.
    sequence: u64,
}

/// A packet sent later than promised by up to this is not late.
const PUNCTUAL: Span = Span::from_millis(1);

/// What was seen in a tick.
#[derive(Clone, Copy, Debug)]
struct Tick {
    ends: Instant,
    bytes: Bytes,
    exposed: Exposed,
}

impl Tick {
    /// It is an observation of the link if packets arrived, or should have arrived.
    fn observe(&self, forecaster: &mut Forecaster) {
        let Exposed { busy, free } = self.exposed;
        let observed = busy > Span::ZERO || self.bytes > Bytes::ZERO;
        let part = |span: Span| span.as_secs_f64() / TICK.as_secs_f64();
        let seen = Observation { bytes: self.bytes, busy: part(busy), free: part(free) };
        forecaster.tick(observed.then_some(seen));
    }
}

/// Ticks in which a promised packet was overdue: the link held it, or its sender was late. A computer with much else to do
/// runs a sender tens of milliseconds late, which looks like an outage until the packet arrives and tells when it was sent.
#[derive(Clone, Debug)]
struct Doubt {
    /// The forecaster before the first of them.
    forecaster: Forecaster,
    /// What was seen in them for sure.
    ticks: Vec<Tick>,
}

impl Doubt {
    fn before(forecaster: Forecaster) -> Doubt {
        Doubt { forecaster, ticks: Vec::new() }
    }

    /// After [`MOST_TICKS`] it does not matter any more who was late.
    fn add(&mut self, tick: Tick) {
        if self.ticks.len() < MOST_TICKS as usize {
            self.ticks.push(tick);
        }
    }

    /// The forecaster after them, given that the packet was due at `due` and only `came` to the link later.
    fn settle(self, due: Instant, came: Instant) -> Forecaster {
        let Doubt { mut forecaster, ticks } = self;
        for mut tick in ticks {
            let began = Instant::from_nanos(tick.ends.as_nanos().saturating_sub(TICK.as_nanos()));
            tick.exposed.free += came.min(tick.ends).saturating_since(due.max(began));
            tick.exposed.busy += tick.ends.saturating_since(came.max(began));
            tick.observe(&mut forecaster);
        }
        forecaster
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
