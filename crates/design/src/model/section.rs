//! A table of the file, its keys checked, and the plain values in it.

use super::error::Problem;
use exm_grammar::suggest;
use std::borrow::Cow;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value, and where it stands.
pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// Every section of a model and its keys; the first is the top of the file.
const SECTIONS: [(&str, &[&str]); 10] = [
    (
        "",
        &[
            "name",
            "network",
            "link",
            "traffic",
            "sender",
            "part",
            "halo",
            "objective",
            "design",
            "robust",
        ],
    ),
    ("network", &NETWORK),
    ("link", &LINK),
    ("traffic", &["on", "off", "every", "spread"]),
    ("sender", &SENDER),
    (
        "objective",
        &["alpha", "beta", "delta", "loss_penalty", "measured_over", "throughput", "units"],
    ),
    ("design", &["signals", "action", "duration", "specimens", "host", "l4s"]),
    ("robust", &["enabled", "cost"]),
    ("halo", &["share"]),
    // Last: a key that is also another section's belongs there.
    ("part", &["weight", "duration", "network", "link", "traffic", "sender"]),
];

const NETWORK: [&str; 15] = [
    "rate",
    "trace",
    "rtt",
    "senders",
    "buffer",
    "loss",
    "queue",
    "jitter",
    "reorder",
    "reorder_delay",
    "access",
    "block_errors",
    "block_step",
    "packet_size",
    "draw",
];

const LINK: [&str; 15] = [
    "name",
    "from",
    "to",
    "rate",
    "trace",
    "rtt",
    "buffer",
    "loss",
    "queue",
    "jitter",
    "reorder",
    "reorder_delay",
    "access",
    "block_errors",
    "block_step",
];

const SENDER: [&str; 15] = [
    "name",
    "count",
    "present",
    "one_of",
    "path",
    "back",
    "rtt",
    "on",
    "off",
    "every",
    "spread",
    "controller",
    "table",
    "objective",
    "considered",
];

/// A section of the file that has no unknown key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section<'a> {
    name: &'static str,
    /// Nothing where the file has no such section.
    table: Option<&'a DeTable<'a>>,
    place: usize,
    /// Where the relative paths in it start.
    dir: &'a Path,
}

impl<'a> Section<'a> {
    /// The top of the file, in which relative paths start at `dir`.
    pub(super) fn top(table: &'a DeTable<'a>, dir: &'a Path) -> Result<Section<'a>, Problem> {
        Section { name: "", table: Some(table), place: 0, dir }.checked()
    }

    /// The section `name` of the file; empty where there is none.
    pub(super) fn section(&self, name: &'static str) -> Result<Section<'a>, Problem> {
        let Some(value) = self.get(name) else {
            return Ok(Section { name, table: None, place: 0, dir: self.dir });
        };
        let place = value.span().start;
        match value.get_ref() {
            DeValue::Table(table) => {
                Section { name, table: Some(table), place, dir: self.dir }.checked()
            }
            _ => Err(Problem::at(place, format!("{name} is a section: write [{name}] above it"))),
        }
    }

    /// The sections `[[name]]`, in order.
    pub(super) fn list(&self, name: &'static str) -> Result<Vec<Section<'a>>, Problem> {
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let wrong = || {
            Problem::at(
                value.span().start,
                format!("{name} is a list of sections: write [[{name}]]"),
            )
        };
        let DeValue::Array(values) = value.get_ref() else { return Err(wrong()) };
        let section = |value: &'a Value<'a>| match value.get_ref() {
            DeValue::Table(table) => {
                let place = value.span().start;
                Section { name, table: Some(table), place, dir: self.dir }.checked()
            }
            _ => Err(wrong()),
        };
        values.iter().map(section).collect()
    }

    /// Where the relative paths in it start.
    pub(super) fn dir(&self) -> &'a Path {
        self.dir
    }

    /// A problem with `key`, or, where it is not given, with the section.
    pub(super) fn problem(&self, key: &str, what: impl Into<String>) -> Problem {
        Problem::at(self.get(key).map_or(self.place, |value| value.span().start), what)
    }

    /// The value of `key`, which is true or false; `default` if it is not given.
    pub(super) fn flag(&self, key: &'static str, default: bool) -> Result<bool, Problem> {
        match self.get(key).map(toml::Spanned::get_ref) {
            None => Ok(default),
            Some(DeValue::Boolean(flag)) => Ok(*flag),
            Some(_) => Err(self.problem(key, format!("\"{key}\" is either true or false"))),
        }
    }

    fn checked(self) -> Result<Section<'a>, Problem> {
        let known = keys(self.name);
        let keys = self.table.iter().flat_map(|table| table.keys());
        match keys.into_iter().find(|key| !known.contains(&key.get_ref().as_ref())) {
            None => Ok(self),
            Some(key) => {
                Err(Problem::at(key.span().start, unknown(key.get_ref(), self.name, known)))
            }
        }
    }

    /// The value of `key`, if given.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value<'a>> {
        self.table?.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    /// The text of `key`, if given; `what` names it in errors, such as "a name".
    pub(super) fn text(&self, key: &str, what: &str) -> Result<Option<String>, Problem> {
        let wanted = format!("{what}: write text");
        self.get(key).map(|value| parsed(value, &wanted, |text| Ok(text.to_owned()))).transpose()
    }

    /// The value of `key`, which must be given, such as `example`.
    pub(super) fn need(&self, key: &str, example: &str) -> Result<&'a Value<'a>, Problem> {
        let name = self.name;
        match (self.get(key), self.table) {
            (Some(value), _) => Ok(value),
            (None, Some(_)) => {
                let what = format!("\"{key}\" is missing from [{name}]: add {key} = {example}");
                Err(Problem::at(self.place, what))
            }
            (None, None) => Err(Problem::nowhere(format!(
                "the section [{name}] is missing: add it, with {key} = {example}"
            ))),
        }
    }
}

fn keys(section: &str) -> &'static [&'static str] {
    SECTIONS.iter().find(|(name, _)| *name == section).map_or(&[], |&(_, keys)| keys)
}

