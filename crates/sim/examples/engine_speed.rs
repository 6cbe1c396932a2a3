//! How many packets the event engine delivers a second: on the network of a scenario, or on the one
//! its speed is stated for, 8 senders of one default rule, 1.25 packets/ms, 150 ms, on and off 5 s
//! exponential.
//!
//! `cargo run --release -p exm-sim --example engine_speed [FILE]`

use exm_grammar::FileError;
use exm_link::{Limit, Service};
use exm_random::Distribution;
use exm_remy::{Action, RemyCc, RuleTable, SignalSet};
use exm_sim::engine;
use exm_sim::network::{Host, LinkSpec};
use exm_sim::scenario::{DEFAULT_PACKET_SIZE, FlowGroup, Scenario};
use exm_sim::traffic::{OnFor, OnOff};
use exm_units::{Rate, Span};
use std::path::Path;

fn stated() -> Scenario {
    let mean = Distribution::Exponential { mean: 5.0 };
    let rate = Rate::from_packets_per_ms(1.25, DEFAULT_PACKET_SIZE);
    let senders = FlowGroup::new("./default", Span::from_millis(150))
        .count(8)
        .host(Host::Bare)
        .traffic(OnOff { on: OnFor::Time(mean.clone()), off: mean });
    Scenario::builder(Span::from_secs(30_000))
        .link(LinkSpec::new(Service::Fixed(rate)), Limit::Unlimited)
        .flow(senders)
        .build()
}

fn main() {
    if let Err(error) = measure() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

#[expect(clippy::disallowed_methods, reason = "it measures the engine, not the network")]
fn measure() -> Result<(), FileError> {
    let file = std::env::args().nth(1);
    let scenario = file.map_or_else(|| Ok(stated()), |file| Scenario::load(Path::new(&file)))?;
    let action = Action { multiple: 1.0, increment: 1, intersend_ms: 3.0 };
    let table = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, action);
    let network = scenario.network(&mut |_, _| Ok(RemyCc::new(&table).into()))?;
    let start = std::time::Instant::now();
    let report = engine::run(&network, scenario.seed);
    let took = start.elapsed().as_secs_f64();
    let delivered: u64 = report.flows.iter().map(|flow| flow.delivered).sum();
    println!(
        "{delivered} packets, {} events in {took:.2} s: {:.2} M packets/s, {:.1} ns an event",
        report.events,
        delivered as f64 / took * 1e-6,
        took / report.events as f64 * 1e9
    );
    Ok(())
}
