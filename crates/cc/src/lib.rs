//! A congestion controller is a pure function of what its sender observed.
//!
//! [`Controller`] is that function: it is told of events and answers each with a [`Decision`].
//! It never reads a clock, a socket or a random source, so one and the same controller runs in
//! the simulator, over real sockets, and inside other transports. Its host owns the clock, the
//! count of packets in flight, the detection of losses, and asks a [`Gate`] when it may send.

mod aimd;
mod controller;
mod gate;

pub use aimd::Aimd;
pub use controller::{
    Ack, Congestion, CongestionKind, Controller, Decision, Delivery, INITIAL_WINDOW, Needs, Start,
};
pub use gate::Gate;
