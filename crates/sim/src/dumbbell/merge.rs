//! Merges the senders' send times into the order in which the link sees them.

/// Bits of a key that hold the sender's number.
const SENDER_BITS: u32 = 16;

/// A send: its time since the start of the epoch and, in the low bits, its sender, so that keys are
/// ordered by time and then by sender.
pub(super) fn time(key: u64) -> i64 {
    (key >> SENDER_BITS) as i64
}

/// The sender of a key.
pub(super) fn sender(key: u64) -> usize {
    (key & ((1 << SENDER_BITS) - 1)) as usize
}

/// Merges sorted runs pairwise, without branches that depend on the data.
#[derive(Debug, Default)]
pub(super) struct Merger {
    keys: Vec<u64>,
    spare: Vec<u64>,
    /// Where each run ends.
    ends: Vec<usize>,
}

/// The sends of one sender in one epoch, added in order.
#[derive(Debug)]
pub(super) struct Run<'a> {
    merger: &'a mut Merger,
    start: i64,
    sender: u64,
}

impl Run<'_> {
    /// Adds a send, no earlier than the one before.
    #[inline]
    pub(super) fn push(&mut self, at: i64) {
        self.merger.keys.push(((at - self.start) as u64) << SENDER_BITS | self.sender);
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        let end = self.merger.keys.len();
        if self.merger.ends.last().copied().unwrap_or(0) < end {
            self.merger.ends.push(end);
        }
    }
}

impl Merger {
    /// The run of `sender` in the epoch that starts at `start`.
    pub(super) fn run(&mut self, start: i64, sender: usize) -> Run<'_> {
        Run { merger: self, start, sender: sender as u64 }
    }

    /// All keys added since the last [`Merger::clear`], in order.
    pub(super) fn merged(&mut self) -> &[u64] {
        while self.ends.len() > 1 {
            self.spare.resize(self.keys.len(), 0);
            let (mut start, mut kept) = (0, 0);
            for pair in 0..self.ends.len().div_ceil(2) {
                let middle = self.ends[2 * pair];
                let end = self.ends.get(2 * pair + 1).copied().unwrap_or(middle);
                let (left, right) = self.keys[start..end].split_at(middle - start);
                merge_two(left, right, &mut self.spare[start..end]);
                self.ends[kept] = end;
                (start, kept) = (end, kept + 1);
            }
            self.ends.truncate(kept);
            std::mem::swap(&mut self.keys, &mut self.spare);
        }
        &self.keys
    }

    /// Forgets all keys.
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.ends.clear();
    }
}

fn merge_two(left: &[u64], right: &[u64], out: &mut [u64]) {
    let (mut l, mut r) = (0, 0);
    let mut filled = 0;
    while l < left.len() && r < right.len() {
        let (a, b) = (left[l], right[r]);
        let take_left = a <= b;
        out[filled] = if take_left { a } else { b };
        l += usize::from(take_left);
        r += usize::from(!take_left);
        filled += 1;
    }
    let rest = out.len() - filled;
    out[filled..].copy_from_slice(if l < left.len() {
        &left[l..]
    } else {
        &right[right.len() - rest..]
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn merging_sorts(runs in prop::collection::vec(prop::collection::vec(0i64..1000, 0..20), 0..9)) {
            let mut merger = Merger::default();
            let mut expected = Vec::new();
            for (sender, mut run) in runs.into_iter().enumerate() {
                run.sort_unstable();
                expected.extend(run.iter().map(|&at| (at, sender)));
                let mut sends = merger.run(0, sender);
                run.iter().for_each(|&at| sends.push(at));
            }
            expected.sort_unstable();
            let merged: Vec<_> = merger.merged().iter().map(|&k| (time(k), sender(k))).collect();
            prop_assert_eq!(merged, expected);
            merger.clear();
            prop_assert!(merger.merged().is_empty());
        }
    }
}
