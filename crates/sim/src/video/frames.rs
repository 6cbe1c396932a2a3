//! [`Frames`]: which frames of a [`Video`] have arrived, and when.

use super::Video;
use crate::metrics::Histogram;
use exm_units::{Bytes, Instant, Rate, Span};
use std::collections::VecDeque;

/// A frame of which something is missing after so long will not be shown.
const PATIENCE: Span = Span::from_secs(10);
/// A gap in what is shown is a freeze if it is three frame intervals long, and longer by this than one (W3C, "Identifiers for
/// WebRTC's Statistics API", freezeCount).
const FREEZE: (u64, Span) = (3, Span::from_millis(150));

/// What a video's receiver saw.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct VideoReport {
    /// Frames sent.
    pub frames: u64,
    /// Frames left out: too much waited at the sender, or the rate had no packet for them.
    pub skipped: u64,
    /// Frames shown: they arrived complete, before any later one was shown.
    pub shown: u64,
    /// Frames that will not be shown: a packet of theirs was lost, or came after a later frame was shown.
    pub lost: u64,
    /// The payload of the shown frames.
    pub bytes: Bytes,
    /// From the time at which a frame was encoded until it was complete at its receiver, of the shown ones.
    pub delay: Histogram,
    /// How often the picture froze: no frame was shown for three frame intervals, and 150 ms longer than one.
    pub freezes: u64,
    /// For how long in all.
    pub frozen: Span,
    /// How long there was video.
    pub time: Span,
}

impl VideoReport {
    /// The part of all frames, those left out included, that were shown; zero if there were none.
    pub fn part_shown(&self) -> f64 {
        self.shown as f64 / (self.frames + self.skipped).max(1) as f64
    }

    /// The rate of the frames that were shown, headers not included.
    pub fn rate(&self) -> Rate {
        let seconds = self.time.as_secs_f64();
        let bits = self.bytes.get() as f64 * 8.0;
        Rate::from_bps(if seconds > 0.0 { (bits / seconds) as u64 } else { 0 })
    }
}

/// A frame on its way.
#[derive(Clone, Copy, Debug)]
struct Frame {
    encoded_at: Instant,
    /// The number after that of its last packet.
    end: u64,
    /// Packets that have not arrived.
    missing: u64,
    bytes: f64,
}

/// The frames of one sender.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    /// The least gap that is a freeze.
    freeze: Span,
    /// How much of a packet's way is that of its ACK.
    way_back: Span,
    /// On their way, in order.
    sent: VecDeque<Frame>,
    /// The number after that of the last packet sent.
    end: u64,
    /// When the last frame was shown, or the flow started.
    shown_at: Instant,
    started_at: Instant,
    bytes: f64,
    report: VideoReport,
}

impl Frames {
    pub(super) fn new(video: &Video, way_back: Span) -> Frames {
        let interval = Span::from_secs_f64(1.0 / video.fps);
        Frames {
            freeze: (interval * FREEZE.0).max(interval + FREEZE.1),
            way_back,
            sent: VecDeque::new(),
            end: 0,
            shown_at: Instant::ZERO,
            started_at: Instant::MAX,
            bytes: 0.0,
            report: VideoReport::default(),
        }
    }

    /// A flow starts, whose packets are number `first` and on. What is left of the last one is lost.
    pub(super) fn start(&mut self, now: Instant, first: u64) {
        self.report.lost += self.sent.len() as u64;
        self.sent.clear();
        (self.end, self.shown_at) = (first, now);
        self.started_at = self.started_at.min(now);
    }

    /// A frame of so many packets is sent.
    pub(super) fn push(&mut self, now: Instant, packets: u64, bytes: f64) {
        while let Some(frame) = self.sent.front()
            && now.saturating_since(frame.encoded_at) > PATIENCE
        {
            self.sent.pop_front();
            self.report.lost += 1;
        }
        self.end += packets;
        self.report.frames += 1;
        let frame = Frame { encoded_at: now, end: self.end, missing: packets, bytes };
        self.sent.push_back(frame);
    }

    pub(super) fn skip(&mut self) {
        self.report.skipped += 1;
    }

