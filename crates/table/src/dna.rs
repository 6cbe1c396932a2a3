//! Remy's table files, `.dna`: a tree of nodes as protobuf messages (proto2).
//!
//! | message | fields |
//! |---|---|
//! | node | domain 1, children 2, rule 3, then the settings of the designer that made it |
//! | box | lower 11, upper 12, axes 13 (numbers of [`Signal::ALL`]) |
//! | memory | one double a signal, 21 to 26 |
//! | rule | increment 31, multiple 32, intersend in ms 33, box 34 |
//!
//! A missing bound leaves its axis unbounded; a box that names no axes has the first four. The
//! fields after the tree are kept verbatim, so a file of the original program is written byte for
//! byte as it was read. Unknown fields inside the tree are skipped, and lost.

mod wire;

use exm_remy::{
    Action, Cuboid, MAX_DEPTH, MAX_RULES, Node, Rule, RuleTable, Signal, SignalSet, TableError,
};
use std::fmt;
use wire::{Field, Malformed, Reader, Value};

/// The largest file that is accepted: 64 MiB, far above what [`MAX_RULES`] rules need.
pub const MAX_BYTES: usize = 64 << 20;

const DOMAIN: u32 = 1;
const CHILDREN: u32 = 2;
const RULE: u32 = 3;
const LOWER: u32 = 11;
const UPPER: u32 = 12;
const AXES: u32 = 13;
const FIRST_SIGNAL: u32 = 21;
const INCREMENT: u32 = 31;
const MULTIPLE: u32 = 32;
const INTERSEND: u32 = 33;
const RULE_DOMAIN: u32 = 34;

/// The contents of a `.dna` file beside its table, so that it can be written as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Whether the boxes name their axes. The files of 2013 and 2014 do not. If the bounds alone
    /// are ambiguous, the axes are named anyway.
    pub names_axes: bool,
    /// The fields after the tree, verbatim: the settings of the original designer, whose meaning
    /// changed between its versions.
    pub settings: Vec<u8>,
}

/// Why bytes are not a table.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DnaError {
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// More than [`MAX_BYTES`].
    #[error("the file is {0} bytes long, more than the {MAX_BYTES} a table may have")]
    TooLarge(usize),
    /// Bytes that are not protobuf.
    #[error("byte {offset}, in {place}: {problem}")]
    Malformed {
        /// The offset in the file.
        offset: usize,
        /// The node.
        place: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// A field of the tree that holds a value of the wrong type.
    #[error("byte {offset}, in {place}: field {field} is not {expected}")]
    WrongKind {
        /// The offset in the file.
        offset: usize,
        /// The node.
        place: String,
        /// The number of the field.
        field: u32,
        /// What it should be.
        expected: &'static str,
    },
    /// An axis that is not one of Remy's six signals.
    #[error("byte {offset}, in {place}: there is no signal of number {axis}, only 0 to 5")]
    UnknownAxis {
        /// The offset in the file.
        offset: usize,
        /// The node.
        place: String,
        /// The number.
        axis: u64,
    },
    /// A box whose axes differ from the root's.
    #[error("the box of {place} has other axes than that of the root")]
    AxesDiffer {
        /// The node.
        place: String,
    },
    /// A rule whose box differs from its node's.
    #[error("{place} stands for box {node}, but its rule for {rule}")]
    BoxesDiffer {
        /// The node.
        place: String,
        /// The node's box.
        node: Box<Cuboid>,
        /// Its rule's.
        rule: Box<Cuboid>,
    },
    /// A node that has neither a rule nor children.
    #[error("{place} has neither a rule nor children")]
    Hollow {
        /// The node.
        place: String,
    },
    /// A node that has both a rule and children.
    #[error("{place} has a rule and children, and should have either")]
    Ambiguous {
        /// The node.
        place: String,
    },
    /// The rules do not make a table.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// A node's position in the tree, for messages.
#[derive(Clone, Copy)]
struct NodePath<'a> {
    child: usize,
    parent: Option<&'a NodePath<'a>>,
}

impl fmt::Display for NodePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parent {
            None => f.write_str("the root"),
            Some(NodePath { parent: None, .. }) => write!(f, "child {}", self.child),
            Some(parent) => write!(f, "child {} of {parent}", self.child),
        }
    }
}

