//! [`Timing`] and [`Clockwork`]: links that change at set times.

use exm_random::{Distribution, Stream};
use exm_units::{Instant, Probability, Rate, Span};

/// How a link changes by the clock. All times count from the start.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Timing {
    /// At listed times.
    Steps {
        /// The changes, by time.
        steps: Vec<TimedStep>,
        /// The time after which the list begins anew, with the link's own values; none for a list that is followed once.
        every: Option<Span>,
    },
    /// At the start of each slot, as behind a satellite.
    Slots(Slots),
}

/// A change of a link at a set time. What it does not give stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimedStep {
    /// When, from the start or from the start of the list.
    pub at: Span,
    /// The rate from then on.
    pub rate: Option<Rate>,
    /// What is added to the propagation delay from then on.
    pub delay: Option<Span>,
    /// The probability of random loss from then on.
    pub loss: Option<Probability>,
}

/// A link that is handed over from one satellite to the next at the end of each slot of fixed length.
#[derive(Clone, Debug, PartialEq)]
pub struct Slots {
    /// The length of a slot: 15 s behind Starlink.
    pub every: Span,
    /// What each slot adds to the propagation delay, in seconds, at most [`Timing::MAX_DELAY`].
    pub delay: Distribution,
    /// Each slot's rate is drawn uniformly from this one up to the link's; none for the link's.
    pub lowest_rate: Option<Rate>,
    /// The probability of further loss during `edge`.
    pub loss: Probability,
    /// How long, from the start of each slot, packets are lost so.
    pub edge: Span,
}

impl Default for Slots {
    /// Slots of 15 s that change nothing.
    fn default() -> Slots {
        Slots {
            every: Span::from_secs(15),
            delay: Distribution::Fixed(0.0),
            lowest_rate: None,
            loss: Probability::ZERO,
            edge: Span::ZERO,
        }
    }
}

impl Timing {
    /// The most that may be added to the propagation delay; draws above count as this.
    pub const MAX_DELAY: Span = Span::from_secs(1000);
    /// The shortest slot, and the shortest time after which steps begin anew.
    pub const SHORTEST: Span = Span::from_millis(1);

    /// Whether a link can change so.
    ///
    /// # Errors
    /// What is impossible, and what to give instead.
    pub fn check(&self) -> Result<(), String> {
        let shortest = Timing::SHORTEST;
        match self {
            Timing::Steps { steps, every } => {
                if steps.is_empty() {
                    return Err("there are no steps: give one, such as { at = \"10 s\", delay = \"20 ms\" }".to_owned());
                }
                if !steps.is_sorted_by_key(|step| step.at) {
                    return Err(
                        "the steps are not in order of time: sort them by \"at\"".to_owned()
                    );
                }
                if steps.iter().any(|step| step.rate == Some(Rate::from_bps(0))) {
                    return Err(
                        "a rate of zero carries nothing: give more, or a loss of 100 %".to_owned()
                    );
                }
                let longest = Timing::MAX_DELAY;
                if let Some(delay) =
                    steps.iter().filter_map(|step| step.delay).find(|&delay| delay > longest)
                {
                    return Err(format!("a delay of {delay} is too long: give at most {longest}"));
                }
                let last = steps.last().map_or(Span::ZERO, |step| step.at);
                match every {
                    Some(every) if *every < shortest => Err(format!(
                        "steps cannot begin anew after {every}: give at least {shortest}"
                    )),
                    Some(every) if last >= *every => Err(format!(
                        "the step at {last} never comes, as the steps begin anew after {every}: let \"every\" be longer"
                    )),
                    _ => Ok(()),
                }
            }
            Timing::Slots(Slots { every, delay, lowest_rate, .. }) => {
                if *every < shortest {
                    return Err(format!(
                        "slots of {every} are too short: give at least {shortest}"
                    ));
                }
                if *lowest_rate == Some(Rate::from_bps(0)) {
                    return Err("a rate of zero carries nothing: give more".to_owned());
                }
                delay
                    .check()
                    .map_err(|problem| format!("delays are drawn from impossible times: {problem}"))
            }
        }
    }

    /// Whether it changes the rate.
    pub fn changes_rate(&self) -> bool {
        match self {
            Timing::Steps { steps, .. } => steps.iter().any(|step| step.rate.is_some()),
            Timing::Slots(slots) => slots.lowest_rate.is_some(),
        }
    }
}

/// What a link with a [`Timing`] is like at some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Its rate.
    pub rate: Rate,
    /// What is added to its propagation delay.
    pub delay: Span,
    /// The probability of random loss.
    pub loss: Probability,
}

/// The state of a [`Timing`], which is asked at times that never go back.
#[derive(Clone, Debug)]
pub struct Clockwork {
    timing: Timing,
    draws: Stream,
    /// The link's own conditions.
    own: Conditions,
    present: Conditions,
    /// When the conditions change next, and which step, or which end of a slot's edge, that is.
    next: Instant,
    index: usize,
    /// When the list of steps, or the slot, began.
    began: Instant,
}

impl Clockwork {
    /// A link that is like `own` but for `timing`; what slots draw is from `draws`.
    pub fn new(timing: Timing, own: Conditions, draws: Stream) -> Clockwork {
        let next = match &timing {
            Timing::Steps { steps, .. } => {
                steps.first().map_or(Instant::MAX, |step| Instant::ZERO.saturating_add(step.at))
            }
            Timing::Slots(_) => Instant::ZERO,
        };
        Clockwork { timing, draws, own, present: own, next, index: 0, began: Instant::ZERO }
    }

    /// The present conditions.
    pub fn present(&self) -> Conditions {
        self.present
    }

