//! [`State`]: what can be synchronised.

/// Why a difference cannot be applied: it is malformed, or does not fit the state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the difference cannot be applied: {reason}")]
pub struct DiffError {
    reason: String,
}

impl DiffError {
    /// An error with this `reason`.
    pub fn new(reason: impl Into<String>) -> DiffError {
        DiffError { reason: reason.into() }
    }

    /// What is wrong.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl From<crate::DecodeError> for DiffError {
    fn from(error: crate::DecodeError) -> DiffError {
        DiffError::new(error.to_string())
    }
}

/// A state that one end changes and the other end follows.
///
/// Both ends begin with the same initial state, which has the number 0. For all states `a` and `b` of one
/// end, applying `b.diff_from(&a)` to a copy of `a` must give a state that equals `b`.
pub trait State: Clone + PartialEq {
    /// The difference that makes this state of `base`. An empty difference means that nothing changes.
    ///
    /// `base` is an earlier state of the same end, after the same calls of [`State::subtract`].
    fn diff_from(&self, base: &Self) -> Vec<u8>;

    /// Applies `diff`, which comes from the other end.
    ///
    /// # Errors
    /// It is malformed. This state is then discarded, so it may be left half changed.
    fn apply(&mut self, diff: &[u8]) -> Result<(), DiffError>;

    /// Forgets `prefix`, a state that both ends have, if this state is a log: what is in `prefix` is no
    /// longer needed in differences. States that are not logs ignore this, which is the default.
    fn subtract(&mut self, prefix: &Self) {
        let _ = prefix;
    }

    /// The difference between the initial state and this one: what an end that has nothing needs.
    fn initial_diff(&self) -> Vec<u8>;

    /// The approximate memory of this state in bytes. A receiver holds states of at most
    /// [`MAX_WEIGHT`](crate::MAX_WEIGHT) together.
    fn weight(&self) -> usize;

    /// The end of the byte stream in this state, if it has one: see [`Sided`](crate::Sided). New bytes are acknowledged
    /// at once, since they are sent in a window.
    fn stream_end(&self) -> u64 {
        0
    }
}
