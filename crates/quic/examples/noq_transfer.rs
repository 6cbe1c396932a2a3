//! A file transfer over noq whose sender runs a controller by its name.
//!
//! The link lies in the same program: 15 Mbps, an RTT of 150 ms, and a queue of 200 ms. The controller is a shipped
//! table, the file of a table, or one designed by people (`reno`, `cubic`); the second argument is how much it sends.
//!
//! ```sh
//! cargo run --release -p exm-quic --example noq_transfer general-delta1 5
//! ```

mod common;

use common::{Job, Link, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let job = Job::from_args()?;
    transfer::run(job, Link::EXAMPLE).await?.print();
    Ok(())
}

#[path = "common/noq.rs"]
mod transfer;
