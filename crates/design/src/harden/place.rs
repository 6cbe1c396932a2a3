//! Where guards are searched: in a space of numbers around 0, where a step of one is a middling change.

use super::guards::{Brake, Guards};
use crate::conditions::{Conditions, bandwidth_delay};
use crate::model::Model;

/// How many numbers a place has.
pub(super) const COORDINATES: usize = 13;
/// No coordinate leads further than so many steps.
const FURTHEST: f64 = 4.0;
/// A step of the exponents of equality.
const EQUALITY: f64 = 0.1;
/// They stay within these: an exponent of 1 would give every sender the same window whatever it gets.
const EQUALITIES: std::ops::RangeInclusive<f64> = -0.5..=0.8;

/// The middling window of a flow that knows nothing, in packets: this many, or as much of the largest
/// bandwidth-delay product of the model.
const START: f64 = 16.0;
const START_OF_BDP: f64 = 0.04;
/// What an ACK adds to a window at most, likewise.
const GROWTH: f64 = 8.0;
const GROWTH_OF_BDP: f64 = 0.02;

/// What the guards of a model are measured by.
pub(super) struct Scale {
    shortest_rtt_ms: f64,
    longest_rtt_ms: f64,
    /// The time between ACKs of a sender that has an equal share of the slowest link with the most senders.
    share_ms: f64,
    /// The largest bandwidth-delay product, in packets.
    largest_bdp: f64,
}

impl Scale {
    pub(super) fn of(model: &Model) -> Scale {
        let Conditions { rate, rtt, senders, .. } = Conditions::of_model(model);
        let service = rate.0.service_time(model.networks.packet);
        Scale {
            shortest_rtt_ms: rtt.0.as_millis_f64(),
            longest_rtt_ms: rtt.1.as_millis_f64(),
            share_ms: service.as_millis_f64() * senders.1.max(1) as f64,
            largest_bdp: bandwidth_delay(rate.1, rtt.1, model.networks.packet),
        }
    }

    /// The guards at `place`.
    pub(super) fn guards(&self, place: &[f64]) -> Guards {
        let times = |first: f64, step: f64, coordinate: usize| {
            first * libm::exp(step * place[coordinate].clamp(-FURTHEST, FURTHEST))
        };
        let power = |coordinate: usize| {
            (EQUALITY * place[coordinate]).clamp(*EQUALITIES.start(), *EQUALITIES.end())
        };
        let first_ratio = 1.0 + times(0.5, 0.4, 5);
        let brake = |ratio: f64, horizon: f64, pace: f64| Brake {
            ratio,
            horizon_ms: horizon * self.shortest_rtt_ms,
            equality: power(11),
            pace,
        };
        Guards {
            start_window: times(START.max(START_OF_BDP * self.largest_bdp), 0.5, 0),
            growth: times(GROWTH.max(GROWTH_OF_BDP * self.largest_bdp), 0.5, 1),
            horizon_ms: times(1.5, 0.3, 2) * self.longest_rtt_ms,
            reference_ms: self.share_ms,
            equality: power(3),
            least_window: times(2.0, 0.3, 4),
            youth: times(0.8, 0.3, 12).min(1.0),
            brakes: [
                brake(first_ratio, times(0.5, 0.4, 6), times(0.6, 0.25, 7)),
                brake(
                    first_ratio * (1.0 + times(0.5, 0.4, 8)),
                    times(0.3, 0.4, 9),
                    times(0.7, 0.25, 10),
                ),
            ],
        }
    }
}
