//! [`Rank`] and [`Harm`]: what the schemes are worth over all settings of an experiment together.

mod tables;

use crate::experiment::HarmTo;
use crate::metric::{Better, Metric};
use crate::plan::Plan;
use crate::results::one_of;
use crate::sample::{Sample, bootstrap, luck, widened};
use crate::store::Rows;
use serde::{Deserialize, Serialize};

/// The rank of a scheme among all others by a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rank {
    /// The name of the metric.
    pub metric: String,
    /// The scheme.
    pub scheme: String,
    /// Its rank under each of the settings.
    pub each: Vec<RankIn>,
    /// The mean of these.
    pub mean: f64,
    /// The 95 % interval of the mean, by a bootstrap over runs, whose traffic all schemes share, and of several designs by their luck as
    /// well; `None` of a single run of a single design.
    pub interval: Option<[f64; 2]>,
}

/// The rank of a scheme under one of the settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankIn {
    /// The variant.
    pub variant: String,
    /// The point of the sweep; empty without a sweep.
    pub point: String,
    /// The rank: 1 is the best, and equal schemes share the mean of their ranks.
    pub rank: f64,
}

/// The harm that a scheme does to other flows by a metric, as in Ware, Mukerjee, Seshan and Sherry, "Beyond Jain's
/// Fairness Index" (HotNets 2019), section 3: the part of their throughput that is missing; of quantities that are better
/// when they are lower, the part of them that was added. 1 is the most that can be, and less than 0 a benefit. The paper
/// compares with the flows alone; here they may be beside any scheme, alone if that sends nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Harm {
    /// The group of flows that is harmed.
    pub flow: String,
    /// The name of the metric.
    pub metric: String,
    /// The scheme beside which these flows have what they lose.
    pub reference: String,
    /// The scheme that harms them.
    pub scheme: String,
    /// The harm under each of the settings.
    pub each: Vec<HarmIn>,
    /// The mean of these; `None` if one of them is unknown.
    pub mean: Option<f64>,
    /// Its 95 % interval, by a bootstrap over runs, whose traffic both schemes share, and of several designs by their luck as well.
    pub interval: Option<[f64; 2]>,
}

/// The harm that a scheme does under one of the settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HarmIn {
    /// The variant.
    pub variant: String,
    /// The point of the sweep; empty without a sweep.
    pub point: String,
    /// The harm; `None` where it is of nothing.
    pub harm: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<[f64; 2]>,
}

/// The [`luck`] of the designs of `sample`, of each of which `of_design` says a value.
fn spread(sample: &Sample<'_>, of_design: impl Fn(usize) -> f64) -> Option<f64> {
    luck(&(0..sample.designs.len()).map(of_design).collect::<Vec<_>>())
}

/// The harm by a quantity that was `before` and is `after`, see [`Harm`].
fn harm(better: Better, before: f64, after: f64) -> f64 {
    match better {
        Better::More => (before - after) / before,
        Better::Less => (after - before) / after,
    }
}

/// The schemes under the same settings.
struct Setting<'a> {
    variant: &'a str,
    point: String,
    /// The number of each scheme, and its flows.
    samples: Vec<(usize, Sample<'a>)>,
}

