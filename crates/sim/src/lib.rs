//! A deterministic simulator of senders on networks.
//!
//! [`dumbbell`] is the fast path that design lives on: RemyCCs that share one link of fixed rate,
//! simulated without events. Both draw their traffic and losses from [`random`] and [`traffic`].

pub mod random;
pub mod traffic;
