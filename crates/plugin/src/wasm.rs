//! [`WasmController`]: a controller that a module holds.

use crate::decide::STOPPED;
use crate::module::{Compiled, Instance, ModuleError};
use exm_cc::{Ack, Congestion, Controller, Decision, Failure, Metrics, Needs, Sent, Start};
use exm_units::{Bytes, Instant};
use std::fmt;
use std::sync::Arc;

/// A controller that a [`Module`](crate::Module) holds. It has an instance of its own from its first flow on, and a
/// copy of it has a copy of the instance's whole state.
///
/// If its module fails, it sends nothing from then on, and [`Controller::failure`] tells what happened.
pub struct WasmController {
    compiled: Arc<Compiled>,
    parameters: Vec<(String, f64)>,
    seed: u64,
    instance: Option<Box<Instance>>,
    cwnd: u64,
    failure: Option<Box<Failure>>,
}

impl WasmController {
    pub(crate) fn new(compiled: Arc<Compiled>, parameters: Vec<(String, f64)>) -> WasmController {
        WasmController { compiled, parameters, seed: 0, instance: None, cwnd: 0, failure: None }
    }

    /// Passes an event to the instance, which handles it at `now`.
    #[inline]
    fn event(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut Instance) -> Result<Decision, String>,
    ) -> Decision {
        let Some(instance) = &mut self.instance else { return STOPPED };
        match call(instance) {
            Ok(decision) => {
                self.cwnd = decision.cwnd.get();
                decision
            }
            Err(what) => self.fail(now, &what),
        }
    }

    #[cold]
    fn fail(&mut self, at: Instant, what: &str) -> Decision {
        let failure = Failure { at, what: format!("{}: {what},", self.compiled.name) };
        self.compiled.failures.note(&failure);
        (self.instance, self.cwnd, self.failure) = (None, 0, Some(Box::new(failure)));
        STOPPED
    }
}

impl Clone for WasmController {
    fn clone(&self) -> WasmController {
        let mut copy = WasmController::new(Arc::clone(&self.compiled), self.parameters.clone());
        (copy.seed, copy.cwnd, copy.failure) = (self.seed, self.cwnd, self.failure.clone());
        match self.instance.as_ref().map(|instance| instance.copy(&self.compiled)) {
            None => {}
            Some(Ok(instance)) => copy.instance = Some(Box::new(instance)),
            Some(Err(error)) => {
                copy.fail(Instant::ZERO, &error.to_string());
            }
        }
        copy
    }
}

impl fmt::Debug for WasmController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_struct("WasmController");
        tuple.field("module", &self.compiled.name).field("parameters", &self.parameters);
        tuple.field("seed", &self.seed).field("cwnd", &self.cwnd).finish_non_exhaustive()
    }
}

impl Controller for WasmController {
    fn on_start(&mut self, start: &Start) -> Decision {
        if self.instance.is_none() && self.failure.is_none() {
            let instance: Result<Instance, ModuleError> =
                Instance::new(&self.compiled, &self.parameters, self.seed);
            match instance {
                Ok(instance) => self.instance = Some(Box::new(instance)),
                Err(error) => return self.fail(start.now, &error.to_string()),
            }
        }
        self.event(start.now, |instance| instance.start(start))
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack) -> Decision {
        self.event(ack.now, |instance| instance.ack(ack))
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        self.event(congestion.now, |instance| instance.congestion(congestion))
    }

    fn on_tick(&mut self, now: Instant) -> Decision {
        self.event(now, |instance| instance.tick(now))
    }

    fn on_sent(&mut self, sent: &Sent) -> Option<Decision> {
        let result = self.instance.as_mut()?.sent(sent)?;
        Some(self.event(sent.now, |_| result))
    }

    fn on_mtu(&mut self, mtu: Bytes) {
        let Some(instance) = &mut self.instance else { return };
        if let Err(what) = instance.mtu(mtu) {
            self.fail(Instant::ZERO, &what);
        }
    }

    fn metrics(&self) -> Metrics {
        Metrics::new(self.cwnd as f64)
    }

    fn failure(&self) -> Option<Failure> {
        self.failure.as_deref().cloned()
    }

    fn fingerprint(&self) -> Option<u64> {
        let mut print = self.compiled.print;
        for (name, value) in &self.parameters {
            print.add(name.as_bytes());
            print.add(&value.to_bits().to_le_bytes());
        }
        Some(print.get())
    }

    fn needs(&self) -> Needs {
        self.compiled.needs
    }

    fn seed(&mut self, seed: u64) {
        self.seed = seed;
    }
}
