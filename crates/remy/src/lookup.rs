//! [`Lookup`]: finds the rule of a memory, with boxes that test whether a guess is right.

use crate::signal::{Point, Signal};
use crate::table::{Rule, RuleTable};

/// Something that finds rules.
pub trait Lookup {
    /// The number of the rule that holds `memory`. `guess`, any rule's number, makes it cheaper if
    /// it is right.
    fn find(&self, memory: &Point, guess: usize) -> usize;
}

/// A box with its outer bounds moved to infinity, so that memories outside the table match the
/// nearest box.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds<const N: usize> {
    pub(crate) lower: [f64; N],
    pub(crate) upper: [f64; N],
}

impl Lookup for RuleTable {
    fn find(&self, memory: &Point, _guess: usize) -> usize {
        RuleTable::find(self, memory)
    }
}

impl<const N: usize> Bounds<N> {
    pub(crate) fn new(table: &RuleTable, rule: &Rule) -> Bounds<N> {
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
    pub(crate) fn hold(&self, memory: &Point) -> bool {
        (0..N)
            .fold(true, |held, i| held & (self.lower[i] <= memory[i]) & (memory[i] < self.upper[i]))
    }
}
