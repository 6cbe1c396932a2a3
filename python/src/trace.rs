//! [`Trace`]: delivery opportunities of a link.

use crate::columns::bytes;
use crate::error::error;
use crate::report::seconds;
use exm_grammar::suggest;
use exmachina::trace::{Synthetic, Trace as Recorded};
use exmachina::units::Instant;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::Path;

/// A link's delivery opportunities, repeated endlessly.
#[pyclass(frozen, module = "tcpexmachina")]
pub(crate) struct Trace {
    trace: Recorded,
}

#[pymethods]
impl Trace {
    /// The trace that is this text: a time in ms a line, as mahimahi's.
    #[new]
    fn new(text: &str) -> PyResult<Trace> {
        Ok(Trace { trace: Recorded::parse(text.as_bytes(), "the trace").map_err(error)? })
    }

    /// The trace in the file `path`.
    #[staticmethod]
    fn load(path: &str) -> PyResult<Trace> {
        Ok(Trace { trace: Recorded::load(Path::new(path)).map_err(error)? })
    }

    /// A trace of the synthetic link `name`, such as `"lte"`.
    #[staticmethod]
    #[pyo3(signature = (name, seed = 1, duration = "300 s"))]
    fn generate(name: &str, seed: u64, duration: &str) -> PyResult<Trace> {
        let link = Synthetic::named(name).ok_or_else(|| {
            let names: Vec<&str> = Synthetic::names().collect();
            error(format!("there is no synthetic link \"{name}\": {}", suggest(name, &names)))
        })?;
        let duration = duration.parse().map_err(error)?;
        Ok(Trace { trace: link.generate(seed, duration).map_err(error)? })
    }

    /// Its text as a file.
    #[getter]
    fn text(&self) -> String {
        self.trace.to_text()
    }

    /// The length of a lap, s.
    #[getter]
    fn period(&self) -> f64 {
        seconds(self.trace.period())
    }

    /// Its mean rate, bit/s.
    #[getter]
    fn mean_rate(&self) -> u64 {
        self.trace.mean_rate().as_bps()
    }

    /// The times of the opportunities of a lap, s, as an array.
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let times = self.trace.times().iter().map(|&time| seconds(time - Instant::ZERO));
        let (dtype, data) = bytes(py, "<f8", &times.collect::<Vec<f64>>())?;
        py.import("numpy")?.call_method1("frombuffer", (data, dtype))
    }

    fn __len__(&self) -> usize {
        self.trace.times().len()
    }

    fn __eq__(&self, other: &Trace) -> bool {
        self.trace == other.trace
    }

    fn __repr__(&self) -> String {
        let (count, rate) = (self.trace.times().len(), self.trace.mean_rate());
        format!("<Trace of {count} opportunities in {}, {rate}>", self.trace.period())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (py.get_type::<Trace>(), (self.text(),)).into_pyobject(py)
    }
}
