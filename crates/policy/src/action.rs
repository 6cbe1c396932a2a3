//! [`ActionSpace`] and [`Actuator`]: what a policy decides, and how that becomes a window and a pace.

use exm_cc::{Decision, Start};
use exm_units::{Packets, Span};
use serde::{Deserialize, Serialize};

/// The RTT that is assumed before the first ACK.
const ASSUMED_RTT: Span = Span::from_millis(100);
/// The least and the largest rate, packets a second.
const RATES: (f64, f64) = (1.0, 1e7);
/// A rate or window is at most so many times what arrives in the same time, or what it was at the start if that is
/// more. Whatever exceeds it is lost, and a policy that has not learnt this yet would flood its network.
const EXCESS: f64 = 4.0;
/// The least and the largest window, packets.
const WINDOWS: (f64, f64) = (1.0, 1e6);

/// What a policy decides. Each of its actions is a number from -1 to 1. Rates and windows are at most four times what was
/// delivered in the last interval, in the same time, or what they were at the start if that is more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionSpace {
    /// The change of the sending rate, as Aurora's. At most two round trips of it are in flight.
    Rate,
    /// The change of the window, whose packets are sent as ACKs arrive.
    Window,
    /// The change of the window, and the pace: from half a window in a round trip to two.
    WindowAndPace,
}

impl ActionSpace {
    /// All, the default first.
    pub const ALL: [ActionSpace; 3] =
        [ActionSpace::Rate, ActionSpace::Window, ActionSpace::WindowAndPace];

    /// Its name in files and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            ActionSpace::Rate => "rate",
            ActionSpace::Window => "window",
            ActionSpace::WindowAndPace => "window_and_pace",
        }
    }

    /// How many numbers an action has.
    pub const fn size(self) -> usize {
        match self {
            ActionSpace::Rate | ActionSpace::Window => 1,
            ActionSpace::WindowAndPace => 2,
        }
    }

    /// The largest change of an action unless another is given: Aurora's for rates, a factor of two for windows.
    pub const fn default_change(self) -> f64 {
        match self {
            ActionSpace::Rate => 0.025,
            ActionSpace::Window | ActionSpace::WindowAndPace => 1.0,
        }
    }
}

/// The rate or window that actions have led to.
#[derive(Clone, Debug)]
pub struct Actuator {
    space: ActionSpace,
    change: f64,
    /// Packets a second, or packets.
    level: f64,
    /// The level at the start.
    first: f64,
}

impl Actuator {
    /// The actuator of a flow at its start: its window is the host's initial one, and its rate that window over the
    /// RTT.
    pub fn new(space: ActionSpace, change: f64, start: &Start) -> Actuator {
        let window = start.initial_window.get() as f64;
        let rtt = start.rtt.filter(|rtt| !rtt.is_zero()).unwrap_or(ASSUMED_RTT);
        let level = match space {
            ActionSpace::Rate => window / rtt.as_secs_f64(),
            ActionSpace::Window | ActionSpace::WindowAndPace => window,
        };
        Actuator { space, change, level, first: level }
    }

    /// The decision at the start.
    pub fn initial(&self, start: &Start) -> Decision {
        let intersend = match self.space {
            ActionSpace::Rate => Span::from_secs_f64(1.0 / self.level),
            ActionSpace::Window | ActionSpace::WindowAndPace => Span::ZERO,
        };
        Decision { cwnd: start.initial_window, intersend, wake_at: None }
    }

