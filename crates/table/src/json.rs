//! Tables as readable JSON: one rule per line, then the tree of their numbers.
//!
//! ```json
//! {
//!   "format": "exmachina-remycc",
//!   "version": 1,
//!   "signals": ["send_ewma", "rtt_ratio"],
//!   "provenance": {"program": "exm 0.1.0", "seed": 1},
//!   "rules": [
//!     {"rule": 0, "box": {"send_ewma": [0.0, 2.5], "rtt_ratio": [0.0, 16384.0]}, "multiple": 1.0, "increment": 1, "intersend_ms": 0.01},
//!     {"rule": 1, "box": {"send_ewma": [2.5, 16384.0], "rtt_ratio": [0.0, 16384.0]}, "multiple": 0.5, "increment": 3, "intersend_ms": 0.25}
//!   ],
//!   "tree": [0, 1]
//! }
//! ```
//!
//! A box is half-open, `lower <= value < upper`; a signal that it does not name is unbounded in it, and a side
//! that is open has the string `"-inf"` or `"inf"`. The tree is the number of a rule, or a list of the trees
//! that partition a box; that box is the hull of its parts. Where it is not (empty parts may lie anywhere) the
//! node is written `{"box": ..., "parts": [...]}`.

use crate::provenance::Provenance;
use crate::table_file::TableFile;
use crate::text::{BoxText, INFALLIBLE, RuleText, spaced};
use exm_remy::{Cuboid, MAX_RULES, Node, Rule, RuleTable, Signal, SignalSet, TableError};
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};
use std::fmt::{self, Write};

const FORMAT: &str = "exmachina-remycc";
const VERSION: u64 = 1;
/// The maximum length of a line of the tree.
const WIDTH: usize = 100;

/// Why a text is not a table.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// Not JSON, or without the structure of a table.
    #[error("line {line}, column {column}: {problem}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong there.
        problem: String,
    },
    /// JSON of something else.
    #[error("it is no table of rules: it has no \"format\": \"{FORMAT}\"")]
    NotATable,
    /// A version this program does not know.
    #[error("it is of version {0}, and this program reads version {VERSION}: use a newer program")]
    UnknownVersion(u64),
    /// The list of signals is empty or has one of them twice.
    #[error("\"signals\" must list one signal or more, each once")]
    BadSignals,
    /// For L4S, but it does not use `ecn`.
    #[error("\"l4s\" needs \"ecn\" among \"signals\": its sender has to respond to marks")]
    DeafToMarks,
    /// A rule whose number is not its index.
    #[error("rule {found} stands at place {place} of \"rules\": number them 0, 1, 2, ...")]
    Misnumbered {
        /// The place in the list.
        place: usize,
        /// The number it has.
        found: usize,
    },
    /// The rules do not make a table.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> JsonError {
        let (line, column) = (error.line(), error.column());
        let mut problem = error.to_string();
        if let Some(end) = problem.rfind(" at line ") {
            problem.truncate(end);
        }
        if error.is_eof() {
            problem.push_str("; is the file complete?");
        }
        JsonError::Syntax { line, column, problem }
    }
}

#[derive(Deserialize)]
#[serde(expecting = "a table of rules")]
struct Header {
    format: Option<String>,
    version: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table of rules")]
struct FileText {
    #[serde(rename = "format")]
    _format: IgnoredAny,
    #[serde(rename = "version")]
    _version: IgnoredAny,
    signals: Vec<Signal>,
    #[serde(default)]
    l4s: bool,
    #[serde(default)]
    provenance: Provenance,
    rules: Vec<RuleText>,
    tree: TreeText,
}

/// The tree as in the file, without the boxes, which are computed from the rules.
enum TreeText {
    Rule(usize),
    Split(SplitText),
}

struct SplitText {
    domain: Option<Box<BoxText>>,
    parts: Vec<TreeText>,
    /// The number of rules in it, to limit the memory that a file can use.
    leaves: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a box and its parts")]
struct BoxedSplit {
    r#box: BoxText,
    parts: TreeText,
}

impl<'de> Deserialize<'de> for TreeText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TreeText, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = TreeText;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the number of a rule, or a list of parts")
    }

