//! [`Environment`] and [`Vector`]: what the environments of Gymnasium and PettingZoo run.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 makes values of Python's arguments")]

use crate::controller::Stop;
use crate::error::error;
use crate::names::Given;
use crate::policy::{describe, interface, named};
use crate::report;
use crate::scenario::Scenario;
use crate::table::Model;
use exm_learn::{Learners, Results, Reward, Settings, Source};
use exmachina::sim::network::{FlowSpec, Host, Network};
use exmachina::sim::scenario;
use exmachina::units::Span;
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// What the keywords of an environment say.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Keywords {
    observation: String,
    history: usize,
    action: String,
    change: Option<f64>,
    interval: String,
    reward: String,
    others: String,
    host: String,
    duration: Option<String>,
    /// The numbers of the flows that learn: none for a model's first or all.
    flows: Option<Vec<usize>>,
    all: bool,
}

/// Where networks come from: a model, or a scenario.
#[derive(FromPyObject)]
enum Origin<'py> {
    Model(PyRef<'py, Model>),
    Scenario(PyRef<'py, Scenario>),
}

/// What an environment is made of.
struct Parts {
    source: Source,
    settings: Settings,
    given: Given,
    stop: Arc<Stop>,
    scenario: Option<scenario::Scenario>,
}

fn parts(
    py: Python<'_>,
    from: &Origin<'_>,
    keywords: &Keywords,
    controllers: &Bound<'_, PyDict>,
) -> PyResult<Parts> {
    let interface = interface(
        &keywords.observation,
        keywords.history,
        &keywords.action,
        keywords.change,
        &keywords.interval,
    )?;
    let reward = named("reward", &keywords.reward, &Reward::ALL, Reward::name)?;
    let host = named("host", &keywords.host, &Host::ALL, Host::name)?;
    let duration: Option<Span> = match &keywords.duration {
        Some(text) => Some(text.parse().map_err(error)?),
        None => None,
    };
    let stop = Arc::new(Stop::default());
    let mut given = Given::new(Some(controllers), &stop)?;
    let others = given.controller(&keywords.others)?;
    let learners = if keywords.all { Learners::All } else { Learners::First };
    let settings = Settings { interface, reward, learners, others, host, duration };
    let (source, scenario) = match from {
        Origin::Model(model) => (Source::Model(Box::new(model.model.clone())), None),
        Origin::Scenario(from) => {
            let own = Given::new(Some(from.controllers.bind(py)), &stop)?;
            let mut scenario = from.scenario.clone();
            if let Some(duration) = duration {
                scenario.duration = duration;
            }
            let network =
                scenario.network(&mut |name, path| own.load(name, path)).map_err(error)?;
            given.calls_python |= own.calls_python;
            let flows = match &keywords.flows {
                Some(flows) => flows.clone(),
                None if keywords.all => (0..network.flows().len()).collect(),
                None => vec![0],
            };
            (Source::Network { network: Box::new(network), flows }, Some(scenario))
        }
    };
    Ok(Parts { source, settings, given, stop, scenario })
}

/// An environment in which flows learn, without the conventions of Gymnasium.
#[pyclass(module = "tcpexmachina._core")]
pub(crate) struct Environment {
    environment: exm_learn::Environment,
    calls_python: bool,
    stop: Arc<Stop>,
    scenario: Option<scenario::Scenario>,
}

#[pymethods]
impl Environment {
    #[new]
    fn new(
        py: Python<'_>,
        source: Origin<'_>,
        keywords: Keywords,
        controllers: &Bound<'_, PyDict>,
        seed: u64,
    ) -> PyResult<Environment> {
        let Parts { source, settings, given, stop, scenario } =
            parts(py, &source, &keywords, controllers)?;
        let environment = exm_learn::Environment::new(source, settings, seed).map_err(error)?;
        stop.check()?;
        Ok(Environment { environment, calls_python: given.calls_python, stop, scenario })
    }

    /// The numbers of an observation and of an action.
    #[getter]
    fn sizes(&self) -> (usize, usize) {
        let interface = &self.environment.settings().interface;
        (interface.inputs(), interface.outputs())
    }

    /// The bounds of each number of an observation.
    #[getter]
    fn bounds(&self) -> (Vec<f32>, Vec<f32>) {
        bounds(self.environment.settings())
    }

    /// What learners observe and decide, by the names of keywords.
    #[getter]
    fn interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        describe(py, &self.environment.settings().interface)
    }

    /// How many flows learn in the present network.
    #[getter]
    fn learners(&self) -> usize {
        self.environment.learners()
    }

    /// Begins the episode of `seed`.
    fn reset(&mut self, py: Python<'_>, seed: u64) -> PyResult<()> {
        self.work(py, |environment| environment.reset(seed)).map_err(error)?;
        self.stop.check()
    }

    /// Writes the observations of all learners.
    fn observe(&mut self, py: Python<'_>, observations: &Bound<'_, PyAny>) -> PyResult<()> {
        let (inputs, _) = self.sizes();
        let buffer = buffer::<f32>(observations, inputs * self.learners(), "the observations")?;
        let mut room = vec![0.0; inputs * self.learners()];
        for (learner, room) in room.chunks_exact_mut(inputs).enumerate() {
            self.environment.observe(learner, room);
        }
        buffer.copy_from_slice(py, &room)
    }

    /// Takes the actions of all learners, and writes their next observations. Returns their rewards, and whether the
    /// episode has ended.
    fn step(
        &mut self,
        py: Python<'_>,
        actions: &Bound<'_, PyAny>,
        observations: &Bound<'_, PyAny>,
    ) -> PyResult<(Vec<f64>, bool)> {
        let actions = numbers(py, actions)?;
        self.work(py, |environment| environment.step(&actions).map(drop)).map_err(error)?;
        self.stop.check()?;
        self.observe(py, observations)?;
        let rewards = (0..self.learners()).map(|learner| self.environment.reward(learner));
        Ok((rewards.collect(), self.environment.has_ended()))
    }

    /// Which learners are due to act.
    #[getter]
    fn acts(&self) -> Vec<bool> {
        (0..self.learners()).map(|learner| self.environment.acts(learner)).collect()
    }

    /// The mean score of the learners so far, by the model's objective; None without a model.
    #[getter]
    fn score(&self) -> Option<f64> {
        self.environment.score()
    }

    /// The simulated time, s.
    #[getter]
    fn now(&self) -> f64 {
        self.environment.simulation().now().as_secs_f64()
    }

    /// What learner number `learner` measured in its last interval.
    fn measurement<'py>(&self, py: Python<'py>, learner: usize) -> PyResult<Bound<'py, PyDict>> {
        if learner >= self.learners() {
            return Err(error(format!(
                "there is no learner {learner}: there are {}",
                self.learners()
            )));
        }
        let of = self.environment.measured(learner);
        let dict = PyDict::new(py);
        dict.set_item("duration_s", report::seconds(of.duration))?;
        dict.set_item("sent", of.sent)?;
        dict.set_item("delivered", of.delivered)?;
        dict.set_item("lost", of.lost)?;
        dict.set_item("rtt_s", report::seconds(of.rtt))?;
        dict.set_item("min_rtt_s", report::seconds(of.min_rtt))?;
        dict.set_item("in_flight", of.in_flight.get())?;
        Ok(dict)
    }

    /// The results so far, as of a scenario's simulation.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let simulation = self.environment.simulation();
        let report = self.environment.report();
        let network = simulation.network();
        let mut known = match &self.scenario {
            Some(scenario) => report::known(scenario),
            None => network.flows().iter().map(|flow| drawn(flow, network)).collect(),
        };
        for learner in 0..self.learners() {
            known[self.environment.flow(learner)].controller = "learner".to_owned();
        }
        let results = PyDict::new(py);
        results.set_item("title", self.scenario.as_ref().and_then(|of| of.title.as_deref()))?;
        results.set_item("seed", report.seed)?;
        results.set_item("duration_s", simulation.now().as_secs_f64())?;
        results.set_item("events", report.events)?;
        let flows = report::flows(&known, network, &report);
        results.set_item("flows", flows.into_dict(py)?)?;
        results.set_item("links", report::links(&report).into_dict(py)?)?;
        Ok(results)
    }

    /// A copy with its whole state, to look ahead.
    fn __copy__(&self) -> Environment {
        Environment {
            environment: self.environment.clone(),
            calls_python: self.calls_python,
            stop: Arc::clone(&self.stop),
            scenario: self.scenario.clone(),
        }
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Environment {
        self.__copy__()
    }
}

