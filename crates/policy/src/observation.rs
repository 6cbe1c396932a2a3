//! [`Observation`]: what a policy sees of an interval.

use crate::monitor::Measurement;
use exm_cc::Decision;
use exm_remy::Signal;
use serde::{Deserialize, Serialize};

/// What a policy observes: the features of each of the last intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observation {
    /// Those of Aurora (Jay et al., ICML 2019, section 3.1): the slope of the RTT, the RTT over the flow's least, and
    /// packets sent over packets acknowledged. None of them has a unit, so a policy knows neither rates nor times.
    Aurora,
    /// A RemyCC's six signals, each as the logarithm to base 2: of 1 ms more for times, of the ratio itself for the RTT
    /// ratio.
    Remy,
    /// What was measured, in plain units: the interval's length, packets sent, acknowledged and lost, the RTT and the
    /// flow's least in seconds, the packets in flight, the window in packets and the pause between packets in
    /// seconds.
    Raw,
}

/// Bounds of a feature, and its value before the flow's first interval.
type Feature = (f32, f32, f32);

const AURORA: &[Feature] = &[(-1.0, 10.0, 0.0), (1.0, 100.0, 1.0), (0.0, 100.0, 1.0)];
const REMY: &[Feature] = &[(0.0, 40.0, 0.0); Signal::REMYS];
const RAW: &[Feature] = &[(0.0, f32::MAX, 0.0); 9];

impl Observation {
    /// All, the default first.
    pub const ALL: [Observation; 3] = [Observation::Aurora, Observation::Remy, Observation::Raw];

    /// Its name in files and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Observation::Aurora => "aurora",
            Observation::Remy => "remy",
            Observation::Raw => "raw",
        }
    }

    const fn features(self) -> &'static [Feature] {
        match self {
            Observation::Aurora => AURORA,
            Observation::Remy => REMY,
            Observation::Raw => RAW,
        }
    }

    /// How many features an interval has.
    pub const fn width(self) -> usize {
        self.features().len()
    }

    /// The least value of each feature.
    pub fn low(self) -> impl Iterator<Item = f32> {
        self.features().iter().map(|feature| feature.0)
    }

    /// The largest value of each feature.
    pub fn high(self) -> impl Iterator<Item = f32> {
        self.features().iter().map(|feature| feature.1)
    }

    /// The features before the first interval.
    pub(crate) fn initial(self) -> impl Iterator<Item = f32> {
        self.features().iter().map(|feature| feature.2)
    }

    /// Writes the features of an interval, in which `decision` was in force, to `room`.
    pub(crate) fn fill(self, room: &mut [f32], of: &Measurement, decision: &Decision) {
        match self {
            Observation::Aurora => {
                let sent_ratio = match (of.sent, of.delivered) {
                    (0, 0) => 1.0,
                    (sent, 0) => sent as f64,
                    (sent, delivered) => sent as f64 / delivered as f64,
                };
                put(room, [of.rtt_slope, of.rtt_ratio(), sent_ratio]);
            }
            Observation::Remy => {
                let log = |signal: Signal| match (signal, of.signals[signal.index()]) {
                    (Signal::RttRatio, ratio) => libm::log2(ratio.max(1.0)),
                    (_, millis) => libm::log2(1.0 + millis.max(0.0)),
                };
                put(room, Signal::ALL.into_iter().take(Signal::REMYS).map(log));
            }
            Observation::Raw => put(
                room,
                [
                    of.duration.as_secs_f64(),
                    of.sent as f64,
                    of.delivered as f64,
                    of.lost as f64,
                    of.rtt.as_secs_f64(),
                    of.min_rtt.as_secs_f64(),
                    of.in_flight.get() as f64,
                    decision.cwnd.get() as f64,
                    decision.intersend.as_secs_f64(),
                ],
            ),
        }
        for (value, (low, high, _)) in room.iter_mut().zip(self.features()) {
            *value = value.clamp(*low, *high);
        }
    }
}

fn put(room: &mut [f32], values: impl IntoIterator<Item = f64>) {
    for (room, value) in room.iter_mut().zip(values) {
        *room = value as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_units::{Packets, Span};

    fn features(of: &Measurement, observation: Observation) -> Vec<f32> {
        let decision =
            Decision { cwnd: Packets::new(7), intersend: Span::from_millis(2), wake_at: None };
        let mut room = vec![f32::NAN; observation.width()];
        observation.fill(&mut room, of, &decision);
        room
    }

    #[test]
    fn features_are_of_the_interval() {
        let of = Measurement {
            duration: Span::from_millis(50),
            sent: 6,
            delivered: 4,
            lost: 1,
            rtt: Span::from_millis(30),
            min_rtt: Span::from_millis(20),
            rtt_slope: 0.25,
            in_flight: Packets::new(5),
            signals: [1.0, 3.0, 2.0, 0.0, 10.0, 1.0, 0.0, 0.0, 0.0],
        };
        assert_eq!(features(&of, Observation::Aurora), [0.25, 1.5, 1.5]);
        let log11 = libm::log2(11.0) as f32;
        assert_eq!(features(&of, Observation::Remy), [1.0, 2.0, 1.0, 0.0, log11, 1.0]);
        let raw = [0.05, 6.0, 4.0, 1.0, 0.03, 0.02, 5.0, 7.0, 0.002];
        assert_eq!(features(&of, Observation::Raw), raw);
    }

    #[test]
    fn features_stay_within_their_bounds() {
        let silent = Measurement { sent: 100_000, rtt_slope: -1e9, ..Measurement::default() };
        for observation in Observation::ALL {
            let got = features(&silent, observation);
            let bounds = observation.low().zip(observation.high());
            assert!(got.iter().zip(bounds).all(|(v, (low, high))| (low..=high).contains(v)));
        }
        assert_eq!(features(&silent, Observation::Aurora), [-1.0, 1.0, 100.0]);
        assert_eq!(features(&Measurement::default(), Observation::Aurora), [0.0, 1.0, 1.0]);
    }
}
