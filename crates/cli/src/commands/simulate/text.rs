//! Results as text.

use super::results::{FLOW_METRICS, Flow, LINK_METRICS, Link, Metric, Results, Run, Values};
use crate::layout;
use exm_measure::Estimate;
use exm_store::Columns;
use std::fmt;

/// The text for a missing value.
const NOTHING: &str = "-";

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(title) = &self.title {
            write!(f, "{title}: ")?;
        }
        writeln!(f, "{}\n{}", self.extent(), self.header())?;
        if self.runs.len() == 1 {
            writeln!(f)?;
            self.of_one_run(f)?;
            return self.summary(f);
        }
        if self.runs_are_identical() {
            let runs = self.runs.len();
            let all = if runs == 2 { "Both".to_owned() } else { format!("All {runs}") };
            let text = format!(
                "{all} runs gave identical results, because nothing in this network is random: one run is enough."
            );
            writeln!(f, "{}", layout::paragraph(&text))?;
            self.of_one_run(f)?;
            return self.summary_of_one(f);
        }
        let text = "Means over runs and over the flows of a group, with 95 % intervals.";
        writeln!(f, "{}", layout::paragraph(text))?;
        self.of_several_runs(f)?;
        self.summary(f)
    }
}

impl Results {
    /// The number of runs, their length and seeds.
    pub(super) fn extent(&self) -> String {
        let (runs, duration) = (self.runs.len(), self.duration);
        match self.runs.as_slice() {
            [first, .., last] => {
                format!("{runs} runs of {duration}, seeds {} to {}", first.seed, last.seed)
            }
            _ => format!("{duration}, seed {}", self.seed),
        }
    }

    /// The options, and the hosts of the senders if they are not among them.
    pub(super) fn header(&self) -> String {
        match &self.setup {
            Some(setup) if setup.has("host") => setup.to_string(),
            Some(setup) => format!("host {}\n{setup}", self.host),
            None => format!("host {}", self.host),
        }
    }

    fn of_one_run(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cell = |value: Option<f64>, decimals: usize| {
            value.map_or(NOTHING.to_owned(), |value| format!("{value:.decimals$}"))
        };
        let run = &self.runs[0];
        let flows = run.flows.iter().map(|flow| {
            let values = FLOW_METRICS.iter().map(|m| cell((m.of)(flow), m.decimals)).collect();
            (vec![flow.name.clone(), flow.controller.clone()], values)
        });
        let links = run.links.iter().map(|link| {
            let values = LINK_METRICS.iter().map(|m| cell((m.of)(link), m.decimals)).collect();
            (vec![link.name.clone()], values)
        });
        flow_table(f, flows)?;
        link_table(f, links)
    }

    fn of_several_runs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = self.means.groups.iter().map(|group| {
            let name = match group.count {
                1 => group.name.clone(),
                count => format!("{} (x {count})", group.name),
            };
            (vec![name, group.controller.clone()], cells(&group.values, &FLOW_METRICS))
        });
        let links = self.means.links.iter();
        flow_table(f, groups)?;
        link_table(f, links.map(|l| (vec![l.name.clone()], cells(&l.values, &LINK_METRICS))))
    }

    /// Whether the seed made no difference to any value that is printed.
    fn runs_are_identical(&self) -> bool {
        let values = |run: &Run| {
            let flows = run.flows.iter().flat_map(|flow| FLOW_METRICS.map(|m| (m.of)(flow)));
            let links = run.links.iter().flat_map(|link| LINK_METRICS.map(|m| (m.of)(link)));
            flows.chain(links).collect::<Vec<Option<f64>>>()
        };
        let first = values(&self.runs[0]);
        self.runs.iter().all(|run| values(run) == first)
    }

    fn summary_of_one(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |value: Option<Estimate>| value.map(|value| Estimate::of(&[value.mean]));
        summary(f, one(self.means.tp), one(self.means.del))
    }

    fn summary(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        summary(f, self.means.tp, self.means.del)
    }
}

/// The two numbers that the original Remy prints.
fn summary(f: &mut fmt::Formatter<'_>, tp: Option<Estimate>, del: Option<Estimate>) -> fmt::Result {
    let text = |value: Option<Estimate>| value.map_or(NOTHING.to_owned(), |v| v.text(4));
    writeln!(f, "tp   {}  mean throughput / equal share", text(tp))?;
    writeln!(f, "del  {}  mean RTT / propagation RTT", text(del))
}

pub(super) fn cells<T>(values: &Values, metrics: &[Metric<T>]) -> Vec<String> {
    let values = values.0.iter().zip(metrics);
    let cells = values.map(|((_, value), metric)| {
        value.map_or(NOTHING.to_owned(), |value| value.text(metric.decimals))
    });
    cells.collect()
}

fn flow_table(
    f: &mut fmt::Formatter<'_>,
    rows: impl Iterator<Item = (Vec<String>, Vec<String>)>,
) -> fmt::Result {
    flow_lines(f, &["flow", "controller"], rows)
}

fn link_table(
    f: &mut fmt::Formatter<'_>,
    rows: impl Iterator<Item = (Vec<String>, Vec<String>)>,
) -> fmt::Result {
    table::<Link>(f, &["link"], &LINK_METRICS, rows)
}

/// Prints a table with a line of metrics for each of `rows`.
pub(super) fn flow_lines(
    f: &mut fmt::Formatter<'_>,
    names: &[&str],
    rows: impl Iterator<Item = (Vec<String>, Vec<String>)>,
) -> fmt::Result {
    table::<Flow>(f, names, &FLOW_METRICS, rows)
}

/// Prints a table of names and of the values of `metrics`, without those that no row has.
fn table<T>(
    f: &mut fmt::Formatter<'_>,
    names: &[&str],
    metrics: &[Metric<T>],
    rows: impl Iterator<Item = (Vec<String>, Vec<String>)>,
) -> fmt::Result {
    let rows: Vec<(Vec<String>, Vec<String>)> = rows.collect();
    let is_shown = |column: usize| rows.iter().any(|(_, values)| values[column] != NOTHING);
    let shown: Vec<usize> = (0..metrics.len()).filter(|&column| is_shown(column)).collect();
    let mut columns = Columns::new(names.len());
    let heading = |line: usize| shown.iter().map(move |&i| metrics[i].heading[line].to_owned());
    columns.line(names.iter().map(|_| String::new()).chain(heading(0)));
    columns.line(names.iter().map(|&name| name.to_owned()).chain(heading(1)));
    for (names, values) in &rows {
        columns.line(names.iter().cloned().chain(shown.iter().map(|&i| values[i].clone())));
    }
    writeln!(f, "{}", layout::table(&columns))
}
