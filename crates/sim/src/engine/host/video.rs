//! A [`Host`] whose data is the frames of a video.

use super::{Host, Transport};
use crate::engine::agenda::{Due, Turn};
use crate::network::Network;
use crate::video::{Encoder, Offer};
use exm_cc::{Controller, Metrics};
use exm_link::Packet;
use exm_random::{Purpose, Stream};
use exm_units::{Instant, Span};

/// The time for which Sprout's forecast is asked: that for which its sender follows it.
const FORECAST: Span = Span::from_millis(100);

/// The encoder of sender number `index` of `network`, if its traffic is a video.
pub(super) fn encoder(network: &Network, seed: u64, index: usize) -> Option<Box<Encoder>> {
    let spec = &network.flows()[index];
    let video = *spec.traffic.on().video()?;
    let stream = Stream::new(seed, Purpose::Video, index);
    let payload = spec.transport.payload(spec.packet_size);
    // Where no links lead back, a packet arrives with its ACK, after the propagation both ways.
    let both_ways = spec.propagation(network.links());
    let way_back = if spec.back.is_empty() { both_ways / 2 } else { Span::ZERO };
    Some(Box::new(Encoder::new(video, stream, payload, way_back)))
}

impl Host {
    /// A flow starts.
    pub(super) fn start_video(&mut self, now: Instant) {
        let Some(encoder) = &mut self.encoder else { return };
        let first = match &self.transport {
            Transport::Bare(bare) => bare.next_sequence(),
            Transport::Tcp(tcp) => tcp.offered(),
            Transport::Sprout(sprout) => sprout.offered(),
        };
        encoder.start(now, first);
        self.frame_at = encoder.next_frame();
        self.plan_frame();
    }

    /// Plans to wake for the next frame. Unlike timers, it is planned only where it changes.
    pub(in crate::engine) fn plan_frame(&mut self) {
        self.plan.wake = self.plan.wake.min(Due::new(self.frame_at, Turn::Timer));
    }

    /// The flow ends.
    pub(super) fn stop_video(&mut self) {
        if let Some(encoder) = &mut self.encoder {
            encoder.stop();
            self.frame_at = Instant::MAX;
        }
    }

    /// A frame is due: its packets are handed to the transport.
    #[cold]
    pub(super) fn encode(&mut self, now: Instant) {
        let waiting = match &self.transport {
            Transport::Bare(bare) => bare.waiting(),
            Transport::Tcp(tcp) => tcp.waiting(),
            Transport::Sprout(sprout) => sprout.waiting(),
        };
        let offer = Offer { rate: self.offered_rate(), waiting };
        let Some(encoder) = &mut self.encoder else { return };
        let packets = encoder.encode(now, offer);
        self.frame_at = encoder.next_frame();
        match &mut self.transport {
            Transport::Bare(bare) => bare.offer(packets),
            Transport::Tcp(tcp) => tcp.offer(packets),
            Transport::Sprout(sprout) => sprout.offer(packets),
        }
    }

    /// The rate that its transport offers, in bits of payload a second, if anything is known.
    fn offered_rate(&self) -> Option<f64> {
        if let Transport::Sprout(sprout) = &self.transport {
            return sprout.forecast_payload(FORECAST, self.payload);
        }
        let bits = self.payload.get() as f64 * 8.0;
        let metrics = self.controller().map_or(Metrics::NONE, Controller::metrics);
        if let Some(packets) = metrics.media_rate {
            return Some(packets * bits);
        }
        let (cwnd, intersend, _) = self.window();
        let paced = (!intersend.is_zero()).then(|| 1.0 / intersend.as_secs_f64());
        let rtt = self.last_rtt.filter(|rtt| !rtt.is_zero());
        let windowed = rtt.map(|rtt| cwnd.get() as f64 / rtt.as_secs_f64());
        let packets = match (paced, windowed) {
            (Some(paced), Some(windowed)) => paced.min(windowed),
            (paced, windowed) => windowed.or(paced)?,
        };
        Some(packets * bits)
    }

    /// `packet` has arrived at the receiver of a video.
    #[cold]
    pub(super) fn watch_video(&mut self, now: Instant, packet: &Packet) {
        let current = self.is_current(packet.epoch);
        let Some(encoder) = self.encoder.as_mut().filter(|_| current) else { return };
        match &self.transport {
            Transport::Bare(_) => encoder.arrived(now, packet.sequence),
            Transport::Tcp(tcp) => encoder.arrived_below(now, tcp.in_order()),
            Transport::Sprout(sprout) => {
                if let Some(number) = sprout.last_arrived() {
                    encoder.arrived(now, number);
                }
            }
        }
    }
}
