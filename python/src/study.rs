//! Scores, comparisons, checks and the search for the worst networks.

#![expect(clippy::too_many_arguments, reason = "to Python they are keywords")]
#![expect(clippy::needless_pass_by_value, reason = "pyo3 makes values of Python's arguments")]

use crate::columns::Columns;
use crate::controller::Stop;
use crate::error::error;
use crate::names::Given;
use crate::scenario::Scenario;
use crate::table::{Model, Table};
use crate::work::{Progress, heed, interruptible, watched};
use exmachina::design::check::{self, Check};
use exmachina::design::falsify::{self, Falsify, Space};
use exmachina::design::score::{Contender, HeldOut, Scheme, Scores, held_out, held_out_count};
use exmachina::design::stress::Summary;
use exmachina::design::{Model as DesignModel, Objective};
use exmachina::experiment::{self as experiments, Experiment, Options, PLACEHOLDER, Plan, Store};
use exmachina::measure::Estimate;
use exmachina::sim::builtin::split_queue;
use exmachina::sim::network::{Host, Transport};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The host called `name`.
fn host(name: &str) -> PyResult<Host> {
    Host::named(name).ok_or_else(|| {
        error(format!("there is no host \"{name}\": {}", exm_grammar::suggest(name, &Host::NAMES)))
    })
}

/// Scores contenders, by their names, on networks held out from every search.
#[pyfunction]
#[pyo3(name = "score", signature = (model, contenders, controllers, specimens = 1000, seed = 1, on = None, progress = None))]
pub(crate) fn score_contenders<'py>(
    py: Python<'py>,
    model: &Model,
    contenders: Vec<String>,
    controllers: &Bound<'py, PyDict>,
    specimens: usize,
    seed: u64,
    on: Option<&str>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    if contenders.is_empty() || specimens < 2 {
        return Err(error("give contenders, and two specimens at least"));
    }
    let stop = Arc::new(Stop::default());
    let given = Given::new(Some(controllers), &stop)?;
    let host = on.map_or(Ok(model.model.design().host), host)?;
    let contender = |name: String| {
        let scheme = match controllers.get_item(&name)? {
            Some(value) if value.is_instance_of::<Table>() => {
                Scheme::Table(value.cast::<Table>()?.get().file.table.clone())
            }
            _ if given.is_controller(&name) => Scheme::Controller(given.controller(&name)?),
            _ => {
                let file = crate::names::table(&name, Path::new(&name)).map_err(error)?;
                given.note(&name, &file);
                Scheme::Table(file.table)
            }
        };
        Ok(Contender { name, scheme })
    };
    let contenders: Vec<Contender> =
        contenders.into_iter().map(contender).collect::<PyResult<_>>()?;
    let on = HeldOut { seed, specimens, host };
    let warnings = given.warnings_on(&model.model);
    let done = Progress::of((held_out_count(&model.model, specimens) * contenders.len()) as u64);
    let (model, heeded, counted) = (model.model.clone(), Arc::clone(&stop), Arc::clone(&done));
    let work = move || {
        let each = || {
            counted.advance(1);
            heed(&heeded);
        };
        held_out(&model, &on, &contenders, &each).map_err(error)
    };
    let watching = (&*done, progress.as_ref());
    let scores = watched(py, (&stop, given.calls_python), watching, work)?;
    given.check()?;
    let dict = score_columns(py, &scores)?;
    dict.set_item("warnings", warnings)?;
    Ok(dict)
}

