//! [`Summary`]: the metrics of all runs of a case.

use crate::completions::{merged, percentile};
use crate::experiment::Experiment;
use crate::plan::Plan;
use crate::rows::{self, FlowRow, OfFlow, RunRow};
use exm_measure::{
    Bootstrap, Ellipse, jain_index, mean, median_in_place, rtt_exponent, shortest_over_longest,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The number of bootstrap resamples for an interval: its ends are then accurate to a few percent of
/// its length, more than is printed.
const RESAMPLINGS: usize = 1000;

/// The metrics of some flows of a case, over all its runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The number of flows in all runs, without those that were never on.
    pub samples: usize,
    /// Each metric by its name; those without a value are missing.
    pub values: BTreeMap<String, f64>,
    /// The 95 % intervals of some of them, by a bootstrap over runs.
    pub intervals: BTreeMap<String, [f64; 2]>,
    /// The one-sigma ellipse of the most likely Gaussian; x is the delay in ms, y the throughput.
    /// Pictures, whose delay is on a logarithmic axis, draw that of the delay's logarithm.
    pub ellipse: Option<Shape>,
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

/// Some flows of all runs of a case.
#[derive(Clone)]
pub(crate) struct Sample<'a> {
    rows: Vec<&'a RunRow>,
    groups: Vec<bool>,
    /// The propagation RTT of each group, in ms.
    rtts: Vec<f64>,
    /// The delay and the throughput that pictures are drawn of.
    axes: [OfFlow; 2],
}

