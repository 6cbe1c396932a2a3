//! [`RuleTable`]: a partition of memory into boxes, each with its [`Action`].

use crate::action::Action;
use crate::signal::{Point, Signal, SignalSet};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// The maximum number of rules, which limits the work that a file can cause.
pub const MAX_RULES: usize = 10_000;
/// The maximum depth of a tree of rules.
pub const MAX_DEPTH: usize = 64;
/// How many boxes are examined in search of a hole, to report it.
const HOLE_SEARCH: u32 = 100_000;

/// A half-open box of memory: on every axis `lower <= value < upper`. An unused axis runs from
/// minus to plus infinity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cuboid {
    /// Lower bounds.
    pub lower: Point,
    /// Upper bounds, exclusive.
    pub upper: Point,
}

/// A box and its action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The box where the rule applies.
    pub domain: Cuboid,
    /// Its action.
    pub action: Action,
}

/// A node of the tree of rules. The rules themselves are in a list, so that they can be changed
/// individually.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// The rule of this number.
    Leaf(usize),
    /// Children that partition `domain`; some may be empty boxes.
    Split {
        /// The box that is split.
        domain: Cuboid,
        /// Its parts, in the order of the file.
        children: Vec<Node>,
    },
}

/// A RemyCC: rules whose boxes partition the space of the signals it uses.
///
/// A value outside the whole table's box counts as the nearest value inside.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleTable {
    signals: SignalSet,
    rules: Vec<Rule>,
    root: Node,
}

/// Why rules do not form a table.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TableError {
    /// There are no rules.
    #[error("the table has no rules")]
    Empty,
    /// More rules than [`MAX_RULES`].
    #[error("the table has more than {MAX_RULES} rules")]
    TooManyRules,
    /// The tree is deeper than [`MAX_DEPTH`].
    #[error("the tree of rules is nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// A bound that is not a number, or a lower one above its upper one.
    #[error("box {domain} has impossible bounds on {signal}: a lower bound is at most its upper")]
    BadBounds {
        /// The box.
        domain: Box<Cuboid>,
        /// The axis.
        signal: Signal,
    },
    /// A bound on a signal that the table does not use.
    #[error("box {domain} has bounds on {signal}, which is not among the table's signals")]
    UnusedSignal {
        /// The box.
        domain: Box<Cuboid>,
        /// The axis.
        signal: Signal,
    },
    /// An action with a number that is not finite, or a negative time between sends.
    #[error(
        "the rule for {domain} has an impossible action (multiple {}, intersend {} ms): the \
         multiple must be finite, the intersend from 0 to 1e12 ms",
        .action.multiple, .action.intersend_ms
    )]
    BadAction {
        /// The rule's box.
        domain: Box<Cuboid>,
        /// Its action.
        action: Action,
    },
    /// A child extends beyond its parent.
    #[error("box {child} reaches out of its parent {parent}: cut it to fit")]
    Outside {
        /// The child's box.
        child: Box<Cuboid>,
        /// The parent's box.
        parent: Box<Cuboid>,
    },
    /// Two children overlap.
    #[error("boxes {first} and {second} overlap: shrink one of them")]
    Overlap {
        /// One box.
        first: Box<Cuboid>,
        /// The other.
        second: Box<Cuboid>,
    },
    /// The children do not cover their parent.
    #[error(
        "the parts of box {domain} leave a hole in it: extend one over {missing}, or add a rule"
    )]
    Hole {
        /// The parent's box.
        domain: Box<Cuboid>,
        /// A part of it that no child covers; the whole of it if the search would take too long.
        missing: Box<Cuboid>,
    },
    /// A node that refers to no rule, or a rule that is not in the tree exactly once.
    #[error("rule {0} does not stand in the tree exactly once")]
    Dangling(usize),
}

impl Cuboid {
    /// All of memory.
    pub const EVERYTHING: Cuboid =
        Cuboid { lower: [f64::NEG_INFINITY; Signal::COUNT], upper: [f64::INFINITY; Signal::COUNT] };