impl NodePath<'_> {
    fn malformed(&self, Malformed { offset, problem }: Malformed) -> DnaError {
        DnaError::Malformed { offset, place: self.to_string(), problem }
    }

    fn wrong_kind(&self, field: &Field, expected: &'static str) -> DnaError {
        let (offset, field) = (field.offset, field.number);
        DnaError::WrongKind { offset, place: self.to_string(), field, expected }
    }

    fn message<'b>(&self, field: &Field<'b>) -> Result<Reader<'b>, DnaError> {
        match field.value {
            Value::Message(reader) => Ok(reader),
            _ => Err(self.wrong_kind(field, "a message")),
        }
    }

    fn double(&self, field: &Field) -> Result<f64, DnaError> {
        match field.value {
            Value::Fixed64(bits) => Ok(f64::from_bits(bits)),
            _ => Err(self.wrong_kind(field, "a double")),
        }
    }

    fn varint(&self, field: &Field) -> Result<u64, DnaError> {
        match field.value {
            Value::Varint(value) => Ok(value),
            _ => Err(self.wrong_kind(field, "a whole number")),
        }
    }
}

/// Reads a table.
///
/// # Errors
/// [`DnaError`], which names the byte or the node, where `bytes` are not a `.dna` file or its
/// rules do not partition their box.
pub fn read(bytes: &[u8]) -> Result<RuleTable, DnaError> {
    read_with_layout(bytes).map(|(table, _)| table)
}

/// Reads a table and the file's other contents.
///
/// # Errors
/// As [`read`].
pub fn read_with_layout(bytes: &[u8]) -> Result<(RuleTable, Layout), DnaError> {
    if bytes.is_empty() {
        return Err(DnaError::Empty);
    }
    if bytes.len() > MAX_BYTES {
        return Err(DnaError::TooLarge(bytes.len()));
    }
    let mut tree = Tree { rules: Vec::new(), axes: SignalSet::FIRST_FOUR, settings: Vec::new() };
    let place = NodePath { child: 0, parent: None };
    let node = tree.fields(Reader::new(bytes), &place, 1)?;
    let named = node.domain.as_ref().map_or(0, |domain| domain.axes);
    tree.axes = signals(named).unwrap_or(SignalSet::FIRST_FOUR);
    let root = tree.node(node, &place, &Cuboid::EVERYTHING, 1)?;
    let used = if named == 0 { bounded(tree.axes, &tree.rules) } else { tree.axes };
    let table = RuleTable::new(used, tree.rules, root)?;
    Ok((table, Layout { names_axes: named != 0, settings: tree.settings }))
}

/// Whether `settings` can follow a tree: they must have no field numbers of the tree's.
pub(crate) fn are_settings(settings: &[u8]) -> bool {
    let mut reader = Reader::new(settings);
    loop {
        match reader.next() {
            Ok(None) => return true,
            Ok(Some(Field { number: DOMAIN | CHILDREN | RULE, .. })) | Err(_) => return false,
            Ok(Some(_)) => {}
        }
    }
}

fn signals(axes: u8) -> Option<SignalSet> {
    let remys = Signal::ALL.into_iter().take(Signal::REMYS);
    SignalSet::new(remys.filter(|signal| axes & 1 << signal.index() != 0))
}

/// Those of `axes` on which some rule has a bound; all of them if there are none.
fn bounded(axes: SignalSet, rules: &[Rule]) -> SignalSet {
    let open = (f64::NEG_INFINITY, f64::INFINITY);
    let is_bounded = |signal: &Signal| {
        let i = signal.index();
        rules.iter().any(|rule| (rule.domain.lower[i], rule.domain.upper[i]) != open)
    };
    SignalSet::new(axes.iter().filter(is_bounded)).unwrap_or(axes)
}

/// The tree as far as it is read.
struct Tree {
    rules: Vec<Rule>,
    axes: SignalSet,
    settings: Vec<u8>,
}

/// A node's fields, with its children not yet parsed.
#[derive(Default)]
struct NodeFields<'a> {
    domain: Option<Bounds>,
    rule: Option<RuleFields>,
    children: Vec<Reader<'a>>,
}

#[derive(Default)]
struct RuleFields {
    increment: i32,
    multiple: f64,
    intersend_ms: f64,
    domain: Option<Bounds>,
}

/// A box as the file gives it.
#[derive(Default)]
struct Bounds {
    lower: [Option<f64>; Signal::REMYS],
    upper: [Option<f64>; Signal::REMYS],
    axes: u8,
}

