//! [`FixedTable`]: a rule table in integers.

use crate::action::{Action, MAX_WINDOW};
use crate::cuts::Cuts;
use crate::fixed::{RATIO_BITS, TIME_BITS};
use crate::signal::Signal;
use crate::table::RuleTable;
use alloc::vec::Vec;

const NANOS_PER_MILLI: f64 = 1e6;

/// A rule table in fixed point: comparisons that lead to a rule, and the rules' actions.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedTable {
    root: FixedNext,
    cuts: Vec<FixedCut>,
    actions: Vec<FixedAction>,
    max_window: u32,
}

/// A comparison: whether the signal of number `axis` is at least `bound`, in the units of
/// [`FixedMemory::signals`](crate::fixed::FixedMemory::signals).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedCut {
    /// What the signal is compared with.
    pub bound: i64,
    /// Its index in [`Signal::ALL`], below [`Signal::REMYS`].
    pub axis: u32,
    /// What follows below the bound, and from it on.
    pub next: [FixedNext; 2],
}

/// The number of a cut, or the complement of that of a rule.
pub type FixedNext = i32;

/// An [`Action`] in integers. Its multiple is `(high 2^26 + low) / 2^(26 + shift)`: all 53 bits of the double.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedAction {
    /// The leading 27 bits of the multiple.
    pub high: u32,
    /// The 26 bits that follow.
    pub low: u32,
    /// The bits of `high` behind the point, from 7 to 36.
    pub shift: u32,
    /// Packets added to the window.
    pub increment: i32,
    /// The minimum time between sends, ns.
    pub intersend_ns: u64,
}

/// Why a table has no form in fixed point.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum FixedError {
    /// It looks at a signal that is measured in floating point only.
    #[error(
        "it looks at {0}, which is not measured in fixed point: design a table without that signal"
    )]
    Signal(Signal),
    /// A multiple that no window can follow.
    #[error("it multiplies a window by {0}, where a multiple of fixed point is from 0 to 2^20")]
    Multiple(f64),
    /// Its boxes cannot be told apart by a small tree.
    #[error("its rules cannot be told apart by few comparisons: design a table with fewer rules")]
    Tangled,
}

impl FixedTable {
    /// The table in fixed point, whose windows are `max_window` packets at most.
    ///
    /// # Errors
    /// [`FixedError`] if it uses extended signals or an impossible multiple, or would take too many comparisons.
    pub fn new(table: &RuleTable, max_window: u32) -> Result<FixedTable, FixedError> {
        if let Some(signal) = table.signals().iter().find(|signal| signal.is_extended()) {
            return Err(FixedError::Signal(signal));
        }
        let cuts = Cuts::<{ Signal::REMYS }>::new(table).ok_or(FixedError::Tangled)?;
        let fixed = |(axis, bound, next): (usize, f64, [FixedNext; 2])| FixedCut {
            bound: fixed_bound(Signal::ALL[axis], bound),
            axis: axis as u32,
            next,
        };
        let actions = table
            .rules()
            .iter()
            .map(|rule| FixedAction::new(&rule.action))
            .collect::<Result<_, _>>()?;
        Ok(FixedTable {
            root: cuts.root(),
            cuts: cuts.iter().map(fixed).collect(),
            actions,
            max_window: max_window.clamp(1, MAX_WINDOW),
        })
    }

    /// Where a lookup begins.
    pub fn root(&self) -> FixedNext {
        self.root
    }

    /// The comparisons.
    pub fn cuts(&self) -> &[FixedCut] {
        &self.cuts
    }

    /// The action of each rule.
    pub fn actions(&self) -> &[FixedAction] {
        &self.actions
    }

    /// The largest window, in packets.
    pub fn max_window(&self) -> u32 {
        self.max_window
    }

    /// The most comparisons that a lookup takes.
    pub fn depth(&self) -> usize {
        fn depth(cuts: &[FixedCut], next: FixedNext) -> usize {
            let Ok(index) = usize::try_from(next) else { return 0 };
            1 + cuts[index].next.map(|next| depth(cuts, next)).into_iter().max().unwrap_or(0)
        }
        depth(&self.cuts, self.root)
    }

