//! Our TCP against the kernel's: the same long flow, over the same bottleneck.
//!
//! Skipped if network namespaces or TUN devices cannot be created. It takes half a minute, most of it
//! waiting. A disagreement is retried before it counts, and does not count if the bottleneck was late
//! because the machine was overloaded.

use crate::shared::kernel::TransferError;
use crate::shared::{CONTROLS, Comparison, SCENARIOS, Summary};
use std::collections::BTreeSet;
use std::io::Write;

/// The tolerances of our goodput and our mean queue, relative to the kernel's.
const GOODPUT: f64 = 0.03;
const QUEUE: f64 = 0.15;
/// How many times a disagreement is retried: the kernel's BBR, which paces with timers, has up to half as
/// much queue again if the machine is busy.
const ATTEMPTS: usize = 4;

/// Descriptions of the disagreements.
fn disagreements(comparison: &Comparison) -> Vec<String> {
    let [kernel, ours] = comparison.summaries();
    let goodput = [&kernel, &ours].map(|summary: &Summary| summary.goodput.as_mbps());
    let mut found = Vec::new();
    if (goodput[1] / goodput[0] - 1.0).abs() > GOODPUT {
        found.push(format!("goodput in Mbps, the kernel's and ours: {goodput:.3?}"));
    }
    let queue = [kernel.queue, ours.queue];
    if (queue[1] / queue[0] - 1.0).abs() > QUEUE {
        found.push(format!("mean queue in packets, the kernel's and ours: {queue:.2?}"));
    }
    found
}

/// Prints it even though the test harness captures the output of passing tests.
fn print_past_harness(what: &str) {
    let _ = writeln!(std::io::stderr(), "comparison with the kernel's TCP: {what}");
}

#[test]
fn the_simulated_tcp_agrees_with_the_kernels() {
    let cases = SCENARIOS.iter().flat_map(|&scenario| CONTROLS.map(|control| (scenario, control)));
    let mut cases: Vec<_> = cases.collect();
    let (mut wrong, mut missing) = (Vec::new(), BTreeSet::new());
    for _attempt in 0..ATTEMPTS {
        wrong.clear();
        for (case, outcome) in cases.clone().into_iter().zip(Comparison::all(&cases)) {
            let comparison = match outcome {
                Ok(comparison) => comparison,
                Err(TransferError::Unavailable(why)) => {
                    missing.insert(why.to_string());
                    continue;
                }
                Err(error) => panic!("{}: {error}", case.1),
            };
            println!("{} {}: {:#?}", case.0.name, case.1, comparison.summaries());
            let found = disagreements(&comparison);
            if !found.is_empty() {
                wrong.push((case, comparison.lateness(), found.join("; ")));
            }
        }
        cases = wrong.iter().map(|&(case, ..)| case).collect();
        if cases.is_empty() {
            break;
        }
    }
    missing.iter().for_each(exm_testing::skip);
    wrong.retain(|((scenario, control), late, found)| {
        if let Some(late) = late {
            print_past_harness(&format!(
                "not judged for {control} with a {}, because the bottleneck was {late} late: {found}",
                scenario.name
            ));
        }
        late.is_none()
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}
