//! What options of several commands share: defaults, parsers, and how the options of a run are shown.

use crate::layout;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use exm_design::Objective;
use exm_grammar::GrammarError;
use exm_link::QueueKind;
use exm_sim::network::Host;
use exm_sim::scenario::is_synthetic;
use exm_units::{Rate, Span};
use serde::{Serialize, Serializer};
use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

/// The default queue limit in every command that simulates.
pub(crate) const DEFAULT_BUFFER: &str = "1000 packets";

/// The default queue discipline.
pub(crate) const DEFAULT_QUEUE: &str = "drop-tail";
/// The default probability of random loss.
pub(crate) const DEFAULT_LOSS: &str = "0";
/// The default length of a flow.
pub(crate) const DEFAULT_ON: &str = "always";
/// The default simulated time, as in the papers.
pub(crate) const DEFAULT_DURATION: Span = Span::from_secs(100);
/// The default initial window of TCP connections, in packets (RFC 6928).
pub(crate) const INITIAL_WINDOW: u64 = 10;
/// The default seed.
pub(crate) const DEFAULT_SEED: u64 = 1;

/// The key of a scenario's link for the value `text`: a rate, or the file or name of a trace. Text
/// that begins as a number is taken for a rate, unless it is one of these names.
pub(crate) fn service_key(text: &str) -> &'static str {
    let begins_as_number = text.starts_with(|c: char| c.is_ascii_digit());
    let is_trace = is_synthetic(text) || Path::new(text).exists();
    if text.parse::<Rate>().is_ok() || (begins_as_number && !is_trace) { "rate" } else { "trace" }
}

/// Parses a queue, as in a scenario.
pub(crate) fn queue(text: &str) -> Result<QueueKind, GrammarError> {
    exm_grammar::queue(text)
}

/// Parses the name of a host.
pub(crate) fn host() -> impl TypedValueParser<Value = Host> {
    PossibleValuesParser::new(Host::NAMES).map(|name| Host::named(&name).unwrap_or_default())
}

/// Reads the weight of delay in an objective.
pub(crate) fn delta(text: &str) -> Result<f64, String> {
    number_in(0.0..=Objective::MAX_DELTA, text)
}

/// Reads a number in `range`.
pub(crate) fn number_in(range: RangeInclusive<f64>, text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("give a number from {} to {}", range.start(), range.end()))
}

/// The options of a run, by name.
#[derive(Debug)]
pub(crate) struct Setup(Vec<Setting>);

#[derive(Debug)]
struct Setting {
    name: &'static str,
    value: String,
    is_default: bool,
}

impl Setup {
    /// Nothing yet.
    pub(crate) const fn new() -> Setup {
        Setup(Vec::new())
    }

    /// Adds an option without a default.
    pub(crate) fn given(&mut self, name: &'static str, value: impl fmt::Display) {
        self.0.push(Setting { name, value: value.to_string(), is_default: false });
    }

    /// Whether it has the option called `name`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|setting| setting.name == name)
    }

    /// Adds an option whose default is `default`.
    pub(crate) fn usually(
        &mut self,
        name: &'static str,
        value: impl fmt::Display,
        default: impl fmt::Display,
    ) {
        let value = value.to_string();
        let is_default = value == default.to_string();
        self.0.push(Setting { name, value, is_default });
    }
}

/// An object of names and values.
impl Serialize for Setup {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|setting| (setting.name, &setting.value)))
    }
}

/// Prints lines such as "link 15 Mbps, buffer 1000 packets*, host tcp* (* default)".
impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = Vec::new();
        for (index, Setting { name, value, is_default }) in self.0.iter().enumerate() {
            let mark = if *is_default { "*" } else { "" };
            let comma = if index + 1 < self.0.len() { "," } else { "" };
            words.push(format!("{name} {value}{mark}{comma}"));
        }
        if self.0.iter().any(|setting| setting.is_default) {
            words.push("(* default)".to_owned());
        }
        let mut column = 0;
        for (index, word) in words.iter().enumerate() {
            let width = word.chars().count();
            match index {
                0 => {}
                _ if column + 1 + width > layout::width() => {
                    f.write_str("\n")?;
                    column = 0;
                }
                _ => {
                    f.write_str(" ")?;
                    column += 1;
                }
            }
            f.write_str(word)?;
            column += width;
        }
        Ok(())
    }
}

/// The controllers in `words`, which were separated by commas, as are the parameters of each.
pub(crate) fn controllers(words: &[String]) -> Vec<String> {
    match words {
        [] => Vec::new(),
        words => exm_sim::builtin::split_list(&words.join(",")),
    }
}

/// The name of a controller without the folder and the extension of its file.
pub(crate) fn short_name(cc: &str) -> String {
    let path = Path::new(cc);
    let is_file = path.extension().is_some_and(|e| e == "json" || e == "dna");
    let name = if is_file { path.file_stem() } else { path.file_name() };
    name.and_then(|name| name.to_str()).unwrap_or(cc).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short() {
        let names = ["aimd", "a/b.json", "general-delta0.1", "x/"].map(short_name);
        assert_eq!(names, ["aimd", "b", "general-delta0.1", "x"]);
    }

    #[test]
    fn text_that_begins_as_a_number_is_a_rate() {
        for (text, key) in
            [("5Mbps", "rate"), ("5Mbs", "rate"), ("5g", "trace"), ("lte, seed 2", "trace")]
        {
            assert_eq!(service_key(text), key, "{text}");
        }
    }

    #[test]
    fn a_setup_marks_its_defaults_and_wraps() {
        let mut setup = Setup::new();
        setup.given("link", "15 Mbps");
        setup.usually("buffer", "1000 packets", DEFAULT_BUFFER);
        setup.usually("host", "bare", "tcp");
        assert_eq!(setup.to_string(), "link 15 Mbps, buffer 1000 packets*, host bare (* default)");
        let json = serde_json::to_string(&setup).unwrap();
        assert_eq!(json, r#"{"link":"15 Mbps","buffer":"1000 packets","host":"bare"}"#);
        setup.given("on", "x".repeat(80));
        assert!(setup.to_string().lines().all(|line| line.len() <= layout::width()));
    }
}
