//! `exm ratatouille --measure`: the measures of the page, in the terminal.

use crate::layout;
use crate::progress::Progress;
use crate::ranges;
use crate::shell::{Failure, Printing};
use exm_design::DesignRanges;
use exm_ratatouille::{Measured, Monitor, Scene};
use exm_store::Columns;
use exm_units::{Instant, Span};
use serde::Serialize;
use std::fmt;

/// The steps in which the progress is shown; the first of them are not measured, so that the state is steady.
const STEPS: u64 = 50;
const UNMEASURED: u64 = 10;
/// How many samples are kept, 16 an RTT: more than a scene of an hour has at 100 ms.
const MOST: usize = 1 << 20;

/// What each flow was like.
#[derive(Serialize)]
struct Measures {
    scene: String,
    flows: Vec<Flow>,
}

#[derive(Serialize)]
struct Flow {
    lane: String,
    flow: usize,
    in_flight_over_ideal: Option<f64>,
    period_rtts: Option<f64>,
    ramp_up_rtts: Option<f64>,
    held_by_window: Option<f64>,
    held_by_pace: Option<f64>,
}

/// Plays `scene`, and prints the measures of each flow.
pub(super) fn print(scene: &Scene, printing: Printing) -> Result<(), Failure> {
    let mut ranges = DesignRanges::default();
    let mut load = |name: &str, path: &std::path::Path| ranges::controller(&mut ranges, name, path);
    let mut monitor = Monitor::new(scene, &mut load, MOST).map_err(|e| super::impossible(&e))?;
    let progress = Progress::new(STEPS);
    let step = (monitor.player().end() - Instant::ZERO) / STEPS;
    for number in 1..=STEPS {
        monitor.advance(Instant::ZERO + step * number, Span::ZERO, u64::MAX);
        if number == UNMEASURED {
            monitor.settle();
        }
        progress.advance(1);
    }
    progress.finish();
    let lanes = monitor.player().lanes().iter().enumerate();
    let flows = lanes.flat_map(|(lane, shown)| {
        let of_scenario = || {
            let groups = shown.scenario().flows.iter();
            let mut names: Vec<String> = groups.map(|group| group.controller.clone()).collect();
            names.dedup();
            names
        };
        let name = scene.lanes.get(lane).cloned().unwrap_or_else(of_scenario).join(",");
        let flow = |flow| Flow::new(name.clone(), flow, monitor.measured(lane, flow));
        (0..shown.active()).map(flow).collect::<Vec<_>>()
    });
    printing.print(&Measures { scene: scene.to_string(), flows: flows.collect() })
}

impl Flow {
    fn new(lane: String, flow: usize, measured: Measured) -> Flow {
        Flow {
            lane,
            flow,
            in_flight_over_ideal: measured.in_flight,
            period_rtts: measured.period,
            ramp_up_rtts: measured.ramp_up,
            held_by_window: measured.by_window,
            held_by_pace: measured.by_pace,
        }
    }
}

impl fmt::Display for Measures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |value: Option<f64>, decimals: usize| {
            value.map_or("-".to_owned(), |value| format!("{value:.decimals$}"))
        };
        let percent = |value: Option<f64>| number(value.map(|value| value * 100.0), 1);
        let mut columns = Columns::new(1);
        columns.line(
            ["", "", "in flight", "period", "ramp-up", "by window", "by pace"].map(str::to_owned),
        );
        columns.line(["lane", "flow", "/ ideal", "RTTs", "RTTs", "%", "%"].map(str::to_owned));
        for flow in &self.flows {
            columns.line([
                flow.lane.clone(),
                (flow.flow + 1).to_string(),
                number(flow.in_flight_over_ideal, 2),
                number(flow.period_rtts, 1),
                number(flow.ramp_up_rtts, 1),
                percent(flow.held_by_window),
                percent(flow.held_by_pace),
            ]);
        }
        f.write_str(&layout::table(&columns))
    }
}
