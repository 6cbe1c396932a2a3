//! Stress networks: networks around a model, which show how a table behaves if its designer's
//! assumptions are wrong.
//!
//! The sets never share a network. Hardening optimises on [`StressSet::Near`] and [`StressSet::Practice`].
//! [`StressSet::HeldOut`] is drawn separately and never used for optimisation: the reported robustness of a table is
//! measured there. [`compare`] compares two tables:
//!
//! ```
//! use exm_design::stress::{StressSet, compare, networks};
//! use exm_design::{Model, Prepared, shipped};
//!
//! let model = Model::shipped("1x").unwrap();
//! let [table, rival] = ["1x", "10x"].map(|name| Prepared::new(&shipped::table(name).unwrap().table));
//! let few = &networks(&model, 0, StressSet::HeldOut(2))[..3];
//! let rivalries = compare(few, model.objective(), &table, &rival);
//! assert!(rivalries.iter().all(|rivalry| rivalry.lead.mean.is_finite()));
//! ```

mod foreign;
mod networks;
mod rival;
mod trial;

pub use foreign::{FOREIGN, ForeignNetwork, ForeignTrial, foreign, run_foreign, throughput_ratio};
pub use networks::{HELD_OUT_SEED, StressNetwork, StressSet, networks};
pub use rival::{Rivalry, compare};
pub use trial::{Summary, Trial, run, run_observed};

use crate::evaluate::Prepared;
use rayon::prelude::*;

/// The behaviour of `table` on each of `networks`, in their order.
pub fn run_all(networks: &[StressNetwork], table: &Prepared) -> Vec<Trial> {
    networks.par_iter().map(|network| run(network, table)).collect()
}

#[cfg(test)]
mod tests;