    /// The whole domain of a table on `signals`, from 0 to `end` on each.
    pub fn whole(signals: SignalSet, end: f64) -> Cuboid {
        let mut domain = Cuboid::EVERYTHING;
        for signal in signals.iter() {
            domain.lower[signal.index()] = 0.0;
            domain.upper[signal.index()] = end;
        }
        domain
    }

    /// Whether the box contains `memory` on each of `signals`.
    pub fn contains(&self, signals: SignalSet, memory: &Point) -> bool {
        signals
            .iter()
            .map(Signal::index)
            .all(|i| self.lower[i] <= memory[i] && memory[i] < self.upper[i])
    }

    /// Whether the box is empty.
    pub fn is_empty(&self, signals: SignalSet) -> bool {
        signals.iter().map(Signal::index).any(|i| self.lower[i] >= self.upper[i])
    }

    /// Whether two boxes overlap.
    pub fn overlaps(&self, other: &Cuboid, signals: SignalSet) -> bool {
        signals
            .iter()
            .map(Signal::index)
            .all(|i| self.lower[i].max(other.lower[i]) < self.upper[i].min(other.upper[i]))
    }

    /// The intersection of two boxes, which may be empty.
    pub fn intersection(&self, other: &Cuboid) -> Cuboid {
        Cuboid {
            lower: core::array::from_fn(|i| self.lower[i].max(other.lower[i])),
            upper: core::array::from_fn(|i| self.upper[i].min(other.upper[i])),
        }
    }

    fn is_within(&self, outer: &Cuboid, signals: SignalSet) -> bool {
        signals
            .iter()
            .map(Signal::index)
            .all(|i| outer.lower[i] <= self.lower[i] && self.upper[i] <= outer.upper[i])
    }

    /// The two parts of the box on either side of `at` on `signal`.
    pub fn split(&self, signal: Signal, at: f64) -> [Cuboid; 2] {
        let mut halves = [*self, *self];
        halves[0].upper[signal.index()] = at;
        halves[1].lower[signal.index()] = at;
        halves
    }
}

impl fmt::Display for Cuboid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "{";
        for signal in Signal::ALL {
            let (lower, upper) = (self.lower[signal.index()], self.upper[signal.index()]);
            if (lower, upper) != (f64::NEG_INFINITY, f64::INFINITY) {
                write!(f, "{separator}{signal} {lower}..{upper}")?;
                separator = ", ";
            }
        }
        f.write_str(if separator == "{" { "{everything}" } else { "}" })
    }
}

impl RuleTable {
    /// A table of `rules`, arranged by the tree at `root`.
    ///
    /// # Errors
    /// [`TableError`] if the rules do not partition the root's box, or one has an impossible
    /// number.
    pub fn new(signals: SignalSet, rules: Vec<Rule>, root: Node) -> Result<RuleTable, TableError> {
        let table = RuleTable { signals, rules, root };
        table.validate()?;
        Ok(table)
    }

    /// A table with a single rule for all memory from 0 to `end` on each signal.
    pub fn single(signals: SignalSet, end: f64, action: Action) -> RuleTable {
        let rule = Rule { domain: Cuboid::whole(signals, end), action };
        RuleTable { signals, rules: vec![rule], root: Node::Leaf(0) }
    }

    /// The signals the table uses.
    pub fn signals(&self) -> SignalSet {
        self.signals
    }

    /// The rules, in the order of the tree's leaves when read from a file.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The tree.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// The box the whole table covers.
    pub fn domain(&self) -> &Cuboid {
        self.domain_of(&self.root)
    }

    /// Replaces the action of rule `index`.
    ///
    /// # Panics
    /// If there is no such rule.
    pub fn set_action(&mut self, index: usize, action: Action) {
        self.rules[index].action = action;
    }

