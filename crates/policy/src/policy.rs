//! [`Policy`], and [`PolicyController`], which runs one.

use crate::control::ControlLoop;
use crate::file::{self, MAX_FILE, PolicyError};
use crate::interface::Interface;
use crate::layers::Mlp;
use exm_cc::{Ack, Congestion, Controller, Decision, Metrics, Needs, Sent, Start};
use exm_units::{Fnv1a, Instant};
use std::path::Path;
use std::sync::Arc;

/// A learnt policy: a perceptron, and what it observes and decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    interface: Interface,
    mlp: Mlp,
    notes: Option<String>,
}

impl Policy {
    /// The policy of `mlp`, whose inputs and outputs are those of `interface`.
    ///
    /// # Errors
    /// [`PolicyError`] if the interface is impossible or the perceptron has others.
    pub fn new(interface: Interface, mlp: Mlp) -> Result<Policy, PolicyError> {
        interface.check()?;
        Mlp::new(&mlp.layers(), mlp.activation(), interface.inputs(), interface.outputs())?;
        Ok(Policy { interface, mlp, notes: None })
    }

    /// The same with what people write about it.
    #[must_use]
    pub fn with_notes(self, notes: Option<String>) -> Policy {
        Policy { notes, ..self }
    }

    /// The policy in the file `path`.
    ///
    /// # Errors
    /// [`PolicyError`] if it cannot be read or holds none.
    pub fn load(path: &Path) -> Result<Policy, PolicyError> {
        let cannot =
            |problem: String| PolicyError::Read { file: path.display().to_string(), problem };
        let size = std::fs::metadata(path).map_err(|error| cannot(error.to_string()))?.len();
        if size > MAX_FILE {
            return Err(cannot(format!("it has {size} bytes, more than any policy")));
        }
        let text = std::fs::read_to_string(path).map_err(|error| cannot(error.to_string()))?;
        let file = || path.display().to_string();
        Policy::from_json(&text)
            .map_err(|problem| PolicyError::File { file: file(), problem: Box::new(problem) })
    }

    /// The policy that is this JSON.
    ///
    /// # Errors
    /// [`PolicyError`] if it is none.
    pub fn from_json(text: &str) -> Result<Policy, PolicyError> {
        file::read(text)
    }

    /// The policy as JSON.
    pub fn to_json(&self) -> String {
        file::write(self)
    }

    /// Writes a file, whole or not at all. What names controllers takes it for a policy's if it ends with `.policy`.
    ///
    /// # Errors
    /// [`PolicyError::Write`].
    pub fn save(&self, path: &Path) -> Result<(), PolicyError> {
        exm_store::write_atomically(path, self.to_json().as_bytes()).map_err(|error| {
            let (file, problem) = (path.display().to_string(), error.to_string());
            PolicyError::Write { file, problem }
        })
    }

    /// What it observes and decides, and how often.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Its perceptron.
    pub fn mlp(&self) -> &Mlp {
        &self.mlp
    }

    /// What people wrote about it.
    pub fn notes(&self) -> Option<&str> {
        self.notes.as_deref()
    }

    /// Its action for `features`.
    pub fn act(&self, features: &[f32], action: &mut [f32]) {
        self.mlp.evaluate(features, action);
    }

    /// A controller that follows it.
    pub fn controller(self: &Arc<Policy>) -> PolicyController {
        PolicyController {
            flow: ControlLoop::new(self.interface),
            action: vec![0.0; self.interface.outputs()],
            policy: Arc::clone(self),
        }
    }
}

/// A congestion controller that follows a [`Policy`]: at the end of each interval, it takes the policy's action.
#[derive(Clone, Debug)]
pub struct PolicyController {
    policy: Arc<Policy>,
    flow: ControlLoop,
    action: Vec<f32>,
}

impl Controller for PolicyController {
    fn on_start(&mut self, start: &Start) -> Decision {
        self.flow.on_start(start)
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack) -> Decision {
        self.flow.on_ack(ack)
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        self.flow.on_congestion(congestion)
    }

    fn on_tick(&mut self, now: Instant) -> Decision {
        if !self.flow.on_tick(now) {
            return self.flow.decision();
        }
        self.policy.act(self.flow.features(), &mut self.action);
        self.flow.act(&self.action)
    }

    #[inline]
    fn on_sent(&mut self, sent: &Sent) -> Option<Decision> {
        self.flow.on_sent(sent);
        None
    }

    fn metrics(&self) -> Metrics {
        Metrics::new(self.flow.decision().cwnd.get() as f64)
    }

    fn fingerprint(&self) -> Option<u64> {
        Some(Fnv1a::of(self.policy.to_json()).get())
    }

    fn needs(&self) -> Needs {
        ControlLoop::needs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::{Activation, Layer};
    use exm_units::Span;

    fn policy() -> Policy {
        let interface = Interface::default();
        let layer = Layer { weights: vec![vec![0.125; interface.inputs()]], bias: vec![-0.1] };
        let mlp = Mlp::new(&[layer], Activation::Relu, interface.inputs(), 1).unwrap();
        Policy::new(interface, mlp).unwrap().with_notes(Some("learnt".to_owned()))
    }

    #[test]
    fn a_file_holds_the_policy() {
        let policy = policy();
        let text = policy.to_json();
        assert_eq!(Policy::from_json(&text).unwrap(), policy);
        let error = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            Policy::from_json(&text.replacen(from, to, 1)).unwrap_err().to_string()
        };
        assert!(error("\"version\":1", "\"version\":2").contains("of version 2, not"));
        assert!(error("exmachina-policy", "another").contains("it is \"another\""));
        assert!(error("\"1 RTT\"", "\"1 RT\"").contains("the interval is \"1 RT\""));
        assert!(error("\"history\":10", "\"history\":9").contains("27 come from before it"));
        assert!(error("\"history\":10", "\"history\":0").contains("it can be from 1 to 100"));
        assert!(error("\"aurora\"", "\"auror\"").contains("unknown variant `auror`"));
        assert!(error("-0.1", "-1e9").contains("layer 1 has the number"));
        assert!(Policy::from_json("x").unwrap_err().to_string().starts_with("it is not a policy"));
    }

    #[test]
    fn actions_are_taken_where_intervals_end() {
        let mut controller = Arc::new(policy()).controller();
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let first = controller.on_start(&Start::new(at(0)));
        assert_eq!(first.wake_at, Some(at(1000)));
        let after = controller.on_ack(&Ack::new(0, at(0), at(50)));
        assert_eq!((after.cwnd, after.intersend), (first.cwnd, first.intersend));
        assert_eq!(after.wake_at, Some(at(100)));
        assert_eq!(controller.on_tick(at(99)).wake_at, Some(at(100)));
        let acted = controller.on_tick(at(100));
        assert_eq!(acted.wake_at, Some(at(150)));
        assert!(acted.intersend < first.intersend, "its weights are positive");
        let other = controller.fingerprint();
        assert_eq!(other, Arc::new(policy()).controller().fingerprint());
    }
}