impl Environment {
    /// Runs `work` without the GIL, unless controllers need it.
    fn work<T: Send>(
        &mut self,
        py: Python<'_>,
        work: impl FnOnce(&mut exm_learn::Environment) -> T + Send,
    ) -> T {
        let environment = &mut self.environment;
        if self.calls_python { work(environment) } else { py.detach(|| work(environment)) }
    }
}

/// Environments of one learner each, stepped together on all cores.
#[pyclass(module = "tcpexmachina._core")]
pub(crate) struct Vector {
    vector: exm_learn::Vector,
    bounds: (Vec<f32>, Vec<f32>),
}

#[pymethods]
impl Vector {
    #[new]
    fn new(
        py: Python<'_>,
        source: Origin<'_>,
        keywords: Keywords,
        controllers: &Bound<'_, PyDict>,
        seeds: Vec<u64>,
    ) -> PyResult<Vector> {
        let Parts { source, settings, given, .. } = parts(py, &source, &keywords, controllers)?;
        if given.calls_python {
            return Err(error(
                "environments that are stepped together run no controllers written in Python: they would wait for \
                 each other; make single ones",
            ));
        }
        let bounds = bounds(&settings);
        let made = py.detach(|| exm_learn::Vector::new(source, settings, &seeds));
        Ok(Vector { vector: made.map_err(error)?, bounds })
    }