impl<'a> Sample<'a> {
    /// The flows in `rows`, of the case of this number, whose groups are selected by `groups`.
    pub(crate) fn new(
        rows: Vec<&'a RunRow>,
        plan: &Plan,
        case: usize,
        groups: Vec<bool>,
    ) -> Sample<'a> {
        let flows = &plan.cases[case].scenario.flows;
        let rtts = flows.iter().map(|group| group.rtt.as_secs_f64() * 1e3).collect();
        let Experiment { x, y, .. } = &plan.experiment;
        let axes = [x, y].map(|axis| rows::of_flow(axis.key).unwrap_or(|_| None));
        Sample { rows, groups, rtts, axes }
    }

    /// How many runs there are.
    pub(crate) fn runs(&self) -> usize {
        self.rows.len()
    }

    /// Throughput and delay of each flow of each run, as plotted in figures.
    pub(crate) fn points(&self) -> impl Iterator<Item = (f64, Option<f64>)> + '_ {
        let [x, y] = self.axes;
        let flows = self.rows.iter().flat_map(|row| self.flows(row));
        flows.filter_map(move |flow| Some((y(flow)?, x(flow))))
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
    pub(crate) fn completions(&self, runs: &[usize]) -> Vec<f64> {
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

    /// The 95 % interval of a `statistic` of some runs, by a bootstrap over them: the flows of a run
    /// share its traffic and are not independent samples.
    pub(crate) fn interval(
        &self,
        seed: u64,
        statistic: impl Fn(&[usize]) -> Option<f64>,
    ) -> Option<[f64; 2]> {
        if self.rows.len() < 2 {
            return None;
        }
        let all: Vec<usize> = (0..self.rows.len()).collect();
        let bootstrap = Bootstrap { seed, resamplings: RESAMPLINGS, confidence: 0.95 };
        let interval = bootstrap.interval(&all, |runs| statistic(runs).unwrap_or(f64::NAN))?;
        (interval.low.is_finite() && interval.high.is_finite())
            .then_some([interval.low, interval.high])
    }

    /// All metrics, with intervals for those named in `sure`.
    pub(crate) fn summary(&self, seed: u64, sure: &[&str]) -> Summary {
        let all: Vec<usize> = (0..self.rows.len()).collect();
        let values = crate::metric::METRICS.iter().filter_map(|metric| {
            let value = self.value(metric.key, &all).filter(|value| value.is_finite())?;
            Some((metric.key.to_owned(), value))
        });
        let intervals = sure.iter().filter_map(|&key| {
            Some((key.to_owned(), self.interval(seed, |runs| self.value(key, runs))?))
        });
        let pairs: Vec<(f64, f64)> =
            self.points().filter_map(|(throughput, delay)| Some((delay?, throughput))).collect();
        Summary {
            samples: self.points().count(),
            values: values.collect(),
            intervals: intervals.collect(),
            ellipse: Ellipse::of(&pairs).map(Shape::from),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convergence::Convergence;
    use crate::rows::LinkRow;

    fn flow(group: usize, throughput: f64, queueing: f64) -> FlowRow {
        FlowRow {
            group,
            on_s: 1.0,
            throughput_mbps: Some(throughput),
            share: Some(0.5),
            queueing_ms: Some(queueing),
            rtt_ms: Some(100.0 + queueing),
            rtt_ratio: Some(2.0),
            sent: 100,
            retransmitted: 2,
            timeouts: 1,
            delivered: 98,
            lost: 2,
            completed: 0,
            completion_ms: None,
            completions: Vec::new(),
            convergence: None,
            claim_rtts: None,
            end_to_end: None,
            timeline: None,
        }
    }

    /// The flows of groups with RTTs of 50 and 100 ms.
    fn sample<'a>(rows: &'a [RunRow], groups: &[bool]) -> Sample<'a> {
        let axes: [OfFlow; 2] = [|flow| flow.queueing_ms, |flow| flow.throughput_mbps];
        let (rows, groups) = (rows.iter().collect(), groups.to_vec());
        Sample { rows, groups, rtts: vec![50.0, 100.0], axes }
    }

    fn row(flows: Vec<FlowRow>) -> RunRow {
        let link = LinkRow {
            utilisation: 0.5,
            mean_queue: 1.0,
            max_queue: 3,
            transmitted: 200,
            dropped: 4,
            marked: 10,
            lost: 0,
        };
        RunRow { seed: 1, flows, links: vec![link] }
    }

    #[test]
    fn a_summary_by_hand() {
        let rows = [
            row(vec![flow(0, 1.0, 10.0), flow(1, 3.0, 20.0)]),
            row(vec![flow(0, 2.0, 30.0), flow(1, 6.0, 40.0)]),
        ];
        let all = sample(&rows, &[true, true]).summary(1, &["throughput"]);
        let value = |key: &str| all.values[key];
        assert_eq!((all.samples, value("throughput"), value("mean_throughput")), (4, 2.5, 3.0));
        assert_eq!((value("queueing"), value("rtt"), value("loss")), (25.0, 125.0, 2.0));
        assert_eq!((value("marks"), value("utilisation"), value("objective")), (5.0, 50.0, -2.0));
        assert!((value("jain") - 0.8).abs() < 1e-12 && value("share") == 100.0);
        assert!(!all.values.contains_key("completion"));
        // The flows at 50 ms have 1.5 Mbps on average, those at 100 ms 4.5.
        assert!((value("shortest_over_longest") - 1.0 / 3.0).abs() < 1e-12);
        assert!((value("rtt_exponent") + libm::log2(3.0)).abs() < 1e-12);
        assert!(all.intervals["throughput"][0] <= 2.5 && all.intervals["throughput"][1] >= 2.5);
        let second = sample(&rows, &[false, true]).summary(1, &[]);
        assert_eq!((second.values["throughput"], second.values["share"]), (4.5, 75.0));
        assert_eq!(second.ellipse.expect("points").centre, [30.0, 4.5]);
    }

    #[test]
    fn flows_that_were_never_on_do_not_count() {
        let mut off = flow(0, 1.0, 1.0);
        (off.on_s, off.throughput_mbps, off.queueing_ms) = (0.0, None, None);
        let rows = [row(vec![off, flow(0, 4.0, 5.0)])];
        let summary = sample(&rows, &[true]).summary(1, &["throughput"]);
        assert_eq!((summary.samples, summary.values["throughput"]), (1, 4.0));
        assert!(summary.intervals.is_empty(), "one run has no interval");
    }

    #[test]
    fn requested_metrics_are_reported() {
        let mut flows = vec![flow(0, 1.0, 1.0), flow(1, 1.0, 1.0), flow(1, 1.0, 1.0)];
        flows[0].completions = vec![(2.0, 98)];
        flows[0].completed = 98;
        flows[1].completions = vec![(1.0, 1), (9.0, 1)];
        let convergence = |longest_s: Option<f64>| {
            let settled = u64::from(longest_s.is_some());
            Some(Convergence { starts: 1, settled, longest_s })
        };
        (flows[0].convergence, flows[1].convergence) = (convergence(Some(3.0)), convergence(None));
        let rows = [row(flows)];
        let all = sample(&rows, &[true, true]).summary(1, &[]).values;
        assert_eq!((all["median_completion"], all["p99_completion"]), (2.0, 2.0));
        assert_eq!((all["converged"], all["completed"]), (50.0, 98.0 / 3.0));
        assert!(!all.contains_key("convergence"), "half of them never settled");
        let first = sample(&rows, &[true, false]).summary(1, &[]).values;
        assert_eq!((first["convergence"], first["converged"]), (3.0, 100.0));
        assert!(!first.contains_key("rtt_exponent"), "there is one RTT only");
    }
}
