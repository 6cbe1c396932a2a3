//! [`Sprout`]: both endpoints of a Sprout session. The near one has data to send; the far one too, without end, if the
//! flow is duplex.

use super::Arrived;
use super::carried::Carried;
use super::oracle::Oracle;
use crate::engine::observer::SproutSample;
use crate::network::{FlowSpec, Network, SPROUT_EMPTY};
use exm_link::Packet;
use exm_sprout::{Endpoint, Header, Settings, TICK};
use exm_units::{Bytes, Instant, Packets, Rate, Span};

#[derive(Clone, Debug)]
pub(super) struct Sprout {
    settings: Settings,
    near: End,
    far: End,
    duplex: bool,
    /// What the far end forecasts by instead of what it saw.
    oracle: Option<Oracle>,
    /// The headers of the packets in flight, and the numbers of those with data.
    headers: Carried<(Header, Option<u64>)>,
    /// Packets with data sent so far.
    sent: u64,
    /// The number of the packet that arrived last, if it has data.
    last_arrived: Option<u64>,
    /// Packets that this flow still has to deliver; `u64::MAX` for a flow with a duration.
    to_deliver: u64,
}

/// An endpoint with its data.
#[derive(Clone, Debug)]
struct End {
    endpoint: Endpoint,
    packet: Bytes,
    /// Packets that it still has to send; `u64::MAX` without end.
    to_send: u64,
}

impl End {
    /// When its next packet may be sent, with data or without.
    fn next_send(&self, now: Instant) -> Instant {
        if self.endpoint.is_due(now) { now } else { self.next_data(now) }
    }

    /// When its next data may be sent.
    fn next_data(&self, now: Instant) -> Instant {
        let room = self.endpoint.send_at(now, self.packet);
        room.filter(|_| self.to_send > 0).unwrap_or(Instant::MAX)
    }

    /// Its next packet: header and size. It has data if the window has room for it.
    fn send(&mut self, now: Instant) -> (Header, Bytes) {
        let data = self.to_send > 0 && self.endpoint.window() >= self.packet;
        let size = if data { self.packet } else { SPROUT_EMPTY };
        if data && self.to_send != u64::MAX {
            self.to_send -= 1;
        }
        let pending = (self.to_send > 0).then_some(self.packet);
        (self.endpoint.send(now, size, data, pending), size)
    }

    /// A packet of `size` bytes arrives from the other end. Returns whether it has data.
    fn receive(&mut self, now: Instant, header: &Header, size: Bytes) -> bool {
        let data = size > SPROUT_EMPTY;
        self.endpoint.receive(now, header, size, data);
        data
    }
}

impl Sprout {
    pub(super) fn new(network: &Network, spec: &FlowSpec, settings: Settings) -> Sprout {
        let settings = Settings { packet: spec.packet_size, ..settings };
        let endpoint = Endpoint::new(Instant::ZERO, settings);
        let end = End { endpoint, packet: spec.packet_size, to_send: 0 };
        Sprout {
            settings,
            near: end.clone(),
            far: end,
            duplex: spec.duplex,
            oracle: Oracle::of(network, spec, settings),
            headers: Carried::default(),
            sent: 0,
            last_arrived: None,
            to_deliver: 0,
        }
    }

    pub(super) fn start(&mut self, now: Instant, data: Option<Packets>) {
        self.near.endpoint = Endpoint::new(now, self.settings);
        self.far.endpoint = self.near.endpoint.clone();
        self.near.to_send = data.map_or(u64::MAX, Packets::get);
        self.far.to_send = if self.duplex { u64::MAX } else { 0 };
        self.to_deliver = self.near.to_send;
        if let Some(oracle) = &mut self.oracle {
            oracle.start(now, self.settings);
        }
    }

    pub(super) fn next_send(&self, now: Instant) -> Instant {
        self.near.next_send(now)
    }

    pub(super) fn send(&mut self, now: Instant, packet: &mut Packet) {
        let (header, size) = self.near.send(now);
        let number = (size > SPROUT_EMPTY).then_some(self.sent);
        self.sent += u64::from(number.is_some());
        (packet.sequence, packet.size) = (self.headers.push((header, number)), size.get() as u32);
    }

