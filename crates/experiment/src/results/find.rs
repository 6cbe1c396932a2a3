//! Computes [`Results`] from the rows of runs.

use super::{
    CaseResult, Comparison, FORMAT, GroupResult, Lead, PublishedNumber, Ratio, Results, SchemeInfo,
    Simulated, VERSION,
};
use crate::across;
use crate::case::Case;
use crate::completions::percentile;
use crate::experiment::{Experiment, PaperNumber, Scheme, Variant};
use crate::metric::{DELAY_REDUCTION, SPEEDUP};
use crate::plan::Plan;
use crate::rows::RunRow;
use crate::sample::{Sample, widened};
use crate::store::Rows;
use crate::summary::Summary;
use crate::traces::GivenFigure;
use exm_sim::traffic::OnFor;
use rayon::prelude::*;

/// No ratio of two throughputs or delays beyond it is shown.
const MOST_RATIO: f64 = 1e4;

/// The quantities of live runs that are compared with the simulator's.
const BESIDE: [&str; 4] = ["received", "mean_throughput", "mean_queueing", "delay_95"];
/// What is compared only where flows come and go: of those that are always on, what is received after the
/// warm-up says more.
const OF_TURNS: &str = "mean_throughput";
/// The least number of simulated runs beside live ones, however few these are: it takes little time, and
/// their summary then hardly depends on the seed.
const SIMULATED: u64 = 24;
/// The fraction of the simulated runs below their range, and above it.
const RANGE: f64 = 0.1;

impl Results {
    /// The results of the runs `rows` of `plan`, made by `command`.
    pub fn new(plan: &Plan, rows: &Rows, command: String) -> Results {
        let experiment = &plan.experiment;
        let schemes = experiment.schemes.iter().enumerate().map(|(index, scheme)| SchemeInfo {
            name: scheme.name.clone(),
            controller: scheme.controllers.first().cloned(),
            designs: scheme.designs().to_vec(),
            queue: scheme.queue.clone(),
            is_computed: plan.cases.iter().any(|case| case.scheme == index && case.is_computed()),
        });
        let references = experiment.references.iter();
        let aggregator = Aggregator { plan, rows };
        let shown: Vec<usize> = plan.shown().collect();
        let cases: Vec<CaseResult> = shown.par_iter().map(|&case| aggregator.case(case)).collect();
        let pairs: Vec<(usize, usize)> = experiment
            .references
            .iter()
            .flat_map(|&reference| shown.iter().map(move |&case| (reference, case)))
            .collect();
        let compared: Vec<Vec<Comparison>> = pairs
            .into_par_iter()
            .map(|(reference, case)| aggregator.comparisons(reference, case))
            .collect();
        let found = PartialResults { cases, comparisons: compared.concat() };
        let mut variants: Vec<String> =
            experiment.variants.iter().map(|variant| variant.name.clone()).collect();
        let mean = experiment.mean.clone().filter(|_| variants.len() > 1);
        let (found, mut paper) = match &mean {
            Some(name) => {
                variants.insert(0, name.clone());
                let means = aggregator.means(name, &found);
                let beside = aggregator.beside(&means.cases);
                (means.followed_by(found), beside)
            }
            None => {
                let beside = aggregator.beside(&found.cases);
                (found, beside)
            }
        };
        paper.extend(found.cases.iter().flat_map(|case| aggregator.given(case)));
        let simulated = if plan.is_live { aggregator.simulated(&found.cases) } else { Vec::new() };
        Results {
            format: FORMAT.to_owned(),
            version: VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            command,
            hash: plan.hash.to_string(),
            seed: plan.seed,
            runs: plan.runs,
            duration: plan.duration.to_string(),
            host: exm_sim::network::hosts(plan.cases.iter().map(|case| &case.network)),
            is_live: plan.is_live,
            experiment: experiment.name.clone(),
            title: experiment.title.as_ref().map(|_| plan.title(plan.cases.iter())),
            source: experiment.source.clone(),
            notes: notes(experiment).chain(inside(experiment, &found.cases)).collect(),
            warnings: plan.warnings.clone(),
            columns: experiment.columns.iter().map(|column| column.key.to_owned()).collect(),
            sweep: experiment.sweep.as_ref().map(|sweep| sweep.title.clone()),
            schemes: schemes.collect(),
            axes: [experiment.x, experiment.y].map(|axis| axis.key.to_owned()),
            mean,
            variants,
            references: references.map(|&index| experiment.schemes[index].name.clone()).collect(),
            paper,
            cases: found.cases,
            comparisons: found.comparisons,
            ranks: across::ranks(plan, rows),
            harms: across::harms(plan, rows),
            simulated,
            skipped: plan.skipped.clone(),
            pictures: Vec::new(),
        }
    }
}

