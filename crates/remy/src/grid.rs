//! [`Grid`]: a rule table made ready for fast lookup.

use crate::signal::Signal;
use crate::table::{Cuboid, RuleTable};

/// The most cells a grid may have: 2 MiB of them. Larger tables are looked up by their tree.
const MAX_CELLS: usize = 1 << 20;
/// Bits of a double's mantissa that may number a bucket, from few to many.
const FINEST: u32 = 8;
const COARSEST: u32 = 2;

/// Finds the rule that holds a memory in constant time and without a data-dependent branch.
///
/// The bounds of all rules cut each axis into slabs; the slabs of all axes make a grid, and each
/// cell of it lies in one rule. A value's slab is found from the leading bits of its double, which
/// number buckets that hold few bounds each (mostly none or one), and a comparison with those.
#[derive(Clone, Debug)]
pub struct Grid {
    axes: Vec<Axis>,
    /// The rule of each cell; the last axis is contiguous. Empty where the grid would be too large.
    cells: Vec<u16>,
    /// The table itself, for what is too large for a grid.
    tree: Option<Box<RuleTable>>,
}

/// One axis of a grid.
#[derive(Clone, Debug)]
struct Axis {
    signal: usize,
    /// The bounds between slabs, ascending, and `probes` infinities.
    bounds: Vec<f64>,
    /// For each bucket, how many bounds lie in the buckets before it.
    before: Vec<u16>,
    /// The number of the first bucket's leading bits.
    base: i64,
    /// How far to shift a double to get its leading bits.
    shift: u32,
    /// The most bounds within one bucket.
    probes: usize,
    /// How many cells apart neighbouring slabs are.
    stride: usize,
}

impl Grid {
    /// Makes `table` ready.
    pub fn new(table: &RuleTable) -> Grid {
        let mut axes: Vec<Axis> =
            table.signals().iter().map(|signal| Axis::new(table, signal)).collect();
        let mut stride = 1usize;
        for axis in axes.iter_mut().rev() {
            axis.stride = stride;
            stride = stride.saturating_mul(axis.slabs());
        }
        if stride > MAX_CELLS {
            return Grid { axes, cells: Vec::new(), tree: Some(Box::new(table.clone())) };
        }
        let mut cells = vec![0; stride];
        for (index, rule) in table.rules().iter().enumerate() {
            if !rule.domain.is_empty(table.signals()) {
                fill(&axes, &rule.domain, &mut cells, 0, index as u16);
            }
        }
        Grid { axes, cells, tree: None }
    }

    /// The number of the rule that holds `memory`: what [`RuleTable::find`] gives.
    #[inline]
    pub fn find(&self, memory: &[f64; 6]) -> usize {
        if let Some(tree) = &self.tree {
            return tree.find(memory);
        }
        let cell: usize = self.axes.iter().map(|axis| axis.slab(memory) * axis.stride).sum();
        usize::from(self.cells[cell])
    }
}

impl Axis {
    fn new(table: &RuleTable, signal: Signal) -> Axis {
        let i = signal.index();
        let whole = table.domain();
        let mut bounds: Vec<f64> = table
            .rules()
            .iter()
            .filter(|rule| !rule.domain.is_empty(table.signals()))
            .flat_map(|rule| [rule.domain.lower[i], rule.domain.upper[i]])
            .filter(|&bound| whole.lower[i] < bound && bound < whole.upper[i])
            .collect();
        bounds.sort_by(f64::total_cmp);
        bounds.dedup();
        let mut axis = (COARSEST..=FINEST)
            .map(|bits| Axis::bucketed(i, &bounds, 52 - bits))
            .find(|axis| axis.probes <= 1)
            .unwrap_or_else(|| Axis::bucketed(i, &bounds, 52 - FINEST));
        axis.bounds.extend(std::iter::repeat_n(f64::INFINITY, axis.probes));
        axis
    }

    fn bucketed(signal: usize, bounds: &[f64], shift: u32) -> Axis {
        let leading = |bound: f64| (bound.max(0.0).to_bits() >> shift) as i64;
        let base = bounds.first().map_or(0, |&b| leading(b));
        let last = bounds.last().map_or(0, |&b| leading(b)) - base;
        // Bounds so far apart that buckets would fill the cache are searched by more probes.
        let last = last.min(1 << 13);
        let bucket = |bound: f64| (leading(bound) - base).min(last);
        let before: Vec<u16> =
            (0..=last).map(|b| bounds.partition_point(|&bound| bucket(bound) < b) as u16).collect();
        let ends = before[1..].iter().copied().chain([bounds.len() as u16]);
        let probes = before.iter().zip(ends).map(|(b, end)| end - b).max().unwrap_or(0);
        let (bounds, probes) = (bounds.to_vec(), usize::from(probes));
        Axis { signal, bounds, before, base, shift, probes, stride: 0 }
    }

    fn slabs(&self) -> usize {
        self.bounds.len() - self.probes + 1
    }

    /// How many bounds are at most the memory's value on this axis.
    #[inline]
    fn slab(&self, memory: &[f64; 6]) -> usize {
        let value = memory[self.signal];
        let bucket = ((value.to_bits() as i64) >> self.shift) - self.base;
        let bucket = bucket.clamp(0, self.before.len() as i64 - 1) as usize;
        let before = usize::from(self.before[bucket]);
        let probed = self.bounds[before..before + self.probes].iter();
        before + probed.map(|&bound| usize::from(value >= bound)).sum::<usize>()
    }

    /// The slabs between the bounds of `domain` on this axis.
    fn range(&self, domain: &Cuboid) -> std::ops::Range<usize> {
        let rank = |bound: f64| self.bounds[..self.slabs() - 1].partition_point(|&b| b < bound);
        let (lower, upper) = (domain.lower[self.signal], domain.upper[self.signal]);
        let start =
            if self.bounds[..self.slabs() - 1].contains(&lower) { rank(lower) + 1 } else { 0 };
        start..rank(upper) + 1
    }
}

fn fill(axes: &[Axis], domain: &Cuboid, cells: &mut [u16], offset: usize, rule: u16) {
    let Some((axis, rest)) = axes.split_first() else {
        cells[offset] = rule;
        return;
    };
    for slab in axis.range(domain) {
        fill(rest, domain, cells, offset + slab * axis.stride, rule);
    }
}