    /// Goes on to `now`. Returns whether the conditions may have changed.
    #[inline]
    pub fn advance(&mut self, now: Instant) -> bool {
        let changes = self.next <= now;
        while self.next <= now && self.next < Instant::MAX {
            self.change();
        }
        changes
    }

    /// Changes the link's own conditions and the present ones, until the next change.
    pub fn set_own(&mut self, change: impl Fn(&mut Conditions)) {
        change(&mut self.own);
        change(&mut self.present);
    }

    /// The change that is due at `next`.
    fn change(&mut self) {
        match &self.timing {
            Timing::Steps { steps, every } => {
                match steps.get(self.index) {
                    Some(step) => {
                        let Conditions { rate, delay, loss } = &mut self.present;
                        *rate = step.rate.unwrap_or(*rate);
                        *delay = step.delay.unwrap_or(*delay);
                        *loss = step.loss.unwrap_or(*loss);
                        self.index += 1;
                    }
                    None => {
                        self.present = self.own;
                        self.began = self.next;
                        self.index = 0;
                    }
                }
                let next = steps.get(self.index).map(|step| step.at).or(*every);
                self.next = next.map_or(Instant::MAX, |at| self.began.saturating_add(at));
            }
            Timing::Slots(slots) if self.index == 0 => {
                let Slots { every, delay, lowest_rate, loss, edge } = slots;
                self.began = self.next;
                let delay = Span::from_secs_f64(delay.draw(&mut self.draws));
                let rate = lowest_rate.map_or(self.own.rate, |lowest| {
                    let (low, high) = (lowest.as_bps() as f64, self.own.rate.as_bps() as f64);
                    Rate::from_bps((low + (high - low) * self.draws.uniform()) as u64)
                });
                self.present = Conditions { rate, delay: delay.min(Timing::MAX_DELAY), ..self.own };
                if edge.is_zero() || *edge >= *every {
                    self.next = self.began.saturating_add(*every);
                } else {
                    self.index = 1;
                    self.next = self.began.saturating_add(*edge);
                }
                if !edge.is_zero() {
                    let passes = (1.0 - self.own.loss.get()) * (1.0 - loss.get());
                    self.present.loss = Probability::new(1.0 - passes).unwrap_or(*loss);
                }
            }
            Timing::Slots(slots) => {
                self.present.loss = self.own.loss;
                self.index = 0;
                self.next = self.began.saturating_add(slots.every);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_random::Purpose;

    const OWN: Conditions =
        Conditions { rate: Rate::from_bps(10_000_000), delay: Span::ZERO, loss: Probability::ZERO };

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn probability(value: f64) -> Probability {
        Probability::new(value).expect("a probability")
    }

    fn clockwork(timing: Timing) -> Clockwork {
        assert_eq!(timing.check(), Ok(()));
        Clockwork::new(timing, OWN, Stream::new(1, Purpose::Slots, 0))
    }

    #[test]
    fn steps_change_what_they_give_and_begin_anew() {
        let ms = Span::from_millis;
        let steps = vec![
            TimedStep { at: ms(10), delay: Some(ms(5)), ..TimedStep::default() },
            TimedStep {
                at: ms(20),
                rate: Some(Rate::from_bps(1)),
                loss: Some(probability(0.5)),
                ..TimedStep::default()
            },
        ];
        let mut link = clockwork(Timing::Steps { steps, every: Some(ms(30)) });
        let late = Conditions { delay: ms(5), ..OWN };
        let slow = Conditions { rate: Rate::from_bps(1), loss: probability(0.5), ..late };
        for (time, expected) in [
            (0, OWN),
            (9, OWN),
            (10, late),
            (19, late),
            (20, slow),
            (29, slow),
            (30, OWN),
            (40, late),
            (80, slow),
            (91, OWN),
        ] {
            link.advance(at(time));
            assert_eq!(link.present(), expected, "at {time} ms");
        }
    }

    #[test]
    fn slots_draw_anew_and_lose_at_their_edges() {
        let slots = Slots {
            every: Span::from_millis(100),
            delay: Distribution::Uniform { low: 0.0, high: 0.02 },
            lowest_rate: Some(Rate::from_bps(5_000_000)),
            loss: probability(0.1),
            edge: Span::from_millis(10),
        };
        let mut link = clockwork(Timing::Slots(slots));
        let mut seen = Vec::new();
        for slot in 0..50 {
            link.advance(at(100 * slot));
            let first = link.present();
            assert!((first.loss.get() - 0.1).abs() < 1e-12);
            link.advance(at(100 * slot + 99));
            assert_eq!(link.present(), Conditions { loss: Probability::ZERO, ..first });
            assert!(first.delay <= Span::from_millis(20));
            assert!((5_000_000..=10_000_000).contains(&first.rate.as_bps()));
            assert!(!seen.contains(&first));
            seen.push(first);
        }
    }

    #[test]
    fn impossible_timings_are_refused() {
        let steps = |steps: &[u64], every: Option<u64>| {
            let step = |&at| TimedStep { at: Span::from_millis(at), ..TimedStep::default() };
            Timing::Steps {
                steps: steps.iter().map(step).collect(),
                every: every.map(Span::from_millis),
            }
        };
        for (timing, part) in [
            (steps(&[], None), "no steps"),
            (steps(&[2, 1], None), "not in order"),
            (steps(&[0], Some(0)), "give at least 1 ms"),
            (steps(&[5], Some(5)), "never comes"),
            (Timing::Slots(Slots { every: Span::ZERO, ..Slots::default() }), "too short"),
        ] {
            let problem = timing.check().expect_err(part);
            assert!(problem.contains(part), "{problem}");
        }
    }
}