impl Case {
    /// Whether a RemyCC runs its flows.
    pub(crate) fn is_computed(&self) -> bool {
        self.scenario.groups().zip(&self.is_own).any(|((flow, _), &is_own)| {
            let flow = &self.network.flows()[flow];
            is_own && flow.transport.controller().is_some_and(|cc| cc.as_remy().is_some())
        })
    }
}

/// The results of variants or of their mean.
struct PartialResults {
    cases: Vec<CaseResult>,
    comparisons: Vec<Comparison>,
}

impl PartialResults {
    fn followed_by(mut self, next: PartialResults) -> PartialResults {
        self.cases.extend(next.cases);
        self.comparisons.extend(next.comparisons);
        self
    }
}

/// Computes results from rows.
struct Aggregator<'a> {
    plan: &'a Plan,
    rows: &'a Rows,
}

impl Aggregator<'_> {
    /// The cases of the plan that have results of their own.
    fn shown(&self) -> impl Iterator<Item = &Case> {
        self.plan.shown().map(|case| &self.plan.cases[case])
    }

    fn case(&self, number: usize) -> CaseResult {
        let (case, experiment) = (&self.plan.cases[number], &self.plan.experiment);
        let count = case.is_own.len();
        let mut sure = vec![experiment.y.key, experiment.x.key];
        sure.extend(experiment.shows("objective").then_some("objective"));
        if self.plan.is_live {
            sure.extend(BESIDE);
        }
        let group = |index: usize| GroupResult {
            name: case.scenario.flows[index].name.clone(),
            is_own: case.is_own[index],
            summary: Sample::new(self.rows, self.plan, number, &one_of(count, index)).summary(&[]),
        };
        let shown = (0..count).filter(|&index| experiment.is_of(&case.scenario.flows[index].name));
        CaseResult {
            variant: experiment.variants[case.variant].name.clone(),
            point: experiment.points()[case.point].label.clone(),
            scheme: experiment.schemes[case.scheme].name.clone(),
            own: Sample::own(self.rows, self.plan, number).summary(&sure),
            groups: if count > 1 { shown.map(group).collect() } else { Vec::new() },
        }
    }

    /// The scheme `reference` over that of a case, at the same point with the same settings: of all flows or, if
    /// they have several controllers, of each group.
    fn comparisons(&self, reference: usize, number: usize) -> Vec<Comparison> {
        let case = &self.plan.cases[number];
        if reference == case.scheme {
            return Vec::new();
        }
        let own: Vec<usize> = (0..case.is_own.len()).filter(|&index| case.is_own[index]).collect();
        let groups = &case.scenario.flows;
        let is_alike = |pair: &[usize]| groups[pair[0]].controller == groups[pair[1]].controller;
        if own.windows(2).all(is_alike) {
            return self.comparison(reference, number, None).into_iter().collect();
        }
        own.iter().filter_map(|&index| self.comparison(reference, number, Some(index))).collect()
    }

    /// The comparison of the flows of a group, or of all.
    fn comparison(
        &self,
        reference: usize,
        number: usize,
        group: Option<usize>,
    ) -> Option<Comparison> {
        let (case, experiment) = (&self.plan.cases[number], &self.plan.experiment);
        let is_reference = |other: &Case| {
            (other.variant, other.point, other.scheme) == (case.variant, case.point, reference)
        };
        let base_scheme = &experiment.schemes[reference];
        let base = self.plan.cases.iter().position(is_reference)?;
        let sample = |case: usize| match group {
            None => Sample::own(self.rows, self.plan, case),
            Some(index) => {
                let count = self.plan.cases[case].is_own.len();
                Sample::new(self.rows, self.plan, case, &one_of(count, index))
            }
        };
        let (own, base) = (sample(number), sample(base));
        let scheme = &experiment.schemes[case.scheme];
        let pair = Pair { own, base, runs: (0..self.plan.runs as usize).collect() };
        // If there is a mean, the paper's number is of that.
        let is_beside = experiment.mean.is_none() || experiment.variants.len() == 1;
        // Of logarithms: the designs of a scheme may differ by factors, and no interval reaches below zero.
        let ratio = |key: &str, name: &str, of: fn(f64, f64) -> f64| {
            let (ours, interval) = pair.compared(key, |own, base| libm::log(of(own, base)))?;
            let (ours, interval) = (libm::exp(ours), interval.map(|ends| ends.map(libm::exp)));
            // Of next to nothing there is no ratio: a table may keep its queue empty for whole runs.
            if !(1.0 / MOST_RATIO..MOST_RATIO).contains(&ours) {
                return None;
            }
            let paper = scheme.ratio(name, &base_scheme.name, case.point).filter(|_| is_beside);
            Some(Ratio::new(ours, interval, paper))
        };
        let lead = pair.compared("objective", |own, base| base - own);
        Some(Comparison {
            variant: experiment.variants[case.variant].name.clone(),
            point: experiment.points()[case.point].label.clone(),
            reference: experiment.schemes[reference].name.clone(),
            scheme: scheme.name.clone(),
            flows: group.map(|index| case.scenario.flows[index].name.clone()),
            speedup: ratio(experiment.y.key, SPEEDUP, |own, base| base / own),
            delay_reduction: ratio(experiment.x.key, DELAY_REDUCTION, |own, base| own / base),
            lead: lead.map(|(ours, interval)| Lead { ours, interval }),
        })
    }

    /// The means over all variants of the results in `found`, under this `name`.
    fn means(&self, name: &str, found: &PartialResults) -> PartialResults {
        let first = |case: &&Case| case.variant == 0;
        let cases: Vec<CaseResult> = self
            .shown()
            .zip(&found.cases)
            .filter(|(case, _)| first(case))
            .map(|(_, one)| mean_case(name, one, &found.cases))
            .collect();
        let comparisons = found.comparisons.iter();
        let of_first =
            comparisons.filter(|one| one.variant == self.plan.experiment.variants[0].name);
        let comparisons = of_first.map(|one| self.mean_comparison(name, one, found, &cases));
        let comparisons = comparisons.collect();
        PartialResults { cases, comparisons }
    }

    /// The comparison `one` over all variants, whose means are `means`.
    fn mean_comparison(
        &self,
        name: &str,
        one: &Comparison,
        found: &PartialResults,
        means: &[CaseResult],
    ) -> Comparison {
        let experiment = &self.plan.experiment;
        let scheme = experiment.schemes.iter().find(|scheme| scheme.name == one.scheme);
        let point = experiment.points().iter().position(|point| point.label == one.point);
        let paper = |name: &str| {
            scheme.zip(point).and_then(|(s, point)| s.ratio(name, &one.reference, point))
        };
        let same = |other: &&Comparison| {
            (&other.reference, &other.scheme, &other.point, &other.flows)
                == (&one.reference, &one.scheme, &one.point, &one.flows)
        };
        let all = || found.comparisons.iter().filter(same);
        // Of all variants or of none.
        let mean = |of: &dyn Fn(&Comparison) -> Option<f64>| {
            let each: Option<Vec<f64>> = all().map(of).collect();
            let each = each.filter(|each| each.len() == experiment.variants.len())?;
            Some(each.iter().sum::<f64>() / each.len() as f64)
        };
        let speedup = mean(&|other| Some(other.speedup?.ours));
        let lead = mean(&|other| Some(other.lead?.ours));
        let delay = |scheme: &str| {
            let case = means.iter().find(|c| c.scheme == scheme && c.point == one.point)?;
            case.own.values.get(experiment.x.key).copied()
        };
        let ratio = delay(&one.scheme).zip(delay(&one.reference)).map(|(own, base)| own / base);
        let ratio = ratio.filter(|ratio| ratio.is_finite());
        Comparison {
            variant: name.to_owned(),
            speedup: speedup.map(|ours| Ratio::new(ours, None, paper(SPEEDUP))),
            lead: lead.map(|ours| Lead { ours, interval: None }),
            delay_reduction: ratio.map(|ours| Ratio::new(ours, None, paper(DELAY_REDUCTION))),
            ..one.clone()
        }
    }

    /// The live measurements in `results`, beside the same measurements in the simulator.
    fn simulated(&self, results: &[CaseResult]) -> Vec<Simulated> {
        let Aggregator { plan, .. } = self;
        let runs = plan.runs.max(SIMULATED);
        let jobs: Vec<(usize, u64)> =
            (0..plan.cases.len()).flat_map(|case| (0..runs).map(move |run| (case, run))).collect();
        let made = jobs.into_par_iter().map(|(case, run)| {
            let seed = plan.seed_of(run);
            (
                (case, run),
                RunRow::made(&plan.cases[case].simulated(seed), seed, plan.asked).unwrap(),
            )
        });
        let rows: Rows = made.collect();
        let aggregator = Aggregator { plan, rows: &rows };
        // The cases come first, followed by their means.
        let shown: Vec<usize> = plan.shown().collect();
        let live = &results[results.len() - shown.len()..];
        let cases = shown.into_iter().zip(live);
        cases.flat_map(|(index, live)| aggregator.beside_live(index, live)).collect()
    }

    /// The simulator's results for the case of this number, from its rows, beside the `live` ones.
    fn beside_live(&self, number: usize, live: &CaseResult) -> Vec<Simulated> {
        let sample = Sample::own(self.rows, self.plan, number);
        let runs = sample.runs();
        let beside = |key: &str| {
            let mut each: Vec<f64> =
                runs.iter().filter_map(|&run| sample.value(key, &[run])).collect();
            each.sort_unstable_by(f64::total_cmp);
            let live_interval = live.own.intervals.get(key).copied();
            Some(Simulated {
                variant: live.variant.clone(),
                point: live.point.clone(),
                scheme: live.scheme.clone(),
                metric: key.to_owned(),
                live: *live.own.values.get(key)?,
                live_interval,
                simulated: sample.value(key, &runs)?,
                range: Some([percentile(&each, RANGE)?, percentile(&each, 1.0 - RANGE)?]),
            })
        };
        let flows = self.plan.cases[number].network.flows();
        let is_always_on = flows.iter().all(|flow| *flow.traffic.on() == OnFor::Always);
        let keys = BESIDE.into_iter().filter(|&key| key != OF_TURNS || !is_always_on);
        keys.filter_map(beside).collect()
    }

    /// The papers' numbers, except ratios to the reference, beside ours.
    fn beside(&self, results: &[CaseResult]) -> Vec<PublishedNumber> {
        let mut all = Vec::new();
        // The mean over variants has the cases of the first of them.
        for (case, result) in self.shown().zip(results) {
            let scheme = &self.plan.experiment.schemes[case.scheme];
            for number in scheme.paper.iter().filter(|number| !number.is_ratio()) {
                let of_group = |name: &String| {
                    let group = result.groups.iter().find(|group| group.name == *name);
                    group.map(|group| &group.summary)
                };
                let summary = number.group.as_ref().map_or(Some(&result.own), of_group);
                let ours = summary.and_then(|summary| summary.values.get(&number.metric)).copied();
                let paper = number.at(case.point);
                let over = ours.map(|ours| ours / paper).filter(|ratio| ratio.is_finite());
                all.push(PublishedNumber {
                    variant: result.variant.clone(),
                    point: result.point.clone(),
                    scheme: result.scheme.clone(),
                    group: number.group.clone(),
                    metric: number.metric.clone(),
                    ours,
                    paper,
                    over_paper: over,
                    is_given: false,
                });
            }
        }
        all
    }

    /// The figures that are given beside the traces, beside ours.
    fn given(&self, result: &CaseResult) -> impl Iterator<Item = PublishedNumber> {
        let is_same =
            |given: &&GivenFigure| given.variant == result.variant && given.scheme == result.scheme;
        self.plan.given.iter().filter(is_same).map(|given| {
            let ours = result.own.values.get(&given.metric).copied();
            PublishedNumber {
                variant: result.variant.clone(),
                point: result.point.clone(),
                scheme: result.scheme.clone(),
                group: None,
                metric: given.metric.clone(),
                ours,
                paper: given.value,
                over_paper: ours.map(|ours| ours / given.value).filter(|ratio| ratio.is_finite()),
                is_given: true,
            }
        })
    }
}

