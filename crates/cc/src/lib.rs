#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! A congestion controller is a pure function of what its sender observed.
//!
//! [`Controller`] is that function: it is given events and returns a [`Decision`] for each.
//! It never reads a clock, a socket or a random source, so one and the same controller runs in
//! the simulator, over real sockets, and inside other transports. Its host owns the clock, the
//! count of packets in flight, the detection of losses, and asks a [`Gate`] when it may send.
//!
//! The controllers designed by people, written from what their designers published:
//!
//! | controller | source | settings |
//! |---|---|---|
//! | [`Aimd`] | the papers' plain TCP-like sender | half the window at a loss, no recovery |
//! | [`Reno`] | RFC 5681, RFC 6582 | plain slow start; [`Reno::with_slow_start`] |
//! | [`Cubic`] | RFC 9438 | C 0.4, beta 0.7, fast convergence; slow start until a train of ACKs fills the path; [`Cubic::with_slow_start`], [`Cubic::linux`] |
//! | [`Vegas`] | Brakmo, O'Malley & Peterson, SIGCOMM 1994 | alpha 2, beta 4, gamma 1; slow start as in Linux |
//! | [`Compound`] | Tan et al., INFOCOM 2006; draft-sridharan-tcpm-ctcp-02 | alpha 1/8, beta 1/2, k 3/4, gamma 30, zeta 1 |
//! | [`Dctcp`] | RFC 8257 | g 1/16, alpha starts at 1 |
//! | [`Ledbat`] | RFC 6817 | target 100 ms, gain 1, ten minutes of history; [`Ledbat::with_target`], [`Ledbat::with_slow_start`] |
//! | [`LedbatPlusPlus`] | draft-irtf-iccrg-ledbat-plus-plus-01 | target 60 ms, slowdowns after nine times the duration of the last |
//! | [`Copa`] | Arun & Balakrishnan, NSDI 2018 | delta 0.5, competitive where others fill the queue; [`Copa::without_competition`] |
//! | [`Prague`] | draft-briscoe-iccrg-prague-congestion-control-04, RFC 9331 | gain 1/16, virtual RTT 25 ms; [`Prague::without_accurate_feedback`] |
//! | [`Vivace`] | Dong et al., NSDI 2018 | the paper's utility; two pairs of trials; [`Vivace::scavenger`] is Proteus-S (Meng et al., SIGCOMM 2020) |
//! | [`Verus`] | Zaki et al., SIGCOMM 2015 | R 4, epochs of 5 ms |
//! | [`Gcc`] | draft-ietf-rmcat-gcc-02, and libwebrtc's trend line | for media: starts at 300 kbps |
//! | [`Nada`] | RFC 8698 | for media: 150 to 1500 kbps, priority 1 |
//! | [`Scream`] | draft-johansson-ccwg-rfc8298bis-screamv2, RFC 8298 | for media: 150 to 1500 kbps, target 60 ms; [`Scream::classic`] |
//! | [`Xcp`] | Katabi, Handley & Rohrs, SIGCOMM 2002 | none: the routers decide |
//! | [`Abc`] | Goyal et al., NSDI 2020 | windows of at most twice the packets in flight; the routers decide |
//! | [`Bbr1`] | draft-cardwell-iccrg-bbr-congestion-control-00 (BBR version 1) | the draft's, and Linux's rounding, margin and policer detection; seed 1, [`Bbr1::new`] |
//! | [`Bbr`] | draft-ietf-ccwg-bbr-06 (BBR version 3) | the draft's; seed 1, [`Bbr::new`]; version 2: [`Bbr::version_2`] |
//!
//! What can be set of a controller has a name, a default and a range: [`Parameters`].
//!
//! [`Controller::needs`] states what each asks of its host.
//!
//! A controller of one's own is a type that implements the trait; [`DynController`] is its object-safe
//! form, for hosts that take any.

#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod abc;
mod aimd;
mod bbr;
mod bbr1;
mod compound;
mod controller;
mod copa;
mod cubic;
mod dctcp;
mod delays;
mod dynamic;
mod gate;
mod gcc;
mod hystart;
mod ledbat;
mod ledbat_plus_plus;
mod media;
mod metrics;
mod nada;
mod parameters;
#[cfg(test)]
mod pipe;
mod prague;
mod reno;
mod scream;
mod vegas;
mod verus;
mod vivace;
mod wakeup;
#[cfg(test)]
mod watched;
mod window;
mod windowed;
mod xcp;

pub use abc::Abc;
pub use aimd::Aimd;
pub use bbr::Bbr;
pub use bbr1::Bbr1;
pub use compound::Compound;
pub use controller::{
    Ack, Congestion, CongestionKind, Controller, DEFAULT_MTU, Decision, Delivery, Failure,
    INITIAL_WINDOW, Needs, Sent, Start,
};
pub use copa::Copa;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use dynamic::DynController;
pub use gate::{Gate, MAX_WINDOW};
pub use gcc::Gcc;
pub use hystart::SlowStart;
pub use ledbat::Ledbat;
pub use ledbat_plus_plus::LedbatPlusPlus;
pub use metrics::Metrics;
pub use nada::Nada;
pub use parameters::{Parameter, ParameterError, Parameters, Value};
pub use prague::Prague;
pub use reno::Reno;
pub use scream::Scream;
pub use vegas::Vegas;
pub use verus::Verus;
pub use vivace::Vivace;
pub use wakeup::Wakeup;
pub use xcp::Xcp;
