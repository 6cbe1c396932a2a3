//! Actions as points in a space in which a step of one is a moderate change.

use crate::model::ActionPart;
use exm_remy::{Action, Signal};

/// A step of the window's multiple, m.
const MULTIPLE: f64 = 0.1;
/// A step of its increment, b, near zero, packets; larger increments have larger steps.
const INCREMENT: f64 = 4.0;
/// A step of the logarithm of the time between sends, r, in ms.
const INTERSEND: f64 = 0.5;
/// A step of the logarithm of where a rule is cut.
const CUT: f64 = 0.3;

/// The gene of one part of an action.
fn encode(action: Action, part: ActionPart) -> f64 {
    match part {
        ActionPart::WindowMultiple => action.multiple / MULTIPLE,
        ActionPart::WindowIncrement => {
            2.0 * libm::asinh(f64::from(action.increment) / (2.0 * INCREMENT))
        }
        ActionPart::Intersend => libm::log(action.intersend_ms.max(1e-5)) / INTERSEND,
    }
}

/// Sets one part of an action by its gene. The bounds are wide of anything useful: half as much
/// window again on each acknowledgement, forty nanoseconds between sends or a second.
fn decode(action: &mut Action, part: ActionPart, gene: f64) {
    match part {
        ActionPart::WindowMultiple => action.multiple = (gene * MULTIPLE).clamp(0.0, 1.5),
        ActionPart::WindowIncrement => {
            let increment = 2.0 * INCREMENT * libm::sinh((gene / 2.0).clamp(-8.0, 8.0));
            action.increment = increment.round().clamp(-1000.0, 10_000.0) as i32;
        }
        ActionPart::Intersend => {
            action.intersend_ms = libm::exp((gene * INTERSEND).clamp(-10.0, 7.0));
        }
    }
}

/// The genes of an action: one for each of `parts`.
pub(crate) fn of_action(
    action: Action,
    parts: &[ActionPart],
) -> impl Iterator<Item = f64> + use<'_> {
    parts.iter().map(move |&part| encode(action, part))
}

/// The unit of a signal: cuts move on a logarithmic axis relative to it.
fn origin(signal: Signal) -> f64 {
    // The ratio of round-trip times starts from 1; a hundredth keeps the logarithm finite.
    if signal == Signal::RttRatio { 0.99 } else { -0.01 }
}

/// The gene of a cut at `at` on the axis of `signal`.
pub(crate) fn of_cut(signal: Signal, at: f64) -> f64 {
    libm::log((at - origin(signal)).max(1e-3)) / CUT
}

/// Where on the axis of `signal` the cut of a gene is.
pub(crate) fn cut(signal: Signal, gene: f64) -> f64 {
    libm::exp((gene * CUT).clamp(-7.0, 10.0)) + origin(signal)
}

/// The action of a rule like `action` but for the `parts` that `genes` set.
pub(crate) fn action(mut action: Action, parts: &[ActionPart], genes: &[f64]) -> Action {
    for (&part, &gene) in parts.iter().zip(genes) {
        decode(&mut action, part, gene);
    }
    action
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn genes_bring_back_their_action(
            multiple in 0.0..1.5f64, increment in -900..9000i32, ln_intersend in -9.0..6.0f64,
        ) {
            let action =
                Action { multiple, increment, intersend_ms: libm::exp(ln_intersend) };
            let genes: Vec<f64> = of_action(action, &ActionPart::ALL).collect();
            let again = super::action(Action::INITIAL, &ActionPart::ALL, &genes);
            prop_assert_eq!(again.increment, increment);
            prop_assert!((again.multiple - multiple).abs() < 1e-12);
            prop_assert!((again.intersend_ms / action.intersend_ms - 1.0).abs() < 1e-12);
        }

        #[test]
        fn any_genes_are_an_action_a_table_may_have(
            genes in prop::collection::vec(-1e6..1e6f64, 3),
        ) {
            let action = action(Action::INITIAL, &ActionPart::ALL, &genes);
            prop_assert!((0.0..=1.5).contains(&action.multiple));
            prop_assert!(action.intersend_ms.is_finite() && action.intersend_ms > 0.0);
        }
    }

    #[test]
    fn parts_that_may_not_change_do_not() {
        let action = action(Action::INITIAL, &[ActionPart::Intersend], &[0.0]);
        assert_eq!(action, Action { intersend_ms: 1.0, ..Action::INITIAL });
    }
}
