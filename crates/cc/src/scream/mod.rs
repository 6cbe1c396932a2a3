//! [`Scream`]: self-clocked rate adaptation for real-time media, version 2
//! (draft-johansson-ccwg-rfc8298bis-screamv2; RFC 8298).

mod marks;
mod queue;

use crate::controller::{
    Ack, Congestion, CongestionKind, Controller, DEFAULT_MTU, Decision, Needs, Start,
};
use crate::delays::difference;
use crate::gate::MAX_WINDOW;
use crate::media::Media;
use crate::metrics::Metrics;
use crate::parameters::parameters;
use exm_units::{Bytes, Instant, Packets, Span};
use marks::Marks;
use queue::Queue;

/// `MIN_REF_WND`, in bytes.
const MIN_WINDOW: f64 = 3000.0;
/// `VIRTUAL_RTT`, in seconds: paths of shorter RTTs respond and grow as if they had it.
const VIRTUAL_RTT: f64 = 0.025;
/// `BYTES_IN_FLIGHT_HEAD_ROOM`: the window grows only up to so many times what was in flight, and a packet.
const HEAD_ROOM: f64 = 1.5;
/// `POST_CONGESTION_DELAY_RTT`: so many round trips after congestion the window grows by factors again.
const POST_CONGESTION_ROUNDS: f64 = 100.0;
/// `MUL_INCREASE_FACTOR`: the part of the window that it then grows by in a round trip.
const INCREASE: f64 = 0.02;
/// `MIN_QUEUE_DELAY_DEV_SCALE`: varying queueing delays slow the window down to this.
const LEAST_SCALE: f64 = 0.1;
/// `REF_WND_OVERHEAD_MIN` and `REF_WND_OVERHEAD_MAX`: what may be in flight, in windows.
const OVERHEAD: (f64, f64) = (1.5, 3.0);
/// `RATE_PACE_MIN`, in bits a second, and `PACKET_PACING_HEADROOM`.
const LEAST_PACE: f64 = 50_000.0;
const PACING: f64 = 1.5;
/// `MAX_RELAXED_PACING_FACTOR` and `RELAXED_PACING_LIMIT_LOW`: packets leave faster as the rate nears the encoder's greatest.
const RELAXED_PACING: f64 = 4.0;
const RELAXED_FROM: f64 = 0.8;
/// What the window would allow, over the rate that is asked for: section "Media Rate Control".
const MARGIN: f64 = 1.2;
/// `ref_wnd_i` is updated no more often than once in so many round trips.
const INFLECTION_ROUNDS: f64 = 10.0;

/// SCReAM, version 2: a window of bytes, from which the rate of the media follows by the RTT. It grows by a packet a round trip,
/// by factors once there was no congestion for long, and cautiously near the window of the last congestion. It is cut by
/// losses, by the fraction of packets marked as in Prague, and by the queueing delay as if it marked packets
/// from half of the target on; the target rises beside flows that fill the queue. More than the window may be in flight for
/// a short time, so that frames need not wait at the sender.
///
/// Its packets carry ECT(1) (RFC 9331). [`Scream::classic`] sends ECT(0), and responds to marks as RFC 8511.
#[derive(Clone, Debug)]
pub struct Scream {
    tuning: Tuning,
    /// Whether marks are those of L4S.
    l4s: bool,
    media: Media,
    /// The size of a full packet, in bytes.
    packet: f64,
    /// `ref_wnd`, in bytes.
    window: f64,
    /// `ref_wnd_i`: the window at congestion, and when it was noted.
    inflection: Option<(f64, Instant)>,
    queue: Option<Queue>,
    marks: Marks,
    flight: Flight,
    /// Congestion since the last response.
    signs: Signs,
    /// When packets were last marked or lost, and when the window was last cut, or else the flow began.
    congested: Option<Instant>,
    responded: Option<Instant>,
}

parameters! {
    Scream {
        /// The least rate of the encoder, in kbps (RFC 8867, section 4: 150).
        min: Number = [150.0, 1.0, 1000000.0],
        /// The greatest rate of the encoder, in kbps (section 4: 1500).
        max: Number = [1500.0, 1.0, 10000000.0],
        /// The queueing delay from whose half on the window is cut (draft-johansson-ccwg-rfc8298bis-screamv2, `QDELAY_TARGET_LO`: 60 ms).
        target: Duration = [Span::from_millis(60), Span::from_millis(1), Span::from_secs(10)],
        /// How far it may rise beside flows that fill the queue (`QDELAY_TARGET_HI`: 400 ms).
        max_target: Duration = [Span::from_millis(400), Span::from_millis(1), Span::from_secs(10)],
        /// What is left of the window after losses (`BETA_LOSS`: 0.7).
        decrease: Number = [0.7, 0.1, 0.99],
        /// What is left of it after marks of a classic queue (`BETA_ECN`: 0.8).
        ecn_decrease: Number = [0.8, 0.1, 0.99],
    }
    |tuning| match (tuning.min <= tuning.max, tuning.target <= tuning.max_target) {
        (true, true) => Ok(()),
        (false, _) => Err("min is above max"),
        (true, false) => Err("target is above max_target"),
    }
}

