//! [`PredictedCursor`]: where the cursor will be.

use exm_terminal::{Position, Screen};

/// Whether a prediction has come true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The host has not had the time to answer.
    Pending,
    Right,
    /// Right, but it would have been so by chance.
    RightAnyway,
    Wrong,
}

/// Where the cursor will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PredictedCursor {
    pub(crate) position: Position,
    /// The frame whose echo decides.
    pub(crate) frame: u64,
    pub(crate) epoch: u64,
}

impl PredictedCursor {
    pub(crate) fn judge(&self, echoed: u64, screen: &Screen) -> Verdict {
        if echoed < self.frame {
            Verdict::Pending
        } else if screen.cursor() == self.position {
            Verdict::Right
        } else {
            Verdict::Wrong
        }
    }
}
