//! [`Grid`]: a rule table compiled for fast lookup.

use crate::cuts::Cuts;
use crate::lookup::{Bounds, Lookup};
use crate::signal::{Point, Signal};
use crate::table::{Cuboid, RuleTable};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// The maximum number of cells: 2 MiB. Larger tables are found by cuts.
const MAX_CELLS: usize = 1 << 20;
/// The bits of a double's mantissa that may number a bucket, from few to many.
const MANTISSA_BITS: core::ops::RangeInclusive<u32> = 1..=9;
/// The maximum number of buckets, all axes together.
const MAX_BUCKETS: usize = 1 << 14;
/// The number of bounds within a bucket that a lookup compares with.
const PROBES: usize = 3;

/// Finds the rule of a memory fast: in constant time and without data-dependent branches where the table
/// is small enough.
///
/// The bounds of all rules divide each axis into slabs; the slabs of all axes form a grid, and each
/// of its cells lies in one rule. A value's slab is found from the leading bits of its double,
/// which number buckets with at most three bounds each, and a comparison with those. (Non-negative
/// doubles are ordered as the integers of the same bits, and negative ones below them.) Tables that
/// do not fit this scheme, because the grid is too large or bounds are too close together, use a
/// balanced tree of comparisons, or, if that would be too large, their own tree.
#[derive(Clone, Debug)]
pub struct Grid(Kind);

/// The kinds by number of axes: only those up to the last signal used are searched.
#[derive(Clone, Debug)]
enum Kind {
    /// The tables of 2013.
    Three(Cells<3>),
    /// Those of 2014, and the default of designs.
    Four(Cells<4>),
    Six(Cells<6>),
    /// Those with too many bounds for a grid, such as hardened ones.
    Cuts(Cuts<6>),
    /// Those with extended signals, whose speed matters less: no fast path simulates them.
    Extended(Cuts<{ Signal::COUNT }>),
    /// Rules that lie so oddly that they cannot be told apart by few cuts.
    Tree(Box<RuleTable>),
}

/// A loop that looks up rules: it is compiled for each kind of grid, so that the kind is
/// not tested in the loop. That makes the simulator a quarter faster.
pub trait GridVisitor {
    /// The result.
    type Output;

    /// Runs the loop, with `lookup` for the rules.
    fn visit(self, lookup: &impl Lookup) -> Self::Output;
}

/// A grid over the first `N` signals; those that a table does not use have one slab.
#[derive(Clone, Debug)]
struct Cells<const N: usize> {
    /// How far to shift a double's bits to get its leading bits.
    shift: u32,
    axes: [Axis; N],
    buckets: Vec<Bucket>,
    /// The rule of each cell; the last axis is contiguous.
    rules: Vec<u16>,
    /// The box of each rule.
    boxes: Vec<Bounds<N>>,
}

/// One axis of a grid.
#[derive(Clone, Debug, Default)]
struct Axis {
    /// The smallest and largest bits that have a bucket.
    least: i64,
    most: i64,
    /// Added to the leading bits to get the index of the bucket.
    start: i64,
    /// The distance between the cells of neighbouring slabs.
    stride: usize,
    /// The bounds between slabs, ascending.
    bounds: Vec<f64>,
}

/// All values of an axis that share their leading bits.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// The bits of the bounds within the bucket; unused ones are the maximum.
    bounds: [i64; PROBES],
    /// The offset of the cells of the slab that holds the bucket's smallest value.
    offset: usize,
}

impl Grid {
    /// Compiles `table`.
    pub fn new(table: &RuleTable) -> Grid {
        let used = table.signals().iter().map(Signal::index).max().map_or(0, |last| last + 1);
        let kind = match used {
            0..=3 => Cells::new(table).map(Kind::Three),
            4 => Cells::new(table).map(Kind::Four),
            5..=6 => Cells::new(table).map(Kind::Six),
            _ => Cuts::new(table).map(Kind::Extended),
        };
        let cuts = || (used <= Signal::REMYS).then(|| Cuts::new(table).map(Kind::Cuts)).flatten();
        Grid(kind.or_else(cuts).unwrap_or_else(|| Kind::Tree(Box::new(table.clone()))))
    }

    /// Whether the table uses an extended signal.
    pub fn is_extended(&self) -> bool {
        match &self.0 {
            Kind::Extended(_) => true,
            Kind::Tree(table) => table.signals().is_extended(),
            Kind::Three(_) | Kind::Four(_) | Kind::Six(_) | Kind::Cuts(_) => false,
        }
    }

    /// Runs `visitor` with the lookup of this table.
    pub fn visit<V: GridVisitor>(&self, visitor: V) -> V::Output {
        match &self.0 {
            Kind::Three(cells) => visitor.visit(cells),
            Kind::Four(cells) => visitor.visit(cells),
            Kind::Six(cells) => visitor.visit(cells),
            Kind::Cuts(cuts) => visitor.visit(cuts),
            Kind::Extended(cuts) => visitor.visit(cuts),
            Kind::Tree(table) => visitor.visit(&**table),
        }
    }
}

impl Lookup for Grid {
    // In the simulator's hottest loop the memory then stays in registers.
    #[inline(always)]
    fn find(&self, memory: &Point, guess: usize) -> usize {
        match &self.0 {
            Kind::Three(cells) => cells.find(memory, guess),
            Kind::Four(cells) => cells.find(memory, guess),
            Kind::Six(cells) => cells.find(memory, guess),
            _ => self.find_without_cells(*memory, guess),
        }
    }
}

