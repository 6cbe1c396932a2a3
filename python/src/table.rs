//! [`Table`], [`Rule`] and [`Model`].

use crate::error::error;
use crate::names;
use crate::work::interruptible;
use exmachina::design::rule_map::{Colour, Seen, View};
use exmachina::design::{Conditions, Model as DesignModel};
use exmachina::measure::figure::RuleMap;
use exmachina::remy::{Memory, Point, RemyCc, Signal};
use exmachina::sim::controllers::AnyController;
use exmachina::sim::engine::run_observed;
use exmachina::sim::scenario::Scenario;
use exmachina::table::TableFile;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The scenario that pictures of tables are simulated on.
const NETWORK: &str = "dumbbell";

/// A RemyCC: a table of rules, with where it comes from. It is a sequence of its rules.
#[pyclass(frozen, module = "tcpexmachina")]
pub(crate) struct Table {
    pub(crate) file: TableFile,
}

/// A rule of a table: where it applies, by the names of signals, and its action.
#[pyclass(frozen, get_all, module = "tcpexmachina")]
pub(crate) struct Rule {
    /// Its number in the table.
    index: usize,
    /// The lower bounds of the signals that the table uses.
    lower: BTreeMap<&'static str, f64>,
    /// Their upper bounds, exclusive.
    upper: BTreeMap<&'static str, f64>,
    /// The factor of the window.
    multiple: f64,
    /// Packets added to the window.
    increment: i32,
    /// The minimum time between sends, s.
    intersend_s: f64,
}

#[pymethods]
impl Rule {
    fn __repr__(&self) -> String {
        let Rule { index, multiple, increment, intersend_s, .. } = self;
        format!("<Rule {index}: window {multiple} x + {increment}, intersend {intersend_s} s>")
    }
}

#[pymethods]
impl Table {
    /// The table in the file `name`, `.json` or `.dna`, or, where there is no such file, the shipped one of that
    /// name.
    #[staticmethod]
    fn load(name: &str) -> PyResult<Table> {
        let file = names::table(name, Path::new(name)).map_err(error)?;
        Ok(Table { file })
    }

    /// The table that is this JSON.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Table> {
        Ok(Table { file: TableFile::from_json(text).map_err(error)? })
    }

    /// The table as JSON.
    fn to_json(&self) -> String {
        self.file.to_json()
    }

    /// Writes a file, whole or not at all: JSON or Remy's format by its extension, `.json` or `.dna`.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.file.save(path).map_err(error)
    }

    /// The names of the signals that it uses.
    #[getter]
    fn signals(&self) -> Vec<&'static str> {
        self.file.table.signals().iter().map(Signal::name).collect()
    }

    /// The rule for a memory: signals by their names, those that are missing as at the start of a flow.
    #[pyo3(signature = (memory = None))]
    fn find(&self, memory: Option<BTreeMap<String, f64>>) -> PyResult<Rule> {
        let mut point: Point = Memory::default().signals();
        for (name, value) in memory.into_iter().flatten() {
            let signal: Signal = name.parse().map_err(error)?;
            point[signal.index()] = value;
        }
        Ok(self.rule(self.file.table.find(&point)))
    }

    /// What it was designed for, in words; none if its file does not have the model.
    #[getter]
    fn conditions(&self) -> Option<String> {
        let model = DesignModel::parse(self.file.provenance.model.as_deref()?, "the model").ok()?;
        Some(Conditions::of_model(&model).to_string())
    }

    /// Where it comes from: the program, the command, the search, its seed and CPU time, the objective and the
    /// text of the model, as far as its file has them.
    #[getter]
    fn provenance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let from = &self.file.provenance;
        let dict = PyDict::new(py);
        let texts = [
            ("program", &from.program),
            ("command", &from.command),
            ("search", &from.search),
            ("objective", &from.objective),
            ("model", &from.model),
            ("notes", &from.notes),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                dict.set_item(name, text)?;
            }
        }
        if let Some(seed) = from.seed {
            dict.set_item("seed", seed)?;
        }
        if let Some(steps) = from.steps {
            dict.set_item("steps", steps)?;
        }
        if let Some(seconds) = from.cpu_seconds {
            dict.set_item("cpu_seconds", seconds)?;
        }
        Ok(dict)
    }

    /// Its rules as a map of two signals, as `exm table plot` draws it: with the way of the senders of the scenario
    /// "dumbbell" through them.
    #[pyo3(signature = (name = "the table", x = "rtt_ratio", y = "ack_ewma"))]
    fn map_svg(&self, py: Python<'_>, name: &str, x: &str, y: &str) -> PyResult<String> {
        Ok(self.map(py, name, [x, y])?.svg())
    }

    fn _repr_svg_(&self, py: Python<'_>) -> PyResult<String> {
        self.map_svg(py, "the table", "rtt_ratio", "ack_ewma")
    }

    /// Draws that map by matplotlib; returns the axes.
    #[pyo3(signature = (ax = None, *, x = "rtt_ratio", y = "ack_ewma"))]
    fn plot<'py>(
        &self,
        py: Python<'py>,
        ax: Option<Bound<'py, PyAny>>,
        x: &str,
        y: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let map = self.map(py, "the table", [x, y])?;
        let boxes: Vec<_> = map.boxes.iter().map(|rule| (rule.x, rule.y, rule.value)).collect();
        let colours = (map.colours.title, map.colours.low, map.colours.high);
        let shown = (map.title, map.x, map.y, colours, boxes, map.trajectory);
        py.import("tcpexmachina._plots")?.call_method1("rule_map", (ax, shown))
    }

    fn __len__(&self) -> usize {
        self.file.table.rules().len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let rules = (0..self.file.table.rules().len()).map(|index| self.rule(index));
        PyList::new(py, rules.collect::<Vec<Rule>>())?.try_iter()
    }

    fn __getitem__(&self, index: isize) -> PyResult<Rule> {
        let count = self.file.table.rules().len();
        let at = if index < 0 { index + count.cast_signed() } else { index };
        match usize::try_from(at).ok().filter(|&at| at < count) {
            Some(at) => Ok(self.rule(at)),
            None => Err(PyIndexError::new_err(format!("there is no rule {index}: it has {count}"))),
        }
    }

    fn __eq__(&self, other: &Table) -> bool {
        self.file == other.file
    }

    fn __hash__(&self) -> u64 {
        TableFile::rules_hash(&self.file.table)
    }

    fn __repr__(&self) -> String {
        let signals = self.signals().join(", ");
        format!("<Table of {} rules by {signals}>", self.file.table.rules().len())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let read = py.get_type::<Table>().getattr("from_json")?;
        (read, (self.to_json(),)).into_pyobject(py)
    }
}