    /// `packet` is lost.
    pub(super) fn forget(&mut self, packet: &Packet) {
        self.headers.take(packet.sequence);
    }

    /// `packet` arrives at the far endpoint.
    pub(super) fn receive(&mut self, now: Instant, packet: &Packet) -> Arrived {
        let Some((header, number)) = self.headers.take(packet.sequence) else {
            return Arrived::default();
        };
        self.last_arrived = number;
        let data = self.far.receive(now, &header, Bytes::new(u64::from(packet.size)));
        let mut arrived = Arrived { delivered: u64::from(data), rtt: None, complete: false };
        if data && self.to_deliver != u64::MAX {
            self.to_deliver -= 1;
            arrived.complete = self.to_deliver == 0;
        }
        arrived
    }

    /// The sender of a video has more packets to send.
    pub(super) fn offer(&mut self, packets: Packets) {
        self.near.to_send += packets.get();
        self.to_deliver += packets.get();
    }

    /// The number that the next packet of the next frame will have.
    pub(super) fn offered(&self) -> u64 {
        self.sent + self.near.to_send
    }

    /// Packets of a video that were not sent yet.
    pub(super) fn waiting(&self) -> Packets {
        Packets::new(self.near.to_send)
    }

    /// The number of the packet that arrived last, among those with data.
    pub(super) fn last_arrived(&self) -> Option<u64> {
        self.last_arrived
    }

    /// The payload that will be delivered within `time` by the forecast that the sender follows, in bits a second, if
    /// each packet carries `payload`.
    pub(super) fn forecast_payload(&self, time: Span, payload: Bytes) -> Option<f64> {
        let bytes = self.near.endpoint.peer_forecast().within(time).get() as f64;
        let share = payload.get() as f64 / self.settings.packet.get() as f64;
        Some(bytes * share * 8.0 / time.as_secs_f64())
    }

    /// The far endpoint's next packet, if it has one to send now: its header and its size.
    pub(super) fn answer(&mut self, now: Instant) -> Option<(Header, Bytes)> {
        (self.far.next_send(now) <= now).then(|| {
            let (mut header, size) = self.far.send(now);
            if let (Some(oracle), Some(forecast)) = (&mut self.oracle, &mut header.forecast) {
                let made_at = self.far.endpoint.receiver().tick_ends() - TICK;
                oracle.advance(made_at);
                forecast.delivered = oracle.forecast(made_at);
            }
            (header, size)
        })
    }

    /// It arrives at the near endpoint.
    pub(super) fn receive_answer(&mut self, now: Instant, header: &Header, size: Bytes) {
        self.near.receive(now, header, size);
    }

    /// When an endpoint must be woken, or the far one has data to send.
    pub(super) fn next_wake(&self, now: Instant) -> Instant {
        let ends = self.near.endpoint.next_wake().min(self.far.endpoint.next_wake());
        ends.min(self.far.next_data(now))
    }

    pub(super) fn wake(&mut self, now: Instant) {
        self.near.endpoint.advance(now);
        self.far.endpoint.advance(now);
    }

    /// The state of the session of sender `flow` at `now`.
    pub(super) fn sample(&self, now: Instant, flow: usize) -> SproutSample {
        let (near, receiver) = (&self.near.endpoint, self.far.endpoint.receiver());
        let bits_per_tick = receiver.forecaster().mean() * 8.0;
        SproutSample {
            at: now,
            flow,
            belief: receiver.forecaster().belief(),
            mean_rate: Rate::from_bps((bits_per_tick / TICK.as_secs_f64()) as u64),
            forecast: self.oracle.as_ref().map_or(*receiver.forecast(), |_| *near.peer_forecast()),
            followed: *near.peer_forecast(),
            window: near.window(),
            in_flight: near.sender().in_flight(),
        }
    }

    /// The window and the packets in flight, in packets.
    pub(super) fn window(&self) -> (Packets, Span, Packets) {
        let packets = |bytes: Bytes| Packets::new(bytes.get() / self.settings.packet.get());
        let (window, in_flight) =
            (self.near.endpoint.window(), self.near.endpoint.sender().in_flight());
        (packets(window + in_flight), Span::ZERO, packets(in_flight))
    }
}
