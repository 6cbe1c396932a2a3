//! The designer of RemyCCs: from a model of networks and an objective to a table of rules.

pub mod conditions;
mod designer;
mod evaluate;
mod model;
mod objective;
pub mod score;
mod search;
mod specimen;

pub use conditions::{Conditions, OutOfRange};
pub use designer::{CheckpointError, Designer, SearchKind};
pub use evaluate::{Prepared, Samples, mean_scores};
pub use model::{ActionPart, Design, Model, ModelError};
pub use objective::{Objective, Throughput, Units};
pub use search::Progress;
pub use specimen::Specimen;