/// The most bytes in flight in this round trip and in the last one.
#[derive(Clone, Copy, Debug, Default)]
struct Flight {
    most: f64,
    before: f64,
    began: Option<Instant>,
}

impl Flight {
    fn observe(&mut self, bytes: f64, now: Instant, srtt: f64) {
        let began = *self.began.get_or_insert(now);
        if now.saturating_since(began).as_secs_f64() >= srtt {
            *self = Flight { most: 0.0, before: self.most, began: Some(now) };
        }
        self.most = self.most.max(bytes);
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Signs {
    lost: bool,
    marked: bool,
}

fn seconds_since(then: Option<Instant>, now: Instant) -> f64 {
    then.map_or(f64::INFINITY, |then| now.saturating_since(then).as_secs_f64())
}

impl Scream {
    /// A sender before its first flow.
    pub fn new() -> Scream {
        Scream {
            tuning: Tuning::default(),
            l4s: true,
            media: Media::new(DEFAULT_MTU),
            packet: DEFAULT_MTU.get() as f64,
            window: MIN_WINDOW,
            inflection: None,
            queue: None,
            marks: Marks::default(),
            flight: Flight::default(),
            signs: Signs::default(),
            congested: None,
            responded: None,
        }
    }

    /// The same for networks without L4S: its packets carry ECT(0), and marks count as a milder loss.
    pub fn classic(self) -> Scream {
        Scream { l4s: false, ..self }
    }

    /// `ref_wnd_ratio`.
    fn packet_ratio(&self) -> f64 {
        (self.packet / self.window).min(1.0)
    }

    /// `scl_t`: how far the window is from where congestion was.
    fn distance(&self) -> f64 {
        let Some((inflection, _)) = self.inflection else { return 1.0 };
        let part = 8.0 * (self.window - inflection) / inflection;
        (part * part).clamp(0.1, 1.0)
    }

    /// How much varying queueing delays leave of changes, from 0 to 1.
    fn steadiness(&self) -> f64 {
        self.queue.as_ref().map_or(1.0, |queue| queue.steadiness(self.packet_ratio()))
    }

    /// Section "Reference Window Reduction".
    fn respond(&mut self, now: Instant, srtt: f64) {
        let Some(queue) = &self.queue else { return };
        let Signs { lost, marked } = self.signs;
        let since = seconds_since(self.responded, now);
        // At most once a round trip, and for what is not scaled by its length not more often on long ones either.
        let whole = lost || (marked && !self.l4s);
        if since < if whole { srtt } else { srtt.min(VIRTUAL_RTT) } {
            return;
        }
        let virtual_alpha = queue.virtual_alpha();
        if !(lost || marked || virtual_alpha > 0.0) {
            return;
        }
        let queue_low = queue.delay() < 0.25 * queue.target();
        let distance = self.distance();
        let noted = self.inflection.map(|(_, at)| at);
        if seconds_since(noted, now) > INFLECTION_ROUNDS * srtt {
            self.inflection = Some((self.window, now));
        }
        let long = (srtt / VIRTUAL_RTT).max(1.0);
        let left = match (lost, marked, self.l4s) {
            (true, ..) => self.tuning.decrease,
            (false, true, false) => self.tuning.ecn_decrease,
            (false, true, true) => {
                let mut cut = self.marks.alpha() / 2.0 / long;
                if queue_low {
                    cut *= distance.max(0.25) * self.steadiness().max(LEAST_SCALE);
                }
                if since > POST_CONGESTION_ROUNDS * srtt.max(VIRTUAL_RTT) {
                    // The window may have grown far above what was sent.
                    self.window = self.window.min(self.flight.before);
                }
                1.0 - cut
            }
            (false, false, _) => 1.0 - virtual_alpha / 2.0 / long,
        };
        self.window = (self.window * left).max(MIN_WINDOW);
        self.responded = Some(now);
        self.signs = Signs::default();
    }

    /// Section "Reference Window Increase".
    fn grow(&mut self, ack: &Ack, srtt: f64) {
        let unmarked = ack.acked.get().saturating_sub(ack.marked.get()) as f64 * self.packet;
        let distance = self.distance();
        let quiet = seconds_since(self.congested, ack.now)
            / (POST_CONGESTION_ROUNDS * srtt.max(VIRTUAL_RTT));
        let by_factor = INCREASE * self.window / self.packet * quiet.min(1.0) * distance;
        let increment = unmarked
            * self.packet_ratio()
            * (srtt / VIRTUAL_RTT).min(1.0)
            * distance.max(0.25)
            * self.steadiness().max(LEAST_SCALE)
            * (1.0 + by_factor);
        let allowed = self.packet + HEAD_ROOM * self.flight.most.max(self.flight.before);
        if self.window + increment <= allowed && self.rate() < self.tuning.max * 1e3 {
            self.window = (self.window + increment).min(MAX_WINDOW.get() as f64 * self.packet);
        }
    }

    /// Section "Media Rate Control", in bits a second.
    fn rate(&self) -> f64 {
        let Tuning { min, max, .. } = self.tuning;
        let Some(srtt) = self.media.srtt().filter(|srtt| *srtt > 0.0) else { return min * 1e3 };
        let small = 1.0 - (self.packet_ratio() - 0.1).clamp(0.0, 0.2);
        (small / MARGIN * 8.0 * self.window / srtt).clamp(min * 1e3, max * 1e3)
    }

    /// Section "Packet Pacing", in bits a second.
    fn pace(&self) -> f64 {
        let rate = self.rate();
        if !self.media.is_fed() {
            return rate;
        }
        let near = (rate / (self.tuning.max * 1e3) - RELAXED_FROM) / (1.0 - RELAXED_FROM);
        let scale = (1.0 - near).clamp(1.0 / RELAXED_PACING, 1.0);
        rate.max(LEAST_PACE) * PACING / scale
    }

    fn decision(&self) -> Decision {
        let (least, most) = OVERHEAD;
        let overhead = least + (most - least) * self.steadiness();
        let packets = libm::ceil(self.window * overhead / self.packet).max(1.0);
        Decision {
            cwnd: Packets::new(packets as u64).min(MAX_WINDOW),
            intersend: Span::from_secs_f64(self.packet * 8.0 / self.pace()),
            wake_at: None,
        }
    }
}

impl Default for Scream {
    fn default() -> Scream {
        Scream::new()
    }
}

impl Controller for Scream {
    fn on_start(&mut self, start: &Start) -> Decision {
        let Scream { tuning, l4s, .. } = *self;
        *self = Scream { tuning, l4s, media: Media::new(start.mtu), ..Scream::new() };
        self.packet = start.mtu.get().max(1) as f64;
        self.responded = Some(start.now);
        self.queue = Some(Queue::new(start.now, tuning.target, tuning.max_target));
        self.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if ack.stale {
            return self.decision();
        }
        self.media.observe(ack);
        let srtt = self.media.srtt().unwrap_or(0.0);
        let in_flight = ack.in_flight.get().saturating_add(ack.acked.get()) as f64 * self.packet;
        self.flight.observe(in_flight, ack.now, srtt);
        let ratio = self.packet_ratio();
        if let Some(queue) = &mut self.queue {
            let delay = difference(ack.received_at.unwrap_or(ack.now), ack.sent_at);
            queue.observe(delay, ack.now, (srtt, VIRTUAL_RTT, ratio));
        }
        self.marks.observe(ack, srtt);
        if ack.marked.get() > 0 {
            (self.signs.marked, self.congested) = (true, Some(ack.now));
        }
        self.respond(ack.now, srtt);
        self.grow(ack, srtt);
        self.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        match congestion.kind {
            CongestionKind::Lost => {
                (self.signs.lost, self.congested) = (true, Some(congestion.now));
                if let Some(queue) = &mut self.queue {
                    queue.lose();
                }
            }
            CongestionKind::Marked => {
                (self.signs.marked, self.congested) = (true, Some(congestion.now));
            }
            CongestionKind::Timeout => {
                self.window = MIN_WINDOW;
                self.congested = Some(congestion.now);
            }
            _ => {}
        }
        self.decision()
    }

    fn on_tick(&mut self, _now: Instant) -> Decision {
        self.decision()
    }

    fn on_mtu(&mut self, mtu: Bytes) {
        self.media.set_packet(mtu);
        self.packet = mtu.get().max(1) as f64;
    }

    fn metrics(&self) -> Metrics {
        let bits = self.packet * 8.0;
        Metrics::new(self.window / self.packet)
            .pacing_rate(self.pace() / bits)
            .media_rate(self.rate() / bits)
    }

    fn needs(&self) -> Needs {
        Needs { marks: true, l4s: self.l4s, own_recovery: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests;
