//! Throughput against delay, a point for each scheme, and the efficient frontiers among them.

use super::{Artist, Files, Words};
use crate::experiment::Experiment;
use crate::results::one_of;
use crate::sample::Sample;
use exm_measure::figure::{Run, Scheme, Spread, Styles, ThroughputDelay};

/// A point of a figure.
struct Mark {
    case: usize,
    /// Its group of flows, if the scheme runs several.
    group: Option<String>,
    runs: Vec<Run>,
    /// Its designs, if there are several.
    designs: Vec<Run>,
}

impl Artist<'_> {
    pub(super) fn throughput_delay(&self, words: Words, cases: &[usize]) -> Files {
        let description =
            format!("Throughput against {} of each sender in each run.", self.delay());
        let y_axis = self.plan.experiment.y.words.to_owned();
        let marks: Vec<Mark> = cases.iter().flat_map(|&case| self.marks(case)).collect();
        self.scatter(words, (y_axis, description), &marks)
    }

    /// A mark for each group of flows that a scheme runs: different groups have no common median.
    fn marks(&self, case: usize) -> Vec<Mark> {
        let of_plan = &self.plan.cases[case];
        let own: Vec<usize> =
            (0..of_plan.is_own.len()).filter(|&group| of_plan.is_own[group]).collect();
        let mark = |group: &usize| {
            let groups = one_of(of_plan.is_own.len(), *group);
            let sample = Sample::new(self.rows, self.plan, case, &groups);
            let Experiment { x, y, .. } = &self.plan.experiment;
            let designs = sample.of_designs(y.key).into_iter().zip(sample.of_designs(x.key));
            let designs = designs.map(|(y, x)| Run { delay_ms: Some(x), throughput: y }).collect();
            let run = |(throughput, delay_ms)| Run { delay_ms, throughput };
            let name = (own.len() > 1).then(|| of_plan.scenario.flows[*group].name.clone());
            Mark { case, group: name, runs: sample.points().map(run).collect(), designs }
        };
        own.iter().map(mark).collect()
    }

    /// The means over all variants of the schemes of `cases`, which are those of the first variant.
    pub(super) fn means(&self, words: Words, cases: &[usize]) -> Files {
        let Experiment { x, y, .. } = &self.plan.experiment;
        let points = self.plan.experiment.points();
        let mean = |&case: &usize| {
            let (scheme, point) = (self.name(case), &points[self.plan.cases[case].point].label);
            let own = self.results.cases.iter().find(|one| {
                Some(&one.variant) == self.results.mean.as_ref()
                    && (&one.scheme, &one.point) == (&scheme, point)
            });
            let values = own.map(|one| &one.own.values);
            let value = |key: &str| values.and_then(|values| values.get(key)).copied();
            let run = value(y.key).map(|throughput| Run { delay_ms: value(x.key), throughput });
            Mark { case, group: None, runs: run.into_iter().collect(), designs: Vec::new() }
        };
        let description =
            format!("The mean throughput against the mean {} of each scheme.", self.delay());
        let y_axis = format!("mean {}", y.words);
        let marks: Vec<Mark> = cases.iter().map(mean).collect();
        self.scatter(words, (y_axis, description), &marks)
    }

    /// The delay that is drawn.
    fn delay(&self) -> &'static str {
        let words = self.plan.experiment.x.words;
        words.split_once(',').map_or(words, |(quantity, _)| quantity)
    }

    fn scatter(
        &self,
        words: Words,
        (y_axis, description): (String, String),
        marks: &[Mark],
    ) -> Files {
        let experiment = &self.plan.experiment;
        let is_single = marks.iter().all(|mark| mark.runs.len() < 2) || self.results.runs == 1;
        let mut groups = Styles::new();
        let scheme = |mark: &Mark| {
            let scheme = &experiment.schemes[self.plan.cases[mark.case].scheme];
            let name = match &mark.group {
                Some(group) => format!("{}, {group}", scheme.name),
                None => scheme.name.clone(),
            };
            let style = match &mark.group {
                Some(_) => groups.of(&name),
                None => self.style(mark.case),
            };
            Scheme {
                style,
                frontiers: self.frontiers(marks, mark),
                curve: scheme.curve.clone().filter(|_| mark.group.is_none()),
                runs: mark.runs.clone(),
                dots: mark.designs.clone(),
                name,
            }
        };
        let schemes = marks.iter().map(scheme).collect();
        let figure = ThroughputDelay {
            cloud: Vec::new(),
            title: words.title,
            subtitle: words.subtitle,
            description,
            y_axis,
            delay: self.delay().to_owned(),
            spread: if is_single { Spread::None } else { Spread::Ellipse(experiment.sigma) },
            original: experiment.paper_axes,
            schemes,
        };
        Files::of(&figure)
    }

    /// The efficient frontiers that `mark`, one of `marks`, takes part in: among all schemes or, if
    /// some name a frontier, in each of these among its own schemes and those that name none; always
    /// among flows of the same group. A scheme at several settings has its curve instead.
    fn frontiers(&self, marks: &[Mark], mark: &Mark) -> Vec<String> {
        let scheme = |mark: &Mark| &self.plan.experiment.schemes[self.plan.cases[mark.case].scheme];
        if marks.iter().any(|mark| scheme(mark).curve.is_some()) {
            return Vec::new();
        }
        let mut names: Vec<Option<&String>> = Vec::new();
        for name in marks.iter().filter_map(|mark| scheme(mark).frontier.as_ref()).map(Some) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if names.is_empty() {
            names.push(None);
        }
        let own = scheme(mark).frontier.as_ref();
        names.retain(|&name| own.is_none() || own == name);
        let frontier = |name: Option<&String>| {
            let with = name.map_or(String::new(), |name| format!(" with {name}"));
            let group = mark.group.as_ref().map_or(String::new(), |group| format!(", {group}"));
            format!("efficient frontier{with}{group}")
        };
        names.into_iter().map(frontier).collect()
    }
}
