//! [`Encoder`]: makes the frames of a [`Video`].

use super::Video;
use super::frames::{Frames, VideoReport};
use exm_random::Stream;
use exm_units::{Bytes, Instant, Packets, Span};

/// The frames over which a key frame is made up for: RFC 8593's transient period.
const TRANSIENT: f64 = 8.0;

/// The encoder of one sender, with the frames that it has sent.
#[derive(Clone, Debug)]
pub(crate) struct Encoder {
    video: Video,
    stream: Stream,
    /// The payload of a packet, in bytes.
    payload: f64,
    /// What it encodes, in bits of payload a second.
    rate: f64,
    /// A requested rate, and when it takes effect.
    request: Option<(Instant, f64)>,
    next_frame: Instant,
    next_key: Instant,
    /// The frames since the last key frame.
    since_key: f64,
    /// Bytes that the packets of the frames so far lack; negative if they have room.
    carry: f64,
    frames: Frames,
}

/// What a transport offers its encoder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    /// Bits of payload a second; none before anything is known.
    pub(crate) rate: Option<f64>,
    /// Packets of earlier frames that were not sent yet.
    pub(crate) waiting: Packets,
}

impl Encoder {
    /// An encoder of `video` in packets of `payload`, which arrive with their ACKs, `way_back` late.
    pub(crate) fn new(video: Video, stream: Stream, payload: Bytes, way_back: Span) -> Encoder {
        Encoder {
            stream,
            payload: payload.get().max(1) as f64,
            rate: video.min.as_bps() as f64,
            request: None,
            next_frame: Instant::MAX,
            next_key: Instant::MAX,
            since_key: TRANSIENT,
            carry: 0.0,
            frames: Frames::new(&video, way_back),
            video,
        }
    }

    /// A flow starts; the packets of its first frame are number `first` and on.
    pub(crate) fn start(&mut self, now: Instant, first: u64) {
        (self.rate, self.request) = (self.video.min.as_bps() as f64, None);
        (self.next_frame, self.next_key, self.carry) = (now, now, 0.0);
        self.frames.start(now, first);
    }

    /// The flow ends.
    pub(crate) fn stop(&mut self) {
        self.next_frame = Instant::MAX;
    }

    /// When its next frame is due.
    pub(crate) fn next_frame(&self) -> Instant {
        self.next_frame
    }

    /// The time of a frame has come. Returns its packets: none if it is left out.
    pub(crate) fn encode(&mut self, now: Instant, offer: Offer) -> Packets {
        self.follow(now, offer.rate);
        let interval = 1.0 / self.video.fps;
        // A frame takes its turn however late the one before was.
        let noise = 1.0 + self.laplace(self.video.jitter);
        self.next_frame = now + Span::from_secs_f64(interval * noise.clamp(0.1, 4.0));
        let offered = offer.rate.unwrap_or(self.rate).max(1.0);
        let waits = offer.waiting.get() as f64 * self.payload * 8.0 / offered;
        if waits > self.video.most_waiting.as_secs_f64() {
            self.frames.skip();
            return Packets::ZERO;
        }
        let noise = (1.0 + self.laplace(self.video.error)).max(0.0);
        let size = self.rate * interval / 8.0 * self.scale(now) * noise;
        self.carry += size;
        let packets = (self.carry / self.payload).round().max(0.0);
        self.carry -= packets * self.payload;
        if packets < 1.0 {
            // Less than a packet a frame: fewer frames.
            self.frames.skip();
            return Packets::ZERO;
        }
        self.frames.push(now, packets as u64, size);
        Packets::new(packets as u64)
    }

    /// A requested rate takes effect, and the offered one is requested.
    fn follow(&mut self, now: Instant, offered: Option<f64>) {
        let bounded =
            |rate: f64| rate.clamp(self.video.min.as_bps() as f64, self.video.max.as_bps() as f64);
        match self.request {
            Some((at, _)) if now < at => return,
            Some((_, rate)) => self.rate = rate,
            None => {}
        }
        self.request = offered.map(|rate| (now + self.video.reaction, bounded(rate)));
        if let (true, Some((_, rate))) = (self.video.reaction.is_zero(), self.request) {
            self.rate = rate;
        }
    }

    /// The size of the next frame in usual ones.
    fn scale(&mut self, now: Instant) -> f64 {
        if now >= self.next_key {
            let period = self.video.key;
            self.next_key = if period.is_zero() { Instant::MAX } else { now + period };
            self.since_key = 0.0;
        }
        let since = self.since_key;
        self.since_key += 1.0;
        match since {
            0.0 => self.video.key_size,
            since if since < TRANSIENT => (TRANSIENT - self.video.key_size) / (TRANSIENT - 1.0),
            _ => 1.0,
        }
    }

