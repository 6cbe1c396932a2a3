//! [`SimulatedTwin`]: the simulated counterpart of a network on which runs are made in real time.

use exm_sim::network::Network;
use std::fmt;
use std::sync::Arc;

/// The simulated counterpart of a network on which runs are made in real time. It differs from seed to
/// seed, because no two live runs are the same.
#[derive(Clone)]
pub struct SimulatedTwin(Arc<dyn Fn(u64) -> Network + Send + Sync>);

impl SimulatedTwin {
    /// A twin whose network for each seed is what `make` returns.
    pub fn new(make: impl Fn(u64) -> Network + Send + Sync + 'static) -> SimulatedTwin {
        SimulatedTwin(Arc::new(make))
    }

    /// The network of the run with this `seed`.
    pub fn network(&self, seed: u64) -> Network {
        (self.0)(seed)
    }
}

impl fmt::Debug for SimulatedTwin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedTwin").finish_non_exhaustive()
    }
}