    /// The decision after `action`, whose numbers are taken from -1 to 1, with the smoothed RTT `rtt` and `throughput`
    /// packets a second delivered in the last interval. An action `a` multiplies by `1 + change a` if it is positive, and divides by `1 + change |a|` if it is negative.
    pub fn apply(&mut self, action: &[f32], rtt: Span, throughput: f64) -> Decision {
        let value = |index: usize| -> f64 {
            let value = action.get(index).copied().map_or(0.0, f64::from);
            if value.is_nan() { 0.0 } else { value.clamp(-1.0, 1.0) }
        };
        let rtt = if rtt.is_zero() { ASSUMED_RTT } else { rtt }.as_secs_f64();
        let ((least, most), arrived) = match self.space {
            ActionSpace::Rate => (RATES, throughput),
            ActionSpace::Window | ActionSpace::WindowAndPace => (WINDOWS, throughput * rtt),
        };
        let first = value(0);
        let factor = 1.0 + self.change * first.abs();
        let level = if first < 0.0 { self.level / factor } else { self.level * factor };
        self.level = level.clamp(least, most.min(EXCESS * arrived.max(self.first)));
        match self.space {
            ActionSpace::Rate => {
                let in_flight = (2.0 * self.level * rtt).clamp(2.0, WINDOWS.1);
                decision(in_flight, 1.0 / self.level)
            }
            ActionSpace::Window => decision(self.level, 0.0),
            ActionSpace::WindowAndPace => {
                decision(self.level, rtt / (self.level * libm::exp2(value(1))))
            }
        }
    }
}

fn decision(window: f64, intersend: f64) -> Decision {
    let cwnd = Packets::new(window as u64);
    Decision { cwnd, intersend: Span::from_secs_f64(intersend), wake_at: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_units::Instant;
    use proptest::prelude::*;

    fn actuator(space: ActionSpace) -> Actuator {
        Actuator::new(space, space.default_change(), &Start::new(Instant::ZERO))
    }

    #[test]
    fn actions_change_rates_as_auroras_and_windows_by_two() {
        let rtt = Span::from_millis(100);
        let mut rate = actuator(ActionSpace::Rate);
        // Ten packets in 100 ms.
        assert_eq!(rate.apply(&[0.0], rtt, 0.0).intersend, Span::from_millis(10));
        assert_eq!(rate.apply(&[1.0], rtt, 0.0).intersend, Span::from_secs_f64(0.01 / 1.025));
        assert_eq!(rate.apply(&[-1.0], rtt, 0.0).intersend, Span::from_millis(10));
        assert_eq!(rate.apply(&[0.0], rtt, 0.0).cwnd, Packets::new(20));
        let mut window = actuator(ActionSpace::Window);
        assert_eq!(window.apply(&[1.0], rtt, 0.0).cwnd, Packets::new(20));
        assert_eq!(window.apply(&[-1.0], rtt, 0.0).cwnd, Packets::new(10));
        let mut both = actuator(ActionSpace::WindowAndPace);
        assert_eq!(both.apply(&[0.0, 1.0], rtt, 0.0).intersend, Span::from_millis(5));
        assert_eq!(both.apply(&[0.0, -1.0], rtt, 0.0).intersend, Span::from_millis(20));
    }

    #[test]
    fn a_rate_stays_near_what_arrives() {
        let (rtt, mut rate) = (Span::from_millis(100), actuator(ActionSpace::Rate));
        let mut last = Span::ZERO;
        for _ in 0..1000 {
            last = rate.apply(&[1.0], rtt, 250.0).intersend;
        }
        assert_eq!(last, Span::from_millis(1));
        assert_eq!(rate.apply(&[1.0], rtt, 0.0).intersend, Span::from_micros(2500));
    }

    proptest! {
        #[test]
        fn any_action_leads_to_a_possible_decision(
            actions in proptest::collection::vec(any::<f32>(), 1..200),
            space in proptest::sample::select(ActionSpace::ALL.to_vec()),
            rtt in 0u64..10_000_000_000,
        ) {
            let mut actuator = actuator(space);
            for action in actions {
                let decision = actuator.apply(&[action, action], Span::from_nanos(rtt), 1e5);
                prop_assert!((1..=1_000_000).contains(&decision.cwnd.get()));
                prop_assert!(decision.intersend <= Span::from_secs(20));
            }
        }
    }
}
