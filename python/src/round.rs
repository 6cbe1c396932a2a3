//! Rounds of a design that Python distributes: [`Evaluator`] at the driver, [`evaluate`] on workers.

use crate::error::error;
use exmachina::design::{Evaluate, Round, SharedRound};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Mutex, PoisonError};

/// Evaluates rounds by calling Python.
pub(crate) struct Evaluator {
    call: Py<PyAny>,
    /// The CPU time that the calls report, s.
    cpu_seconds: Mutex<f64>,
}

impl Evaluator {
    /// One that gives `call` the bytes of a round and its number of pairs, for their scores and the CPU time that they
    /// took.
    pub(crate) fn new(call: Py<PyAny>) -> Evaluator {
        Evaluator { call, cpu_seconds: Mutex::new(0.0) }
    }

    /// The CPU time of all rounds, s.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        *self.cpu_seconds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Evaluate for Evaluator {
    type Error = PyErr;

    fn scores(&self, round: &Round<'_>) -> PyResult<Vec<f64>> {
        let (text, pairs) = (round.to_text(), round.pairs());
        let (scores, seconds): (Vec<f64>, f64) = Python::attach(|py| {
            let bytes = PyBytes::new(py, text.as_bytes());
            self.call.call1(py, (bytes, pairs))?.extract(py)
        })?;
        if scores.len() != pairs {
            return Err(error(format!("a round of {pairs} pairs got {} scores", scores.len())));
        }
        *self.cpu_seconds.lock().unwrap_or_else(PoisonError::into_inner) += seconds;
        Ok(scores)
    }
}

/// The scores of pairs `first` to `last`, exclusive, of a round, computed without the GIL on this thread alone.
#[pyfunction]
pub(crate) fn evaluate(
    py: Python<'_>,
    round: &[u8],
    first: usize,
    last: usize,
) -> PyResult<Vec<f64>> {
    let text = str::from_utf8(round).map_err(|_| error("it is not a round of a design"))?;
    py.detach(|| SharedRound::read(text)?.scores(first, last)).map_err(error)
}