    /// Splits rule `index` in two at `at` on `signal`: it keeps the part below, and a new last rule
    /// with the same action gets the part from `at` on. At an edge of the rule's box one part is
    /// empty. Returns false, and changes nothing, if `at` is outside the box, or the table or the
    /// depth of the tree is at its maximum.
    pub fn split(&mut self, index: usize, signal: Signal, at: f64) -> bool {
        let domain = self.rules[index].domain;
        let inside = domain.lower[signal.index()] <= at && at <= domain.upper[signal.index()];
        let shallow = leaf_depth(&self.root, index).is_some_and(|depth| depth < MAX_DEPTH);
        let room = shallow && self.rules.len() < MAX_RULES;
        if !inside || !room || !self.signals.contains(signal) {
            return false;
        }
        let new = self.rules.len();
        let [below, above] = domain.split(signal, at);
        let parts = Node::Split { domain, children: vec![Node::Leaf(index), Node::Leaf(new)] };
        let is_replaced = replace_leaf(&mut self.root, index, &mut Some(parts));
        assert!(is_replaced, "every rule stands in the tree: checked when the table was made");
        self.rules[index].domain = below;
        self.rules.push(Rule { domain: above, action: self.rules[index].action });
        true
    }

    /// The number of the rule that holds `memory`: the reference implementation for
    /// [`crate::Grid`].
    pub fn find(&self, memory: &Point) -> usize {
        let memory = self.clamp(memory);
        let mut node = &self.root;
        loop {
            match node {
                Node::Leaf(index) => return *index,
                Node::Split { children, .. } => {
                    node = children
                        .iter()
                        .find(|child| self.domain_of(child).contains(self.signals, &memory))
                        .expect(
                            "the parts of a box hold all of it: checked when the table was made",
                        );
                }
            }
        }
    }

    /// The nearest memory within the table's box.
    fn clamp(&self, memory: &Point) -> Point {
        let domain = self.domain();
        core::array::from_fn(|i| memory[i].min(domain.upper[i].next_down()).max(domain.lower[i]))
    }

    /// The depth of the tree: 1 for a single rule.
    pub fn depth(&self) -> usize {
        fn depth(node: &Node) -> usize {
            match node {
                Node::Leaf(_) => 1,
                Node::Split { children, .. } => 1 + children.iter().map(depth).max().unwrap_or(0),
            }
        }
        depth(&self.root)
    }

    /// The box of a node of this table's tree.
    ///
    /// # Panics
    /// If `node` is a leaf with a number that this table has no rule for.
    pub fn domain_of<'a>(&'a self, node: &'a Node) -> &'a Cuboid {
        match node {
            Node::Leaf(index) => &self.rules[*index].domain,
            Node::Split { domain, .. } => domain,
        }
    }

    fn validate(&self) -> Result<(), TableError> {
        match self.rules.len() {
            0 => return Err(TableError::Empty),
            count if count > MAX_RULES => return Err(TableError::TooManyRules),
            _ => {}
        }
        for rule in &self.rules {
            let Action { multiple, intersend_ms, .. } = rule.action;
            if !multiple.is_finite() || !(0.0..1e12).contains(&intersend_ms) {
                return Err(TableError::BadAction {
                    domain: Box::new(rule.domain),
                    action: rule.action,
                });
            }
        }
        let mut seen = vec![false; self.rules.len()];
        self.validate_node(&self.root, &mut seen, 1)?;
        if let Some(unseen) = seen.iter().position(|seen| !seen) {
            return Err(TableError::Dangling(unseen));
        }
        if self.domain().is_empty(self.signals) {
            return Err(TableError::Empty);
        }
        Ok(())
    }

    fn validate_node(
        &self,
        node: &Node,
        seen: &mut [bool],
        depth: usize,
    ) -> Result<(), TableError> {
        if depth > MAX_DEPTH {
            return Err(TableError::TooDeep);
        }
        if let Node::Leaf(index) = node
            && seen.get_mut(*index).is_none_or(|seen| core::mem::replace(seen, true))
        {
            return Err(TableError::Dangling(*index));
        }
        let domain = self.domain_of(node);
        self.validate_bounds(domain)?;
        let Node::Split { children, .. } = node else { return Ok(()) };
        for child in children {
            self.validate_node(child, seen, depth + 1)?;
        }
        self.validate_partition(domain, children)
    }

    fn validate_bounds(&self, domain: &Cuboid) -> Result<(), TableError> {
        for signal in Signal::ALL {
            let (lower, upper) = (domain.lower[signal.index()], domain.upper[signal.index()]);
            let unbounded = (lower, upper) == (f64::NEG_INFINITY, f64::INFINITY);
            if lower.is_nan() || upper.is_nan() || lower > upper {
                return Err(TableError::BadBounds { domain: Box::new(*domain), signal });
            }
            if !unbounded && !self.signals.contains(signal) {
                return Err(TableError::UnusedSignal { domain: Box::new(*domain), signal });
            }
        }
        Ok(())
    }

