//! Stress networks: those around a model, on which a table shows what it does where its designer's
//! assumptions are wrong.
//!
//! Two sets never share a network. [`Set::Near`] is what hardening chooses by; [`Set::HeldOut`] is drawn
//! otherwise, and nothing is chosen by it: what is reported of a table's robustness is measured there.

mod networks;
mod rival;
mod trial;

pub use networks::{HELD_OUT_SEED, Set, StressNetwork, networks};
pub use rival::{Rivalry, compare};
pub use trial::{Summary, Trial, run, run_observed};

use crate::evaluate::Prepared;
use rayon::prelude::*;

/// What `table` does on each of `networks`, in their order.
pub fn run_all(networks: &[StressNetwork], table: &Prepared) -> Vec<Trial> {
    networks.par_iter().map(|network| run(network, table)).collect()
}

#[cfg(test)]
mod tests;