impl Tree {
    fn fields<'a>(
        &mut self,
        mut reader: Reader<'a>,
        place: &NodePath,
        depth: usize,
    ) -> Result<NodeFields<'a>, DnaError> {
        let mut node = NodeFields::default();
        while let Some(field) = reader.next().map_err(|e| place.malformed(e))? {
            match field.number {
                DOMAIN => {
                    let domain = node.domain.get_or_insert_default();
                    domain.read(place.message(&field)?, place)?;
                }
                RULE => {
                    let rule = node.rule.get_or_insert_default();
                    rule.read(place.message(&field)?, place)?;
                }
                // Each child has at least one rule.
                CHILDREN if node.children.len() == MAX_RULES => {
                    return Err(TableError::TooManyRules.into());
                }
                CHILDREN => node.children.push(place.message(&field)?),
                _ if depth == 1 => self.settings.extend_from_slice(field.raw),
                _ => {}
            }
        }
        Ok(node)
    }

    fn node(
        &mut self,
        node: NodeFields,
        place: &NodePath,
        parent: &Cuboid,
        depth: usize,
    ) -> Result<Node, DnaError> {
        let domain = self.cuboid(node.domain.as_ref(), place, parent)?;
        match (node.rule, node.children.is_empty()) {
            (None, true) => Err(DnaError::Hollow { place: place.to_string() }),
            (Some(_), false) => Err(DnaError::Ambiguous { place: place.to_string() }),
            (Some(rule), true) => self.leaf(&rule, domain, place, parent),
            (None, false) => {
                if depth == MAX_DEPTH {
                    return Err(TableError::TooDeep.into());
                }
                let domain = domain.unwrap_or(*parent);
                let mut children = Vec::new();
                for (i, reader) in node.children.into_iter().enumerate() {
                    let place = NodePath { child: i + 1, parent: Some(place) };
                    let fields = self.fields(reader, &place, depth + 1)?;
                    children.push(self.node(fields, &place, &domain, depth + 1)?);
                }
                Ok(Node::Split { domain, children })
            }
        }
    }

    fn leaf(
        &mut self,
        rule: &RuleFields,
        domain: Option<Cuboid>,
        place: &NodePath,
        parent: &Cuboid,
    ) -> Result<Node, DnaError> {
        if self.rules.len() == MAX_RULES {
            return Err(TableError::TooManyRules.into());
        }
        let own = self.cuboid(rule.domain.as_ref(), place, parent)?;
        if let (Some(node), Some(rule)) = (domain, own)
            && node != rule
        {
            let (node, rule) = (Box::new(node), Box::new(rule));
            return Err(DnaError::BoxesDiffer { place: place.to_string(), node, rule });
        }
        let domain = domain.or(own).unwrap_or(*parent);
        let RuleFields { increment, multiple, intersend_ms, .. } = *rule;
        self.rules.push(Rule { domain, action: Action { multiple, increment, intersend_ms } });
        Ok(Node::Leaf(self.rules.len() - 1))
    }

    /// The box of `bounds`; missing bounds are those of its parent.
    fn cuboid(
        &self,
        bounds: Option<&Bounds>,
        place: &NodePath,
        parent: &Cuboid,
    ) -> Result<Option<Cuboid>, DnaError> {
        let Some(bounds) = bounds else { return Ok(None) };
        if signals(bounds.axes).is_some_and(|axes| axes != self.axes) {
            return Err(DnaError::AxesDiffer { place: place.to_string() });
        }
        let mut domain = Cuboid::EVERYTHING;
        for i in self.axes.iter().map(Signal::index) {
            domain.lower[i] = bounds.lower[i].unwrap_or(parent.lower[i]);
            domain.upper[i] = bounds.upper[i].unwrap_or(parent.upper[i]);
        }
        Ok(Some(domain))
    }
}

