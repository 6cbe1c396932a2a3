//! Compares several flows of our TCP with as many of the kernel's, repeatedly, and prints medians and
//! ranges as Markdown:
//!
//! ```sh
//! sudo -E cargo run -p exm-emulator --example several -- 5
//! ```
//!
//! The number is how often the kernel's transfers run, one after the other if the link is fast, so
//! that the machine keeps up. Each is simulated with twenty seeds; with 0 only the simulations run.

#[cfg(target_os = "linux")]
#[allow(dead_code, unused_imports, reason = "the tests use the rest")]
#[path = "../tests/peers/shared/mod.rs"]
mod peers;

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    linux::main()
}

#[cfg(target_os = "linux")]
mod linux {
    use crate::peers::kernel::{self, Measured, TransferError};
    use crate::peers::{CONTROLS, Control, Record, SEVERAL, Scenario, simulated};
    use exm_sim::controllers::AnyController;
    use exm_units::{Instant, Rate};
    use std::error::Error;
    use std::thread;

    /// Above this rate transfers run one after the other.
    const SLOW: Rate = Rate::from_bps(20_000_000);
    /// The number of simulations of each case.
    const SIMULATIONS: u64 = 20;

    pub(super) fn main() -> Result<(), Box<dyn Error>> {
        let repeats = std::env::args().nth(1).map_or(Ok(3), |number| number.parse::<u64>())?;
        println!(
            "| control | scenario | whose | goodput, Mbps | slowest flow's | fastest flow's | \
             mean queue | drops, settled | drops before | retransmitted | late, ms |"
        );
        println!("|{}", " --- |".repeat(11));
        for scenario in &SEVERAL {
            for (control, runs) in CONTROLS.iter().zip(measure(scenario, repeats)?) {
                let records: Vec<&Record> = runs.iter().map(|run| &run.record).collect();
                if !records.is_empty() {
                    let late = runs.iter().map(|run| run.late.as_millis_f64()).collect();
                    row(scenario, control, "kernel's", &records, &median(late, 1));
                }
                let controller = AnyController::named(control.ours).expect("a known controller");
                let simulations = (1..=SIMULATIONS).map(|seed| {
                    let settings = simulated::kernel_settings();
                    simulated::transfer(scenario, &controller, settings, seed)
                });
                let simulations = simulations.collect::<Result<Vec<_>, _>>()?;
                row(scenario, control, "ours", &simulations.iter().collect::<Vec<_>>(), "–");
            }
        }
        Ok(())
    }

    /// The kernel's transfers with each control.
    fn measure(scenario: &Scenario, repeats: u64) -> Result<Vec<Vec<Measured>>, TransferError> {
        let mut all = vec![Vec::new(); CONTROLS.len()];
        let together = if scenario.rate > SLOW { 1 } else { CONTROLS.len() };
        for _ in 0..repeats {
            for (controls, all) in CONTROLS.chunks(together).zip(all.chunks_mut(together)) {
                let runs: Vec<_> = thread::scope(|scope| {
                    let transfer = |control: &'static str| {
                        scope.spawn(move || kernel::transfer(scenario, control))
                    };
                    let runs: Vec<_> = controls.iter().map(|c| transfer(c.kernel)).collect();
                    let joined = runs.into_iter().map(|run| run.join().expect("no panic"));
                    joined.collect()
                });
                for (run, all) in runs.into_iter().zip(all) {
                    all.push(run?);
                }
            }
        }
        Ok(all)
    }

    fn row(scenario: &Scenario, control: &Control, whose: &str, records: &[&Record], late: &str) {
        let (from, to) = (Instant::ZERO + scenario.settled, Instant::ZERO + scenario.duration);
        let each = |number: &dyn Fn(&Record) -> f64, digits| {
            median(records.iter().map(|record| number(record)).collect(), digits)
        };
        let goodputs = |record: &Record| {
            let goodput = |flow: &crate::peers::Flow| flow.goodput(from, to).as_mbps();
            let mut goodputs: Vec<f64> = record.flows.iter().map(goodput).collect();
            goodputs.sort_by(f64::total_cmp);
            goodputs
        };
        println!(
            "| {control} | {} | {whose} | {} | {} | {} | {} | {} | {} | {} | {late} |",
            scenario.name,
            each(&|record| goodputs(record).iter().sum(), 2),
            each(&|record| goodputs(record)[0], 1),
            each(&|record| goodputs(record)[record.flows.len() - 1], 1),
            each(&|record| record.between(from, to).queue, 1),
            each(&|record| record.settled_drops() as f64, 0),
            each(&|record| (record.drops() - record.settled_drops()) as f64, 0),
            each(&|record| record.retransmissions as f64, 0),
        );
    }

    /// The median, the minimum and the maximum.
    fn median(mut numbers: Vec<f64>, digits: usize) -> String {
        numbers.sort_by(f64::total_cmp);
        let (least, most) = (numbers[0], numbers[numbers.len() - 1]);
        let middle = (numbers[(numbers.len() - 1) / 2] + numbers[numbers.len() / 2]) / 2.0;
        format!("{middle:.digits$} ({least:.digits$}–{most:.digits$})")
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("network namespaces are Linux's: there is nothing to compare with here");
}
