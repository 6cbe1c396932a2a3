//! [`Failures`]: the earliest failure of the controllers of one origin.

use exm_cc::Failure;
use std::sync::{Mutex, PoisonError};

/// The earliest failure so far, so that it does not depend on which thread was first.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<Option<Failure>>);

impl Failures {
    pub(crate) fn note(&self, failure: &Failure) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|first| failure < first) {
            *first = Some(failure.clone());
        }
    }

    pub(crate) fn first(&self) -> Option<Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
