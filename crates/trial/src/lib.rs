#![doc = include_str!("../README.md")]

#[cfg(target_os = "linux")]
mod listener;
mod order;
#[cfg(target_os = "linux")]
mod turn;
#[cfg(target_os = "linux")]
mod wire;

#[cfg(target_os = "linux")]
pub use listener::{Event, Limits, ListenError, Listener};
pub use order::order;
#[cfg(target_os = "linux")]
pub use turn::{Measured, Turn, TurnError};
