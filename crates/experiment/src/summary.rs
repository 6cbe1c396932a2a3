//! [`Summary`]: the metrics of a scheme; [`Runs`]: those of some runs of one design.

use crate::completions::{merged, percentile};
use crate::rows::{self, FlowRow, RunRow};
use exm_measure::{
    Ellipse, jain_index, mean, median_in_place, rtt_exponent, shortest_over_longest,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The metrics of some flows of a case, over all its runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The number of flows in all runs, without those that were never on.
    pub samples: usize,
    /// Each metric by its name; those without a value are missing.
    pub values: BTreeMap<String, f64>,
    /// The 95 % intervals of some of them, by a bootstrap over runs; of a scheme with several designs, over these as
    /// well.
    pub intervals: BTreeMap<String, [f64; 2]>,
    /// The one-sigma ellipse of the most likely Gaussian; x is the delay in ms, y the throughput.
    /// Pictures, whose delay is on a logarithmic axis, draw that of the delay's logarithm.
    pub ellipse: Option<Shape>,
    /// Each design of a scheme that has several, of whose values the others are the means.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub designs: Vec<OfDesign>,
}

/// An ellipse, see [`exm_measure::Ellipse`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// Its centre.
    pub centre: [f64; 2],
    /// Half of each axis.
    pub semi_axes: [f64; 2],
    /// The direction of the longer axis.
    pub angle: f64,
}

/// How a scheme does with one of its designs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfDesign {
    /// The table.
    pub table: String,
    /// Each metric by its name.
    pub values: BTreeMap<String, f64>,
}

/// Some flows of all runs of a case.
#[derive(Clone)]
pub(crate) struct Runs<'a> {
    pub(crate) rows: Vec<&'a RunRow>,
    /// Which groups of flows.
    pub(crate) groups: Vec<bool>,
    /// The propagation RTT of each group, in ms.
    pub(crate) rtts: Vec<f64>,
}

