//! Several flows of one controller: ours against recorded measurements of the kernel's, and against new
//! ones.
//!
//! Flows that overflow one buffer together have conditions that one flow never has: recoveries without a
//! pause between them, bandwidth estimates that add up to more than the link, competition for shares. The
//! recorded measurements are those of `cargo run -p exm-emulator --example several -- 5` with Linux 6.18
//! (docs/kernel-comparison.md).

use crate::shared::kernel::{TransferError, transfer};
use crate::shared::{CONTROLS, Control, Record, SEVERAL, Scenario, Summary, simulated};
use exm_sim::controllers::AnyController;
use exm_units::Instant;
use std::io::Write;
use std::thread;

/// The tolerances of our goodput and our mean queue, relative to the kernel's.
const GOODPUT: f64 = 0.015;
const QUEUE: f64 = 0.1;
/// The tolerance of our drops once the flows have settled: a fraction of the kernel's, plus a number of
/// packets. A controller whose recovery differs from the kernel's drops half or twice as many.
const DROPS: (f64, f64) = (0.3, 10.0);
/// The same for a single run of the kernel's.
const DROPS_LIVE: (f64, f64) = (0.45, 20.0);
/// How many times a disagreement with the kernel is retried.
const ATTEMPTS: usize = 2;
/// The number of simulations, of which the median is used.
const SEEDS: u64 = 11;

/// The kernel's medians of five runs by scenario and control: goodput in Mbps, the mean queue, and the
/// packets dropped after the flows had settled.
const RECORDED: [[[f64; 3]; 3]; 3] = [
    [[38.61, 111.3, 15.0], [38.61, 163.0, 20.0], [37.69, 187.1, 6003.0]],
    [[19.31, 95.4, 34.0], [19.31, 117.1, 27.0], [18.99, 102.2, 0.0]],
    [[19.30, 40.7, 63.0], [19.31, 54.1, 37.0], [19.13, 62.8, 3579.0]],
];

/// Goodput, mean queue and drops once the flows have settled.
fn numbers(scenario: &Scenario, record: &Record) -> [f64; 3] {
    let (from, to) = (Instant::ZERO + scenario.settled, Instant::ZERO + scenario.duration);
    let Summary { goodput, queue, .. } = record.between(from, to);
    [goodput.as_mbps(), queue, record.settled_drops() as f64]
}

/// The medians of our simulations.
fn ours(scenario: &Scenario, control: Control) -> [f64; 3] {
    let controller = AnyController::named(control.ours).expect("a known controller");
    let runs: Vec<_> = (1..=SEEDS)
        .map(|seed| {
            let settings = simulated::kernel_settings();
            let record = simulated::transfer(scenario, &controller, settings, seed);
            numbers(scenario, &record.expect("the scenario is possible"))
        })
        .collect();
    [0, 1, 2].map(|number| {
        let mut all: Vec<f64> = runs.iter().map(|run| run[number]).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    })
}

/// Whether `ours` agrees with the kernel's within the tolerances.
fn agree(kernel: [f64; 3], ours: [f64; 3], drops: (f64, f64)) -> bool {
    let is_near =
        |n: usize, part: f64, more: f64| (ours[n] - kernel[n]).abs() <= part * kernel[n] + more;
    is_near(0, GOODPUT, 0.0) && is_near(1, QUEUE, 0.0) && is_near(2, drops.0, drops.1)
}

#[test]
fn several_flows_agree_with_the_recorded_kernel() {
    for (scenario, recorded) in SEVERAL.iter().zip(RECORDED) {
        for (control, kernel) in CONTROLS.into_iter().zip(recorded) {
            let ours = ours(scenario, control);
            println!("{}, {control}: {kernel:?}, ours {ours:?}", scenario.name);
            assert!(
                agree(kernel, ours, DROPS),
                "{}, {control}: goodput, queue and drops {kernel:?}, ours {ours:?}",
                scenario.name
            );
        }
    }
}

/// One run of the kernel's with each control at the same time, half a minute. Skipped if network namespaces
/// cannot be created.
#[test]
fn several_flows_agree_with_this_kernel() {
    let scenario = &SEVERAL[2];
    let mut wrong = Vec::new();
    for _attempt in 0..ATTEMPTS {
        wrong.clear();
        let runs = thread::scope(|scope| {
            let run = |control: Control| scope.spawn(move || transfer(scenario, control.kernel));
            CONTROLS.map(run).map(|run| run.join().expect("no transfer panics"))
        });
        for (control, run) in CONTROLS.into_iter().zip(runs) {
            let measured = match run {
                Ok(measured) => measured,
                Err(TransferError::Unavailable(why)) => {
                    exm_testing::skip(why);
                    continue;
                }
                Err(error) => panic!("{control}: {error}"),
            };
            let (kernel, ours) = (numbers(scenario, &measured.record), ours(scenario, control));
            println!("{control}: {kernel:?}, ours {ours:?}, {} late", measured.late);
            if !agree(kernel, ours, DROPS_LIVE) {
                wrong.push((control, measured.late, kernel, ours));
            }
        }
        if wrong.is_empty() {
            return;
        }
    }
    // A late bottleneck adds to every RTT a delay that the simulation lacks.
    wrong.retain(|(control, late, ..)| {
        let is_late = late.as_millis_f64() > 5.0;
        if is_late {
            let _ = writeln!(
                std::io::stderr(),
                "several flows of {control} are not judged: the bottleneck was {late} late"
            );
        }
        !is_late
    });
    assert!(wrong.is_empty(), "goodput, queue and drops: {wrong:#?}");
}
