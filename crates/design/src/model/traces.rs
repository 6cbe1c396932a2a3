//! [`NamedTrace`]: a trace that a link of a model may follow.

use super::error::Problem;
use super::section::{Section, elements, parsed};
use exm_sim::scenario::Traces;
use exm_trace::Trace;
use exm_units::{Fnv1a, Instant, Rate, Span};
use std::fmt::{self, Write};
use std::sync::Arc;

/// A trace, and what the model calls it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedTrace {
    name: String,
    trace: Arc<Trace>,
}

impl NamedTrace {
    pub(crate) fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// The rate that it offers.
    pub(super) fn mean_rate(&self) -> Rate {
        self.trace.mean_rate()
    }

    /// The mean rate that it offers in the first `duration`.
    pub(crate) fn rate_until(&self, duration: Span) -> Rate {
        let end = Instant::ZERO + duration;
        let rate = self.trace.rates(Instant::ZERO, end, duration).next();
        rate.unwrap_or_else(|| self.mean_rate())
    }

    /// What tells traces apart that have the same name: the hash of their opportunities, each in whole
    /// nanoseconds, followed by a space.
    fn hash(&self) -> Fnv1a {
        let mut hash = Fnv1a::new();
        let times = self.trace.times().iter();
        let written = times.into_iter().try_for_each(|at| write!(hash, "{} ", at.as_nanos()));
        written.expect("a hash takes any text");
        hash
    }
}

/// The traces of `section`; empty if it has none.
pub(super) fn read(section: Section<'_>) -> Result<Vec<NamedTrace>, Problem> {
    let Some(value) = section.get("trace") else { return Ok(Vec::new()) };
    if section.get("rate").is_some() {
        return Err(section.problem("trace", "a link has a rate or a trace: take one of them out"));
    }
    let mut known = Traces::default();
    let wanted = "a trace: give the name of a file or of a synthetic one";
    let one = |element| {
        parsed(element, wanted, |name| {
            let trace = known.named(name, section.dir())?;
            Ok(NamedTrace { name: name.to_owned(), trace })
        })
    };
    let traces: Vec<NamedTrace> = elements(value).into_iter().map(one).collect::<Result<_, _>>()?;
    if traces.is_empty() {
        let what = "there is nothing to choose from in an empty list: name one at least";
        return Err(section.problem("trace", what));
    }
    Ok(traces)
}

/// Refuses a trace that offers nothing within `duration`.
pub(super) fn check(traces: &[NamedTrace], duration: Span) -> Result<(), Problem> {
    match traces.iter().find(|trace| trace.rate_until(duration).as_bps() == 0) {
        None => Ok(()),
        Some(NamedTrace { name, .. }) => Err(Problem::nowhere(format!(
            "the trace \"{name}\" delivers nothing in the first {duration}: let \"duration\" be longer"
        ))),
    }
}

/// Writes the key, and the hash of each trace as a comment: it is part of what the model says.
pub(super) fn write(f: &mut fmt::Formatter<'_>, traces: &[NamedTrace]) -> fmt::Result {
    let quoted = |trace: &NamedTrace| toml::Value::from(trace.name.as_str()).to_string();
    match traces {
        [only] => writeln!(f, "trace = {}", quoted(only))?,
        several => {
            let names: Vec<String> = several.iter().map(quoted).collect();
            writeln!(f, "trace = [{}]", names.join(", "))?;
        }
    }
    traces.iter().try_for_each(|trace| writeln!(f, "# of contents {}", trace.hash()))
}
