//! Two Cubic flows share a link; prints the throughput of each.
//!
//! `cargo run --release -p exmachina --example two_cubic_flows`

use exmachina::prelude::*;

fn main() -> Result<(), Error> {
    let link = Bottleneck::new(Rate::from_mbps(20.0), Span::from_millis(100));
    let report = link.flow("cubic").flow("cubic").simulate(Span::from_secs(60))?;
    for flow in &report.flows {
        println!("{}", flow.throughput().unwrap_or_default());
    }
    Ok(())
}
