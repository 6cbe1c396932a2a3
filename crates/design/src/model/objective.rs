//! The section `[objective]`.

use super::error::Problem;
use super::section::{Section, parsed, word};
use crate::objective::{Objective, Throughput, Units};
use exm_sim::MeasuredOver;
use std::fmt;

/// Reads the section; keys that are not given are as in `defaults`.
pub(super) fn read(section: Section<'_>, defaults: &Objective) -> Result<Objective, Problem> {
    let number = |key: &str, default: f64, most: f64| {
        let Some(value) = section.get(key) else { return Ok(default) };
        let wanted = format!("a number from 0 to {most}");
        parsed(value, &wanted, |text| match text.replace('_', "").parse::<f64>() {
            Ok(number) if (0.0..=most).contains(&number) => Ok(number),
            _ => Err(format!("\"{key}\" cannot be {text}: give {wanted}")),
        })
    };
    let choice = |key: &str, default: usize, what: &str, names: &[&str]| match section.get(key) {
        None => Ok(default),
        Some(value) => word(value, what, names),
    };
    Ok(Objective {
        // Larger exponents would overflow; ten is all but the fairness of maximal minima.
        alpha: number("alpha", defaults.alpha, 10.0)?,
        beta: number("beta", defaults.beta, 10.0)?,
        delta: number("delta", defaults.delta, Objective::MAX_DELTA)?,
        loss_penalty: number("loss_penalty", defaults.loss_penalty, 1e6)?,
        throughput: Throughput::ALL[choice(
            "throughput",
            defaults.throughput as usize,
            "a time to measure throughput over",
            &Throughput::ALL.map(Throughput::name),
        )?],
        over: MeasuredOver::ALL[choice(
            "measured_over",
            defaults.over as usize,
            "a time to measure throughput over",
            &MeasuredOver::NAMES,
        )?],
        units: Units::ALL[choice(
            "units",
            defaults.units as usize,
            "a kind of units",
            &Units::ALL.map(Units::name),
        )?],
    })
}

/// Writes the keys of the section as they are read.
pub(super) fn write(f: &mut fmt::Formatter<'_>, objective: &Objective) -> fmt::Result {
    let Objective { alpha, beta, delta, loss_penalty, throughput, over, units } = objective;
    writeln!(f, "alpha = {alpha}\nbeta = {beta}\ndelta = {delta}")?;
    writeln!(f, "loss_penalty = {loss_penalty}")?;
    writeln!(f, "measured_over = \"{}\"", over.name())?;
    writeln!(f, "throughput = \"{}\"\nunits = \"{}\"", throughput.name(), units.name())
}
