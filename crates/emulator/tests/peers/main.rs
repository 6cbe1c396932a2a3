//! The simulated TCP compared with the kernel's over the emulator, and the simulator's links with the
//! emulator's.
#![cfg(target_os = "linux")]

mod agreement;
mod kernel;
mod several;
#[expect(dead_code, unused_imports, reason = "the examples use the rest")]
mod shared;
