//! Scenarios: any text is read or refused, and a small network that is read can be simulated.

use exm_sim::scenario::Scenario;
use exm_units::Span;
use std::path::Path;

/// Runs the target on `bytes`.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(mut scenario) = Scenario::parse(text, "fuzzed", Path::new("/nowhere")) else { return };
    if scenario.flows.iter().map(|group| group.count).sum::<usize>() > 20 {
        return;
    }
    scenario.duration = scenario.duration.min(Span::from_micros(50));
    let Ok(network) = scenario.network(&mut |_, _| Err("no tables here".to_owned())) else {
        return;
    };
    let report = exm_sim::engine::run(&network, scenario.seed);
    let under_way: u64 = report.flows.iter().map(|flow| flow.under_way()).sum();
    assert_eq!(report.in_network, under_way);
}
