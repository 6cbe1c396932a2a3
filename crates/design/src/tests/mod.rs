//! Models of several kinds of networks, from their file to a design.

mod several;
mod varied;

use crate::Model;
use exm_remy::{Action, RuleTable, SignalSet};

fn model(text: &str) -> Model {
    Model::parse(text, "test").unwrap_or_else(|error| panic!("{error}"))
}

/// The error of a model that is refused.
fn problem(text: &str) -> String {
    Model::parse(text, "m.toml").expect_err("it is refused").to_string()
}

fn one_rule(multiple: f64, increment: i32, intersend_ms: f64) -> RuleTable {
    let action = Action { multiple, increment, intersend_ms };
    RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, action)
}