impl Bounds {
    fn read(&mut self, mut reader: Reader, place: &NodePath) -> Result<(), DnaError> {
        while let Some(field) = reader.next().map_err(|e| place.malformed(e))? {
            match (field.number, field.value) {
                (LOWER, _) => memory(&mut self.lower, place.message(&field)?, place)?,
                (UPPER, _) => memory(&mut self.upper, place.message(&field)?, place)?,
                (AXES, Value::Message(mut packed)) => {
                    while !packed.is_empty() {
                        let axis = packed.varint().map_err(|e| place.malformed(e))?;
                        self.axis(axis, &field, place)?;
                    }
                }
                (AXES, _) => self.axis(place.varint(&field)?, &field, place)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn axis(&mut self, axis: u64, field: &Field, place: &NodePath) -> Result<(), DnaError> {
        if axis >= Signal::REMYS as u64 {
            let offset = field.offset;
            return Err(DnaError::UnknownAxis { offset, place: place.to_string(), axis });
        }
        self.axes |= 1 << axis;
        Ok(())
    }
}

fn memory(
    values: &mut [Option<f64>; Signal::REMYS],
    mut reader: Reader,
    place: &NodePath,
) -> Result<(), DnaError> {
    while let Some(field) = reader.next().map_err(|e| place.malformed(e))? {
        let signal = field.number.wrapping_sub(FIRST_SIGNAL) as usize;
        if let Some(value) = values.get_mut(signal) {
            *value = Some(place.double(&field)?);
        }
    }
    Ok(())
}

impl RuleFields {
    fn read(&mut self, mut reader: Reader, place: &NodePath) -> Result<(), DnaError> {
        while let Some(field) = reader.next().map_err(|e| place.malformed(e))? {
            match field.number {
                INCREMENT => self.increment = wire::unzigzag(place.varint(&field)?),
                MULTIPLE => self.multiple = place.double(&field)?,
                INTERSEND => self.intersend_ms = place.double(&field)?,
                RULE_DOMAIN => {
                    let domain = self.domain.get_or_insert_default();
                    domain.read(place.message(&field)?, place)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// A table uses signals that Remy's format has no place for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Remy's format has no place for {}, which the table uses", list(.0))]
pub struct ExtendedSignals(pub Vec<Signal>);

fn list(signals: &[Signal]) -> String {
    signals.iter().map(|signal| signal.name()).collect::<Vec<_>>().join(", ")
}

/// Whether Remy's format can hold tables on `signals`.
///
/// # Errors
/// [`ExtendedSignals`] names those that it cannot hold.
pub fn check_signals(signals: SignalSet) -> Result<(), ExtendedSignals> {
    let extended: Vec<Signal> = signals.iter().filter(|signal| signal.is_extended()).collect();
    if extended.is_empty() { Ok(()) } else { Err(ExtendedSignals(extended)) }
}

/// Encodes `table` as a `.dna` file with its axes named.
///
/// # Errors
/// [`ExtendedSignals`] if the table uses signals that Remy does not have.
pub fn write(table: &RuleTable) -> Result<Vec<u8>, ExtendedSignals> {
    write_with_layout(table, &Layout { names_axes: true, settings: Vec::new() })
}

/// Encodes `table` with `layout`: byte for byte as it was read, for files of the original program.
///
/// # Errors
/// [`ExtendedSignals`] if the table uses signals that Remy does not have.
pub fn write_with_layout(table: &RuleTable, layout: &Layout) -> Result<Vec<u8>, ExtendedSignals> {
    let signals = table.signals();
    check_signals(signals)?;
    let untold = SignalSet::FIRST_FOUR;
    let told_by_bounds = bounded(untold, table.rules()) == signals;
    let mut out = Vec::new();
    let writer = Writer { table, names_axes: layout.names_axes || !told_by_bounds };
    writer.node(&mut out, table.root(), &Cuboid::EVERYTHING);
    out.extend_from_slice(&layout.settings);
    Ok(out)
}

struct Writer<'a> {
    table: &'a RuleTable,
    names_axes: bool,
}

impl Writer<'_> {
    fn node(&self, out: &mut Vec<u8>, node: &Node, parent: &Cuboid) {
        let domain = self.table.domain_of(node);
        wire::put_message(out, DOMAIN, &self.domain(domain, parent));
        match node {
            Node::Leaf(index) => {
                let Action { multiple, increment, intersend_ms } =
                    self.table.rules()[*index].action;
                let mut rule = Vec::new();
                wire::put_sint(&mut rule, INCREMENT, increment);
                wire::put_double(&mut rule, MULTIPLE, multiple);
                wire::put_double(&mut rule, INTERSEND, intersend_ms);
                wire::put_message(&mut rule, RULE_DOMAIN, &self.domain(domain, parent));
                wire::put_message(out, RULE, &rule);
            }
            Node::Split { children, .. } => {
                for child in children {
                    let mut node = Vec::new();
                    self.node(&mut node, child, domain);
                    wire::put_message(out, CHILDREN, &node);
                }
            }
        }
    }

    fn domain(&self, domain: &Cuboid, parent: &Cuboid) -> Vec<u8> {
        let open = Cuboid::EVERYTHING;
        let mut out = Vec::new();
        let sides = [
            (LOWER, domain.lower, parent.lower, open.lower),
            (UPPER, domain.upper, parent.upper, open.upper),
        ];
        for (number, side, parent, open) in sides {
            let mut memory = Vec::new();
            for i in self.table.signals().iter().map(Signal::index) {
                // A missing bound reads as the parent's.
                if side[i] != open[i] || parent[i] != open[i] {
                    wire::put_double(&mut memory, FIRST_SIGNAL + i as u32, side[i]);
                }
            }
            wire::put_message(&mut out, number, &memory);
        }
        if self.names_axes {
            for signal in self.table.signals().iter() {
                wire::put_uint(&mut out, AXES, signal.index() as u64);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests;
