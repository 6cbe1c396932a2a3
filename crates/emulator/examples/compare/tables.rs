//! The tables of the comparison, as Markdown.

use crate::peers::{Comparison, Record, SCENARIOS, simulated};
use exm_sim::controllers::AnyController;
use exm_units::{Instant, Span};
use std::fmt::Write;

/// The kernel's counters that characterise a transfer.
const COUNTERS: [&str; 7] = [
    "TCPSackRecovery",
    "TCPFastRetrans",
    "TCPTimeouts",
    "TCPLossProbes",
    "TCPHystartTrainCwnd",
    "TCPHystartDelayCwnd",
    "TCPSpuriousRTOs",
];

/// The times after the start, in ms, of the first table of windows.
const START: [u64; 10] = [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000];
/// The times after a cut, in ms, of the second.
const AFTER_CUT: [u64; 10] = [200, 400, 600, 800, 1000, 1400, 1800, 2200, 3000, 4000];

pub(crate) fn all(comparisons: &[Comparison]) -> String {
    let parts: [fn(&[Comparison]) -> String; 4] = [averages, starts, growth, counted];
    parts.map(|part| part(comparisons)).join("\n") + "\n" + &version_3()
}

/// A table's row.
fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn head(cells: &[String]) -> String {
    row(cells) + &row(&vec!["---".to_owned(); cells.len()])
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The control and the scenario.
fn case(comparison: &Comparison) -> Vec<String> {
    words(&[comparison.control.kernel, comparison.scenario.name])
}

fn averages(comparisons: &[Comparison]) -> String {
    let mut text = String::from(
        "In each cell the kernel's, and then ours. The last column is the lateness of the \
         bottleneck's slowest thousandth of packets.\n\n",
    );
    text += &head(&words(&[
        "control",
        "scenario",
        "goodput, Mbps",
        "",
        "mean queue, packets",
        "",
        "mean window",
        "peak",
        "dropped in all",
        "late, ms",
    ]));
    for comparison in comparisons {
        let [kernel, ours] = comparison.summaries();
        let goodput = [kernel.goodput.as_mbps(), ours.goodput.as_mbps()];
        let queue = [kernel.queue, ours.queue];
        let mut cells = case(comparison);
        cells.extend([
            format!("{:.3} / {:.3}", goodput[0], goodput[1]),
            format!("{:+.1} %", 100.0 * (goodput[1] / goodput[0] - 1.0)),
            format!("{:.2} / {:.2}", queue[0], queue[1]),
            format!("{:+.1} %", 100.0 * (queue[1] / queue[0] - 1.0)),
            format!("{:.1} / {:.1}", kernel.cwnd, ours.cwnd),
            format!("{} / {}", kernel.peak, ours.peak),
            format!("{} / {}", comparison.kernel.record.drops(), comparison.simulated.drops()),
            format!("{:.1}", comparison.kernel.late.as_millis_f64()),
        ]);
        text += &row(&cells);
    }
    text
}

fn starts(comparisons: &[Comparison]) -> String {
    let mut text = String::from("The window in packets, by the time since the start:\n\n");
    windows(&mut text, comparisons, &START, |_, record, after| {
        Some(record.flows[0].window(Instant::ZERO + after)? as f64)
    });
    text
}

fn growth(comparisons: &[Comparison]) -> String {
    let mut text = String::from(
        "The window in packets, by the time since it was cut, on average over the cycles compared \
         that last so long:\n\n",
    );
    let cut: Vec<_> = comparisons.iter().filter(|c| c.control.is_cut()).cloned().collect();
    windows(&mut text, &cut, &AFTER_CUT, |comparison, record, after| {
        let (from, to) = comparison.span(record);
        let cuts = record.flows[0].cuts();
        let cycles = cuts.windows(2).filter(|pair| pair[0] >= from && pair[1] <= to);
        let lasting = cycles.filter(|pair| pair[0] + after < pair[1]);
        let windows: Vec<u64> =
            lasting.filter_map(|pair| record.flows[0].window(pair[0] + after)).collect();
        let sum: u64 = windows.iter().sum();
        (!windows.is_empty()).then(|| sum as f64 / windows.len() as f64)
    });
    text
}

/// Adds a table of windows at `times`, in ms, as returned by `window`.
fn windows(
    text: &mut String,
    comparisons: &[Comparison],
    times: &[u64],
    window: impl Fn(&Comparison, &Record, Span) -> Option<f64>,
) {
    let mut heads = words(&["control", "scenario", "whose"]);
    heads.extend(times.iter().map(|ms| format!("{:.1} s", *ms as f64 / 1000.0)));
    *text += &head(&heads);
    for comparison in comparisons {
        let records = [("kernel's", &comparison.kernel.record), ("ours", &comparison.simulated)];
        for (whose, record) in records {
            let mut cells = case(comparison);
            cells.push(whose.to_owned());
            cells.extend(times.iter().map(|&ms| {
                window(comparison, record, Span::from_millis(ms))
                    .map_or_else(|| "–".to_owned(), |cwnd| format!("{cwnd:.0}"))
            }));
            *text += &row(&cells);
        }
    }
}

fn counted(comparisons: &[Comparison]) -> String {
    let mut text = String::from("What the kernel counted, where it is not zero:\n\n");
    for comparison in comparisons {
        let counters = COUNTERS.iter().filter_map(|name| {
            let count = comparison.kernel.counters.get(*name)?;
            Some(format!("{name} {count}"))
        });
        let counters: Vec<String> = counters.collect();
        let _ = writeln!(text, "- {}: {}", case(comparison).join(", "), counters.join(", "));
    }
    text
}

/// BBR version 3 has no counterpart in the kernel, and is only simulated.
fn version_3() -> String {
    let mut text = String::from("BBR, version 3 (`bbr`), simulated on the same paths:\n\n");
    text += &head(&words(&[
        "scenario",
        "goodput, Mbps",
        "mean queue, packets",
        "mean window",
        "peak",
        "dropped in all",
    ]));
    for scenario in SCENARIOS {
        let bbr = AnyController::named("bbr").expect("a known controller");
        let record = simulated::transfer(&scenario, &bbr, simulated::kernel_settings(), 1);
        let record = record.expect("the scenario is possible");
        let (from, to) = (Instant::ZERO + scenario.settled, Instant::ZERO + scenario.duration);
        let summary = record.between(from, to);
        text += &row(&[
            scenario.name.to_owned(),
            format!("{:.3}", summary.goodput.as_mbps()),
            format!("{:.2}", summary.queue),
            format!("{:.1}", summary.cwnd),
            summary.peak.to_string(),
            record.drops().to_string(),
        ]);
    }
    text
}
