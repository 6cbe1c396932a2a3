//! [`Sample`]: some flows of all runs of a scheme, whose tables may be several designs.

use crate::case::Case;
use crate::completions::merged;
use crate::experiment::Experiment;
use crate::metric::METRICS;
use crate::plan::Plan;
use crate::rows::{self, OfFlow};
use crate::store::Rows;
use crate::summary::{OfDesign, Runs, Shape, Summary};
use exm_measure::{Bootstrap, Ellipse, Estimate, mean};
use std::collections::BTreeMap;

/// The number of bootstrap resamples for an interval: its ends are then accurate to a few percent of
/// its length, more than is printed.
const RESAMPLINGS: usize = 1000;

/// Some flows of all runs of a scheme. If its tables are several designs, each has made the same runs, with the same
/// traffic.
#[derive(Clone)]
pub(crate) struct Sample<'a> {
    /// The runs of each design.
    pub(crate) designs: Vec<Runs<'a>>,
    /// The tables that are the designs.
    tables: &'a [String],
    /// The delay and the throughput that pictures are drawn of.
    axes: [OfFlow; 2],
    seed: u64,
}

impl<'a> Sample<'a> {
    /// The flows in `rows`, of the scheme whose first design is the case of this number, whose groups are selected by
    /// `groups`.
    pub(crate) fn new(rows: &'a Rows, plan: &'a Plan, case: usize, groups: &[bool]) -> Sample<'a> {
        let flows = &plan.cases[case].scenario.flows;
        let rtts: Vec<f64> = flows.iter().map(|group| group.rtt.as_secs_f64() * 1e3).collect();
        let Experiment { x, y, schemes, .. } = &plan.experiment;
        let designs = plan.designs(case).map(|design| {
            let rows = rows.range((design, 0)..=(design, u64::MAX)).map(|(_, row)| row);
            Runs { rows: rows.collect(), groups: groups.to_vec(), rtts: rtts.clone() }
        });
        Sample {
            designs: designs.collect(),
            tables: schemes[plan.cases[case].scheme].designs(),
            axes: [x, y].map(|axis| rows::of_flow(axis.key).unwrap_or(|_| None)),
            seed: plan.seed,
        }
    }

    /// The flows that the scheme of the case of this number runs.
    pub(crate) fn own(rows: &'a Rows, plan: &'a Plan, case: usize) -> Sample<'a> {
        let Case { is_own, .. } = &plan.cases[case];
        Sample::new(rows, plan, case, is_own)
    }

    /// The numbers of the runs that all designs have made.
    pub(crate) fn runs(&self) -> Vec<usize> {
        let made = self.designs.iter().map(|design| design.rows.len()).min();
        (0..made.unwrap_or(0)).collect()
    }

    /// Throughput and delay of each flow of each run, as plotted in figures.
    pub(crate) fn points(&self) -> impl Iterator<Item = (f64, Option<f64>)> + '_ {
        let [x, y] = self.axes;
        let flows = self.designs.iter().flat_map(Runs::all_flows);
        flows.filter_map(move |flow| Some((y(flow)?, x(flow))))
    }

    /// The metric called `key` over the runs of these numbers: of several designs, the mean of theirs.
    pub(crate) fn value(&self, key: &str, runs: &[usize]) -> Option<f64> {
        mean(self.designs.iter().filter_map(|design| design.value(key, runs)))
    }

    /// The completion times of all flows, in ms and in order.
    pub(crate) fn completions(&self) -> Vec<f64> {
        merged(
            self.designs.iter().flat_map(Runs::all_flows).map(|flow| flow.completions.as_slice()),
        )
    }

    /// The metric called `key` of each of several designs, over all runs.
    pub(crate) fn of_designs(&self, key: &str) -> Vec<f64> {
        let runs = self.runs();
        let designs = self.designs.iter().filter(|_| self.designs.len() > 1);
        let values = designs.filter_map(|design| design.value(key, &runs));
        values.filter(|value| value.is_finite()).collect()
    }

    /// The 95 % interval of the metric called `key`, whose value is `value`.
    pub(crate) fn interval(&self, key: &str, value: f64) -> Option<[f64; 2]> {
        let runs = self.runs();
        let of_runs = self.interval_over_runs(|runs| self.value(key, runs));
        widened(value, of_runs, &[self.spread(|design| design.value(key, &runs))])
    }

    /// The 95 % interval of a `statistic` of some runs, by a bootstrap over them: the flows of a run
    /// share its traffic and are not independent samples.
    pub(crate) fn interval_over_runs(
        &self,
        statistic: impl Fn(&[usize]) -> Option<f64>,
    ) -> Option<[f64; 2]> {
        let all = self.runs();
        if all.len() < 2 {
            return None;
        }
        let interval =
            bootstrap(self.seed).interval(&all, |runs| statistic(runs).unwrap_or(f64::NAN))?;
        (interval.low.is_finite() && interval.high.is_finite())
            .then_some([interval.low, interval.high])
    }

    /// How far, in 95 % of all cases, the luck of its designs moves the mean over them of a `statistic` of one, by
    /// Student's t. `None` for a single design, of whose luck nothing is known.
    pub(crate) fn spread(&self, statistic: impl Fn(&Runs<'a>) -> Option<f64>) -> Option<f64> {
        luck(&self.designs.iter().filter_map(statistic).collect::<Vec<_>>())
    }

    /// All metrics, with intervals for those named in `sure`.
    pub(crate) fn summary(&self, sure: &[&str]) -> Summary {
        let runs = self.runs();
        let named = |of: &dyn Fn(&str) -> Option<f64>| {
            let value = |key: &str| of(key).filter(|value| value.is_finite());
            METRICS.iter().filter_map(|m| Some((m.key.to_owned(), value(m.key)?))).collect()
        };
        let values: BTreeMap<String, f64> = named(&|key| self.value(key, &runs));
        let interval = |&key: &&str| Some((key.to_owned(), self.interval(key, *values.get(key)?)?));
        let of_design = |(table, design): (&String, &Runs<'_>)| OfDesign {
            table: table.clone(),
            values: named(&|key| design.value(key, &runs)),
        };
        let designs = self.tables.iter().zip(&self.designs);
        let pairs: Vec<(f64, f64)> =
            self.points().filter_map(|(throughput, delay)| Some((delay?, throughput))).collect();
        Summary {
            samples: self.points().count(),
            intervals: sure.iter().filter_map(interval).collect(),
            ellipse: Ellipse::of(&pairs).map(Shape::from),
            designs: designs.map(of_design).collect(),
            values,
        }
    }
}

