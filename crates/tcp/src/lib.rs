#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! A TCP sender and receiver without I/O, for any [`exm_cc::Controller`].
//!
//! [`Sender`] decides which segments to send and retransmit, and when silence means loss; its controller sets
//! how much may be in flight. [`Receiver`] puts the segments back in order and acknowledges them. Both are
//! given events with their times and return what to do; a host carries the segments between them, through a
//! simulated network or a real one.
//!
//! Numbers count whole segments, not bytes: a simulated flow sends segments of one size.
//!
//! | what | source |
//! |---|---|
//! | when a segment is lost, which to send next | RFC 6675 |
//! | probes for lost tails | RFC 8985, section 7, if set |
//! | the window during loss recovery | RFC 6937 with the safe acknowledgements of RFC 9937 |
//! | the retransmission timer | RFC 6298; its floor as in the RFC or as in Linux |
//! | spurious retransmissions | RFC 3522 (Eifel), by the echoed send time |
//! | congestion marks | RFC 3168, reported by a running count as in RFC 9768, with its option or without |
//! | all of that for QUIC, if set | RFC 9002 |
//! | delivery rates | draft-ietf-ccwg-bbr, section 4.1 |

#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod accecn;
mod delivery;
mod packets;
mod probe;
mod prr;
mod ranges;
mod receiver;
mod scoreboard;
mod segment;
mod sender;
mod settings;
mod timer;

pub use accecn::{AccEcn, ace_field, fewest_marks, most_marks};
pub use receiver::{Arrival, Receiver};
pub use segment::{Acknowledgement, MAX_BLOCKS, Segment};
pub use sender::{Progress, Sender, Transfer};
pub use settings::{DelayedAcks, IdleRestart, MinRto, Recovery, Settings};
