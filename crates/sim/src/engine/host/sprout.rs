//! [`Sprout`]: both endpoints of a Sprout session, of which the near one has data to send.

use super::Arrived;
use super::carried::Carried;
use crate::engine::observer::SproutSample;
use crate::network::SPROUT_EMPTY;
use exm_link::Packet;
use exm_sprout::{Endpoint, Header, Settings, TICK};
use exm_units::{Bytes, Instant, Packets, Rate, Span};

#[derive(Clone, Debug)]
pub(super) struct Sprout {
    settings: Settings,
    near: Endpoint,
    far: Endpoint,
    /// The headers of the packets in flight.
    headers: Carried<Header>,
    /// Packets that this flow still has to send, and still has to deliver; `u64::MAX` for a flow
    /// with a duration.
    to_send: u64,
    to_deliver: u64,
}

impl Sprout {
    pub(super) fn new(packet_size: Bytes, settings: Settings) -> Sprout {
        let settings = Settings { packet: packet_size, ..settings };
        let endpoint = Endpoint::new(Instant::ZERO, settings);
        Sprout {
            settings,
            near: endpoint.clone(),
            far: endpoint,
            headers: Carried::default(),
            to_send: 0,
            to_deliver: 0,
        }
    }

    pub(super) fn start(&mut self, now: Instant, data: Option<Packets>) {
        self.near = Endpoint::new(now, self.settings);
        self.far = self.near.clone();
        self.to_send = data.map_or(u64::MAX, Packets::get);
        self.to_deliver = self.to_send;
    }

    fn has_room(&self) -> bool {
        self.to_send > 0 && self.near.window() >= self.settings.packet
    }

    pub(super) fn next_send(&self, now: Instant) -> Instant {
        if self.near.is_due(now) {
            return now;
        }
        let room = self.near.send_at(now, self.settings.packet);
        room.filter(|_| self.to_send > 0).unwrap_or(Instant::MAX)
    }

    pub(super) fn send(&mut self, now: Instant, flow: usize) -> Packet {
        let data = self.has_room();
        let size = if data { self.settings.packet } else { SPROUT_EMPTY };
        if data && self.to_send != u64::MAX {
            self.to_send -= 1;
        }
        let pending = (self.to_send > 0).then_some(self.settings.packet);
        let header = self.near.send(now, size, data, pending);
        Packet::new(flow as u32, self.headers.push(header), size.get() as u32, now)
    }

    /// `packet` is lost.
    pub(super) fn forget(&mut self, packet: &Packet) {
        self.headers.take(packet.sequence);
    }

    /// `packet` arrives at the far endpoint.
    pub(super) fn receive(&mut self, now: Instant, packet: &Packet) -> Arrived {
        let Some(header) = self.headers.take(packet.sequence) else { return Arrived::default() };
        let size = Bytes::new(u64::from(packet.size));
        let data = size > SPROUT_EMPTY;
        self.far.receive(now, &header, size, data);
        let mut arrived = Arrived { delivered: u64::from(data), rtt: None, complete: false };
        if data && self.to_deliver != u64::MAX {
            self.to_deliver -= 1;
            arrived.complete = self.to_deliver == 0;
        }
        arrived
    }

    /// The far endpoint's packet, if it has one to send now.
    pub(super) fn header_to_send(&mut self, now: Instant) -> Option<Header> {
        self.far.is_due(now).then(|| self.far.send(now, SPROUT_EMPTY, false, None))
    }

    /// It arrives at the sender.
    pub(super) fn receive_ack(&mut self, now: Instant, header: &Header) {
        self.near.receive(now, header, SPROUT_EMPTY, false);
    }

    pub(super) fn next_wake(&self) -> Instant {
        self.near.next_wake().min(self.far.next_wake())
    }

    pub(super) fn wake(&mut self, now: Instant) {
        self.near.advance(now);
        self.far.advance(now);
    }

    /// The state of the session of sender `flow` at `now`.
    pub(super) fn sample(&self, now: Instant, flow: usize) -> SproutSample {
        let receiver = self.far.receiver();
        let bits_per_tick = receiver.forecaster().mean() * 8.0;
        SproutSample {
            at: now,
            flow,
            belief: receiver.forecaster().belief(),
            mean_rate: Rate::from_bps((bits_per_tick / TICK.as_secs_f64()) as u64),
            forecast: *receiver.forecast(),
            followed: *self.near.peer_forecast(),
            window: self.near.window(),
            in_flight: self.near.sender().in_flight(),
        }
    }

    /// The window and the packets in flight, in packets.
    pub(super) fn window(&self) -> (Packets, Span, Packets) {
        let packets = |bytes: Bytes| Packets::new(bytes.get() / self.settings.packet.get());
        let in_flight = self.near.sender().in_flight();
        (packets(self.near.window() + in_flight), Span::ZERO, packets(in_flight))
    }
}