/// The mean over all of `cases` that differ from `one` only in the variant, under this `name`. A metric
/// that one of them lacks is left out.
fn mean_case(name: &str, one: &CaseResult, cases: &[CaseResult]) -> CaseResult {
    let same = |other: &&CaseResult| other.scheme == one.scheme && other.point == one.point;
    let all: Vec<&CaseResult> = cases.iter().filter(same).collect();
    let of_group = |index: usize| GroupResult {
        summary: mean_summary(all.iter().filter_map(|case| Some(&case.groups.get(index)?.summary))),
        ..one.groups[index].clone()
    };
    CaseResult {
        variant: name.to_owned(),
        own: mean_summary(all.iter().map(|case| &case.own)),
        groups: (0..one.groups.len()).map(of_group).collect(),
        ..one.clone()
    }
}

fn mean_summary<'a>(all: impl Iterator<Item = &'a Summary>) -> Summary {
    let all: Vec<&Summary> = all.collect();
    let mean = |key: &String| {
        let values: Option<Vec<f64>> =
            all.iter().map(|summary| summary.values.get(key).copied()).collect();
        exm_measure::mean(values?)
    };
    let keys = all.first().into_iter().flat_map(|summary| summary.values.keys());
    Summary {
        samples: all.iter().map(|summary| summary.samples).sum(),
        values: keys.filter_map(|key| Some((key.clone(), mean(key)?))).collect(),
        ..Summary::default()
    }
}

