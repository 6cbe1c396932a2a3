//! What the turns came to.

use crate::layout;
use exm_measure::Estimate;
use exm_measure::figure::{Run, Scheme, Spread, Styles, ThroughputDelay};
use exm_store::Columns;
use exm_trial::Measured;
use exm_units::Span;
use serde::Serialize;
use std::fmt;

/// The result of all turns.
#[derive(Serialize)]
pub(super) struct Tried {
    host: String,
    /// The length of a turn, seconds.
    turn: f64,
    /// The least RTT of all turns, ms.
    least_rtt: Option<f64>,
    controls: Vec<Tally>,
}

/// The turns of one congestion control. Each number is one of a turn.
#[derive(Serialize)]
pub(super) struct Tally {
    name: String,
    /// Turns whose connection was lost.
    lost: u64,
    turns: Vec<Numbers>,
    /// Means over the turns, with their 95 % confidence intervals.
    #[serde(flatten)]
    means: Option<Means>,
}

/// What is reported of a turn.
#[derive(Clone, Copy, Serialize)]
struct Numbers {
    /// Mbps.
    goodput: f64,
    /// Mean and 95th percentile, ms.
    rtt: f64,
    rtt_95: f64,
    least_rtt: f64,
    /// A share of the bytes sent.
    retransmitted: f64,
}

#[derive(Serialize)]
struct Means {
    goodput: Estimate,
    rtt: Estimate,
    rtt_95: Estimate,
    retransmitted: Estimate,
}

impl Tally {
    pub(super) fn new(name: &str) -> Tally {
        Tally { name: name.to_owned(), lost: 0, turns: Vec::new(), means: None }
    }

    fn add(&mut self, turn: Numbers) {
        self.turns.push(turn);
        let mean = |number: &dyn Fn(&Numbers) -> f64| {
            Estimate::of(&self.turns.iter().map(number).collect::<Vec<_>>())
        };
        self.means = Some(Means {
            goodput: mean(&|turn| turn.goodput),
            rtt: mean(&|turn| turn.rtt),
            rtt_95: mean(&|turn| turn.rtt_95),
            retransmitted: mean(&|turn| turn.retransmitted),
        });
    }

    fn cells(&self) -> Vec<String> {
        let mut cells = vec![self.name.clone()];
        match &self.means {
            Some(Means { goodput, rtt, rtt_95, retransmitted }) => cells.extend([
                goodput.text(2),
                rtt.text(1),
                rtt_95.text(1),
                format!("{} %", retransmitted.scaled(100.0).text(2)),
            ]),
            None => cells.extend(["-"; 4].map(str::to_owned)),
        }
        let lost = if self.lost > 0 { format!(" ({} lost)", self.lost) } else { String::new() };
        cells.push(format!("{}{lost}", self.turns.len()));
        cells
    }
}

impl Tried {
    pub(super) fn new(host: &str, turn: Span, controls: Vec<Tally>) -> Tried {
        Tried { host: host.to_owned(), turn: turn.as_secs_f64(), least_rtt: None, controls }
    }

    /// Adds a turn of control `which`.
    pub(super) fn add(&mut self, which: usize, measured: &Measured) {
        let turn = Numbers {
            goodput: measured.goodput_mbps,
            rtt: measured.rtt.as_millis_f64(),
            rtt_95: measured.rtt_95.as_millis_f64(),
            least_rtt: measured.least_rtt.as_millis_f64(),
            retransmitted: measured.retransmitted,
        };
        let least = self.least_rtt.map_or(turn.least_rtt, |least| least.min(turn.least_rtt));
        self.least_rtt = Some(least);
        self.controls[which].add(turn);
    }

    /// Notes that a turn of control `which` was lost.
    pub(super) fn fail(&mut self, which: usize) {
        self.controls[which].lost += 1;
    }

    /// This, if there was a turn.
    pub(super) fn any(self) -> Option<Tried> {
        self.least_rtt.is_some().then_some(self)
    }

    /// Goodput against the RTT above the least, a point for each control and a cross for its quartiles.
    pub(super) fn picture(&self) -> String {
        let least = self.least_rtt.unwrap_or_default();
        let mut styles = Styles::new();
        let run =
            |turn: &Numbers| Run { delay_ms: Some(turn.rtt - least), throughput: turn.goodput };
        let schemes = self.controls.iter().map(|control| Scheme {
            name: control.name.clone(),
            style: styles.of(&control.name),
            frontiers: Vec::new(),
            curve: None,
            runs: control.turns.iter().map(run).collect(),
            dots: Vec::new(),
        });
        let figure = ThroughputDelay {
            title: format!("Congestion controls on the path to {}", self.host),
            subtitle: format!("turns of {:.1} s, least RTT {least:.1} ms", self.turn),
            description: "Goodput against delay of TCP with several congestion controls".to_owned(),
            y_axis: "goodput, Mbps".to_owned(),
            delay: "RTT above the least".to_owned(),
            spread: Spread::Quartiles,
            original: None,
            schemes: schemes.collect(),
            cloud: Vec::new(),
        };
        figure.svg()
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = Columns::new(1);
        let heading = ["", "goodput, Mbps", "RTT, ms", "RTT (95 %), ms", "retransmitted", "turns"];
        columns.line(heading.map(str::to_owned));
        self.controls.iter().for_each(|control| columns.line(control.cells()));
        f.write_str(&layout::table(&columns))?;
        let least = self.least_rtt.unwrap_or_default();
        writeln!(
            f,
            "turns of {:.1} s, least RTT {least:.1} ms, means with their 95 % intervals",
            self.turn
        )
    }
}