fn score_columns<'py>(py: Python<'py>, scores: &Scores) -> PyResult<Bound<'py, PyDict>> {
    let mut rows = Columns::default();
    let all = || scores.contenders.iter();
    rows.texts("name", all().map(|one| one.name.clone()));
    let mut interval = |[mean, low, high]: [&'static str; 3],
                        of: &dyn Fn(usize) -> Option<Estimate>| {
        let each = || (0..scores.contenders.len()).map(of);
        rows.numbers(mean, each().map(|one| Some(one?.mean)));
        rows.numbers(low, each().map(|one| Some(one?.interval().0)));
        rows.numbers(high, each().map(|one| Some(one?.interval().1)));
    };
    let of = &scores.contenders;
    interval(["score", "score_low", "score_high"], &|at| Some(of[at].score));
    interval(["relative", "relative_low", "relative_high"], &|at| Some(of[at].normalised));
    interval(["gap", "gap_low", "gap_high"], &|at| Some(of[at].to_omniscient));
    interval(["difference", "difference_low", "difference_high"], &|at| of[at].difference);
    rows.numbers("share", all().map(|one| Some(one.share)));
    rows.numbers("rtt_ratio", all().map(|one| one.rtt_ratio));
    let mut trials = Columns::default();
    let each =
        || all().flat_map(|one| one.trials.iter().enumerate().map(move |(at, t)| (one, at, t)));
    trials.texts("name", each().map(|(one, ..)| one.name.clone()));
    trials.counts("network", each().map(|(_, at, _)| at as u64));
    trials.numbers("score", each().map(|(.., trial)| Some(trial.score)));
    trials.numbers("relative", each().map(|(.., trial)| Some(trial.normalised)));
    trials.numbers("omniscient", each().map(|(.., trial)| Some(trial.omniscient)));
    trials.numbers("share", each().map(|(.., trial)| Some(trial.share)));
    trials.numbers("rtt_ratio", each().map(|(.., trial)| trial.rtt_ratio));
    let queueing = each().map(|(.., trial)| trial.queueing_ms.map(|millis| millis / 1e3));
    trials.numbers("queueing_delay_s", queueing);
    let dict = PyDict::new(py);
    dict.set_item("host", scores.host.name())?;
    dict.set_item("seed", scores.seed)?;
    dict.set_item("specimens", scores.specimens)?;
    dict.set_item("omniscient", scores.omniscient)?;
    dict.set_item("contenders", rows.into_dict(py)?)?;
    dict.set_item("trials", trials.into_dict(py)?)?;
    Ok(dict)
}

/// Which of the tables that `model` designs is called `name`, or is the only one.
fn index(model: &DesignModel, name: Option<&str>) -> PyResult<usize> {
    let names = model.tables();
    let found = match name {
        None if names.len() == 1 => Some(0),
        None => None,
        Some(name) => names.iter().position(|one| one == name),
    };
    found.ok_or_else(|| {
        let problem = match name {
            None => "the model designs several tables".to_owned(),
            Some(name) => format!("the model designs no table called \"{name}\""),
        };
        error(format!("{problem}: give one of these as name: {}", names.join(", ")))
    })
}

/// Checks a table around a model, and returns what was found. `name` is its name where the model designs several.
#[pyfunction]
#[pyo3(name = "check", signature = (table, model = None, name = None, seed = exmachina::design::stress::HELD_OUT_SEED))]
pub(crate) fn check_table<'py>(
    py: Python<'py>,
    table: &Table,
    model: Option<&Model>,
    name: Option<&str>,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let model = match (model, table.file.provenance.model.as_deref()) {
        (Some(model), _) => model.model.clone(),
        (None, Some(text)) => DesignModel::parse(text, "the table's model").map_err(error)?,
        (None, None) => {
            return Err(error(
                "the table's file does not have the model it was designed for: give it",
            ));
        }
    };
    let index = index(&model, name)?;
    let rules = table.file.table.clone();
    let work = move || Ok(check::check(&model, index, &rules, seed));
    let check: Check = interruptible(py, &Arc::new(Stop::default()), false, work)?;
    let around = |summary: &Summary| -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("networks", summary.networks)?;
        dict.set_item("collapses", summary.collapses)?;
        dict.set_item("worst_rtt", summary.worst_rtt)?;
        dict.set_item("shortfall", summary.shortfall)?;
        Ok(dict)
    };
    let dict = PyDict::new(py);
    dict.set_item("verdict", format!("{:?}", check.verdict()).to_lowercase())?;
    dict.set_item("near", around(&check.near)?)?;
    dict.set_item("far", around(&check.far)?)?;
    dict.set_item("starved", check.foreign.starved)?;
    let texts = |texts: Vec<String>| texts;
    dict.set_item("collapses", texts(check.findings.iter().map(ToString::to_string).collect()))?;
    let starvations = check.starvations.iter().map(ToString::to_string).collect();
    dict.set_item("starvations", texts(starvations))?;
    dict.set_item("proven", texts(check.proven.iter().map(ToString::to_string).collect()))?;
    Ok(dict)
}