impl Runs<'_> {
    /// The flows of all runs.
    pub(crate) fn all_flows(&self) -> impl Iterator<Item = &FlowRow> {
        self.rows.iter().flat_map(|row| self.flows(row))
    }

    fn flows<'b>(&'b self, row: &'b RunRow) -> impl Iterator<Item = &'b FlowRow> {
        row.flows.iter().filter(|flow| self.groups.get(flow.group).copied().unwrap_or(false))
    }

    /// The flows that were on, in the runs of these numbers.
    fn values(&self, runs: &[usize], of: impl Fn(&FlowRow) -> Option<f64>) -> Vec<f64> {
        let mut values = Vec::with_capacity(runs.len() * 8);
        for &run in runs {
            let on = self.flows(self.rows[run]).filter(|flow| flow.on_s > 0.0);
            values.extend(on.filter_map(&of));
        }
        values
    }

    fn sum(&self, runs: &[usize], of: impl Fn(&FlowRow) -> u64) -> f64 {
        runs.iter().flat_map(|&run| self.flows(self.rows[run])).map(of).sum::<u64>() as f64
    }

    fn per_run(&self, runs: &[usize], of: impl Fn(&RunRow) -> Option<f64>) -> Option<f64> {
        mean(runs.iter().filter_map(|&run| of(self.rows[run])))
    }

    /// The metric called `key` over the runs of these numbers.
    pub(crate) fn value(&self, key: &str, runs: &[usize]) -> Option<f64> {
        let throughput = |flow: &FlowRow| flow.throughput_mbps;
        let queueing = |flow: &FlowRow| flow.queueing_ms;
        let percent = |part: &dyn Fn(&FlowRow) -> u64| {
            let sent = self.sum(runs, |flow| flow.sent);
            (sent > 0.0).then(|| 100.0 * self.sum(runs, part) / sent)
        };
        match key {
            "mean_throughput" => mean(self.values(runs, throughput)),
            "sd_throughput" => deviation(&self.values(runs, throughput)),
            "mean_queueing" => mean(self.values(runs, queueing)),
            "sd_queueing" => deviation(&self.values(runs, queueing)),
            "mean_rtt" => mean(self.values(runs, |flow| flow.rtt_ms)),
            "median_completion" => percentile(&self.completions(runs), 0.5),
            "p95_completion" => percentile(&self.completions(runs), 0.95),
            "p99_completion" => percentile(&self.completions(runs), 0.99),
            "convergence" => median_in_place(&mut self.values(runs, |flow| {
                // One that never settles takes longer than any other.
                flow.convergence.map(|c| c.longest_s.unwrap_or(f64::INFINITY))
            })),
            "converged" => {
                let starts = self.sum(runs, |flow| flow.convergence.map_or(0, |c| c.starts));
                let settled = |flow: &FlowRow| flow.convergence.map_or(0, |c| c.settled);
                (starts > 0.0).then(|| 100.0 * self.sum(runs, settled) / starts)
            }
            "shortest_over_longest" => shortest_over_longest(&self.by_rtt(runs)),
            "rtt_exponent" => rtt_exponent(&self.by_rtt(runs)),
            "completed" => {
                let senders =
                    runs.iter().map(|&run| self.flows(self.rows[run]).count()).sum::<usize>();
                let completed = self.sum(runs, |flow| flow.completed);
                (completed > 0.0).then(|| completed / senders as f64)
            }
            "share" => self.per_run(runs, |row| self.share(row)).map(|share| 100.0 * share),
            "loss" => percent(&|flow| flow.lost),
            "retransmitted" => percent(&|flow| flow.retransmitted),
            "timeouts" => mean(self.values(runs, |flow| Some(flow.timeouts as f64))),
            "marks" => self.marks(runs),
            "jain" => self.per_run(runs, |row| {
                let own: Vec<f64> =
                    self.flows(row).filter_map(|flow| flow.throughput_mbps).collect();
                // A single flow has no fairness index.
                (own.len() > 1).then(|| jain_index(&own)).flatten()
            }),
            "utilisation" => self.per_run(runs, |row| {
                row.links.iter().map(|link| 100.0 * link.utilisation).reduce(f64::max)
            }),
            "objective" => mean(self.values(runs, |flow| {
                let share = flow.share.filter(|share| *share > 0.0)?;
                Some(libm::log2(share) - libm::log2(flow.rtt_ratio?))
            })),
            _ => median_in_place(&mut self.values(runs, rows::of_flow(key)?)),
        }
    }

    /// The completion times of all flows of these runs, in ms and in order.
    fn completions(&self, runs: &[usize]) -> Vec<f64> {
        let flows = runs.iter().flat_map(|&run| self.flows(self.rows[run]));
        merged(flows.map(|flow| flow.completions.as_slice()))
    }

    /// RTT and throughput of each flow.
    fn by_rtt(&self, runs: &[usize]) -> Vec<(f64, f64)> {
        let flows = runs.iter().flat_map(|&run| self.flows(self.rows[run]));
        flows
            .filter_map(|flow| Some((*self.rtts.get(flow.group)?, flow.throughput_mbps?)))
            .collect()
    }

    /// The share of these flows in the throughput of all flows.
    fn share(&self, row: &RunRow) -> Option<f64> {
        let all: f64 = row.flows.iter().filter_map(|flow| flow.throughput_mbps).sum();
        let own: f64 = self.flows(row).filter_map(|flow| flow.throughput_mbps).sum();
        (all > 0.0).then(|| own / all)
    }

    fn marks(&self, runs: &[usize]) -> Option<f64> {
        let links = || runs.iter().flat_map(|&run| &self.rows[run].links);
        let transmitted: u64 = links().map(|link| link.transmitted).sum();
        let marked: u64 = links().map(|link| link.marked).sum();
        (transmitted > 0).then(|| 100.0 * marked as f64 / transmitted as f64)
    }
}

impl From<Ellipse> for Shape {
    fn from(ellipse: Ellipse) -> Shape {
        Shape {
            centre: [ellipse.centre.0, ellipse.centre.1],
            semi_axes: [ellipse.semi_axes.0, ellipse.semi_axes.1],
            angle: ellipse.angle,
        }
    }
}

/// The standard deviation of the maximum likelihood Gaussian.
fn deviation(values: &[f64]) -> Option<f64> {
    let middle = mean(values.iter().copied())?;
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    Some((squares / values.len() as f64).sqrt())
}
