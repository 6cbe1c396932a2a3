//! [`DynController`]: controllers whose kind is known only when the program runs.

use crate::{Ack, Congestion, Controller, Decision, Failure, Metrics, Needs, Sent, Start};
use alloc::boxed::Box;
use core::any::Any;
use core::fmt;
use exm_units::{Bytes, Instant};

/// A [`Controller`] as a trait object. Every controller that is `Send + Sync` implements it; hosts
/// that accept any controller take a `Box<dyn DynController>`, which is a controller itself.
///
/// Its methods do what those of [`Controller`] do; the different names only avoid ambiguity.
///
/// A host calls its controller once per event and keeps the decision, so the cost of the indirect call
/// is negligible.
///
/// ```
/// use exm_cc::{Controller, Cubic, DynController, Reno, Start};
/// use exm_units::Instant;
///
/// let mut several: Vec<Box<dyn DynController>> = vec![Box::new(Reno::new()), Box::new(Cubic::new())];
/// for controller in &mut several {
///     let decision = controller.on_start(&Start::new(Instant::ZERO));
///     assert_eq!(decision.cwnd.get(), 10);
/// }
/// ```
pub trait DynController: Send + Sync {
    /// [`Controller::on_start`].
    fn dyn_on_start(&mut self, start: &Start) -> Decision;

    /// [`Controller::on_ack`].
    fn dyn_on_ack(&mut self, ack: &Ack) -> Decision;

    /// [`Controller::on_congestion`].
    fn dyn_on_congestion(&mut self, congestion: &Congestion) -> Decision;

    /// [`Controller::on_tick`].
    fn dyn_on_tick(&mut self, now: Instant) -> Decision;

    /// [`Controller::on_sent`].
    fn dyn_on_sent(&mut self, sent: &Sent) -> Option<Decision>;

    /// [`Controller::on_mtu`].
    fn dyn_on_mtu(&mut self, mtu: Bytes);

    /// [`Controller::metrics`].
    fn dyn_metrics(&self) -> Metrics;

    /// [`Controller::failure`].
    fn dyn_failure(&self) -> Option<Failure>;

    /// [`Controller::fingerprint`].
    fn dyn_fingerprint(&self) -> Option<u64>;

    /// [`Controller::needs`].
    fn dyn_needs(&self) -> Needs;

    /// [`Controller::seed`].
    fn dyn_seed(&mut self, seed: u64);

    /// A copy of its whole state.
    fn dyn_clone(&self) -> Box<dyn DynController>;

    /// The controller itself, so that whoever knows its type can reach it.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<C: Controller + Send + Sync + 'static> DynController for C {
    fn dyn_on_start(&mut self, start: &Start) -> Decision {
        Controller::on_start(self, start)
    }

    fn dyn_on_ack(&mut self, ack: &Ack) -> Decision {
        Controller::on_ack(self, ack)
    }

    fn dyn_on_congestion(&mut self, congestion: &Congestion) -> Decision {
        Controller::on_congestion(self, congestion)
    }

    fn dyn_on_tick(&mut self, now: Instant) -> Decision {
        Controller::on_tick(self, now)
    }

    fn dyn_on_sent(&mut self, sent: &Sent) -> Option<Decision> {
        Controller::on_sent(self, sent)
    }

    fn dyn_on_mtu(&mut self, mtu: Bytes) {
        Controller::on_mtu(self, mtu);
    }

    fn dyn_metrics(&self) -> Metrics {
        Controller::metrics(self)
    }

    fn dyn_failure(&self) -> Option<Failure> {
        Controller::failure(self)
    }

    fn dyn_fingerprint(&self) -> Option<u64> {
        Controller::fingerprint(self)
    }

    fn dyn_needs(&self) -> Needs {
        Controller::needs(self)
    }

    fn dyn_seed(&mut self, seed: u64) {
        Controller::seed(self, seed);
    }

    fn dyn_clone(&self) -> Box<dyn DynController> {
        Box::new(self.clone())
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl Clone for Box<dyn DynController> {
    fn clone(&self) -> Box<dyn DynController> {
        (**self).dyn_clone()
    }
}

impl fmt::Debug for dyn DynController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DynController")
    }
}

impl Controller for Box<dyn DynController> {
    fn on_start(&mut self, start: &Start) -> Decision {
        (**self).dyn_on_start(start)
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        (**self).dyn_on_ack(ack)
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        (**self).dyn_on_congestion(congestion)
    }

    fn on_tick(&mut self, now: Instant) -> Decision {
        (**self).dyn_on_tick(now)
    }

    fn on_sent(&mut self, sent: &Sent) -> Option<Decision> {
        (**self).dyn_on_sent(sent)
    }

    fn on_mtu(&mut self, mtu: Bytes) {
        (**self).dyn_on_mtu(mtu);
    }

    fn metrics(&self) -> Metrics {
        (**self).dyn_metrics()
    }

    fn failure(&self) -> Option<Failure> {
        (**self).dyn_failure()
    }

    fn fingerprint(&self) -> Option<u64> {
        (**self).dyn_fingerprint()
    }

    fn needs(&self) -> Needs {
        (**self).dyn_needs()
    }

    fn seed(&mut self, seed: u64) {
        (**self).dyn_seed(seed);
    }
}