/// The notes of an experiment, and those of its variants with their names before them.
fn notes(experiment: &Experiment) -> impl Iterator<Item = String> {
    let of_variant =
        |variant: &Variant| Some(format!("{}: {}", variant.name, variant.note.as_ref()?));
    let variants = experiment.variants.iter().filter_map(of_variant);
    experiment.notes.iter().cloned().chain(variants)
}

/// Which schemes lie inside the axes of the paper's figure: a note for each of the settings.
fn inside(experiment: &Experiment, cases: &[CaseResult]) -> Vec<String> {
    let Some([x, y]) = experiment.paper_axes else { return Vec::new() };
    let mut all: Vec<(String, [Vec<&str>; 2])> = Vec::new();
    for case in cases {
        let name =
            [case.variant.as_str(), case.point.as_str()].into_iter().filter(|n| !n.is_empty());
        let name = name.collect::<Vec<_>>().join(", ");
        let value = |key: &str| case.own.values.get(key).copied().unwrap_or(f64::NAN);
        let is_in = |[low, high]: [f64; 2], value: f64| (low..=high).contains(&value);
        let is_inside = is_in(x, value(experiment.x.key)) && is_in(y, value(experiment.y.key));
        if all.last().is_none_or(|last| last.0 != name) {
            all.push((name, Default::default()));
        }
        if let Some((_, lists)) = all.last_mut() {
            lists[usize::from(!is_inside)].push(&case.scheme);
        }
    }
    let listed =
        |names: &[&str]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let note = |(name, [inside, outside]): (String, [Vec<&str>; 2])| {
        let colon = if name.is_empty() { "" } else { ": " };
        let axes = format!(
            "{} {} to {}, {} {} to {}",
            experiment.x.words, x[0], x[1], experiment.y.words, y[0], y[1]
        );
        format!(
            "{name}{colon}inside the axes of the paper's figure ({axes}) lie {}; outside {}.",
            listed(&inside),
            listed(&outside)
        )
    };
    all.into_iter().map(note).collect()
}