/// How to search for the worst networks.
#[derive(FromPyObject)]
pub(crate) struct Search {
    #[pyo3(item)]
    around: f64,
    #[pyo3(item)]
    delta: Option<f64>,
    #[pyo3(item)]
    competitor: String,
    #[pyo3(item)]
    host: String,
    #[pyo3(item)]
    tries: usize,
    #[pyo3(item)]
    seed: u64,
}

/// Searches the networks on which `cc` performs worst relative to `against`, and returns what was found, the
/// worst first, each with the text of its scenario.
#[pyfunction]
#[pyo3(name = "falsify", signature = (cc, against, controllers, model, search, progress = None))]
pub(crate) fn falsify_controller<'py>(
    py: Python<'py>,
    cc: &str,
    against: &str,
    controllers: &Bound<'py, PyDict>,
    model: Option<&Model>,
    search: Search,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<Bound<'py, PyDict>>, Vec<String>)> {
    let stop = Arc::new(Stop::default());
    let given = Given::new(Some(controllers), &stop)?;
    let falsify = falsify_search((cc, against), &given, model, &search)?;
    let done = Progress::of(falsify.simulations() as u64);
    let (heeded, counted) = (Arc::clone(&stop), Arc::clone(&done));
    let work = move || {
        let each = || {
            counted.advance(1);
            heed(&heeded);
        };
        falsify.search(&each).map_err(error)
    };
    let watching = (&*done, progress.as_ref());
    let found = watched(py, (&stop, given.calls_python), watching, work)?;
    given.check()?;
    let on = host(&search.host)?;
    let row = |found: &falsify::Counterexample| {
        let median = found.deficit.median;
        let title = format!("{cc} is {median:.1} points behind {against}");
        let tested = (cc, on);
        let text =
            falsify::scenario(&found.network, &title, found.seed, tested, &search.competitor);
        let dict = PyDict::new(py);
        dict.set_item("deficit", median)?;
        dict.set_item("interval", (found.deficit.low, found.deficit.high))?;
        for (name, got) in [("tested", &found.tested), ("reference", &found.reference)] {
            let results = PyDict::new(py);
            results.set_item("score", got.score)?;
            results.set_item("share", got.share)?;
            results.set_item("rtt_ratio", got.rtt_ratio)?;
            dict.set_item(name, results)?;
        }
        dict.set_item("scenario", text)?;
        Ok(dict)
    };
    Ok((found.iter().map(row).collect::<PyResult<_>>()?, given.unsandboxed()))
}

fn falsify_search(
    (cc, against): (&str, &str),
    given: &Given,
    model: Option<&Model>,
    search: &Search,
) -> PyResult<Falsify> {
    let Search { around, delta, competitor, host: on, tries, seed } = search;
    if !(1.0..=1000.0).contains(around) {
        return Err(error("give a number from 1 to 1000 for around"));
    }
    if !(16..=1_000_000).contains(tries) {
        return Err(error("give 16 to 1000000 tries"));
    }
    let mut objective =
        model.map_or_else(Objective::default, |model| model.model.objective().clone());
    if let Some(delta) = delta {
        if !(0.0..=Objective::MAX_DELTA).contains(delta) {
            return Err(error(format!(
                "give a number from 0 to {} for delta",
                Objective::MAX_DELTA
            )));
        }
        objective.delta = *delta;
    }
    let mut space = model.map_or_else(Space::default, |model| Space::around(&model.model, *around));
    if competitor == "none" {
        space.competitors = 0;
    }
    let transport = |name: &str, host: Host| -> PyResult<Transport> {
        let controller = given.controller(name)?;
        match host.suits(&controller) {
            true => Ok(host.transport(controller)),
            false => Err(error(format!(
                "{name} is designed for TCP, and the bare host does not retransmit: run it over TCP"
            ))),
        }
    };
    let host = host(on)?;
    let competitor = if competitor == "none" { "cubic" } else { competitor };
    Ok(Falsify {
        space,
        tested: transport(cc, host)?,
        reference: transport(against, host)?,
        competitor: transport(competitor, Host::Tcp)?,
        objective,
        tries: *tries,
        seed: *seed,
    })
}

