//! [`Grid`]: a rule table made ready for fast lookup.

use crate::signal::Signal;
use crate::table::{Cuboid, Rule, RuleTable};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// The most cells a grid may have: 2 MiB of them. Larger tables are looked up by their tree.
const MAX_CELLS: usize = 1 << 20;
/// Bits of a double's mantissa that may number a bucket, from few to many.
const MANTISSA_BITS: core::ops::RangeInclusive<u32> = 1..=9;
/// The most buckets of all axes together.
const MAX_BUCKETS: usize = 1 << 14;
/// Bounds within one bucket that a lookup compares with.
const PROBES: usize = 3;

/// Finds the rule that holds a memory in constant time and without a data-dependent branch.
///
/// The bounds of all rules cut each axis into slabs; the slabs of all axes make a grid, and each
/// cell of it lies in one rule. A value's slab is found from the leading bits of its double, which
/// number buckets that hold at most three bounds each, and a comparison with those. (Doubles
/// that are not negative order as the integers of the same bits, and negative ones below them.)
/// What does not fit this scheme, a grid too large or bounds too close together, is looked up by
/// its tree.
#[derive(Clone, Debug)]
pub struct Grid(Kind);

/// What a table needs: only the axes up to the last signal it uses are looked at.
#[derive(Clone, Debug)]
enum Kind {
    /// The tables of 2013.
    Three(Cells<3>),
    /// Those of 2014, and what a design uses unless told otherwise.
    Four(Cells<4>),
    Six(Cells<6>),
    Tree(Box<RuleTable>),
}

/// Something that finds rules.
pub trait Lookup {
    /// The number of the rule that holds `memory`. `guess`, any rule's number, makes it cheaper
    /// where it is right.
    fn find(&self, memory: &[f64; 6], guess: usize) -> usize;
}

/// Work that looks up rules in a loop: it is compiled once for each kind of grid, so that the kind
/// is asked for once and not in the loop. That makes the simulator a quarter faster.
pub trait Work {
    /// What the work gives.
    type Output;

    /// Does the work.
    fn with(self, lookup: &impl Lookup) -> Self::Output;
}

/// A grid over the first `N` signals; those a table does not use have one slab.
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

/// A box with its outer bounds moved to infinity, so that what is outside the table is in the
/// nearest box.
#[derive(Clone, Copy, Debug)]
struct Bounds<const N: usize> {
    lower: [f64; N],
    upper: [f64; N],
}

/// One axis of a grid.
#[derive(Clone, Debug, Default)]
struct Axis {
    /// The least and largest bits that have a bucket.
    least: i64,
    most: i64,
    /// Added to leading bits to get the number of the bucket.
    start: i64,
    /// How many cells apart neighbouring slabs are.
    stride: usize,
    /// The bounds between slabs, ascending.
    bounds: Vec<f64>,
}

/// All values of an axis that share their leading bits.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// The bits of the bounds within the bucket; unused ones are above all.
    bounds: [i64; PROBES],
    /// Where the cells of the slab begin that the bucket's least value is in.
    offset: usize,
}

impl Grid {
    /// Makes `table` ready.
    pub fn new(table: &RuleTable) -> Grid {
        let used = table.signals().iter().map(Signal::index).max().map_or(0, |last| last + 1);
        let kind = match used {
            0..=3 => Cells::new(table).map(Kind::Three),
            4 => Cells::new(table).map(Kind::Four),
            _ => Cells::new(table).map(Kind::Six),
        };
        Grid(kind.unwrap_or_else(|| Kind::Tree(Box::new(table.clone()))))
    }

    /// Does `work` with the lookup of this table.
    pub fn work<W: Work>(&self, work: W) -> W::Output {
        match &self.0 {
            Kind::Three(cells) => work.with(cells),
            Kind::Four(cells) => work.with(cells),
            Kind::Six(cells) => work.with(cells),
            Kind::Tree(table) => work.with(&**table),
        }
    }
}

impl Lookup for Grid {
    fn find(&self, memory: &[f64; 6], guess: usize) -> usize {
        match &self.0 {
            Kind::Three(cells) => cells.find(memory, guess),
            Kind::Four(cells) => cells.find(memory, guess),
            Kind::Six(cells) => cells.find(memory, guess),
            Kind::Tree(table) => Lookup::find(&**table, memory, guess),
        }
    }
}

impl<const N: usize> Lookup for Cells<N> {
    #[inline]
    fn find(&self, memory: &[f64; 6], guess: usize) -> usize {
        if self.boxes[guess].hold(memory) {
            return guess;
        }
        // By value: the caller's memory can then stay in registers.
        self.find_cell(*memory)
    }
}

impl Lookup for RuleTable {
    fn find(&self, memory: &[f64; 6], _guess: usize) -> usize {
        RuleTable::find(self, memory)
    }
}

impl<const N: usize> Bounds<N> {
    fn new(table: &RuleTable, rule: &Rule) -> Bounds<N> {
        let (inner, outer) = (&rule.domain, table.domain());
        let used = |i: usize| table.signals().contains(Signal::ALL[i]);
        let lower = |i| {
            if used(i) && inner.lower[i] > outer.lower[i] {
                inner.lower[i]
            } else {
                f64::NEG_INFINITY
            }
        };
        let upper = |i| {
            if used(i) && inner.upper[i] < outer.upper[i] { inner.upper[i] } else { f64::INFINITY }
        };
        if inner.is_empty(table.signals()) {
            return Bounds { lower: [f64::INFINITY; N], upper: [f64::NEG_INFINITY; N] };
        }
        Bounds { lower: core::array::from_fn(lower), upper: core::array::from_fn(upper) }
    }

    #[inline]
    fn hold(&self, memory: &[f64; 6]) -> bool {
        (0..N)
            .fold(true, |held, i| held & (self.lower[i] <= memory[i]) & (memory[i] < self.upper[i]))
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
    fn find_cell(&self, memory: [f64; 6]) -> usize {
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
    /// Adds the axis's buckets of doubles alike but for their last `shift` bits, and returns true,
    /// where none holds more than [`PROBES`] bounds and there are not too many.
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

    /// The slabs between the bounds of `domain` on this axis, that of signal `index`.
    fn slabs(&self, index: usize, domain: &Cuboid) -> core::ops::Range<usize> {
        let (lower, upper) = (domain.lower[index], domain.upper[index]);
        let start = self.bounds.partition_point(|&bound| bound <= lower);
        start..self.bounds.partition_point(|&bound| bound < upper) + 1
    }
}

/// Gives all cells of `domain` to `rule`, from axis `index` on; `cells` are those of one slab of
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
