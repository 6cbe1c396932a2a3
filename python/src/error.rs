//! [`Error`]: the library's errors, word for word.

use pyo3::PyErr;
use pyo3::exceptions::PyValueError;

pyo3::create_exception!(
    tcpexmachina,
    Error,
    PyValueError,
    "What is wrong with what was given, in the words of the library."
);

/// An error of the library, as Python's.
#[expect(clippy::needless_pass_by_value, reason = "map_err gives the value")]
pub(crate) fn error(problem: impl ToString) -> PyErr {
    Error::new_err(problem.to_string())
}
