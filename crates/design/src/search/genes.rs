//! Actions as points in a space where a step of one is a middling change.

use crate::model::ActionPart;
use exm_remy::{Action, Rule, RuleTable};

/// A step of the window's multiple, m.
const MULTIPLE: f64 = 0.1;
/// A step of its increment, b, near zero, packets; larger increments have larger steps.
const INCREMENT: f64 = 4.0;
/// A step of the logarithm of the time between sends, r, in ms.
const INTERSEND: f64 = 0.5;

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

/// The genes of a rule: one for each of `parts`.
pub(crate) fn of_rule<'a>(
    rule: &Rule,
    parts: &'a [ActionPart],
) -> impl Iterator<Item = f64> + use<'a> {
    let action = rule.action;
    parts.iter().map(move |&part| encode(action, part))
}

/// The actions of `table`'s rules with their `parts` set by `genes`, rule by rule.
pub(crate) fn actions(table: &RuleTable, parts: &[ActionPart], genes: &[f64]) -> Vec<Action> {
    let rules = table.rules().iter().zip(genes.chunks_exact(parts.len()));
    rules
        .map(|(rule, genes)| {
            let mut action = rule.action;
            for (&part, &gene) in parts.iter().zip(genes) {
                decode(&mut action, part, gene);
            }
            action
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_remy::SignalSet;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn genes_bring_back_their_action(
            multiple in 0.0..1.5f64, increment in -900..9000i32, ln_intersend in -9.0..6.0f64,
        ) {
            let action =
                Action { multiple, increment, intersend_ms: libm::exp(ln_intersend) };
            let table = RuleTable::single(SignalSet::FIRST_FOUR, 1e4, action);
            let genes: Vec<f64> = of_rule(&table.rules()[0], &ActionPart::ALL).collect();
            let again = actions(&table, &ActionPart::ALL, &genes)[0];
            prop_assert_eq!(again.increment, increment);
            prop_assert!((again.multiple - multiple).abs() < 1e-12);
            prop_assert!((again.intersend_ms / action.intersend_ms - 1.0).abs() < 1e-12);
        }

        #[test]
        fn any_genes_are_an_action_a_table_may_have(
            genes in prop::collection::vec(-1e6..1e6f64, 3),
        ) {
            let table = RuleTable::single(SignalSet::FIRST_FOUR, 1e4, Action::INITIAL);
            let action = actions(&table, &ActionPart::ALL, &genes)[0];
            prop_assert!((0.0..=1.5).contains(&action.multiple));
            prop_assert!(action.intersend_ms.is_finite() && action.intersend_ms > 0.0);
        }
    }

    #[test]
    fn parts_that_may_not_change_do_not() {
        let table = RuleTable::single(SignalSet::FIRST_FOUR, 1e4, Action::INITIAL);
        let action = actions(&table, &[ActionPart::Intersend], &[0.0])[0];
        assert_eq!(action, Action { intersend_ms: 1.0, ..Action::INITIAL });
    }
}
