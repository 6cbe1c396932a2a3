//! [`Backend`]: executes runs in real time instead of in the simulator.

use crate::case::Case;
use crate::timeline::Timeline;
use crate::twin::SimulatedTwin;
use exm_sim::metrics::Report;
use exm_units::Span;

/// Executes the runs of an experiment in real time.
pub trait Backend: Sync {
    /// The network that simulates what this backend runs for `case`, host overhead included; or the
    /// reason why the backend cannot run the case.
    fn twin(&self, case: &Case) -> Result<SimulatedTwin, String>;

    /// Runs `case` with the random seed `seed`, and samples the timeline every `step` if that is given.
    /// Returns `None` if `is_stopped` returned true before the end.
    ///
    /// # Errors
    /// The run failed.
    fn run(
        &self,
        case: &Case,
        seed: u64,
        step: Option<Span>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Measured>, BackendError>;
}

/// What a [`Backend`] measured of a run.
#[derive(Clone, Debug)]
pub struct Measured {
    /// In the simulator's format; quantities that only a simulator knows are zero.
    pub report: Report,
    /// Throughput and delay of each flow over time, if a step was given.
    pub timelines: Vec<Option<Timeline>>,
}

/// A run that failed.
#[derive(Debug, thiserror::Error)]
#[error("{scheme} cannot be run live: {source}")]
pub struct BackendError {
    /// The scheme that was run.
    pub scheme: String,
    /// The cause.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}
