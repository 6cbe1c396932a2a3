//! What most programs use, for `use exmachina::prelude::*`.

pub use crate::bottleneck::{Bottleneck, Error, Flow};
pub use exm_cc::{Ack, Congestion, Controller, Decision, DynController, Metrics, Start};
pub use exm_grammar::Buffer;
pub use exm_link::{Aggregation, BlockErrors, Limit, QueueKind, Reordering, Service};
pub use exm_random::Distribution;
pub use exm_remy::{RemyCc, RuleTable};
pub use exm_sim::controllers::AnyController;
pub use exm_sim::engine::{Event, EventKind, FlowSample, LinkSample, Observer, Pace, Simulation};
pub use exm_sim::metrics::Report;
pub use exm_sim::network::{FlowSpec, Host, LinkSpec, Network};
pub use exm_sim::scenario::{FlowGroup, Scenario};
pub use exm_sim::traffic::{OnFor, OnOff, Traffic};
pub use exm_units::{Bytes, Instant, Packets, Probability, Rate, Span};