/// All settings, with what `sample` makes of their cases.
fn settings<'a>(plan: &'a Plan, sample: impl Fn(usize) -> Sample<'a>) -> Vec<Setting<'a>> {
    let points = plan.experiment.points();
    let mut all: Vec<((usize, usize), Setting<'a>)> = Vec::new();
    for number in plan.shown() {
        let case = &plan.cases[number];
        let place = (case.variant, case.point);
        if all.last().is_none_or(|(last, _)| *last != place) {
            let variant = plan.experiment.variants[case.variant].name.as_str();
            let point = points[case.point].label.clone();
            all.push((place, Setting { variant, point, samples: Vec::new() }));
        }
        if let Some((_, setting)) = all.last_mut() {
            setting.samples.push((case.scheme, sample(number)));
        }
    }
    all.into_iter().map(|(_, setting)| setting).collect()
}

/// The runs that all schemes have made.
fn runs(settings: &[Setting<'_>]) -> Vec<usize> {
    let samples = settings.iter().flat_map(|setting| &setting.samples);
    samples.map(|(_, sample)| sample.runs()).min_by_key(Vec::len).unwrap_or_default()
}

/// The 95 % intervals of several `statistics` of the same runs.
fn intervals(
    plan: &Plan,
    runs: &[usize],
    statistics: impl Fn(&[usize]) -> Vec<f64>,
) -> Vec<Option<[f64; 2]>> {
    if runs.len() < 2 {
        return vec![None; statistics(runs).len()];
    }
    let ends = bootstrap(plan.seed).intervals(runs, statistics).into_iter();
    let ends = ends.map(|one| one.map(|one| [one.low, one.high]));
    ends.map(|ends| ends.filter(|ends| ends.iter().all(|end| end.is_finite()))).collect()
}

/// The rank of each of `values`: 1 for the best, and the mean of their ranks for equal ones. One without a value is
/// worse than any other.
fn ranked(better: Better, values: &[Option<f64>]) -> Vec<f64> {
    let score = |value: &Option<f64>| match (value.filter(|value| !value.is_nan()), better) {
        (None, _) => f64::NEG_INFINITY,
        (Some(value), Better::More) => value,
        (Some(value), Better::Less) => -value,
    };
    let scores: Vec<f64> = values.iter().map(score).collect();
    let rank = |own: &f64| {
        let ahead = scores.iter().filter(|other| *other > own).count();
        let equal = scores.iter().filter(|other| *other == own).count();
        ahead as f64 + (equal as f64 + 1.0) / 2.0
    };
    scores.iter().map(rank).collect()
}

/// The ranks by each of the metrics that the experiment asks for, the best scheme first.
pub(crate) fn ranks(plan: &Plan, rows: &Rows) -> Vec<Rank> {
    let metrics = &plan.experiment.ranks;
    if metrics.is_empty() {
        return Vec::new();
    }
    let settings = settings(plan, |case| Sample::own(rows, plan, case));
    metrics.iter().flat_map(|metric| ranks_by(metric, plan, &settings)).collect()
}

fn ranks_by(metric: &Metric, plan: &Plan, settings: &[Setting<'_>]) -> Vec<Rank> {
    let (Some(better), Some(first)) = (metric.better(), settings.first()) else {
        return Vec::new();
    };
    let runs = runs(settings);
    // With one design alone of a scheme, or the mean over all of each.
    let by_setting = |runs: &[usize], only: Option<(usize, usize)>| -> Vec<Vec<f64>> {
        let value = |(index, (_, sample)): (usize, &(usize, Sample<'_>))| match only {
            Some((of, design)) if of == index => sample.designs[design].value(metric.key, runs),
            _ => sample.value(metric.key, runs),
        };
        let values = |setting: &Setting<'_>| -> Vec<Option<f64>> {
            setting.samples.iter().enumerate().map(value).collect()
        };
        settings.iter().map(|setting| ranked(better, &values(setting))).collect()
    };
    let means = |ranks: &[Vec<f64>]| -> Vec<f64> {
        let of_scheme = |index: usize| ranks.iter().map(|setting| setting[index]).sum::<f64>();
        (0..first.samples.len()).map(|index| of_scheme(index) / ranks.len() as f64).collect()
    };
    let ranks = by_setting(&runs, None);
    let intervals = intervals(plan, &runs, |runs| means(&by_setting(runs, None)));
    let reach = |index: usize| {
        let of_design = |design| means(&by_setting(&runs, Some((index, design))))[index];
        spread(&first.samples[index].1, of_design)
    };
    let of_scheme = |(index, mean): (usize, f64)| Rank {
        metric: metric.key.to_owned(),
        scheme: plan.experiment.schemes[first.samples[index].0].name.clone(),
        each: settings
            .iter()
            .zip(&ranks)
            .map(|(setting, ranks)| RankIn {
                variant: setting.variant.to_owned(),
                point: setting.point.clone(),
                rank: ranks[index],
            })
            .collect(),
        mean,
        interval: widened(mean, intervals[index], &[reach(index)]),
    };
    let mut all: Vec<Rank> = means(&ranks).into_iter().enumerate().map(of_scheme).collect();
    all.sort_by(|a, b| a.mean.total_cmp(&b.mean));
    all
}

/// The harm that the schemes do to the flows that the experiment names, the most harmful first.
pub(crate) fn harms(plan: &Plan, rows: &Rows) -> Vec<Harm> {
    let Some(to) = &plan.experiment.harm else { return Vec::new() };
    let sample = |number: usize| {
        let flows = &plan.cases[number].scenario.flows;
        let index = flows.iter().position(|group| group.name == to.flow).unwrap_or(flows.len());
        Sample::new(rows, plan, number, &one_of(flows.len(), index))
    };
    let settings = settings(plan, sample);
    let pairs =
        to.metrics.iter().flat_map(|metric| to.references.iter().map(move |one| (metric, *one)));
    pairs
        .flat_map(|(metric, reference)| harms_by(metric, reference, to, (plan, &settings)))
        .collect()
}

fn harms_by(
    metric: &Metric,
    reference: usize,
    to: &HarmTo,
    (plan, settings): (&Plan, &[Setting<'_>]),
) -> Vec<Harm> {
    let (Some(better), Some(first)) = (metric.better(), settings.first()) else {
        return Vec::new();
    };
    let schemes: Vec<usize> = first.samples.iter().map(|(scheme, _)| *scheme).collect();
    let Some(base) = schemes.iter().position(|&scheme| scheme == reference) else {
        return Vec::new();
    };
    let runs = runs(settings);
    // Under each of the settings, and on average; by one design alone, or by the mean over all.
    let harms = |index: usize, runs: &[usize], only: Option<usize>| -> Vec<f64> {
        let of = |setting: &Setting<'_>| {
            let sample = |index: usize| &setting.samples[index].1;
            let after = match only {
                Some(design) => sample(index).designs[design].value(metric.key, runs),
                None => sample(index).value(metric.key, runs),
            };
            let before = sample(base).value(metric.key, runs);
            before.zip(after).map_or(f64::NAN, |(one, other)| harm(better, one, other))
        };
        let mut all: Vec<f64> = settings.iter().map(of).collect();
        all.push(all.iter().sum::<f64>() / all.len() as f64);
        all
    };
    let known = |value: f64| Some(value).filter(|value| value.is_finite());
    let of_scheme = |index: usize| {
        let mut values = harms(index, &runs, None);
        let ends = intervals(plan, &runs, |runs| harms(index, runs, None));
        let reach = |place: usize| {
            spread(&first.samples[index].1, |design| harms(index, &runs, Some(design))[place])
        };
        let wide = ends.into_iter().zip(&values).enumerate();
        let mut ends: Vec<_> =
            wide.map(|(place, (ends, &value))| widened(value, ends, &[reach(place)])).collect();
        let (mean, interval) = (values.pop().and_then(known), ends.pop().flatten());
        let each = settings.iter().zip(values).zip(ends);
        Harm {
            flow: to.flow.clone(),
            metric: metric.key.to_owned(),
            reference: plan.experiment.schemes[reference].name.clone(),
            scheme: plan.experiment.schemes[schemes[index]].name.clone(),
            each: each
                .map(|((setting, harm), interval)| HarmIn {
                    variant: setting.variant.to_owned(),
                    point: setting.point.clone(),
                    harm: known(harm),
                    interval: interval.filter(|_| harm.is_finite()),
                })
                .collect(),
            mean,
            interval: interval.filter(|_| mean.is_some()),
        }
    };
    let others = (0..schemes.len()).filter(|&index| index != base);
    let mut all: Vec<Harm> = others.map(of_scheme).collect();
    // Those of which the mean is unknown come last.
    let place = |one: &Harm| one.mean.unwrap_or(f64::NEG_INFINITY);
    all.sort_by(|a, b| place(b).total_cmp(&place(a)));
    all
}

#[cfg(test)]
mod tests;
