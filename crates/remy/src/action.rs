//! [`Action`]: what a rule does to the window and the pacing.

use exm_units::Span;

/// The largest window of a RemyCC, in packets.
pub const MAX_WINDOW: u32 = 1_000_000;

/// What a rule prescribes on every ACK: the window becomes `clamp(trunc(multiple x window +
/// increment), 0, 1 000 000)` packets, and packets are sent at least `intersend` apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Action {
    /// m, the factor of the window.
    pub multiple: f64,
    /// b, packets added to the window.
    pub increment: i32,
    /// r, the minimum time between sends, ms.
    pub intersend_ms: f64,
}

/// An [`Action`] in the form of the hot path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompiledAction {
    multiple: f64,
    increment: f64,
    intersend: Span,
}

impl Action {
    /// The initial action of the papers' designer (SIGCOMM 2013, section 4.3): m = 1, b = 1, r =
    /// 0.01 ms.
    pub const INITIAL: Action = Action { multiple: 1.0, increment: 1, intersend_ms: 0.01 };

    /// Converts the action to the form of the hot path.
    pub fn compile(&self) -> CompiledAction {
        CompiledAction {
            multiple: self.multiple,
            increment: f64::from(self.increment),
            intersend: Span::from_millis_f64(self.intersend_ms),
        }
    }
}

impl CompiledAction {
    /// The window after this action on a window of `window` packets.
    #[inline]
    pub fn window(&self, window: u32) -> u32 {
        let next = self.multiple * f64::from(window) + self.increment;
        // The cast truncates, and maps negative values and NaN to zero.
        (next as u32).min(MAX_WINDOW)
    }

    /// The minimum time between sends.
    #[inline]
    pub fn intersend(&self) -> Span {
        self.intersend
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(multiple: f64, increment: i32, window: u32) -> u32 {
        Action { multiple, increment, intersend_ms: 0.0 }.compile().window(window)
    }

    #[test]
    fn windows_truncate_and_stay_in_bounds() {
        assert_eq!(window(1.0, 1, 0), 1);
        assert_eq!(window(0.5, 0, 3), 1);
        assert_eq!(window(0.97, 0, 100), 97);
        assert_eq!(window(0.0, -5, 100), 0);
        assert_eq!(window(2.0, 0, MAX_WINDOW), MAX_WINDOW);
        assert_eq!(window(f64::NAN, 0, 7), 0);
        assert_eq!(window(f64::INFINITY, 0, 7), MAX_WINDOW);
    }
}
