//! [`PythonController`]: a controller written in Python, as the simulator's.

use crate::error::error;
use crate::events;
use exm_plugin::{MAX_INTERSEND, MAX_WINDOW};
use exmachina::cc::{Ack, Congestion, Controller, Decision, Failure, Needs, Start};
use exmachina::units::{Instant, Packets, Span};
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The decision of a controller that has failed: it sends nothing and sleeps.
const STOPPED: Decision = Decision { cwnd: Packets::ZERO, intersend: Span::ZERO, wake_at: None };

/// What stops a computation: an exception of a controller, or an interrupt.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    is_stopped: AtomicBool,
    exception: Mutex<Option<PyErr>>,
}

impl Stop {
    /// Asks the computation to end.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Ends it with the exception of a controller; the first one counts.
    fn raise(&self, exception: PyErr) {
        let mut first = self.exception.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(exception);
        self.stop();
    }

    /// The exception that ended it.
    pub(crate) fn check(&self) -> PyResult<()> {
        let mut first = self.exception.lock().unwrap_or_else(PoisonError::into_inner);
        first.take().map_or(Ok(()), Err)
    }
}

/// Where controllers of one kind come from: a class, of which each flow gets an object, or an object, of which
/// each flow gets a copy.
#[derive(Debug)]
struct Origin {
    made_by: Py<PyAny>,
    is_class: bool,
    name: String,
    needs: Needs,
    stop: Arc<Stop>,
}

/// The methods of a controller, in the order in which its object's are kept.
const METHODS: [&str; 4] = ["on_start", "on_ack", "on_congestion", "on_tick"];
const ON_START: usize = 0;
const ON_ACK: usize = 1;
const ON_CONGESTION: usize = 2;
const ON_TICK: usize = 3;

/// An object with its methods bound, so that a call looks up no name.
#[derive(Debug)]
struct Object {
    object: Py<PyAny>,
    methods: [Py<PyAny>; 4],
}

/// A controller written in Python. Its object is made when its first flow starts, so that copies of what has not
/// started cost nothing.
#[derive(Debug)]
pub(crate) struct PythonController {
    origin: Arc<Origin>,
    object: Option<Object>,
    last: Decision,
    failure: Option<Failure>,
}

impl Object {
    fn new(object: Bound<'_, PyAny>) -> PyResult<Object> {
        let [start, ack, congestion, tick] = METHODS.map(|method| object.getattr(method));
        let methods = [start?, ack?, congestion?, tick?].map(Bound::unbind);
        Ok(Object { object: object.unbind(), methods })
    }

    /// A copy of `object` with everything that it holds.
    fn copy_of(object: &Bound<'_, PyAny>) -> PyResult<Object> {
        Object::new(object.py().import("copy")?.call_method1("deepcopy", (object,))?)
    }
}

impl Origin {
    fn object(&self, py: Python<'_>) -> PyResult<Object> {
        let made_by = self.made_by.bind(py);
        if self.is_class { Object::new(made_by.call0()?) } else { Object::copy_of(made_by) }
    }
}

impl PythonController {
    /// Controllers made by `made_by`, a class or an object with the methods of a controller.
    pub(crate) fn new(made_by: &Bound<'_, PyAny>, stop: &Arc<Stop>) -> PyResult<PythonController> {
        let is_class = made_by.is_instance_of::<PyType>();
        let class = if is_class { made_by.clone() } else { made_by.get_type().into_any() };
        let name: String = class.getattr("__name__")?.extract()?;
        for method in METHODS {
            if !made_by.hasattr(method)? {
                return Err(error(format!(
                    "{name} has no method {method}: a controller has {}; tcpexmachina.Controller has defaults \
                     for all but on_ack",
                    METHODS.join(", ")
                )));
            }
        }
        let needs = needs(made_by, &name)?;
        let made_by = made_by.clone().unbind();
        let origin = Origin { made_by, is_class, name, needs, stop: Arc::clone(stop) };
        let origin = Arc::new(origin);
        Ok(PythonController { origin, object: None, last: STOPPED, failure: None })
    }

    /// The decision of a method after the event at `now`.
    fn call<E>(&mut self, now: Instant, method: usize, event: E) -> Decision
    where
        E: for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
    {
        if self.failure.is_some() || self.origin.stop.is_stopped() {
            return STOPPED;
        }
        let decision = Python::attach(|py| {
            let object = match self.object.take() {
                Some(object) => object,
                None => self.origin.object(py)?,
            };
            let called = object.methods[method].bind(py).call1((event(py)?,));
            self.object = Some(object);
            self.decision(&called?, METHODS[method])
        });
        match decision {
            Ok(decision) => {
                self.last = decision;
                decision
            }
            Err(exception) => self.fail(now, exception),
        }
    }

    fn fail(&mut self, at: Instant, exception: PyErr) -> Decision {
        let what = format!("{} raised {exception}", self.origin.name);
        self.failure = Some(Failure { at, what });
        self.origin.stop.raise(exception);
        STOPPED
    }