    fn visit_u64<E: Error>(self, rule: u64) -> Result<TreeText, E> {
        usize::try_from(rule).map(TreeText::Rule).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<TreeText, A::Error> {
        let mut split = SplitText { domain: None, parts: Vec::new(), leaves: 0 };
        while let Some(part) = list.next_element()? {
            split.leaves += match &part {
                TreeText::Rule(_) => 1,
                TreeText::Split(part) => part.leaves,
            };
            if split.leaves > MAX_RULES {
                return Err(A::Error::custom(TableError::TooManyRules));
            }
            split.parts.push(part);
        }
        if split.parts.is_empty() {
            return Err(A::Error::custom("a box is split into no parts"));
        }
        Ok(TreeText::Split(split))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TreeText, A::Error> {
        let text = BoxedSplit::deserialize(MapAccessDeserializer::new(map))?;
        match text.parts {
            TreeText::Split(split @ SplitText { domain: None, .. }) => {
                Ok(TreeText::Split(SplitText { domain: Some(Box::new(text.r#box)), ..split }))
            }
            _ => Err(A::Error::custom("\"parts\" is not a list of parts")),
        }
    }
}

/// The least box that holds all of `parts`.
fn hull<'a>(parts: impl IntoIterator<Item = &'a Cuboid>) -> Cuboid {
    let nothing =
        Cuboid { lower: [f64::INFINITY; Signal::COUNT], upper: [f64::NEG_INFINITY; Signal::COUNT] };
    parts.into_iter().fold(nothing, |hull, part| Cuboid {
        lower: std::array::from_fn(|i| hull.lower[i].min(part.lower[i])),
        upper: std::array::from_fn(|i| hull.upper[i].max(part.upper[i])),
    })
}

impl TreeText {
    /// The node and its box.
    fn node(self, rules: &[Rule]) -> Result<(Node, Cuboid), TableError> {
        match self {
            TreeText::Rule(index) => {
                let rule = rules.get(index).ok_or(TableError::Dangling(index))?;
                Ok((Node::Leaf(index), rule.domain))
            }
            TreeText::Split(SplitText { domain, parts, .. }) => {
                let parts: Result<Vec<(Node, Cuboid)>, TableError> =
                    parts.into_iter().map(|part| part.node(rules)).collect();
                let (children, boxes): (Vec<Node>, Vec<Cuboid>) = parts?.into_iter().unzip();
                let domain = domain.map_or_else(|| hull(&boxes), |text| Cuboid::from(&*text));
                Ok((Node::Split { domain, children }, domain))
            }
        }
    }
}

impl TableFile {
    /// Reads a table from JSON.
    ///
    /// # Errors
    /// [`JsonError`], which names the line or the box, if `text` is not a table.
    pub fn from_json(text: &str) -> Result<TableFile, JsonError> {
        let header: Header = serde_json::from_str(text)?;
        if header.format.is_none_or(|format| format != FORMAT) {
            return Err(JsonError::NotATable);
        }
        match header.version {
            Some(VERSION) | None => {}
            Some(version) => return Err(JsonError::UnknownVersion(version)),
        }
        let file: FileText = serde_json::from_str(text)?;
        let signals = SignalSet::new(file.signals.iter().copied())
            .filter(|signals| signals.len() == file.signals.len())
            .ok_or(JsonError::BadSignals)?;
        let signals = match file.l4s {
            true => signals.for_l4s().ok_or(JsonError::DeafToMarks)?,
            false => signals,
        };
        let misnumbered = file.rules.iter().enumerate().find(|(place, text)| text.rule != *place);
        if let Some((place, text)) = misnumbered {
            return Err(JsonError::Misnumbered { place, found: text.rule });
        }
        let rules: Vec<Rule> = file.rules.iter().map(Rule::from).collect();
        let (root, _) = file.tree.node(&rules)?;
        let table = RuleTable::new(signals, rules, root)?;
        Ok(TableFile { table, provenance: file.provenance })
    }

    /// The table as JSON, with a final newline: the same bytes for the same table.
    pub fn to_json(&self) -> String {
        let signals: Vec<Signal> = self.table.signals().iter().collect();
        let provenance = serde_json::to_string_pretty(&self.provenance).expect(INFALLIBLE);
        let mut out = format!("{{\n  \"format\": \"{FORMAT}\",\n  \"version\": {VERSION},\n");
        let mut line = |text: String| out.push_str(&text);
        line(format!("  \"signals\": {},\n", spaced(&signals)));
        // Left out where it is false: tables from before there was a choice keep their hash.
        if self.table.signals().is_for_l4s() {
            line("  \"l4s\": true,\n".to_owned());
        }
        // Newlines in strings are escaped, so the remaining ones are between fields.
        line(format!("  \"provenance\": {},\n", provenance.replace('\n', "\n  ")));
        line("  \"rules\": [\n".to_owned());
        for (number, rule) in self.table.rules().iter().enumerate() {
            let comma = if number + 1 < self.table.rules().len() { "," } else { "" };
            line(format!("    {}{comma}\n", spaced(&RuleText::new(number, rule))));
        }
        line("  ],\n  \"tree\": ".to_owned());
        self.write_tree(&mut out, self.table.root(), 2);
        out.push_str("\n}\n");
        out
    }

    /// Writes `node` in one line if that is short, otherwise each part in lines of its own.
    fn write_tree(&self, out: &mut String, node: &Node, indent: usize) {
        let start = out.len();
        self.write_node(out, node, None);
        if out.len() - start > WIDTH.saturating_sub(indent) {
            out.truncate(start);
            self.write_node(out, node, Some(indent));
        }
    }

    /// Writes `node` in one line, or its parts in lines indented by `indent` and more.
    fn write_node(&self, out: &mut String, node: &Node, indent: Option<usize>) {
        let (domain, children) = match node {
            Node::Leaf(index) => {
                write!(out, "{index}").expect(INFALLIBLE);
                return;
            }
            Node::Split { domain, children } => (domain, children),
        };
        let boxed = hull(children.iter().map(|child| self.table.domain_of(child))) != *domain;
        if boxed {
            let domain = spaced(&BoxText::from(domain));
            write!(out, "{{\"box\": {domain}, \"parts\": ").expect(INFALLIBLE);
        }
        out.push('[');
        for (i, child) in children.iter().enumerate() {
            match indent {
                None => {
                    out.push_str(if i == 0 { "" } else { ", " });
                    self.write_node(out, child, None);
                }
                Some(indent) => {
                    let comma = if i == 0 { "" } else { "," };
                    write!(out, "{comma}\n{:1$}", "", indent + 2).expect(INFALLIBLE);
                    self.write_tree(out, child, indent + 2);
                }
            }
        }
        if let Some(indent) = indent {
            write!(out, "\n{:indent$}", "").expect(INFALLIBLE);
        }
        out.push_str(if boxed { "]}" } else { "]" });
    }
}

#[cfg(test)]
mod tests;
