//! The rule table of a flow.

use super::{Refusal, Viewer};
use exm_remy::{Action, RuleTable, Signal};
use exm_table::{Provenance, TableFile};
use serde_json::{Value, json};

impl Viewer {
    /// The table that a flow follows.
    fn followed(&self, lane: usize, flow: usize) -> Result<(&RuleTable, String), Refusal> {
        let none =
            || Refusal::new("table", format!("flow {flow} of lane {lane} has no rule table"));
        let lanes = self.shown()?.player().lanes();
        let remycc = lanes.get(lane).and_then(|lane| lane.remycc(flow)).ok_or_else(none)?;
        let description = self.describe()?;
        let name = description["lanes"][lane]["flows"][flow]["controller"].as_str();
        Ok((remycc.table(), name.unwrap_or_default().to_owned()))
    }

    pub(super) fn table(&self, lane: usize, flow: usize) -> Result<Value, Refusal> {
        let (table, name) = self.followed(lane, flow)?;
        let signals: Vec<Signal> = table.signals().iter().collect();
        let sides = |point: &exm_remy::Point| -> Vec<Value> {
            signals.iter().map(|signal| number(point[signal.index()])).collect()
        };
        let rules = table.rules().iter().map(|rule| {
            let Action { multiple, increment, intersend_ms } = rule.action;
            json!({
                "lower": sides(&rule.domain.lower),
                "upper": sides(&rule.domain.upper),
                "multiple": multiple,
                "increment": increment,
                "intersend_ms": intersend_ms,
                "words": words(&rule.action),
            })
        });
        let whole = table.domain();
        let axes = signals.iter().map(|signal| {
            json!({
                "name": signal.name(),
                "unit": signal.unit(),
                "lower": number(whole.lower[signal.index()]),
                "upper": number(whole.upper[signal.index()]),
            })
        });
        let about = self.library.design_of(&name).map(|design| format!("designed for {design}"));
        Ok(json!({
            "name": name,
            "about": about.unwrap_or_default(),
            "signals": axes.collect::<Value>(),
            "rules": rules.collect::<Value>(),
        }))
    }

    /// The file of the table that a flow follows, edited or not.
    pub(super) fn save(&self, lane: usize, flow: usize) -> Result<Value, Refusal> {
        let (table, name) = self.followed(lane, flow)?;
        let file = TableFile { table: table.clone(), provenance: Provenance::default() };
        Ok(json!({ "name": format!("{name}.json"), "text": file.to_json() }))
    }
}

/// A bound; JSON has no infinity, and the page takes the largest double for it.
fn number(bound: f64) -> Value {
    bound.clamp(-f64::MAX, f64::MAX).into()
}

/// An action in a sentence.
fn words(action: &Action) -> String {
    let Action { multiple, increment, intersend_ms } = *action;
    let short = |value: f64| {
        let text = format!("{value:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let kept = match (multiple == 0.0, multiple == 1.0) {
        (true, _) => String::new(),
        (_, true) => "window stays what it is".to_owned(),
        _ => format!("window becomes {} of itself", short(multiple)),
    };
    let packets = increment.unsigned_abs();
    let window = match (kept.is_empty(), increment) {
        (true, _) => format!("window becomes {}", increment.max(0)),
        (_, 0) => kept,
        (_, 1..) => format!("{kept} and {packets} more"),
        _ => format!("{kept} less {packets}"),
    };
    let pace = match intersend_ms {
        0.0 => "no pause between packets".to_owned(),
        small if small < 0.001 => "less than 1 µs between packets".to_owned(),
        pause => format!("at least {} ms between packets", short(pause)),
    };
    format!("{window}; {pace}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_told_in_words() {
        let words = |multiple, increment, intersend_ms| {
            super::words(&Action { multiple, increment, intersend_ms })
        };
        assert_eq!(
            words(0.84, 3, 1.2),
            "window becomes 0.84 of itself and 3 more; at least 1.2 ms between packets"
        );
        assert_eq!(words(1.0, 0, 0.0), "window stays what it is; no pause between packets");
        assert_eq!(
            words(1.0, -2, 0.0001),
            "window stays what it is less 2; less than 1 µs between packets"
        );
        assert_eq!(words(0.0, 10, 10.0), "window becomes 10; at least 10 ms between packets");
    }
}