    /// What `method` returned: a window; a window and the time between sends; these and when to wake; or None
    /// for the last decision without its wake-up.
    fn decision(&self, returned: &Bound<'_, PyAny>, method: &str) -> PyResult<Decision> {
        if returned.is_none() {
            return Ok(Decision { wake_at: None, ..self.last });
        }
        let Ok(parts) = returned.cast::<PyTuple>() else {
            let cwnd = self.window(returned, method)?;
            return Ok(Decision { cwnd, intersend: Span::ZERO, wake_at: None });
        };
        if !(1..=3).contains(&parts.len()) {
            let length = parts.len();
            return Err(self.wrong(method, &format!("a tuple of {length} values")));
        }
        let cwnd = self.window(&parts.get_item(0)?, method)?;
        let seconds = |index: usize, what: &str| -> PyResult<Option<f64>> {
            let Ok(value) = parts.get_item(index) else { return Ok(None) };
            if value.is_none() {
                return Ok(None);
            }
            let Ok(seconds) = value.extract::<f64>() else {
                return Err(self.wrong(method, &format!("{} as {what}", value.repr()?)));
            };
            let is_time = (0.0..=MAX_INTERSEND.as_secs_f64()).contains(&seconds);
            if is_time {
                Ok(Some(seconds))
            } else {
                Err(self.wrong(method, &format!("{seconds} as {what}")))
            }
        };
        let intersend =
            seconds(1, "the time between sends")?.map_or(Span::ZERO, Span::from_secs_f64);
        let wake_at = seconds(2, "the time to wake at")?;
        let wake_at = wake_at.map(|at| Instant::ZERO + Span::from_secs_f64(at));
        Ok(Decision { cwnd, intersend, wake_at })
    }

    fn window(&self, value: &Bound<'_, PyAny>, method: &str) -> PyResult<Packets> {
        let Ok(window) = value.extract::<f64>() else {
            let what = format!("{} as the window", value.repr()?);
            return Err(self.wrong(method, &what));
        };
        if !(0.0..=MAX_WINDOW as f64).contains(&window) {
            return Err(self.wrong(method, &format!("{window} as the window")));
        }
        Ok(Packets::new(window as u64))
    }

    fn wrong(&self, method: &str, what: &str) -> PyErr {
        error(format!(
            "{}.{method} returned {what}: return a window from 0 to {MAX_WINDOW} packets, (window, intersend) or \
             (window, intersend, wake_at), with times in seconds from 0 to {}",
            self.origin.name,
            MAX_INTERSEND.as_secs_f64()
        ))
    }
}

/// A copy of an object that has started is made with the GIL held.
impl Clone for PythonController {
    fn clone(&self) -> PythonController {
        let mut copy = PythonController {
            origin: Arc::clone(&self.origin),
            object: None,
            last: self.last,
            failure: self.failure.clone(),
        };
        if let Some(own) = &self.object {
            let object = Python::attach(|py| Object::copy_of(own.object.bind(py)));
            match object {
                Ok(object) => copy.object = Some(object),
                Err(exception) => drop(copy.fail(Instant::ZERO, exception)),
            }
        }
        copy
    }
}

/// What the attribute `needs` of a controller asks of its host.
fn needs(made_by: &Bound<'_, PyAny>, name: &str) -> PyResult<Needs> {
    let mut needs = Needs::default();
    let Ok(names) = made_by.getattr("needs") else { return Ok(needs) };
    let names: Vec<String> = names.extract().map_err(|_| {
        error(format!("{name}.needs is not a tuple of names such as (\"delivery\",)"))
    })?;
    for need in names {
        match need.as_str() {
            "own_recovery" => needs.own_recovery = true,
            "delivery" => needs.delivery = true,
            "marks" => needs.marks = true,
            "restart" => needs.restart = true,
            other => {
                let known = ["own_recovery", "delivery", "marks", "restart"];
                let suggestion = exm_grammar::suggest(other, &known);
                return Err(error(format!("{name}.needs has \"{other}\": {suggestion}")));
            }
        }
    }
    Ok(needs)
}

impl Controller for PythonController {
    fn on_start(&mut self, start: &Start) -> Decision {
        // What it has before it decides anything.
        let cwnd = start.initial_window;
        self.last = Decision { cwnd, intersend: Span::ZERO, wake_at: None };
        let event = events::Start(*start);
        self.call(start.now, ON_START, |py| Ok(Bound::new(py, event)?.into_any()))
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        let event = events::Ack(*ack);
        self.call(ack.now, ON_ACK, |py| Ok(Bound::new(py, event)?.into_any()))
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        let event = events::Congestion(*congestion);
        self.call(congestion.now, ON_CONGESTION, |py| Ok(Bound::new(py, event)?.into_any()))
    }

    fn on_tick(&mut self, now: Instant) -> Decision {
        self.call(now, ON_TICK, |py| Ok(now.as_secs_f64().into_pyobject(py)?.into_any()))
    }

    fn failure(&self) -> Option<Failure> {
        self.failure.clone()
    }

    fn needs(&self) -> Needs {
        self.origin.needs
    }
}
