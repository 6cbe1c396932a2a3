//! [`Policy`]: a learnt policy, which is a controller.

use crate::error::error;
use exm_grammar::suggest;
use exm_policy::{ActionSpace, Activation, Interface, Layer, Mlp, Observation};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::path::PathBuf;
use std::sync::Arc;

/// A multilayer perceptron as a congestion controller: what it observes, what it decides, and how often.
#[pyclass(frozen, module = "tcpexmachina")]
pub(crate) struct Policy {
    pub(crate) policy: Arc<exm_policy::Policy>,
}

/// What is named `name` among `all`, which `what` are.
pub(crate) fn named<T: Copy>(
    what: &str,
    name: &str,
    all: &[T],
    name_of: impl Fn(T) -> &'static str,
) -> PyResult<T> {
    let found = all.iter().copied().find(|&one| name_of(one) == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|&one| name_of(one)).collect();
        error(format!("there is no {what} \"{name}\": {}", suggest(name, &names)))
    })
}

/// What learns observes and decides by these names and numbers.
pub(crate) fn interface(
    observation: &str,
    history: usize,
    action: &str,
    change: Option<f64>,
    interval: &str,
) -> PyResult<Interface> {
    let observation = named("observation", observation, &Observation::ALL, Observation::name)?;
    let action = named("action", action, &ActionSpace::ALL, ActionSpace::name)?;
    let change = change.unwrap_or(action.default_change());
    let interval = interval.parse().map_err(error)?;
    let interface = Interface { observation, history, action, change, interval };
    interface.check().map_err(error)?;
    Ok(interface)
}

/// The parts of an interface by the names of arguments.
pub(crate) fn describe<'py>(py: Python<'py>, of: &Interface) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("observation", of.observation.name())?;
    dict.set_item("history", of.history)?;
    dict.set_item("action", of.action.name())?;
    dict.set_item("change", of.change)?;
    dict.set_item("interval", of.interval.to_string())?;
    Ok(dict)
}

#[pymethods]
impl Policy {
    #[new]
    #[pyo3(signature = (
        layers,
        *,
        activation = "tanh",
        observation = "aurora",
        history = 10,
        action = "rate",
        change = None,
        interval = "1 RTT",
        notes = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "to Python they are keywords")]
    fn new(
        layers: Vec<(Vec<Vec<f64>>, Vec<f64>)>,
        activation: &str,
        observation: &str,
        history: usize,
        action: &str,
        change: Option<f64>,
        interval: &str,
        notes: Option<String>,
    ) -> PyResult<Policy> {
        let interface = interface(observation, history, action, change, interval)?;
        let activation = named("activation", activation, &Activation::ALL, Activation::name)?;
        let layers: Vec<Layer> =
            layers.into_iter().map(|(weights, bias)| Layer { weights, bias }).collect();
        let mlp = Mlp::new(&layers, activation, interface.inputs(), interface.outputs());
        let policy = exm_policy::Policy::new(interface, mlp.map_err(error)?).map_err(error)?;
        Ok(Policy { policy: Arc::new(policy.with_notes(notes)) })
    }

    /// The policy in the file `path`.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "pyo3 makes values of Python's arguments")]
    fn load(path: PathBuf) -> PyResult<Policy> {
        Ok(Policy { policy: Arc::new(exm_policy::Policy::load(&path).map_err(error)?) })
    }

    /// The policy that is this JSON.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Policy> {
        Ok(Policy { policy: Arc::new(exm_policy::Policy::from_json(text).map_err(error)?) })
    }

    /// The policy as JSON.
    fn to_json(&self) -> String {
        self.policy.to_json()
    }

    /// Writes a file, whole or not at all, whose name should end with `.policy`.
    #[expect(clippy::needless_pass_by_value, reason = "pyo3 makes values of Python's arguments")]
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.policy.save(&path).map_err(error)
    }

    /// What it observes and decides, by the names of the arguments of environments.
    #[getter]
    fn interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        describe(py, self.policy.interface())
    }

    /// The weights, a row for each output, and the biases of each layer.
    #[getter]
    fn layers(&self) -> Vec<(Vec<Vec<f64>>, Vec<f64>)> {
        self.policy.mlp().layers().into_iter().map(|layer| (layer.weights, layer.bias)).collect()
    }

    /// The function between layers.
    #[getter]
    fn activation(&self) -> &'static str {
        self.policy.mlp().activation().name()
    }

    /// What people wrote about it.
    #[getter]
    fn notes(&self) -> Option<&str> {
        self.policy.notes()
    }

    /// Its action, from -1 to 1, for the features of an observation.
    #[expect(clippy::needless_pass_by_value, reason = "pyo3 makes values of Python's arguments")]
    fn act(&self, observation: Vec<f32>) -> PyResult<Vec<f32>> {
        let interface = self.policy.interface();
        if observation.len() != interface.inputs() {
            return Err(error(format!(
                "the observation has {} numbers, not {}",
                observation.len(),
                interface.inputs()
            )));
        }
        let mut action = vec![0.0; interface.outputs()];
        self.policy.act(&observation, &mut action);
        Ok(action)
    }

    fn __eq__(&self, other: &Policy) -> bool {
        self.policy == other.policy
    }

    fn __hash__(&self) -> u64 {
        exmachina::units::Fnv1a::of(self.policy.to_json()).get()
    }

    fn __repr__(&self) -> String {
        let widths = self.policy.mlp().layers().into_iter().map(|layer| layer.bias.len());
        let widths: Vec<String> = widths.map(|width| width.to_string()).collect();
        let Interface { observation, history, action, interval, .. } = self.policy.interface();
        format!(
            "<Policy: {history} x {} -> {} = {}, every {interval}>",
            observation.name(),
            widths.join("-"),
            action.name(),
        )
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let read = py.get_type::<Policy>().getattr("from_json")?;
        (read, (self.to_json(),)).into_pyobject(py)
    }
}
