//! [`Robust`]: whether a design ends with a hardening of its tables.

use super::error::Problem;
use super::section::{Section, parsed};
use std::fmt;
use toml::de::DeValue;

/// The points that hardening may cost inside the model, by default.
pub const DEFAULT_COST: f64 = 0.02;
/// More is no limit.
const MAX_COST: f64 = 1e6;

/// The section `[robust]` of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Robust {
    /// Whether a design ends with a hardening.
    pub(super) enabled: bool,
    /// How many points the tables may lose inside the model.
    pub(super) cost: f64,
}

impl Default for Robust {
    fn default() -> Robust {
        Robust { enabled: true, cost: DEFAULT_COST }
    }
}

pub(super) fn read(section: Section<'_>) -> Result<Robust, Problem> {
    let default = Robust::default();
    let enabled = match section.get("enabled") {
        None => default.enabled,
        Some(value) => match value.get_ref() {
            DeValue::Boolean(enabled) => *enabled,
            _ => return Err(section.problem("enabled", "\"enabled\" is either true or false")),
        },
    };
    let cost = match section.get("cost") {
        None => default.cost,
        Some(value) => parsed(value, "a number of points such as 0.02", |text| {
            let number = text.parse::<f64>().ok().filter(|cost| (0.0..=MAX_COST).contains(cost));
            number.ok_or_else(|| format!("\"{text}\" is no cost: give 0 to {MAX_COST} points"))
        })?,
    };
    Ok(Robust { enabled, cost })
}

/// Writes the section, but where it is the default: models from before there was one keep their hash.
pub(super) fn write(f: &mut fmt::Formatter<'_>, robust: &Robust) -> fmt::Result {
    if *robust == Robust::default() {
        return Ok(());
    }
    writeln!(f, "\n[robust]\nenabled = {}\ncost = {}", robust.enabled, robust.cost)
}
