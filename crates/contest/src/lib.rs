#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! - [`Contest`] is the folder of a contest: its [`Rules`], its traces and its attempts.
//! - [`entrant`] reads a submission; [`score`] runs it; [`store`] keeps every [`Attempt`].
//! - [`Board`] ranks the best attempt of each participant among the baselines, and draws all attempts.
//! - [`finals`] ranks the frozen submissions on an unseen pair of traces.
//! - [`Site`] shows a contest over HTTP and takes submissions, which [`http`] serves within bounds.
//! - [`robots`] are thousands of generated [`entrants`], which mark out what is within reach.
//! - [`VideoCall`] is a model of a video call, one of the baselines.

pub mod board;
pub mod entrant;
pub mod entrants;
mod error;
pub mod finals;
mod hash;
pub mod http;
mod invitations;
mod rank;
mod robot_log;
pub mod robots;
mod rules;
pub mod score;
mod site;
pub mod store;
mod video;

pub use board::Board;
pub use entrant::Entrant;
pub use error::ContestError;
pub use hash::sha256;
pub use rank::spearman;
pub use robot_log::RobotLog;
pub use rules::{Contest, Files, HiddenPair, ModuleLimits, PairRules, Rules, Setup};
pub use score::{Pair, Score};
pub use site::Site;
pub use store::Attempt;
pub use video::VideoCall;

/// The version of the engine, which scores record.
pub const ENGINE: &str = env!("CARGO_PKG_VERSION");
