#![doc = include_str!("../README.md")]

mod bottleneck;
pub mod prelude;

pub use bottleneck::{Bottleneck, Error, Flow};

pub use exm_cc as cc;
#[cfg(feature = "design")]
pub use exm_design as design;
#[cfg(feature = "experiment")]
pub use exm_experiment as experiment;
pub use exm_link as link;
#[cfg(feature = "experiment")]
pub use exm_measure as measure;
pub use exm_random as random;
pub use exm_remy as remy;
pub use exm_sim as sim;
pub use exm_sprout as sprout;
pub use exm_table as table;
pub use exm_tcp as tcp;
pub use exm_trace as trace;
pub use exm_units as units;
