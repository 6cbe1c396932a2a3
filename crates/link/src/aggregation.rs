//! [`Aggregation`] and [`FrameServer`]: a link that transmits packets in frames.

use crate::{Packet, Server};
use exm_random::{Distribution, Stream};
use exm_units::{Bytes, Instant, Packets, Rate, Span};

/// How a link aggregates packets into frames, as Wi-Fi does (A-MPDUs, IEEE 802.11-2020, section 10.12).
///
/// Before each frame, the link takes some time for medium access. Then it transmits what waits, up to both limits, and
/// all packets of the frame leave together when it ends.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Aggregation {
    /// The most packets of a frame.
    pub packets: Packets,
    /// The longest transmission of a frame; a single packet may take longer.
    pub airtime: Span,
    /// The time of medium access before each frame, in seconds, at most [`Aggregation::MAX_ACCESS`]. It depends on how many
    /// others transmit.
    pub access: Distribution,
}

impl Default for Aggregation {
    /// At most 64 packets, which is the block ACK window of IEEE 802.11n, and 4 ms, which many drivers set;
    /// medium access of 0.5 ms on average, exponential: a chosen value, for a medium that few others use.
    fn default() -> Aggregation {
        Aggregation {
            packets: Packets::new(64),
            airtime: Span::from_millis(4),
            access: Distribution::Exponential { mean: 0.0005 },
        }
    }
}

impl Aggregation {
    /// The longest time of medium access: longer draws count as this.
    pub const MAX_ACCESS: Span = Span::from_secs(1000);

    /// Sets the most packets of a frame.
    #[must_use]
    pub fn packets(self, packets: Packets) -> Aggregation {
        Aggregation { packets, ..self }
    }

    /// Sets the longest transmission of a frame.
    #[must_use]
    pub fn airtime(self, airtime: Span) -> Aggregation {
        Aggregation { airtime, ..self }
    }

    /// Sets the time of medium access, in seconds.
    #[must_use]
    pub fn access(self, access: Distribution) -> Aggregation {
        Aggregation { access, ..self }
    }

    /// Whether frames can be transmitted so.
    ///
    /// # Errors
    /// What is impossible, and what to give instead.
    pub fn check(&self) -> Result<(), String> {
        if self.packets == Packets::ZERO {
            return Err("a frame of no packets carries nothing: give at least one".to_owned());
        }
        if self.airtime.is_zero() {
            return Err(
                "a frame of no air time carries nothing: give some, such as \"4 ms\"".to_owned()
            );
        }
        self.access
            .check()
            .map_err(|problem| format!("medium access takes impossible times: {problem}"))
    }

    /// How many packets of `size` a full frame has at `rate`.
    pub fn full_frame(&self, rate: Rate, size: Bytes) -> Packets {
        let each = rate.service_time(size).as_nanos().max(1);
        Packets::new((self.airtime.as_nanos() / each).clamp(1, self.packets.get()))
    }

    /// The throughput of a link at `rate` on which packets of `size` always wait: that of full frames, each after
    /// the mean time of medium access.
    pub fn capacity(&self, rate: Rate, size: Bytes) -> Rate {
        let packets = self.full_frame(rate, size).get();
        let airtime = rate.service_time(size).as_secs_f64() * packets as f64;
        let access = self.access.mean_below(Aggregation::MAX_ACCESS.as_secs_f64());
        let bits = 8.0 * size.get() as f64 * packets as f64;
        Rate::from_bps((bits / (access + airtime)) as u64)
    }
}

/// The state of a link that transmits at a fixed rate, in frames.
#[derive(Clone, Debug)]
pub struct FrameServer {
    server: Server,
    settings: Aggregation,
    accesses: Stream,
}

impl FrameServer {
    /// A link at `rate`, whose times of medium access are drawn from `accesses`.
    pub fn new(rate: Rate, settings: Aggregation, accesses: Stream) -> FrameServer {
        FrameServer { server: Server::new(rate), settings, accesses }
    }

    /// Transmits at `rate` from the next frame on.
    pub fn set_rate(&mut self, rate: Rate) {
        self.server = Server::new(rate);
    }

    /// The time to transmit a packet of `size` bytes.
    pub fn transmission(&mut self, size: u32) -> Span {
        self.server.finish(Instant::ZERO, size) - Instant::ZERO
    }

    /// When medium access that begins at `now` ends.
    pub fn access(&mut self, now: Instant) -> Instant {
        let access = Span::from_secs_f64(self.settings.access.draw(&mut self.accesses));
        now.saturating_add(access.min(Aggregation::MAX_ACCESS))
    }

    /// Starts a frame at `now`: takes packets from `next`, passes each to `out`, and returns when the frame ends; `now`
    /// if there are no packets. A frame is full when another packet as large as its last would exceed its air time.
    pub fn frame(
        &mut self,
        now: Instant,
        mut next: impl FnMut() -> Option<Packet>,
        mut out: impl FnMut(Packet),
    ) -> Instant {
        let mut end = now;
        for _ in 0..self.settings.packets.get() {
            let Some(packet) = next() else { break };
            end = self.server.finish(end, packet.size);
            out(packet);
            if self.server.finish(end, packet.size) - now > self.settings.airtime {
                break;
            }
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_random::Purpose;

    fn server(settings: Aggregation) -> FrameServer {
        FrameServer::new(Rate::from_mbps(12.0), settings, Stream::new(1, Purpose::Access, 0))
    }

    /// How many of `sizes` the first frame takes, and its length.
    fn first_frame(settings: &Aggregation, sizes: &[u32]) -> (usize, Span) {
        let mut packets = (0..).zip(sizes).map(|(n, &size)| Packet::new(0, n, size, Instant::ZERO));
        let mut taken = 0;
        let mut server = server(settings.clone());
        let end = server.frame(Instant::ZERO, || packets.next(), |_| taken += 1);
        (taken, end - Instant::ZERO)
    }

    #[test]
    fn a_frame_is_limited_by_packets_and_by_air_time() {
        let ms = Span::from_millis;
        let settings = Aggregation::default();
        assert_eq!(first_frame(&settings, &[1500; 9]), (4, ms(4)));
        assert_eq!(first_frame(&settings, &[1500; 3]), (3, ms(3)));
        assert_eq!(first_frame(&settings, &[]), (0, Span::ZERO));
        // A single packet may take longer than a frame.
        assert_eq!(first_frame(&settings, &[9000; 3]), (1, ms(6)));
        let few = settings.packets(Packets::new(2));
        assert_eq!(first_frame(&few, &[1500; 9]), (2, ms(2)));
        assert_eq!(few.full_frame(Rate::from_mbps(12.0), Bytes::PACKET), Packets::new(2));
    }

    #[test]
    fn a_saturated_link_carries_full_frames_after_medium_access() {
        let settings = Aggregation::default().access(Distribution::Fixed(0.001));
        // Four packets, 4 ms of air, in 5 ms.
        let capacity = settings.capacity(Rate::from_mbps(12.0), Bytes::PACKET);
        assert_eq!(capacity, Rate::from_mbps(9.6));
    }

    #[test]
    fn impossible_frames_are_refused() {
        let good = Aggregation::default();
        assert!(good.check().is_ok());
        assert!(good.clone().packets(Packets::ZERO).check().is_err());
        assert!(good.clone().airtime(Span::ZERO).check().is_err());
        assert!(good.access(Distribution::Fixed(-1.0)).check().is_err());
    }
}
