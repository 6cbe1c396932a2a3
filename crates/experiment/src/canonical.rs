//! The canonical text from which configurations are hashed: the same for the same configuration, whichever
//! compiler built the program.
//!
//! | of | is |
//! |---|---|
//! | a document | the JSON of its TOML, without spaces, keys in the order of their bytes, dates as text; numbers are the shortest decimals that parse as the same number |
//! | `on = "always"` | `"ever"`, its spelling when the first hashes were stored |
//! | a rule table | [`exm_remy::RuleTable::write_canonical`] |
//! | a trace | its opportunities, each in whole nanoseconds, followed by a space |
//! | a distribution's values | each a number, or with its cumulative probability `value:probability`, followed by a space |
//!
//! A plan is its document; a line each for the seed, for the name of each recorded trace, and for additional
//! measurements, with their window in nanoseconds. A case is its document; the line of the seed; the contents
//! of files used by each group of flows (its table, or the fingerprint of its controller from outside, then the values
//! of its off and on times), ended by a line;
//! a line for each trace, with its hash.
//!
//! Everything else that a result depends on follows from these and the program's version, which is stored
//! beside the hash.

use crate::case::Asked;
use exm_cc::Controller;
use exm_random::Distribution;
use exm_sim::network::FlowSpec;
use exm_sim::traffic::{OnFor, OnOff, Traffic};
use exm_trace::Trace;
use exm_units::Fnv1a;
use std::fmt::{self, Write};
use toml::{Table, Value};

/// The text of `document`.
fn document(document: &Table, out: &mut impl Write) -> fmt::Result {
    let mut keys: Vec<&String> = document.keys().collect();
    keys.sort();
    out.write_str("{")?;
    for (index, key) in keys.into_iter().enumerate() {
        out.write_str(if index == 0 { "" } else { "," })?;
        string(key, out)?;
        out.write_str(":")?;
        match &document[key] {
            Value::String(text) if key == "on" && text == "always" => string("ever", out)?,
            other => value(other, out)?,
        }
    }
    out.write_str("}")
}

fn value(of: &Value, out: &mut impl Write) -> fmt::Result {
    match of {
        Value::String(text) => string(text, out),
        Value::Integer(number) => write!(out, "{number}"),
        Value::Float(number) => write!(out, "{number}"),
        Value::Boolean(truth) => write!(out, "{truth}"),
        Value::Datetime(date) => string(&date.to_string(), out),
        Value::Array(values) => {
            out.write_str("[")?;
            for (index, element) in values.iter().enumerate() {
                out.write_str(if index == 0 { "" } else { "," })?;
                value(element, out)?;
            }
            out.write_str("]")
        }
        Value::Table(table) => document(table, out),
    }
}

fn string(text: &str, out: &mut impl Write) -> fmt::Result {
    out.write_str("\"")?;
    for char in text.chars() {
        match char {
            '"' | '\\' => write!(out, "\\{char}")?,
            control if control < ' ' => write!(out, "\\u{:04x}", u32::from(control))?,
            other => out.write_char(other)?,
        }
    }
    out.write_str("\"")
}

/// The text of the file contents that `flow` uses.
fn flow(flow: &FlowSpec, out: &mut impl Write) -> fmt::Result {
    if let Some(remy) = flow.transport.controller().and_then(|controller| controller.as_remy()) {
        remy.table().write_canonical(out)?;
    }
    if let Some(print) = flow.transport.controller().and_then(Controller::fingerprint) {
        write!(out, "outside {print:x} ")?;
    }
    if let Traffic::OnOff(OnOff { off, .. }) = &flow.traffic {
        values(off, out)?;
    }
    match flow.traffic.on() {
        OnFor::Time(amount) | OnFor::Bytes(amount) | OnFor::Packets(amount) => values(amount, out),
        OnFor::Always | OnFor::Video(_) => Ok(()),
    }
}

fn values(distribution: &Distribution, out: &mut impl Write) -> fmt::Result {
    match distribution {
        Distribution::Empirical(values) => {
            values.iter().try_for_each(|value| write!(out, "{value} "))
        }
        Distribution::Cdf(points) => points.iter().try_for_each(|(x, p)| write!(out, "{x}:{p} ")),
        _ => Ok(()),
    }
}

