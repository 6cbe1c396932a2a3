//! [`Lab`]: where runs are made in real time instead of in the simulator.

use crate::course::Course;
use crate::plan::Case;
use exm_sim::metrics::Report;
use exm_sim::network::Network;
use exm_units::Span;
use std::fmt;
use std::sync::Arc;

/// Makes runs in real time, as the simulator makes them in its own.
pub trait Lab: Sync {
    /// The network of `case` as the simulator has to have it to be the same as here, with what hosts
    /// here take and send besides; or why the case cannot be run here.
    fn likeness(&self, case: &Case) -> Result<Likeness, String>;

    /// Makes a run of `case`, its chances drawn from `seed`. Where samples of the course are asked
    /// for, there is one each `step`. Nothing where `is_stopped` told it to end before its time.
    ///
    /// # Errors
    /// The run could not be made.
    fn run(
        &self,
        case: &Case,
        seed: u64,
        step: Option<Span>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Measured>, LabError>;
}

/// What the simulator has to have in the place of a network that runs are made on in real time: another for
/// each run, by its seed, as no two runs in real time are the same.
#[derive(Clone)]
pub struct Likeness(Arc<dyn Fn(u64) -> Network + Send + Sync>);

impl Likeness {
    /// What `make` makes of a seed.
    pub fn new(make: impl Fn(u64) -> Network + Send + Sync + 'static) -> Likeness {
        Likeness(Arc::new(make))
    }

    /// The network in the run of this `seed`.
    pub fn network(&self, seed: u64) -> Network {
        (self.0)(seed)
    }
}

impl fmt::Debug for Likeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Likeness").finish_non_exhaustive()
    }
}

/// What a [`Lab`] measured of a run.
#[derive(Clone, Debug)]
pub struct Measured {
    /// As the simulator reports it; what cannot be known outside of it is zero.
    pub report: Report,
    /// How throughput and delay of each flow went, where that was asked for.
    pub courses: Vec<Option<Course>>,
}

/// A run that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("{scheme} cannot be run live: {source}")]
pub struct LabError {
    /// Whose run it was.
    pub scheme: String,
    /// What went wrong.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}