    /// A draw of the Laplace distribution of this scale.
    fn laplace(&mut self, scale: f64) -> f64 {
        let (up, down) = (self.stream.exponential(), self.stream.exponential());
        scale * (up - down)
    }

    /// Packet `number` of the flow has arrived, of a transport that carries datagrams.
    pub(crate) fn arrived(&mut self, now: Instant, number: u64) {
        self.frames.arrived(now, number);
    }

    /// All packets below `number` have arrived, of a transport that keeps order.
    pub(crate) fn arrived_below(&mut self, now: Instant, number: u64) {
        self.frames.arrived_below(now, number);
    }

    /// What it measured until `now`.
    pub(crate) fn report(&self, now: Instant) -> VideoReport {
        self.frames.report(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_random::Purpose;
    use exm_units::Rate;

    const PAYLOAD: u64 = 1000;

    /// Encodes for `seconds` what `offered` offers at each time, in bits a second; returns bits a second of each tenth.
    fn encode(video: Video, seconds: u64, mut offered: impl FnMut(f64) -> f64) -> Vec<f64> {
        let stream = Stream::new(1, Purpose::Video, 0);
        let mut encoder = Encoder::new(video, stream, Bytes::new(PAYLOAD), Span::ZERO);
        encoder.start(Instant::ZERO, 0);
        let mut bits = vec![0.0; seconds as usize * 10];
        loop {
            let now = encoder.next_frame();
            let seconds = now.as_secs_f64();
            let Some(slot) = bits.get_mut((seconds * 10.0) as usize) else { return bits };
            let offer = Offer { rate: Some(offered(seconds)), waiting: Packets::ZERO };
            *slot += encoder.encode(now, offer).get() as f64 * PAYLOAD as f64 * 80.0;
        }
    }

    fn mean(rates: &[f64]) -> f64 {
        rates.iter().sum::<f64>() / rates.len() as f64
    }

    #[test]
    fn encodes_the_rate_that_is_offered() {
        for key in [Span::ZERO, Span::from_secs(2)] {
            let video = Video { key, ..Video::default() };
            let rate = mean(&encode(video, 100, |_| 1e6)[10..]);
            assert!((rate / 1e6 - 1.0).abs() < 0.03, "{rate}");
        }
        let bounded = mean(&encode(Video::default(), 100, |_| 9e6)[10..]);
        assert!((bounded / 1.5e6 - 1.0).abs() < 0.03, "{bounded}");
        let low = mean(&encode(Video::default(), 100, |_| 0.0)[10..]);
        assert!((low / 150e3 - 1.0).abs() < 0.03, "less than a packet a frame: {low}");
    }

    #[test]
    fn a_change_takes_its_reaction_time() {
        let settings = Video { error: 0.0, jitter: 0.0, fps: 100.0, ..Video::default() };
        let step = |time: f64| if time < 2.0 { 300e3 } else { 1.2e6 };
        for (reaction, by) in [(0, 20), (200, 22), (1000, 30)] {
            let video = Video { reaction: Span::from_millis(reaction), ..settings };
            let rates = encode(video, 5, step);
            let reached = rates.iter().position(|&rate| rate > 1.1e6).expect("it is reached");
            // Up to twice, if the request before was just under way.
            assert!(
                (by..=by + reaction as usize / 100 + 1).contains(&reached),
                "{reached} of {by}"
            );
        }
    }

    #[test]
    fn nothing_is_encoded_while_too_much_waits() {
        let (min, max) = (Rate::from_bps(500_000), Rate::from_mbps(1.0));
        let video = Video { min, max, error: 0.0, ..Video::default() };
        let stream = Stream::new(1, Purpose::Video, 0);
        let mut encoder = Encoder::new(video, stream, Bytes::new(1000), Span::ZERO);
        encoder.start(Instant::ZERO, 0);
        // 25 packets of 8 kbit take 0.2 s at 1 Mbps.
        for (waiting, any) in [(24, true), (26, false), (24, true)] {
            let sum = (0..10).map(|_| {
                let offer = Offer { rate: Some(1e6), waiting: Packets::new(waiting) };
                encoder.encode(encoder.next_frame(), offer).get()
            });
            assert_eq!(sum.sum::<u64>() > 0, any, "{waiting}");
        }
        assert_eq!(encoder.report(Instant::MAX).skipped, 10);
    }
}
