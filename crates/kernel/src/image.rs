//! [`Image`]: a table as the program in the kernel reads it (`struct image` of `bpf/remy.bpf.c`).

use exm_remy::fixed::{FixedCut, FixedTable};

/// The room for comparisons and rules (`REMY_CUTS` and `REMY_RULES`), and the most comparisons of a lookup
/// (`REMY_STEPS`).
const CUTS: usize = 32768;
const RULES: usize = 16384;
const DEEPEST: usize = 64;
const LABEL: usize = 64;
const HEADER: usize = LABEL + 16;
const RECORD: usize = 24;

/// The size of an image, bytes: the same for every table, so that one can follow another.
pub(crate) const SIZE: usize = HEADER + (CUTS + RULES) * RECORD;

/// The bytes of a table with its label.
pub(crate) struct Image(pub(crate) Vec<u8>);

/// What is known of a table in the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableInfo {
    /// Its name, for people.
    pub label: String,
    /// The number of rules.
    pub rules: usize,
    /// The largest window, in packets.
    pub max_window: u32,
}

/// Why a table does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    /// Too many rules.
    #[error("it has {0} rules, where a kernel takes {RULES}")]
    Rules(usize),
    /// Too many comparisons in all.
    #[error("its rules take {0} comparisons, where a kernel takes {CUTS}")]
    Cuts(usize),
    /// Too many comparisons for one packet.
    #[error("its rules are found by {0} comparisons, where a kernel takes {DEEPEST}")]
    Depth(usize),
}

/// Whether `table` fits the bounds of the runtime in C.
pub(crate) fn check(table: &FixedTable) -> Result<(), TooLarge> {
    let (cuts, rules, depth) = (table.cuts().len(), table.actions().len(), table.depth());
    if rules > RULES {
        return Err(TooLarge::Rules(rules));
    }
    if cuts > CUTS {
        return Err(TooLarge::Cuts(cuts));
    }
    if depth > DEEPEST { Err(TooLarge::Depth(depth)) } else { Ok(()) }
}

impl Image {
    pub(crate) fn new(table: &FixedTable, label: &str) -> Result<Image, TooLarge> {
        check(table)?;
        let (cuts, rules) = (table.cuts().len(), table.actions().len());
        let mut bytes = label_bytes(label).to_vec();
        bytes.extend(table.root().to_ne_bytes());
        bytes.extend(table.max_window().to_ne_bytes());
        bytes.extend((cuts as u32).to_ne_bytes());
        bytes.extend((rules as u32).to_ne_bytes());
        for FixedCut { bound, axis, next } in table.cuts() {
            bytes.extend(bound.to_ne_bytes());
            bytes.extend(next.iter().flat_map(|next| next.to_ne_bytes()));
            bytes.extend(axis.to_ne_bytes());
            bytes.extend([0; 4]);
        }
        bytes.resize(HEADER + CUTS * RECORD, 0);
        for action in table.actions() {
            bytes.extend(
                [action.high, action.low, action.shift].iter().flat_map(|n| n.to_ne_bytes()),
            );
            bytes.extend(action.increment.to_ne_bytes());
            bytes.extend(action.intersend_ns.to_ne_bytes());
        }
        bytes.resize(SIZE, 0);
        Ok(Image(bytes))
    }
}

/// The label, cut at a character if it is too long.
fn label_bytes(label: &str) -> [u8; LABEL] {
    let mut bytes = [0; LABEL];
    let end = (0..LABEL).rev().find(|&end| label.is_char_boundary(end)).unwrap_or(0);
    let label = label.get(..end).unwrap_or(label);
    bytes[..label.len()].copy_from_slice(label.as_bytes());
    bytes
}

/// What the image `bytes` says of its table; nothing if it is none.
pub(crate) fn info(bytes: &[u8]) -> Option<TableInfo> {
    if bytes.len() != SIZE {
        return None;
    }
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let label = bytes[..LABEL].split(|&byte| byte == 0).next()?;
    Some(TableInfo {
        label: String::from_utf8_lossy(label).into_owned(),
        max_window: word(LABEL + 4)?,
        rules: word(LABEL + 12)? as usize,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_remy::{Action, RuleTable, SignalSet};

    #[test]
    fn a_long_label_is_cut_at_a_character() {
        let table = RuleTable::single(SignalSet::FIRST_FOUR, 1.0, Action::INITIAL);
        let table = FixedTable::new(&table, 7).expect("four signals");
        let label = "é".repeat(40);
        let Image(bytes) = Image::new(&table, &label).expect("one rule");
        let expected = TableInfo { label: "é".repeat(31), rules: 1, max_window: 7 };
        assert_eq!(info(&bytes), Some(expected));
    }
}