/// The bootstrap by which intervals are found.
pub(crate) const fn bootstrap(seed: u64) -> Bootstrap {
    Bootstrap { seed, resamplings: RESAMPLINGS, confidence: 0.95 }
}

/// How far, in 95 % of all cases, luck moves the mean of `values`, one for each design, by Student's t. `None` for a single one.
pub(crate) fn luck(values: &[f64]) -> Option<f64> {
    Estimate::of_any(values).map(|estimate| estimate.reach()).filter(|reach| reach.is_finite())
}

/// An interval around `value` that takes in both the luck of the runs and that of designs, of which each may be
/// unknown: independent deviations add in squares.
pub(crate) fn widened(
    value: f64,
    of_runs: Option<[f64; 2]>,
    of_designs: &[Option<f64>],
) -> Option<[f64; 2]> {
    let spreads: Vec<f64> = of_designs.iter().copied().flatten().collect();
    if spreads.is_empty() {
        return of_runs;
    }
    let squares: f64 = spreads.iter().map(|spread| spread * spread).sum();
    let [low, high] = of_runs.unwrap_or([value; 2]);
    let reach = |end: f64| ((end - value) * (end - value) + squares).sqrt();
    Some([value - reach(low), value + reach(high)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convergence::Convergence;
    use crate::rows::{FlowRow, LinkRow, RunRow};

    fn flow(group: usize, throughput: f64, queueing: f64) -> FlowRow {
        FlowRow {
            group,
            on_s: 1.0,
            throughput_mbps: Some(throughput),
            share: Some(0.5),
            queueing_ms: Some(queueing),
            queueing_50_ms: Some(queueing),
            queueing_95_ms: Some(2.0 * queueing),
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
            video: None,
            timeline: None,
        }
    }

    /// The flows of groups with RTTs of 50 and 100 ms.
    fn sample<'a>(rows: &'a [RunRow], groups: &[bool]) -> Sample<'a> {
        let axes: [OfFlow; 2] = [|flow| flow.queueing_ms, |flow| flow.throughput_mbps];
        let rtts = vec![50.0, 100.0];
        let design = Runs { rows: rows.iter().collect(), groups: groups.to_vec(), rtts };
        Sample { designs: vec![design], tables: &[], axes, seed: 1 }
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
        let all = sample(&rows, &[true, true]).summary(&["throughput"]);
        let value = |key: &str| all.values[key];
        assert_eq!((all.samples, value("throughput"), value("mean_throughput")), (4, 2.5, 3.0));
        assert_eq!((value("queueing"), value("rtt"), value("loss")), (25.0, 125.0, 2.0));
        assert_eq!((value("queueing_50"), value("queueing_95")), (25.0, 50.0));
        assert_eq!((value("marks"), value("utilisation"), value("objective")), (5.0, 50.0, -2.0));
        assert!((value("jain") - 0.8).abs() < 1e-12 && value("share") == 100.0);
        assert!(!all.values.contains_key("completion"));
        // The flows at 50 ms have 1.5 Mbps on average, those at 100 ms 4.5.
        assert!((value("shortest_over_longest") - 1.0 / 3.0).abs() < 1e-12);
        assert!((value("rtt_exponent") + libm::log2(3.0)).abs() < 1e-12);
        assert!(all.intervals["throughput"][0] <= 2.5 && all.intervals["throughput"][1] >= 2.5);
        let second = sample(&rows, &[false, true]).summary(&[]);
        assert_eq!((second.values["throughput"], second.values["share"]), (4.5, 75.0));
        assert_eq!(second.ellipse.expect("points").centre, [30.0, 4.5]);
    }

    #[test]
    fn flows_that_were_never_on_do_not_count() {
        let mut off = flow(0, 1.0, 1.0);
        (off.on_s, off.throughput_mbps, off.queueing_ms) = (0.0, None, None);
        let rows = [row(vec![off, flow(0, 4.0, 5.0)])];
        let summary = sample(&rows, &[true]).summary(&["throughput"]);
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
        let all = sample(&rows, &[true, true]).summary(&[]).values;
        assert_eq!((all["median_completion"], all["p99_completion"]), (2.0, 2.0));
        assert_eq!((all["converged"], all["completed"]), (50.0, 98.0 / 3.0));
        assert!(!all.contains_key("convergence"), "half of them never settled");
        let first = sample(&rows, &[true, false]).summary(&[]).values;
        assert_eq!((first["convergence"], first["converged"]), (3.0, 100.0));
        assert!(!first.contains_key("rtt_exponent"), "there is one RTT only");
    }

    #[test]
    fn designs_differ_by_luck() {
        let tables = ["a.json", "b.json", "c.json"].map(str::to_owned);
        // Each design makes the same two runs.
        let runs = |more: f64| [1.0, 3.0].map(|mbps| row(vec![flow(0, mbps + more, 10.0)]));
        let rows = [runs(0.0), runs(1.0), runs(5.0)];
        let designs = rows.iter().map(|rows| sample(rows, &[true]).designs.remove(0)).collect();
        let axes: [OfFlow; 2] = [|flow| flow.queueing_ms, |flow| flow.throughput_mbps];
        let all = Sample { designs, tables: &tables, axes, seed: 1 };
        let summary = all.summary(&["throughput", "queueing"]);
        assert_eq!((summary.samples, summary.values["throughput"]), (6, 4.0));
        let of_designs =
            summary.designs.iter().map(|one| (one.table.as_str(), one.values["throughput"]));
        assert_eq!(
            of_designs.collect::<Vec<_>>(),
            [("a.json", 2.0), ("b.json", 3.0), ("c.json", 7.0)]
        );
        // 4.30 is the 97.5 % quantile of Student's t for two degrees of freedom; the runs alone reach 1 to each side.
        let deviation = (4.0_f64 + 1.0 + 9.0).sqrt() / 2.0_f64.sqrt();
        let reach = (1.0 + (4.3027 * deviation / 3.0_f64.sqrt()).powi(2)).sqrt();
        let [low, high] = summary.intervals["throughput"];
        assert!((low - (4.0 - reach)).abs() < 1e-9 && (high - (4.0 + reach)).abs() < 1e-9);
        assert_eq!(summary.intervals["queueing"], [10.0, 10.0]);
        // One design is no sample of designs.
        let one = sample(&rows[0], &[true]).summary(&["throughput"]);
        assert!(one.designs.is_empty() && one.intervals["throughput"] == [1.0, 3.0]);
    }

    #[test]
    fn deviations_add_in_squares() {
        assert_eq!(widened(1.0, Some([0.5, 2.0]), &[None]), Some([0.5, 2.0]));
        assert_eq!(widened(10.0, Some([7.0, 16.0]), &[Some(4.0), Some(0.0)]).unwrap()[0], 5.0);
        assert_eq!(widened(10.0, Some([4.0, 13.0]), &[Some(4.0)]).unwrap()[1], 15.0);
        assert_eq!(widened(1.0, None, &[Some(3.0), Some(4.0)]), Some([-4.0, 6.0]));
        assert_eq!(widened(1.0, None, &[]), None);
    }
}