/// A scheme and the reference in the same runs.
struct Pair<'a> {
    own: Sample<'a>,
    base: Sample<'a>,
    runs: Vec<usize>,
}

impl Pair<'_> {
    /// What `of` makes of the metric called `key` of the scheme and of the reference, with its interval.
    fn compared(&self, key: &str, of: impl Fn(f64, f64) -> f64) -> Option<(f64, Option<[f64; 2]>)> {
        let Pair { own, base, runs } = self;
        let of =
            |own: Option<f64>, base: Option<f64>| Some(of(own?, base?)).filter(|v| v.is_finite());
        let (own_value, base_value) = (own.value(key, runs), base.value(key, runs));
        let ours = of(own_value, base_value)?;
        let of_runs =
            own.interval_over_runs(|runs| of(own.value(key, runs), base.value(key, runs)));
        let of_own = own.spread(|design| of(design.value(key, runs), base_value));
        let of_base = base.spread(|design| of(own_value, design.value(key, runs)));
        Some((ours, widened(ours, of_runs, &[of_own, of_base])))
    }
}

impl Ratio {
    fn new(ours: f64, interval: Option<[f64; 2]>, paper: Option<f64>) -> Ratio {
        let over_paper = paper.map(|paper| ours / paper).filter(|ratio| ratio.is_finite());
        Ratio { ours, interval, paper, over_paper }
    }
}

impl Scheme {
    /// The papers' numbers for its ratio called `name` to the scheme `reference`.
    fn ratio(&self, name: &str, reference: &str, point: usize) -> Option<f64> {
        let ratios = || self.paper.iter().filter(|one| one.metric == name);
        let own = ratios().find(|one| one.group.as_deref() == Some(reference));
        let number = own.or_else(|| ratios().find(|one| one.group.is_none()));
        number.map(|number| number.at(point))
    }
}

impl PaperNumber {
    /// The number at the point of this index.
    fn at(&self, point: usize) -> f64 {
        self.values.get(point).or(self.values.first()).copied().unwrap_or(f64::NAN)
    }
}

/// Of `count` groups, only the one of this `index`.
pub(crate) fn one_of(count: usize, index: usize) -> Vec<bool> {
    (0..count).map(|other| other == index).collect()
}