    /// The numbers of an observation and of an action.
    #[getter]
    fn sizes(&self) -> (usize, usize) {
        self.vector.sizes()
    }

    /// The bounds of each number of an observation.
    #[getter]
    fn bounds(&self) -> (Vec<f32>, Vec<f32>) {
        self.bounds.clone()
    }

    /// Begins new episodes of all; where seeds are given, from these on.
    fn reset(
        &mut self,
        py: Python<'_>,
        seeds: Option<Vec<u64>>,
        observations: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (inputs, _) = self.vector.sizes();
        let buffer = buffer::<f32>(observations, inputs * self.vector.len(), "the observations")?;
        let vector = &mut self.vector;
        let mut room = vec![0.0; inputs * vector.len()];
        py.detach(|| {
            vector.reset(seeds.as_deref())?;
            vector.observe(&mut room);
            Ok(())
        })
        .map_err(|problem: exm_learn::ResetError| error(problem))?;
        buffer.copy_from_slice(py, &room)
    }

    /// Steps all, and writes their observations, rewards, and whether their episodes have ended.
    #[expect(clippy::too_many_arguments, reason = "it writes into three arrays")]
    fn step(
        &mut self,
        py: Python<'_>,
        actions: &Bound<'_, PyAny>,
        observations: &Bound<'_, PyAny>,
        rewards: &Bound<'_, PyAny>,
        ended: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let actions = numbers(py, actions)?;
        let (count, (inputs, _)) = (self.vector.len(), self.vector.sizes());
        let into = buffer::<f32>(observations, inputs * count, "the observations")?;
        let into_rewards = buffer::<f64>(rewards, count, "the rewards")?;
        let into_ended = buffer::<u8>(ended, count, "what has ended")?;
        let (mut room, mut rewards) = (vec![0.0; inputs * count], vec![0.0; count]);
        let mut ended = vec![0; count];
        let results = Results { observations: &mut room, rewards: &mut rewards, ended: &mut ended };
        let vector = &mut self.vector;
        py.detach(|| vector.step(&actions, results)).map_err(error)?;
        into.copy_from_slice(py, &room)?;
        into_rewards.copy_from_slice(py, &rewards)?;
        into_ended.copy_from_slice(py, &ended)
    }

    /// The scores of the episodes that run or have just ended; NaN without a model.
    #[getter]
    fn scores(&self) -> Vec<f64> {
        self.vector.scores()
    }
}

/// What is known of a flow that was drawn from a model.
fn drawn(flow: &FlowSpec, network: &Network) -> report::Known {
    let rtt = flow.propagation(network.links());
    report::Known { name: flow.name.clone(), controller: "other".to_owned(), rtt }
}

fn bounds(settings: &Settings) -> (Vec<f32>, Vec<f32>) {
    let (observation, history) = (settings.interface.observation, settings.interface.history);
    let repeated = |of: Vec<f32>| of.repeat(history);
    (repeated(observation.low().collect()), repeated(observation.high().collect()))
}

/// The numbers of an array of 32-bit floating-point numbers.
fn numbers(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<Vec<f32>> {
    let buffer = PyBuffer::<f32>::get(array)
        .map_err(|_| error("the actions are no array of numpy.float32"))?;
    buffer.to_vec(py)
}

/// The array `what`, which has `expected` numbers and can be written.
fn buffer<T: Element>(
    array: &Bound<'_, PyAny>,
    expected: usize,
    what: &str,
) -> PyResult<PyBuffer<T>> {
    let wrong =
        || error(format!("{what} do not fit into the array: it has to have {expected} numbers"));
    let buffer = PyBuffer::<T>::get(array).map_err(|_| wrong())?;
    let fits = buffer.item_count() == expected && !buffer.readonly() && buffer.is_c_contiguous();
    if fits { Ok(buffer) } else { Err(wrong()) }
}