/// Counts the work of runs, and stops them on an interrupt.
struct Watch {
    stop: Arc<Stop>,
    done: Arc<Progress>,
}

impl experiments::Watch for Watch {
    fn advance(&self, work: u64) {
        self.done.advance(work);
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_stopped()
    }
}

/// Compares schemes on a scenario as `exm compare` does, with its runs and pictures in `folder`; returns the JSON of
/// the results.
#[pyfunction]
#[pyo3(signature = (scenario, schemes, controllers, runs, seed, folder, progress = None))]
pub(crate) fn compare(
    py: Python<'_>,
    scenario: &Scenario,
    schemes: Vec<String>,
    controllers: &Bound<'_, PyDict>,
    runs: u64,
    seed: Option<u64>,
    folder: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    if !(1..=experiments::MAX_RUNS).contains(&runs) {
        return Err(error(format!("give 1 to {} runs", experiments::MAX_RUNS)));
    }
    let stop = Arc::new(Stop::default());
    let all = scenario.controllers.bind(py).copy()?;
    all.update(controllers.as_mapping())?;
    let given = Given::new(Some(&all), &stop)?;
    let (text, dir) = scenario.scenario.source();
    let text = with_schemes(text, &schemes)?;
    let experiment = Experiment::parse(&text, "the comparison", dir).map_err(error)?;
    let options = Options { runs: Some(runs), seed, ..Options::default() };
    let plan = Plan::new(experiment, &options, &mut |name, path| given.load(name, path));
    let mut plan = plan.map_err(error)?;
    plan.warnings = given.warnings(plan.cases.iter().map(|case| (&case.scenario, &case.network)));
    let done = Progress::of(experiments::total_work(&plan));
    let watch = Watch { stop: Arc::clone(&stop), done: Arc::clone(&done) };
    let work = move || {
        let (store, rows) = Store::open(&folder, &plan, true).map_err(error)?;
        let rows = experiments::run(&plan, store, rows, &watch).map_err(error)?;
        if !experiments::is_complete(&plan, &rows) {
            return Err(error("the comparison was stopped"));
        }
        let command = "tcpexmachina.compare".to_owned();
        Ok(experiments::write(&folder, &plan, &rows, command).map_err(error)?.to_json())
    };
    watched(py, (&stop, given.calls_python), (&*done, progress.as_ref()), work)
}

/// The text of a scenario as that of an experiment with these schemes. They control the flows whose controller is
/// `"scheme"`, or else the only group of flows.
fn with_schemes(text: &str, schemes: &[String]) -> PyResult<String> {
    let mut document: toml::Table = text.parse().map_err(error)?;
    document.remove("experiment");
    let mut flows: Vec<&mut toml::Value> = Vec::new();
    for (key, value) in &mut document {
        match (key.as_str(), value) {
            ("dumbbell", value) => flows.push(value),
            ("flow", toml::Value::Array(list)) => flows.extend(list),
            _ => {}
        }
    }
    let waits = |flow: &&mut toml::Value| {
        flow.get("controller").and_then(toml::Value::as_str) == Some(PLACEHOLDER)
    };
    if !flows.iter().any(waits) {
        let [toml::Value::Table(only)] = flows.as_mut_slice() else {
            return Err(error(format!(
                "the scenario has several groups of flows: give controller = \"{PLACEHOLDER}\" to those that the \
                 schemes control"
            )));
        };
        only.insert("controller".to_owned(), PLACEHOLDER.into());
    }
    let scheme = |name: &String| {
        let (controller, queue) = split_queue(name);
        let mut scheme = toml::Table::new();
        scheme.insert("name".to_owned(), name.as_str().into());
        scheme.insert("controller".to_owned(), controller.into());
        if let Some(queue) = queue {
            scheme.insert("queue".to_owned(), queue.into());
        }
        toml::Value::Table(scheme)
    };
    let schemes: Vec<toml::Value> = schemes.iter().map(scheme).collect();
    let mut experiment = toml::Table::new();
    experiment.insert("scheme".to_owned(), schemes.into());
    document.insert("experiment".to_owned(), experiment.into());
    Ok(document.to_string())
}