    /// Packet `number` has arrived, for the first time.
    pub(super) fn arrived(&mut self, now: Instant, number: u64) {
        let index = self.sent.partition_point(|frame| frame.end <= number);
        let Some(frame) = self.sent.get_mut(index) else { return };
        frame.missing = frame.missing.saturating_sub(1);
        if frame.missing == 0 {
            // Those before it come too late from now on.
            self.report.lost += index as u64;
            self.sent.drain(..index);
            self.show(now);
        }
    }

    /// All packets below `number` have arrived.
    pub(super) fn arrived_below(&mut self, now: Instant, number: u64) {
        while self.sent.front().is_some_and(|frame| frame.end <= number) {
            self.show(now);
        }
    }

    /// The first frame on its way is shown.
    fn show(&mut self, now: Instant) {
        let Some(frame) = self.sent.pop_front() else { return };
        self.report.shown += 1;
        self.bytes += frame.bytes;
        let delay = now.saturating_since(frame.encoded_at);
        self.report.delay.record(delay.saturating_sub(self.way_back));
        self.freeze(now);
        self.shown_at = now;
    }

    /// Counts a freeze if there was one until `now`.
    fn freeze(&mut self, now: Instant) {
        let gap = now.saturating_since(self.shown_at);
        if gap >= self.freeze {
            self.report.freezes += 1;
            self.report.frozen += gap;
        }
    }

    pub(super) fn report(&self, now: Instant) -> VideoReport {
        let mut last = self.clone();
        if now < Instant::MAX && self.started_at < Instant::MAX {
            last.freeze(now);
        }
        let time = now.saturating_since(self.started_at);
        VideoReport { bytes: Bytes::new(last.bytes as u64), time, ..last.report }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn frames(counts: &[u64]) -> Frames {
        let video = Video { fps: 20.0, ..Video::default() };
        let mut frames = Frames::new(&video, Span::ZERO);
        frames.start(at(0), 100);
        for (number, &count) in (0..).zip(counts) {
            frames.push(at(50 * number), count, 1000.0);
        }
        frames
    }

    #[test]
    fn a_frame_is_shown_when_its_last_packet_arrives() {
        let mut frames = frames(&[2, 1, 3]);
        for (millis, number) in [(20, 101), (40, 100), (80, 102), (150, 105), (160, 104)] {
            frames.arrived(at(millis), number);
        }
        let report = frames.report(at(170));
        assert_eq!((report.frames, report.shown, report.lost), (3, 2, 0));
        assert_eq!(report.delay.max(), Some(Span::from_millis(40)));
        frames.arrived(at(180), 103);
        let report = frames.report(at(200));
        assert_eq!((report.shown, report.bytes), (3, Bytes::new(3000)));
        assert_eq!(report.delay.max(), Some(Span::from_millis(80)));
        assert_eq!(report.freezes, 0);
    }

    #[test]
    fn a_frame_with_a_lost_packet_is_not_shown_nor_one_that_is_late() {
        let mut frames = frames(&[2, 1, 1, 1]);
        for (millis, number) in [(20, 100), (80, 102), (180, 104), (190, 103), (195, 101)] {
            frames.arrived(at(millis), number);
        }
        let report = frames.report(at(200));
        assert_eq!((report.frames, report.shown, report.lost), (4, 2, 2));
    }

    #[test]
    fn order_is_kept_by_transports_that_keep_it() {
        let mut frames = frames(&[2, 1, 3]);
        frames.arrived_below(at(90), 101);
        assert_eq!(frames.report(at(90)).shown, 0);
        frames.arrived_below(at(120), 105);
        assert_eq!(frames.report(at(120)).shown, 2);
        assert_eq!(frames.report(at(120)).delay.max(), Some(Span::from_millis(120)));
    }

    #[test]
    fn a_picture_freezes_by_the_definition_of_w3c() {
        // At 20 frames a second, 200 ms.
        let mut frames = frames(&[1; 10]);
        for (millis, number) in [(10, 100), (209, 101), (409, 102)] {
            frames.arrived(at(millis), number);
        }
        assert_eq!(frames.report(at(500)).freezes, 1);
        assert_eq!(frames.report(at(500)).frozen, Span::from_millis(200));
        assert_eq!(frames.report(at(700)).freezes, 2, "at the end as well");
    }
}