    /// Boxes partition their parent if they lie within it, do not overlap, and together cover as
    /// many cells of the grid of their bounds as it does.
    fn validate_partition(&self, parent: &Cuboid, children: &[Node]) -> Result<(), TableError> {
        let boxes: Vec<&Cuboid> = children
            .iter()
            .map(|child| self.domain_of(child))
            .filter(|domain| !domain.is_empty(self.signals))
            .collect();
        for (i, first) in boxes.iter().enumerate() {
            if !first.is_within(parent, self.signals) {
                let (child, parent) = (Box::new(**first), Box::new(*parent));
                return Err(TableError::Outside { child, parent });
            }
            if let Some(second) = boxes[..i].iter().find(|b| b.overlaps(first, self.signals)) {
                let (first, second) = (Box::new(**second), Box::new(**first));
                return Err(TableError::Overlap { first, second });
            }
        }
        let bounds: Vec<(usize, Vec<f64>)> = self
            .signals
            .iter()
            .map(Signal::index)
            .map(|i| {
                let inner = boxes.iter().flat_map(|b| [b.lower[i], b.upper[i]]);
                let mut all: Vec<f64> = inner.chain([parent.lower[i], parent.upper[i]]).collect();
                all.sort_by(f64::total_cmp);
                all.dedup();
                (i, all)
            })
            .collect();
        let cells = |domain: &Cuboid| -> u128 {
            let along = |(i, all): &(usize, Vec<f64>)| {
                let rank = |bound: f64| all.partition_point(|&b| b < bound);
                (rank(domain.upper[*i]) - rank(domain.lower[*i])) as u128
            };
            bounds.iter().map(along).product()
        };
        let whole = if parent.is_empty(self.signals) { 0 } else { cells(parent) };
        if boxes.iter().map(|b| cells(b)).sum::<u128>() == whole {
            Ok(())
        } else {
            let missing = self.missing(parent, &boxes, &mut { HOLE_SEARCH }).unwrap_or(*parent);
            Err(TableError::Hole { domain: Box::new(*parent), missing: Box::new(missing) })
        }
    }

    /// A part of `region` that none of the disjoint `boxes` covers, if there is one and it is found
    /// within `steps`.
    fn missing(&self, region: &Cuboid, boxes: &[&Cuboid], steps: &mut u32) -> Option<Cuboid> {
        *steps = steps.checked_sub(1)?;
        let Some(first) = boxes.iter().position(|b| b.overlaps(region, self.signals)) else {
            return Some(*region);
        };
        let mut inside = *region;
        for signal in self.signals.iter() {
            for (at, outer) in [(boxes[first].lower, 0), (boxes[first].upper, 1)] {
                let at = at[signal.index()].max(inside.lower[signal.index()]);
                let halves = inside.split(signal, at.min(inside.upper[signal.index()]));
                if !halves[outer].is_empty(self.signals)
                    && let Some(found) = self.missing(&halves[outer], &boxes[first + 1..], steps)
                {
                    return Some(found);
                }
                inside = halves[1 - outer];
            }
        }
        None
    }
}

/// The depth of leaf `index`; none if there is no such leaf.
fn leaf_depth(node: &Node, index: usize) -> Option<usize> {
    match node {
        Node::Leaf(i) => (*i == index).then_some(1),
        Node::Split { children, .. } => {
            Some(1 + children.iter().find_map(|child| leaf_depth(child, index))?)
        }
    }
}

/// Replaces leaf `index` by `parts`, which it takes; returns whether there is such a leaf.
fn replace_leaf(node: &mut Node, index: usize, parts: &mut Option<Node>) -> bool {
    match node {
        Node::Leaf(i) if *i == index => {
            *node = parts.take().unwrap_or(Node::Leaf(index));
            true
        }
        Node::Leaf(_) => false,
        Node::Split { children, .. } => {
            children.iter_mut().any(|child| replace_leaf(child, index, parts))
        }
    }
}

#[cfg(test)]
mod tests;