impl Grid {
    /// As [`Lookup::find`], where there are no cells. By value: the caller's memory can stay in registers.
    #[inline(never)]
    fn find_without_cells(&self, memory: Point, guess: usize) -> usize {
        match &self.0 {
            Kind::Three(_) | Kind::Four(_) | Kind::Six(_) => guess,
            Kind::Cuts(cuts) => cuts.find(&memory, guess),
            Kind::Extended(cuts) => cuts.find(&memory, guess),
            Kind::Tree(table) => Lookup::find(&**table, &memory, guess),
        }
    }
}

impl<const N: usize> Lookup for Cells<N> {
    #[inline]
    fn find(&self, memory: &Point, guess: usize) -> usize {
        if self.boxes[guess].hold(memory) {
            return guess;
        }
        // By value: the caller's memory can then stay in registers.
        self.find_cell(core::array::from_fn(|i| memory[i]))
    }
}

impl<const N: usize> Cells<N> {
    fn new(table: &RuleTable) -> Option<Cells<N>> {
        let mut cells = 1usize;
        let mut axes: [Axis; N] = core::array::from_fn(|_| Axis::default());
        for (axis, signal) in axes.iter_mut().zip(Signal::ALL).rev() {
            axis.bounds = inner_bounds(table, signal);
            axis.stride = cells;
            cells = cells.checked_mul(axis.bounds.len() + 1).filter(|&n| n <= MAX_CELLS)?;
        }
        if axes.iter().any(|axis| axis.bounds.first().is_some_and(|&bound| bound < 0.0)) {
            return None;
        }
        let mut rules = vec![0; cells];
        for (index, rule) in table.rules().iter().enumerate() {
            if !rule.domain.is_empty(table.signals()) {
                fill(&axes, 0, &rule.domain, &mut rules, index as u16);
            }
        }
        let boxes: Vec<_> = table.rules().iter().map(|rule| Bounds::new(table, rule)).collect();
        MANTISSA_BITS.map(|bits| 52 - bits).find_map(|shift| {
            let mut buckets = Vec::new();
            let mut axes = axes.clone();
            axes.iter_mut().all(|axis| axis.add_buckets(shift, &mut buckets)).then_some(())?;
            Some(Cells { shift, axes, buckets, rules: rules.clone(), boxes: boxes.clone() })
        })
    }

    #[inline(never)]
    fn find_cell(&self, memory: [f64; N]) -> usize {
        let mut cell = 0;
        for (axis, value) in self.axes.iter().zip(memory) {
            let bits = value.to_bits() as i64;
            let leading = bits.max(axis.least).min(axis.most) >> self.shift;
            let bucket = &self.buckets[(leading + axis.start) as usize];
            let above: usize = bucket.bounds.iter().map(|&bound| usize::from(bits >= bound)).sum();
            cell += bucket.offset + above * axis.stride;
        }
        usize::from(self.rules[cell])
    }
}

/// The bounds of rules strictly inside the table's box on the axis of `signal`, ascending.
fn inner_bounds(table: &RuleTable, signal: Signal) -> Vec<f64> {
    let i = signal.index();
    if !table.signals().contains(signal) {
        return Vec::new();
    }
    let (lower, upper) = (table.domain().lower[i], table.domain().upper[i]);
    let rules = table.rules().iter().filter(|rule| !rule.domain.is_empty(table.signals()));
    let mut bounds: Vec<f64> = rules
        .flat_map(|rule| [rule.domain.lower[i], rule.domain.upper[i]])
        .filter(|&bound| lower < bound && bound < upper)
        .collect();
    bounds.sort_by(f64::total_cmp);
    bounds.dedup();
    bounds
}

impl Axis {
    /// Adds the axis's buckets of doubles that agree except for their last `shift` bits, and
    /// returns true, if none holds more than [`PROBES`] bounds and there are not too many.
    fn add_buckets(&mut self, shift: u32, buckets: &mut Vec<Bucket>) -> bool {
        let bits = |bound: &f64| bound.to_bits() as i64;
        self.least = self.bounds.first().map_or(0, bits);
        self.most = self.bounds.last().map_or(0, bits);
        let (first, last) = (self.least >> shift, self.most >> shift);
        let room = MAX_BUCKETS - buckets.len().min(MAX_BUCKETS);
        if last - first >= room as i64 {
            return false;
        }
        self.start = buckets.len() as i64 - first;
        for leading in first..=last {
            let before = self.bounds.partition_point(|b| bits(b) >> shift < leading);
            let held = &self.bounds[before..];
            let held = &held[..held.partition_point(|b| bits(b) >> shift == leading)];
            let bounds = core::array::from_fn(|i| held.get(i).map_or(i64::MAX, bits));
            buckets.push(Bucket { bounds, offset: before * self.stride });
            if held.len() > PROBES {
                return false;
            }
        }
        true
    }

    /// The slabs that `domain` covers on this axis, that of signal `index`.
    fn slabs(&self, index: usize, domain: &Cuboid) -> core::ops::Range<usize> {
        let (lower, upper) = (domain.lower[index], domain.upper[index]);
        let start = self.bounds.partition_point(|&bound| bound <= lower);
        start..self.bounds.partition_point(|&bound| bound < upper) + 1
    }
}

/// Assigns all cells of `domain` to `rule`, from axis `index` on; `cells` are those of one slab of
/// the axis before.
fn fill(axes: &[Axis], index: usize, domain: &Cuboid, cells: &mut [u16], rule: u16) {
    let Some(axis) = axes.get(index) else {
        cells.fill(rule);
        return;
    };
    for slab in axis.slabs(index, domain) {
        let start = slab * axis.stride;
        fill(axes, index + 1, domain, &mut cells[start..start + axis.stride], rule);
    }
}
