//! [`Media`] and [`Received`]: what controllers for real-time media have in common.

use crate::controller::{Ack, Decision};
use crate::gate::MAX_WINDOW;
use crate::metrics::Metrics;
use alloc::collections::VecDeque;
use exm_units::{Bytes, Instant, Packets, Span};

/// Frames leave at this many times the rate, as in libwebrtc: a frame must not wait for the time of the next.
const PACING: f64 = 2.5;
/// The window, in seconds of the rate besides the RTT: a bound for what is sent while no feedback comes.
const OUTAGE: f64 = 1.0;
/// The time over which a received rate is measured (draft-ietf-rmcat-gcc-02, section 5.5, and RFC 8698, LOGWIN).
const WINDOW: Span = Span::from_millis(500);

/// A sender of media at a rate, by the size of its packets and the RTT.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Media {
    packet: Bytes,
    srtt: Option<f64>,
    /// Whether an application decides how much there is to send.
    is_fed: bool,
}

impl Media {
    pub(crate) fn new(packet: Bytes) -> Media {
        Media { packet, srtt: None, is_fed: false }
    }

    pub(crate) fn set_packet(&mut self, packet: Bytes) {
        self.packet = packet;
    }

    pub(crate) fn observe(&mut self, ack: &Ack) {
        let rtt = ack.rtt().as_secs_f64();
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| srtt + (rtt - srtt) / 8.0));
        self.is_fed = ack.app_limited;
    }

    /// The smoothed RTT, in seconds.
    pub(crate) fn srtt(&self) -> Option<f64> {
        self.srtt
    }

    /// Whether an application decides how much there is to send.
    pub(crate) fn is_fed(&self) -> bool {
        self.is_fed
    }

    /// Packets a second at `rate` bits a second.
    fn packets(&self, rate: f64) -> f64 {
        rate / (self.packet.get().max(1) as f64 * 8.0)
    }

    /// The decision to send at `rate` bits a second.
    pub(crate) fn decision(&self, rate: f64) -> Decision {
        let packets = self.packets(rate);
        let window = libm::ceil(packets * (self.srtt.unwrap_or(0.0) + OUTAGE)).max(2.0);
        let pace = packets * if self.is_fed { PACING } else { 1.0 };
        Decision {
            cwnd: Packets::new(window as u64).min(MAX_WINDOW),
            intersend: Span::from_secs_f64(1.0 / pace),
            wake_at: None,
        }
    }

    /// What a controller of `rate` bits a second shows.
    pub(crate) fn metrics(&self, rate: f64) -> Metrics {
        let Decision { cwnd, intersend, .. } = self.decision(rate);
        Metrics::new(cwnd.get() as f64)
            .pacing_rate(1.0 / intersend.as_secs_f64())
            .media_rate(self.packets(rate))
    }
}

/// The rate at which packets arrived in the last half second, by the receiver's clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Received {
    packets: VecDeque<(Instant, u64)>,
    bytes: u64,
    began: Option<Instant>,
}

impl Received {
    pub(crate) fn add(&mut self, arrived: Instant, bytes: Bytes) {
        self.began.get_or_insert(arrived);
        self.packets.push_back((arrived, bytes.get()));
        self.bytes += bytes.get();
        while let Some(&(at, size)) = self.packets.front()
            && arrived.saturating_since(at) > WINDOW
        {
            self.packets.pop_front();
            self.bytes -= size;
        }
    }

    /// In bits a second.
    pub(crate) fn rate(&self) -> f64 {
        let (Some(began), Some(&(last, _))) = (self.began, self.packets.back()) else { return 0.0 };
        let time = last.saturating_since(began).min(WINDOW).max(Span::from_millis(50));
        self.bytes as f64 * 8.0 / time.as_secs_f64()
    }
}