    /// The number of the rule that holds `signals`.
    pub fn find(&self, signals: &[i64; Signal::REMYS]) -> usize {
        let mut next = self.root;
        while let Ok(index) = usize::try_from(next) {
            let cut = &self.cuts[index];
            next = cut.next[usize::from(signals[cut.axis as usize] >= cut.bound)];
        }
        !next as usize
    }
}

/// The bits of `low`.
const LOW: u32 = 26;
const LOW_MASK: u64 = (1 << LOW) - 1;
/// The bits of a double's significand.
const SIGNIFICAND: u32 = 53;
/// The most bits behind the point of a product: with its whole part it fits 64 bits twice.
const MOST_SHIFT: i32 = 36;

impl FixedAction {
    pub(super) fn new(action: &Action) -> Result<FixedAction, FixedError> {
        if !(0.0..=f64::from(1 << 20)).contains(&action.multiple) {
            return Err(FixedError::Multiple(action.multiple));
        }
        let bits = action.multiple.to_bits();
        // The multiple is significand / 2^(LOW + shift); subnormal ones are zero.
        let exponent = (bits >> (SIGNIFICAND - 1)) as i32;
        let significand = if exponent == 0 { 0 } else { bits << 12 >> 12 | 1 << (SIGNIFICAND - 1) };
        let shift = 1023 + (SIGNIFICAND - 1 - LOW) as i32 - exponent;
        let excess = (shift - MOST_SHIFT).clamp(0, 63);
        let significand = significand >> excess;
        Ok(FixedAction {
            high: (significand >> LOW) as u32,
            low: (significand & LOW_MASK) as u32,
            shift: shift.min(MOST_SHIFT) as u32,
            increment: action.increment,
            intersend_ns: action.compile().intersend().as_nanos(),
        })
    }

    /// The window after this action on one of `window` packets, `most` at most: to the bit what
    /// doubles give, which round the product and then the sum.
    pub fn window(&self, window: u32, most: u32) -> u32 {
        let window = u64::from(window.min(MAX_WINDOW));
        let low = u64::from(self.low) * window;
        let (high, low) = to_double(u64::from(self.high) * window + (low >> LOW), low & LOW_MASK);
        let whole = (high >> self.shift) as i64 + i64::from(self.increment);
        if whole < 0 {
            return 0;
        }
        let fraction = (high & ((1 << self.shift) - 1)) << LOW | low;
        // Adding rounds up to the next whole number from half a unit in the sum's last place below it.
        let below = (1 << (self.shift + LOW)) - fraction;
        let half_unit = self.shift + LOW + bit_length(whole as u64);
        let carry = self.increment > 0
            && half_unit > SIGNIFICAND
            && below <= 1 << (half_unit - SIGNIFICAND - 1);
        (whole as u64 + u64::from(carry)).min(u64::from(most)) as u32
    }
}

/// `high 2^26 + low`, rounded to 53 bits, ties to even.
fn to_double(high: u64, low: u64) -> (u64, u64) {
    let dropped = (bit_length(high) + LOW).saturating_sub(SIGNIFICAND);
    let unit = 1 << dropped;
    let half = unit >> 1;
    let tie = half > 0 && low & (unit - 1) == half;
    let even = if tie { unit } else { 0 };
    let rounded = low + half;
    (high + (rounded >> LOW), rounded & LOW_MASK & !(unit - 1) & !even)
}

fn bit_length(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

/// The least value, in integers, of a signal that is at least `bound`.
fn fixed_bound(signal: Signal, bound: f64) -> i64 {
    match signal {
        // Rounded down, as the ratios that are compared with it.
        Signal::RttRatio => (bound * (1_u64 << RATIO_BITS) as f64) as i64,
        // Whole nanoseconds: the first that floating point finds to be no less.
        Signal::RttDiff => {
            let near = (bound * NANOS_PER_MILLI) as i64;
            let least = (near - 1..=near + 1).find(|&nanos| nanos as f64 * 1e-6 >= bound);
            least.unwrap_or(near).saturating_mul(1 << TIME_BITS)
        }
        _ => {
            let scaled = bound * NANOS_PER_MILLI * f64::from(1_u32 << TIME_BITS);
            let truncated = scaled as i64;
            truncated.saturating_add(i64::from(scaled > truncated as f64))
        }
    }
}