impl Model {
    /// `model`, which messages call `label`.
    pub(crate) fn of(model: DesignModel, label: String) -> Model {
        Model { model, label }
    }
}

impl Table {
    /// Its rules as a map of the signals called `x` and `y`.
    fn map(&self, py: Python<'_>, name: &str, [x, y]: [&str; 2]) -> PyResult<RuleMap> {
        let signal = |name: &str| name.parse::<Signal>().map_err(error);
        let view = View { x: signal(x)?, y: signal(y)?, colour: Colour::Growth };
        if view.x == view.y {
            return Err(error(format!("{x} is on both axes: give two signals")));
        }
        let text = names::scenario(NETWORK)?.expect("it is shipped");
        let (name, table) = (name.to_owned(), self.file.table.clone());
        let work = move || {
            let mut scenario = Scenario::parse(text, NETWORK, Path::new("")).map_err(error)?;
            for group in &mut scenario.flows {
                name.clone_into(&mut group.controller);
            }
            let controller = AnyController::from(RemyCc::new(&table));
            let network = scenario.network(&mut |_, _| Ok(controller.clone())).map_err(error)?;
            let title = scenario.title.as_deref().unwrap_or(NETWORK);
            let mut seen = Seen::default();
            run_observed(&network, scenario.seed, &mut seen);
            Ok(view.map(&name, &table, &seen, title))
        };
        interruptible(py, &Arc::default(), false, work)
    }

    fn rule(&self, index: usize) -> Rule {
        let table = &self.file.table;
        let rule = &table.rules()[index];
        let of = |point: &Point| {
            table.signals().iter().map(|signal| (signal.name(), point[signal.index()])).collect()
        };
        Rule {
            index,
            lower: of(&rule.domain.lower),
            upper: of(&rule.domain.upper),
            multiple: rule.action.multiple,
            increment: rule.action.increment,
            intersend_s: rule.action.intersend_ms / 1e3,
        }
    }
}

/// Networks, traffic and an objective: what a table is designed for and scored on.
#[pyclass(frozen, module = "tcpexmachina")]
pub(crate) struct Model {
    pub(crate) model: DesignModel,
    label: String,
}

#[pymethods]
impl Model {
    #[new]
    #[pyo3(signature = (text, name = "the model", dir = PathBuf::new()))]
    #[expect(clippy::needless_pass_by_value, reason = "pyo3 makes values of Python's arguments")]
    fn new(text: &str, name: &str, dir: PathBuf) -> PyResult<Model> {
        let model = DesignModel::parse_in(text, name, &dir).map_err(error)?;
        Ok(Model { model, label: name.to_owned() })
    }

    /// The model in the file `name` or, where there is no such file, the shipped one of that name.
    #[staticmethod]
    fn load(name: &str) -> PyResult<Model> {
        Ok(Model { model: names::model(name)?, label: name.to_owned() })
    }

    /// The same model with another weight of delay.
    fn with_delta(&self, delta: f64) -> PyResult<Model> {
        Ok(Model { model: self.model.with_delta(delta).map_err(error)?, label: self.label.clone() })
    }

    /// Its text as a file.
    #[getter]
    fn text(&self) -> &str {
        self.model.text()
    }

    /// Where relative paths of files that it names start.
    #[getter]
    fn dir(&self) -> &Path {
        self.model.dir()
    }

    /// The name in its file.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.model.name()
    }

    /// Its objective, in words.
    #[getter]
    fn objective(&self) -> String {
        self.model.objectives()
    }

    /// Its networks, in words.
    #[getter]
    fn conditions(&self) -> String {
        Conditions::of_model(&self.model).to_string()
    }

    /// The largest number of senders of designed tables in one of its networks.
    #[getter]
    fn most_senders(&self) -> usize {
        self.model.most_senders()
    }

    /// The names of the tables that it designs.
    #[getter]
    fn tables(&self) -> Vec<String> {
        self.model.tables().to_vec()
    }

    fn __eq__(&self, other: &Model) -> bool {
        self.model.fingerprint() == other.model.fingerprint()
    }

    fn __hash__(&self) -> u64 {
        self.model.fingerprint()
    }

    fn __repr__(&self) -> String {
        format!("<Model \"{}\": {}>", self.model.name().unwrap_or(&self.label), self.conditions())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let class = py.get_type::<Model>();
        let arguments = (self.model.text(), &self.label, self.model.dir()).into_pyobject(py)?;
        (class, arguments).into_pyobject(py)
    }
}
