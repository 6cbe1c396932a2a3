//! [`Scenario`]: a network, and its simulation.

use crate::columns::Columns;
use crate::controller::Stop;
use crate::error::error;
use crate::names::{self, Given};
use crate::report;
use exmachina::sim::engine::{Observer, Simulation};
use exmachina::sim::metrics::Report;
use exmachina::sim::network::Network;
use exmachina::sim::scenario;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many events are simulated before signals are looked for: some milliseconds of work.
const SLICE: u32 = 1 << 15;
/// By which part of the simulated time progress is reported.
const REPORTED: f64 = 1e-3;

/// A network as a file describes it: links, flows, and how long to simulate it. `controllers` are those that it
/// names and that are neither built in nor files: a dict of names and tables, classes or objects.
#[pyclass(frozen, module = "tcpexmachina")]
pub(crate) struct Scenario {
    text: String,
    name: String,
    dir: PathBuf,
    pub(crate) scenario: scenario::Scenario,
    pub(crate) controllers: Py<PyDict>,
}

#[pymethods]
impl Scenario {
    #[new]
    #[pyo3(signature = (text, name = "the scenario", dir = PathBuf::new(), controllers = None))]
    fn new(
        py: Python<'_>,
        text: String,
        name: &str,
        dir: PathBuf,
        controllers: Option<Py<PyDict>>,
    ) -> PyResult<Scenario> {
        let scenario = scenario::Scenario::parse(&text, name, &dir).map_err(error)?;
        let controllers = controllers.unwrap_or_else(|| PyDict::new(py).unbind());
        Given::new(Some(controllers.bind(py)), &Arc::default())?;
        // As pathlib writes the empty path.
        let dir = if dir == Path::new(".") { PathBuf::new() } else { dir };
        Ok(Scenario { text, name: name.to_owned(), dir, scenario, controllers })
    }

    /// The scenario in the file `name` or, where there is no such file, the shipped one of that name.
    #[staticmethod]
    fn load(py: Python<'_>, name: &str) -> PyResult<Scenario> {
        if let Some(text) = names::scenario(name)? {
            return Scenario::new(py, text.to_owned(), name, PathBuf::new(), None);
        }
        let path = Path::new(name);
        // The library's error where it cannot be read.
        scenario::Scenario::load(path).map_err(error)?;
        let text = std::fs::read_to_string(path).map_err(error)?;
        let dir = path.parent().unwrap_or(Path::new("")).to_owned();
        Scenario::new(py, text, name, dir, None)
    }

    /// The same with some keys set to other values: `{"link.rate": "5 Mbps", "flow.2.rtt": "80 ms"}`. A value of
    /// None removes its key.
    fn with_keys(&self, py: Python<'_>, keys: &Bound<'_, PyDict>) -> PyResult<Scenario> {
        let mut document: toml::Table = self.text.parse().map_err(error)?;
        for (key, value) in keys {
            let (key, value): (String, Option<String>) = (key.extract()?, value.extract()?);
            let value = value.map(|text| literal(&text));
            exmachina::experiment::set_key(&mut document, &key, value.as_ref()).map_err(error)?;
        }
        let controllers = self.controllers.clone_ref(py);
        Scenario::new(py, document.to_string(), &self.name, self.dir.clone(), Some(controllers))
    }

    /// Its text as a file.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// The folder from which its relative paths start.
    #[getter]
    fn dir(&self) -> &Path {
        &self.dir
    }

    /// What it shows.
    #[getter]
    fn title(&self) -> Option<&str> {
        self.scenario.title.as_deref()
    }

    /// The random seed unless another is given.
    #[getter]
    fn seed(&self) -> u64 {
        self.scenario.seed
    }

    /// The simulated time, s.
    #[getter]
    fn duration(&self) -> f64 {
        report::seconds(self.scenario.duration)
    }

    fn __repr__(&self) -> String {
        let flows: usize = self.scenario.flows.iter().map(|group| group.count).sum();
        let links = self.scenario.links.len();
        let title = self.scenario.title.as_deref().unwrap_or(&self.name);
        format!("<Scenario \"{title}\": {flows} flows, {links} links, {}>", self.scenario.duration)
    }

