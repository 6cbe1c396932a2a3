//! [`Trace`]: delivery opportunities of a link.

use crate::columns::bytes;
use crate::error::error;
use crate::picture::series_svg;
use crate::report::seconds;
use exm_grammar::suggest;
use exmachina::trace::{Synthetic, Trace as Recorded};
use exmachina::units::{Instant, Rate, Span};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::Path;

/// The most rates of a trace, which limits memory.
const MOST_RATES: u64 = 1_000_000;
/// The interval of a picture, unless the trace is short or long.
const WINDOW: Span = Span::from_secs(1);

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

    /// Its mean rate in each interval of `every` so long, bit/s, as an array; a part of an interval at the end is left out.
    #[pyo3(signature = (every = "1 s"))]
    fn rates<'py>(&self, py: Python<'py>, every: &str) -> PyResult<Bound<'py, PyAny>> {
        let rates: Vec<f64> = self
            .rates_over(every.parse().map_err(error)?)?
            .map(|rate| rate.as_bps() as f64)
            .collect();
        let (dtype, data) = bytes(py, "<f8", &rates)?;
        py.import("numpy")?.call_method1("frombuffer", (data, dtype))
    }

    /// Its capacity over time as a picture.
    fn _repr_svg_(&self) -> PyResult<String> {
        let window = self.window();
        let step = window.as_secs_f64();
        let point = |(index, rate): (u32, Rate)| ((f64::from(index) + 0.5) * step, rate.as_mbps());
        let points = (0..).zip(self.rates_over(window)?).map(point).collect();
        let title = format!("{} on average, means over {window}", self.trace.mean_rate());
        let line = ("capacity".to_owned(), points);
        Ok(series_svg(title, vec![("capacity, Mbps".to_owned(), vec![line])]))
    }

    /// Draws its capacity over time by matplotlib, means over `every`; returns the axes.
    #[pyo3(signature = (ax = None, *, every = "1 s"))]
    fn plot<'py>(
        &self,
        py: Python<'py>,
        ax: Option<Bound<'py, PyAny>>,
        every: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let step: Span = every.parse().map_err(error)?;
        let shown = (self.rates(py, every)?, step.as_secs_f64());
        py.import("tcpexmachina._plots")?.call_method1("capacity", (ax, shown))
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

impl Trace {
    fn rates_over(&self, window: Span) -> PyResult<impl Iterator<Item = Rate>> {
        let period = self.trace.period();
        let windows = period.as_nanos().checked_div(window.as_nanos());
        if !windows.is_some_and(|windows| (1..=MOST_RATES).contains(&windows)) {
            return Err(error(format!(
                "the trace lasts {period}: give a part of that as every, at least a {MOST_RATES}th, not {window}"
            )));
        }
        Ok(self.trace.rates(Instant::ZERO, Instant::ZERO + period, window))
    }

    /// The interval over which the capacity is averaged in the picture: it has 10 points at least and 1000 at most.
    fn window(&self) -> Span {
        let period = self.trace.period().as_nanos();
        Span::from_nanos(WINDOW.as_nanos().clamp(period.div_ceil(1000), (period / 10).max(1)))
    }
}
