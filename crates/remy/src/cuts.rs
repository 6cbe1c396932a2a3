//! [`Cuts`]: a rule table compiled to a balanced tree of comparisons.

use crate::lookup::{Bounds, Lookup};
use crate::signal::Point;
use crate::table::RuleTable;
use alloc::vec::Vec;

/// The maximum number of comparisons for each rule of the table. Boxes that no cut separates without
/// cutting others in two can need many more.
const MAX_CUTS_A_RULE: usize = 8;
/// The maximum number of comparisons that find a rule.
const MAX_DEPTH: usize = 64;

/// Finds the rule of a memory by comparing one of its values with a bound, and so on with the half
/// where it lies. Only the first `N` signals are compared.
#[derive(Clone, Debug)]
pub(crate) struct Cuts<const N: usize> {
    cuts: Vec<Cut>,
    root: Next,
    /// The box of each rule.
    boxes: Vec<Bounds<N>>,
}

/// One comparison: `bound` with the value of signal `axis`.
#[derive(Clone, Copy, Debug)]
struct Cut {
    bound: f64,
    axis: u32,
    /// The nodes for values below the bound, and from it on.
    next: [Next; 2],
}

/// The number of a cut, or the complement of that of a rule.
pub(crate) type Next = i32;

/// A rule and the part of its box that is left of it.
type Part<const N: usize> = (Bounds<N>, usize);

impl<const N: usize> Cuts<N> {
    /// Compiles `table`; none if it would take too many cuts.
    pub(crate) fn new(table: &RuleTable) -> Option<Cuts<N>> {
        let boxes: Vec<_> = table.rules().iter().map(|rule| Bounds::new(table, rule)).collect();
        let held = |&index: &usize| !table.rules()[index].domain.is_empty(table.signals());
        let parts = (0..boxes.len()).filter(held).map(|index| (boxes[index], index)).collect();
        let mut cuts = Vec::new();
        let root = add(&mut cuts, parts, boxes.len() * MAX_CUTS_A_RULE, MAX_DEPTH)?;
        Some(Cuts { cuts, root, boxes })
    }

    /// Where a lookup begins: a cut, or the complement of a rule.
    pub(crate) fn root(&self) -> Next {
        self.root
    }

    /// Each cut: its axis, its bound, and what follows below the bound and from it on.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, f64, [Next; 2])> {
        self.cuts.iter().map(|cut| (cut.axis as usize, cut.bound, cut.next))
    }

    #[inline(never)]
    fn find_rule(&self, memory: [f64; N]) -> usize {
        let mut next = self.root;
        while next >= 0 {
            let cut = &self.cuts[next as usize];
            // An index in place of a branch, which nothing could predict.
            next = cut.next[usize::from(memory[cut.axis as usize] >= cut.bound)];
        }
        !next as usize
    }
}

impl<const N: usize> Lookup for Cuts<N> {
    #[inline]
    fn find(&self, memory: &Point, guess: usize) -> usize {
        if self.boxes[guess].hold(memory) {
            return guess;
        }
        // By value: the caller's memory can then stay in registers.
        self.find_rule(core::array::from_fn(|i| memory[i]))
    }
}

/// Adds the cuts that tell `parts` apart; none if that would make more than `most` cuts, or more than
/// `depth` one after another.
fn add<const N: usize>(
    cuts: &mut Vec<Cut>,
    parts: Vec<Part<N>>,
    most: usize,
    depth: usize,
) -> Option<Next> {
    if let [(_, rule)] = parts[..] {
        return Some(!(rule as Next));
    }
    let (axis, bound) = best_cut(&parts)?;
    if cuts.len() == most || depth == 0 {
        return None;
    }
    let index = cuts.len();
    cuts.push(Cut { bound, axis: axis as u32, next: [0; 2] });
    let mut below = parts.clone();
    below.retain(|(part, _)| part.lower[axis] < bound);
    below.iter_mut().for_each(|(part, _)| part.upper[axis] = part.upper[axis].min(bound));
    let mut above = parts;
    above.retain(|(part, _)| part.upper[axis] > bound);
    above.iter_mut().for_each(|(part, _)| part.lower[axis] = part.lower[axis].max(bound));
    for (side, parts) in [below, above].into_iter().enumerate() {
        cuts[index].next[side] = add(cuts, parts, most, depth - 1)?;
    }
    Some(index as Next)
}

/// The axis and the bound that cut the fewest parts in two, and of such the one with the fewest parts on
/// the side that has more of them; none if there is nothing to cut.
fn best_cut<const N: usize>(parts: &[Part<N>]) -> Option<(usize, f64)> {
    let mut best: Option<((usize, usize), usize, f64)> = None;
    for axis in 0..N {
        let sorted = |bound: fn(&Bounds<N>) -> &[f64; N]| {
            let mut bounds: Vec<f64> = parts.iter().map(|(part, _)| bound(part)[axis]).collect();
            bounds.sort_by(f64::total_cmp);
            bounds
        };
        let (lower, upper) = (sorted(|part| &part.lower), sorted(|part| &part.upper));
        for (below, pair) in (1..).zip(lower.windows(2)).filter(|(_, pair)| pair[0] < pair[1]) {
            let above = parts.len() - upper.partition_point(|&bound| bound <= pair[1]);
            let cost = (below + above, below.max(above));
            if best.is_none_or(|(least, ..)| cost < least) {
                best = Some((cost, axis, pair[1]));
            }
        }
    }
    best.map(|(_, axis, bound)| (axis, bound))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Signal, SignalSet};

    /// A table of `rules` rules, made by splits at pseudorandom places.
    fn table(rules: usize) -> RuleTable {
        let mut table = RuleTable::single(SignalSet::FIRST_FOUR, 1.0, Action::INITIAL);
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize
        };
        while table.rules().len() < rules {
            let rule = random() % table.rules().len();
            let (signal, at) = (Signal::ALL[random() % 4], random() as f64 / (1_u64 << 31) as f64);
            table.split(rule, signal, at);
        }
        table
    }

    #[test]
    fn cuts_find_what_the_tables_own_tree_finds() {
        for rules in [1, 2, 3, 20, 600] {
            let table = table(rules);
            let cuts = Cuts::<6>::new(&table).unwrap();
            for step in 0..4096 {
                let digit = |i: usize| f64::from(step >> (3 * i) & 7) / 6.0 - 0.05;
                let memory = core::array::from_fn(|i| if i < 4 { digit(i) } else { 0.0 });
                assert_eq!(
                    cuts.find(&memory, step as usize % rules),
                    table.find(&memory),
                    "{memory:?}"
                );
            }
        }
    }

    #[test]
    fn the_cuts_are_few_and_balanced() {
        let cuts = Cuts::<6>::new(&table(600)).unwrap().cuts;
        assert!(cuts.len() < 1200, "{} cuts", cuts.len());
        let mut depth = vec![1; cuts.len()];
        for (index, cut) in cuts.iter().enumerate() {
            for &next in cut.next.iter().filter(|&&next| next >= 0) {
                depth[next as usize] = depth[index] + 1;
            }
        }
        assert!(depth.iter().max() < Some(&20), "{depth:?}");
    }

    #[test]
    fn tables_that_would_take_too_many_cuts_have_none() {
        let boxes: Vec<_> =
            table(20).rules().iter().map(|rule| Bounds::new(&table(20), rule)).collect();
        let parts: Vec<Part<6>> = boxes.into_iter().zip(0..).collect();
        assert!(add(&mut Vec::new(), parts.clone(), 10, MAX_DEPTH).is_none());
        assert!(add(&mut Vec::new(), parts, 100, 3).is_none());
    }
}
