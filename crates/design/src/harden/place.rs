//! The search space of guards: coordinates around 0, in which a step of one is a moderate change.

use super::guards::{Brake, Guards};
use crate::conditions::{Conditions, bandwidth_delay};
use crate::model::Model;

/// The number of coordinates.
pub(super) const COORDINATES: usize = 13;
/// Where the search for guards begins: near the guards that it found for the general tables. Guards scale with their model,
/// so that those of other tables are not far from there.
pub(super) const FIRST_PLACE: [f64; COORDINATES] =
    [-0.7, 0.0, -1.5, -0.5, -1.0, -1.5, -1.5, 0.8, 0.5, 2.0, -1.5, -2.5, 0.3];
/// The first step of the search.
pub(super) const FIRST_STEP: f64 = 0.8;
/// The maximum of each coordinate, in steps.
const FURTHEST: f64 = 2.5;
/// A step of the exponents of equality.
const EQUALITY: f64 = 0.1;
/// Their bounds: an exponent of 1 would give every sender the same window, regardless of its throughput.
const EQUALITIES: std::ops::RangeInclusive<f64> = -0.1..=0.5;

/// The minimum horizon, in multiples of the model's longest RTT: a sender whose RTT exceeds the horizon keeps slowing down,
/// and other flows may cause a long RTT.
const SHORTEST_HORIZON: f64 = 1.5;

/// The typical window of a flow without measurements: this many packets, or this fraction of the largest
/// bandwidth-delay product of the model.
const START: f64 = 16.0;
const START_OF_BDP: f64 = 0.04;
/// The maximum that an ACK adds to a window, likewise.
const GROWTH: f64 = 8.0;
const GROWTH_OF_BDP: f64 = 0.02;

/// The minimum number of packets in flight that the first brake leaves beyond its horizon; each further brake leaves this
/// fraction of the previous one's. They are needed because others may cause a long RTT. With equal senders that fill a link
/// alone, they are also an upper bound on the ratio of the RTT to the minimum possible.
const LEAST_BRAKED: f64 = 5.5;
const NARROWER: f64 = 0.7;

/// The quantities of a model that scale its guards.
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
        let horizon_ms = times(0.3, 0.4, 7) * self.shortest_rtt_ms;
        let pace = times(0.8, 0.2, 12).min(1.0);
        let brake = |ratio: f64, shares: f64, window: f64| Brake {
            ratio,
            from_ms: shares * self.share_ms,
            horizon_ms,
            window,
            pace,
        };
        let (ratio, steeper) = (1.0 + times(0.5, 0.4, 5).max(0.3), 1.0 + times(0.5, 0.2, 8));
        let (shares, faster) = (times(2.0, 0.2, 6).max(1.5), times(0.3, 0.4, 9).clamp(0.1, 1.0));
        let window = times(7.0, 0.2, 10).max(LEAST_BRAKED);
        Guards {
            start_window: times(START.max(START_OF_BDP * self.largest_bdp), 0.5, 0),
            growth: times(GROWTH.max(GROWTH_OF_BDP * self.largest_bdp), 0.5, 1),
            horizon_ms: times(2.0, 0.2, 2).max(SHORTEST_HORIZON) * self.longest_rtt_ms,
            reference_ms: self.share_ms,
            equality: power(3),
            least_window: times(2.0, 0.2, 4),
            youth: times(0.8, 0.3, 11).min(1.0),
            brakes: [
                brake(ratio, shares, window),
                brake(ratio * steeper, shares, window * NARROWER),
                brake(ratio * steeper * steeper, shares * faster, window * NARROWER * NARROWER),
            ],
        }
    }
}