/// The hash of the text of `trace`.
pub(crate) fn trace(trace: &Trace) -> Fnv1a {
    let mut hash = Fnv1a::new();
    let written = trace.times().iter().try_for_each(|at| write!(hash, "{} ", at.as_nanos()));
    written.expect("a hash takes any text");
    hash
}

/// The hash of a case.
pub(crate) fn case<'a>(
    of: &Table,
    seed: u64,
    mut flows: impl Iterator<Item = &'a FlowSpec>,
    traces: &[Fnv1a],
) -> Fnv1a {
    let mut hash = Fnv1a::new();
    let mut write = || {
        document(of, &mut hash)?;
        writeln!(hash, "\nseed {seed}")?;
        flows.try_for_each(|spec| {
            flow(spec, &mut hash)?;
            writeln!(hash, "flow")
        })?;
        traces.iter().try_for_each(|trace| writeln!(hash, "trace {trace}"))
    };
    write().expect("a hash takes any text");
    hash
}

/// The hash of a plan whose base is `of`, for recorded traces if there are any.
pub(crate) fn plan<'a>(
    of: &Table,
    seed: u64,
    mut recorded: impl Iterator<Item = &'a str>,
    asked: &Asked,
) -> Fnv1a {
    let Asked { convergence, timeline, completions, claims } = asked;
    let windows = [("convergence", convergence), ("course", timeline), ("claims", claims)];
    let mut hash = Fnv1a::new();
    let mut write = || {
        document(of, &mut hash)?;
        writeln!(hash, "\nseed {seed}")?;
        recorded.try_for_each(|name| writeln!(hash, "recorded {name}"))?;
        for (name, window) in windows {
            if let Some(window) = window {
                writeln!(hash, "{name} {}", window.as_nanos())?;
            }
        }
        if *completions { writeln!(hash, "completions") } else { Ok(()) }
    };
    write().expect("a hash takes any text");
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_units::{Fnv1a, Instant, Span};

    #[test]
    fn the_text_of_a_document_is_pinned() {
        let text =
            "b = [1, 2.5, 1e300, true]\na = \"x\\\"\\n\\u00e9\"\n[c]\nz = 1979-05-27\ny = {}\n";
        let of = |text: &str| {
            let table: Table = text.parse().expect("TOML");
            let (mut written, mut hash) = (String::new(), Fnv1a::new());
            document(&table, &mut written).expect("memory takes it");
            document(&table, &mut hash).expect("a hash takes it");
            assert_eq!(hash, Fnv1a::of(&written));
            (written, hash.to_string())
        };
        let (written, hash) = of(text);
        let large = format!("1{}", "0".repeat(300));
        let expected = format!(
            "{{\"a\":\"x\\\"\\u000aé\",\"b\":[1,2.5,{large},true],\"c\":{{\"y\":{{}},\"z\":\"1979-05-27\"}}}}"
        );
        assert_eq!(written, expected);
        assert_eq!(hash, "e8f9a6ec508e158d");
        let other =
            "a = 'x\"\n\u{e9}'\nc = { y = {}, z = 1979-05-27 }\nb = [0x1, 2.50, 1e300, true]\n";
        assert_eq!(of(&other.replace('\'', "'''")), (written, hash), "whatever its formatting");
    }

    #[test]
    fn a_hash_of_a_trace_is_pinned() {
        let times: Vec<Instant> =
            [0, 1_500_000].map(|nanos| Instant::ZERO + Span::from_nanos(nanos)).into();
        let hash = trace(&Trace::new(times).expect("a trace"));
        assert_eq!(
            (hash, hash.to_string().as_str()),
            (Fnv1a::of("0 1500000 "), "00f40d307fe170fb")
        );
    }

    #[test]
    fn a_hash_of_a_plan_is_pinned() {
        let table = "a = 1".parse().expect("TOML");
        let asked = Asked {
            convergence: Some(Span::from_millis(500)),
            completions: true,
            ..Asked::default()
        };
        let hash = plan(&table, 7, ["n down"].into_iter(), &asked);
        let text = "{\"a\":1}\nseed 7\nrecorded n down\nconvergence 500000000\ncompletions\n";
        assert_eq!((hash, hash.to_string().as_str()), (Fnv1a::of(text), "d10d96f737528a16"));
    }
}
