#![doc = include_str!("../README.md")]

mod change;
mod files;
mod measures;
mod monitor;
mod orbit;
mod player;
mod scene;
mod watch;

pub use change::{Change, Recorded};
pub use files::{File, stem};
pub use measures::{Measured, Measures, Sample};
pub use monitor::{FlowState, LinkState, Monitor, Samples};
pub use orbit::{
    Agreement, BalanceAgreement, IdealLink, Orbit, OrbitKind, OrbitSummary, OrbitSurvey, Quantiles,
    Repetition, SurveyedLink,
};
pub use player::{Lane, Player};
pub use scene::{MOST_FLOWS, Network, Scene, SceneError};
pub use watch::{
    FlowEvent, FlowEventKind, Gates, HeldBy, LinkCounts, Records, RuleUse, Send, Watch,
};