/// The error for a key that `section` does not have.
fn unknown(key: &str, section: &str, known: &[&str]) -> String {
    match SECTIONS.iter().find(|(_, keys)| keys.contains(&key)) {
        Some(("", _)) => format!("\"{key}\" belongs at the top of the file: move it there"),
        Some((home, _)) => format!("\"{key}\" belongs in [{home}]: move it there"),
        None if section.is_empty() => {
            format!("there is no \"{key}\" in a model: {}", suggest(key, known))
        }
        None => format!("there is no \"{key}\" in [{section}]: {}", suggest(key, known)),
    }
}

/// The text of a text or a number; nothing for anything else.
pub(super) fn scalar<'a>(value: &'a Value<'_>) -> Option<Cow<'a, str>> {
    match value.get_ref() {
        DeValue::String(text) => Some(Cow::Borrowed(text)),
        DeValue::Integer(number) => {
            let number = i128::from_str_radix(number.as_str(), number.radix()).ok()?;
            Some(Cow::Owned(number.to_string()))
        }
        DeValue::Float(number) => Some(Cow::Borrowed(number.as_str())),
        _ => None,
    }
}

/// The elements of a list, or the value itself.
pub(super) fn elements<'a>(value: &'a Value<'a>) -> Vec<&'a Value<'a>> {
    match value.get_ref() {
        DeValue::Array(values) => values.iter().collect(),
        _ => vec![value],
    }
}

/// Parses the text or number `value` with `parse`; `wanted` describes in errors what is expected.
pub(super) fn parsed<T>(
    value: &Value<'_>,
    wanted: &str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, Problem> {
    let place = value.span().start;
    let text = scalar(value).ok_or_else(|| {
        Problem::at(place, format!("{} is not {wanted}", described(value.get_ref())))
    })?;
    parse(&text).map_err(|what| Problem::at(place, what))
}

fn described(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a section",
        DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_) => "this",
    }
}

/// The text `value` where it is one of `known`, by its place among them.
pub(super) fn word(value: &Value<'_>, what: &str, known: &[&str]) -> Result<usize, Problem> {
    let wanted = format!("{what}: {}", suggest("", known));
    parsed(value, &wanted, |text| {
        known
            .iter()
            .position(|name| *name == text)
            .ok_or_else(|| format!("\"{text}\" is not {what}: {}", suggest(text, known)))
    })
}
