//! [`Robust`]: whether a design ends with a hardening of its tables.

use super::error::Problem;
use super::section::{Section, parsed};
use std::fmt;

/// The points that hardening may cost inside the model, by default: so many, or as many times 1 + delta where
/// delay counts for more. Then a point is less, as a hundredth of an RTT is worth more of them.
const DEFAULT_COST: f64 = 0.02;
const COST_OF_WEIGHTS: f64 = 0.01;
/// More is no limit.
const MAX_COST: f64 = 1e6;

/// The section `[robust]` of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Robust {
    /// Whether a design ends with a hardening.
    pub(super) enabled: bool,
    /// How many points the tables may lose inside the model, where it says so.
    pub(super) cost: Option<f64>,
}

impl Robust {
    /// How many points tables whose delay counts for up to `delta` may lose inside the model.
    pub(super) fn cost(&self, delta: f64) -> f64 {
        self.cost.unwrap_or_else(|| DEFAULT_COST.max(COST_OF_WEIGHTS * (1.0 + delta)))
    }
}

impl Default for Robust {
    fn default() -> Robust {
        Robust { enabled: true, cost: None }
    }
}

pub(super) fn read(section: Section<'_>) -> Result<Robust, Problem> {
    let default = Robust::default();
    let enabled = section.flag("enabled", default.enabled)?;
    let points = |text: &str| {
        let number = text.parse::<f64>().ok().filter(|cost| (0.0..=MAX_COST).contains(cost));
        number.ok_or_else(|| format!("\"{text}\" is no cost: give 0 to {MAX_COST} points"))
    };
    let cost = section.get("cost");
    let cost = cost.map(|value| parsed(value, "a number of points such as 0.02", points));
    let cost = cost.transpose()?;
    Ok(Robust { enabled, cost })
}

/// Writes the section of a model whose objectives weigh delay by up to `delta`; but not what was the default when
/// there was no section, so that models from then keep their hash.
pub(super) fn write(f: &mut fmt::Formatter<'_>, robust: &Robust, delta: f64) -> fmt::Result {
    let Robust { enabled, cost } = *robust;
    // Without a hardening it makes no difference what one would cost.
    let cost = if enabled { robust.cost(delta) } else { cost.unwrap_or(DEFAULT_COST) };
    let default = Robust::default().cost(delta);
    if enabled && cost == default && default == DEFAULT_COST {
        return Ok(());
    }
    writeln!(f, "\n[robust]\nenabled = {enabled}\ncost = {cost}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_delay_counts_for_more_guards_may_cost_more() {
        let silent = Robust::default();
        let costs = [0.1, 1.0, 10.0].map(|delta| silent.cost(delta));
        assert_eq!(costs, [0.02, 0.02, 0.11]);
        assert_eq!(Robust { enabled: true, cost: Some(0.5) }.cost(10.0), 0.5);
    }
}
