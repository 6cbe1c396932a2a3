//! The mobile shell under hard conditions, in all pairs of our ends with Mosh's: nothing that is typed is lost, repeated or out of order,
//! and the client shows what the server's terminal shows.
//!
//! Real processes, with a relay between them. Skipped if mosh is missing.
#![cfg(target_os = "linux")]

#[allow(dead_code, reason = "the benchmark needs more of it")]
#[path = "../../../mosh/benches/latency/ends.rs"]
mod ends;
#[allow(dead_code, reason = "the benchmark needs more of it")]
#[path = "../../../mosh/benches/latency/relay.rs"]
mod relay;
mod same;
mod screens;
mod secret;
mod typing;
#[allow(dead_code, reason = "the benchmark needs more of it")]
#[path = "../../../mosh/benches/latency/view.rs"]
mod view;

use ends::Pair;
use exm_testing::{has, skip};
use std::path::Path;

/// The pair called `name` of the ends in this build.
fn pair(name: &str) -> Pair {
    Pair::of(name, Path::new(env!("CARGO_BIN_EXE_exm"))).expect("a known pair")
}

/// Whether Mosh is installed; if not, the skip is recorded.
#[track_caller]
fn has_mosh() -> bool {
    let has_both = has("mosh-server") && has("mosh-client");
    if !has_both {
        skip("mosh-server or mosh-client is missing");
    }
    has_both
}