    fn __eq__(&self, py: Python<'_>, other: &Scenario) -> PyResult<bool> {
        let same = self.text == other.text && self.dir == other.dir;
        Ok(same && self.controllers.bind(py).eq(other.controllers.bind(py))?)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let class = py.get_type::<Scenario>();
        let arguments = (&self.text, &self.name, &self.dir, &self.controllers).into_pyobject(py)?;
        (class, arguments).into_pyobject(py)
    }

    /// Simulates it once, and returns the columns of flows and links and, where `every` is an interval such as
    /// `"100 ms"`, of their time series.
    #[pyo3(signature = (seed = None, every = None, progress = None))]
    fn simulate<'py>(
        &self,
        py: Python<'py>,
        seed: Option<u64>,
        every: Option<&str>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let stop = Arc::new(Stop::default());
        let given = Given::new(Some(self.controllers.bind(py)), &stop)?;
        let network =
            self.scenario.network(&mut |name, path| given.load(name, path)).map_err(error)?;
        let seed = seed.unwrap_or(self.scenario.seed);
        let running = Running { network: &network, stop: &stop, given: &given, progress };
        let (report, series) = match every {
            None => (running.run(py, Simulation::new(network.clone(), seed))?.0, None),
            Some(every) => {
                let recorder = report::Series::new(every.parse().map_err(error)?)?;
                let simulation = Simulation::observed(network.clone(), seed, recorder);
                let (report, series) = running.run(py, simulation)?;
                (report, Some(series))
            }
        };
        if let Some(failure) = report.failure() {
            return Err(error(failure));
        }
        self.results(py, &running, &report, series)
    }
}

/// The value `text` of a key: a number, a truth value, a list or a table as in TOML, or else text.
fn literal(text: &str) -> toml::Value {
    let parsed = format!("value = {text}").parse::<toml::Table>().ok();
    let value = parsed.and_then(|mut table| (table.len() == 1).then(|| table.remove("value"))?);
    value.unwrap_or_else(|| toml::Value::String(text.to_owned()))
}

impl Scenario {
    fn results<'py>(
        &self,
        py: Python<'py>,
        &Running { network, given, .. }: &Running<'_>,
        report: &Report,
        series: Option<report::Series>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let results = PyDict::new(py);
        results.set_item("warnings", given.warnings([(&self.scenario, network)]))?;
        results.set_item("title", &self.scenario.title)?;
        results.set_item("seed", report.seed)?;
        results.set_item("duration_s", report::seconds(report.duration))?;
        results.set_item("events", report.events)?;
        results.set_item(
            "flows",
            report::flows(&report::known(&self.scenario), network, report).into_dict(py)?,
        )?;
        results.set_item("links", report::links(report).into_dict(py)?)?;
        let into = |columns: Columns| columns.into_dict(py);
        if let Some(series) = series {
            let names = report::flow_names(&self.scenario);
            let links: Vec<String> = report.links.iter().map(|link| link.name.clone()).collect();
            let [flows, links] = series.columns(&names, &links);
            results.set_item("flow_series", into(flows)?)?;
            results.set_item("link_series", into(links)?)?;
        }
        Ok(results)
    }
}

/// A simulation that heeds signals.
struct Running<'a> {
    network: &'a Network,
    stop: &'a Stop,
    given: &'a Given,
    progress: Option<Py<PyAny>>,
}

impl Running<'_> {
    /// Runs `simulation` to its end, without the GIL unless a controller is written in Python: it would be taken
    /// back for each packet.
    fn run<O: Observer + Clone + Send>(
        &self,
        py: Python<'_>,
        mut simulation: Simulation<O>,
    ) -> PyResult<(Report, O)> {
        let end = self.network.duration().as_nanos() as f64;
        let mut reported = f64::NEG_INFINITY;
        while simulation.now() < simulation.end() && !self.stop.is_stopped() {
            let mut go = || {
                (0..SLICE).try_for_each(|_| simulation.step().map(drop));
            };
            if self.given.calls_python {
                go();
            } else {
                py.detach(go);
            }
            py.check_signals()?;
            let done = (simulation.now().as_nanos() as f64 / end).min(1.0);
            if let Some(progress) = &self.progress
                && (done >= reported + REPORTED || done == 1.0)
            {
                progress.call1(py, (done,))?;
                reported = done;
            }
        }
        self.stop.check()?;
        let observer = simulation.observer().clone();
        Ok((simulation.finish(), observer))
    }
}
