//! The figures of an experiment.

mod distributions;
mod scatter;
mod time;

use crate::case::Case;
use crate::experiment::FigureKind;
use crate::plan::Plan;
use crate::results::{Picture, Results};
use crate::rows::RunRow;
use crate::sample::Sample;
use crate::store::Rows;
use exm_measure::figure::{
    Band, BandPoint, Bar, BarGroup, BarScheme, Bars, DesignRange, Form, Plot, Reference, Scale,
    Style, Styles, Sweep,
};
use exm_measure::{Estimate, mean};
use exm_store::counted;

/// A figure and its name.
pub(crate) struct Drawn {
    pub(crate) picture: Picture,
    pub(crate) files: Files,
}

/// The texts of a figure's files.
#[derive(Default)]
pub(crate) struct Files {
    pub(crate) svg: String,
    /// The same for phones.
    pub(crate) narrow: String,
    /// The numbers that it shows.
    pub(crate) csv: String,
}

impl Files {
    fn of(figure: &impl Plot) -> Files {
        let [svg, narrow] = [Form::Wide, Form::Narrow].map(|form| figure.drawn(form));
        Files { svg, narrow, csv: figure.csv() }
    }
}

/// Draws all figures of the runs `rows` of `plan`.
pub(crate) fn draw(plan: &Plan, rows: &Rows, results: &Results) -> Vec<Drawn> {
    let mut styles = Styles::new();
    let schemes = plan.experiment.schemes.iter();
    let schemes = schemes.map(|scheme| styles.of(scheme.curve.as_ref().unwrap_or(&scheme.name)));
    let artist = Artist { plan, rows, results, styles: schemes.collect() };
    let mut drawn = Vec::new();
    for &kind in &plan.experiment.figures {
        for variant in 0..plan.experiment.variants.len() {
            match kind {
                FigureKind::Table | FigureKind::Means => {}
                FigureKind::Sweep => drawn.push(artist.drawn(kind, Some(variant), None)),
                _ => {
                    for point in 0..plan.experiment.points().len() {
                        drawn.push(artist.drawn(kind, Some(variant), Some(point)));
                    }
                }
            }
        }
        if kind == FigureKind::Means && results.mean.is_some() {
            for point in 0..plan.experiment.points().len() {
                drawn.push(artist.drawn(kind, None, Some(point)));
            }
        }
    }
    drawn
}

struct Artist<'a> {
    plan: &'a Plan,
    rows: &'a Rows,
    results: &'a Results,
    /// The style of each scheme.
    styles: Vec<Style>,
}

/// The texts around a figure.
struct Words {
    title: String,
    subtitle: String,
}

impl Artist<'_> {
    /// A figure of a variant, or of the mean over all of them.
    fn drawn(&self, kind: FigureKind, variant: Option<usize>, point: Option<usize>) -> Drawn {
        let cases = self.cases(variant, point);
        let words = self.words(kind, (variant, point), &cases);
        let caption = format!("{}: {}", words.title, words.subtitle);
        let picture = Picture { file: self.file(kind, variant, point), title: caption };
        let files = match kind {
            FigureKind::ThroughputDelay => self.throughput_delay(words, &cases),
            FigureKind::Means => self.means(words, &cases),
            FigureKind::RateAndDelay => self.rate_and_delay(words, &cases),
            FigureKind::Sweep => self.sweep(words, &cases),
            FigureKind::Bars => self.bars(words, &cases),
            FigureKind::Sequence => self.sequence(words, &cases),
            FigureKind::Queue => self.queue(words, &cases),
            FigureKind::Convergence => self.convergence(words, &cases),
            FigureKind::Distribution => self.distribution(words, &cases),
            FigureKind::FlowLengths => self.flow_lengths(words, &cases),
            FigureKind::Series | FigureKind::Table => self.series(words, &cases),
        };
        Drawn { picture, files }
    }

    /// The indices of the cases of a variant, or of the first, at one point or all.
    fn cases(&self, variant: Option<usize>, point: Option<usize>) -> Vec<usize> {
        let is_shown = |&index: &usize| {
            let case = &self.plan.cases[index];
            case.variant == variant.unwrap_or(0) && point.is_none_or(|point| case.point == point)
        };
        self.plan.shown().filter(is_shown).collect()
    }

    fn words(
        &self,
        kind: FigureKind,
        (variant, point): (Option<usize>, Option<usize>),
        cases: &[usize],
    ) -> Words {
        let experiment = &self.plan.experiment;
        // The mean is over all variants, which may have different traces.
        let shown = cases.iter().map(|&case| &self.plan.cases[case]);
        let mut title = match variant {
            Some(_) => self.plan.title(shown),
            None => self.plan.title(self.plan.cases.iter()),
        };
        let points = experiment.points();
        if let Some(point) = point.filter(|_| points.len() > 1) {
            let label = &points[point].label;
            title += &format!(": {label}");
            // The value of a sweep needs the name of its quantity.
            if label.parse::<f64>().is_ok()
                && let Some(sweep) = &experiment.sweep
            {
                title += &format!(" {}", sweep.title);
            }
        }
        let name = variant.map(|variant| &experiment.variants[variant].name);
        let name = name.or(experiment.mean.as_ref()).filter(|name| !name.is_empty());
        let mut parts: Vec<String> = name.into_iter().cloned().collect();
        let Results { runs, duration, .. } = self.results;
        parts.push(format!("{} of {duration}", counted(*runs, "run", "runs")));
        parts.extend(self.spread_in_words(kind));
        Words { title, subtitle: parts.join(", ") }
    }

    /// How the scatter of runs is shown in figures of this kind, if at all.
    fn spread_in_words(&self, kind: FigureKind) -> Option<String> {
        let words = match (kind, self.results.runs) {
            (FigureKind::Means, _) => "means over all links, without their spread".to_owned(),
            (FigureKind::ThroughputDelay | FigureKind::Sweep | FigureKind::Bars, 1) => {
                "a single run of each, which has no spread".to_owned()
            }
            (FigureKind::ThroughputDelay, _) => {
                let sigma = self.plan.experiment.sigma;
                format!("medians, and ellipses of {sigma} standard deviation")
            }
            (FigureKind::Sweep | FigureKind::Bars, _) => "with 95 % intervals".to_owned(),
            _ => return None,
        };
        Some(words)
    }

    /// The name of a figure: "figure", and what distinguishes it from others.
    fn file(&self, kind: FigureKind, variant: Option<usize>, point: Option<usize>) -> String {
        let experiment = &self.plan.experiment;
        let mut parts = vec!["figure".to_owned()];
        if experiment.figures.first() != Some(&kind) {
            parts.push(kind.name().to_owned());
        }
        if let Some(variant) = variant.filter(|&variant| variant > 0) {
            parts.push(slug(&experiment.variants[variant].name));
        }
        let points = experiment.points();
        if let Some(point) = point.filter(|_| points.len() > 1) {
            parts.push(slug(&points[point].label));
        }
        parts.join("-")
    }

    fn sample(&self, case: usize) -> Sample<'_> {
        Sample::own(self.rows, self.plan, case)
    }

    fn name(&self, case: usize) -> String {
        self.plan.experiment.schemes[self.plan.cases[case].scheme].name.clone()
    }

    fn style(&self, case: usize) -> Style {
        self.styles[self.plan.cases[case].scheme]
    }

    fn sweep(&self, words: Words, cases: &[usize]) -> Files {
        let experiment = &self.plan.experiment;
        let points = experiment.points();
        let scale = |is_log: bool| if is_log { Scale::Log } else { Scale::Linear };
        let (x_axis, [x_scale, y_scale], y) = experiment.sweep.as_ref().map_or_else(
            || (String::new(), [Scale::Linear; 2], "throughput"),
            |sweep| {
                (sweep.title.clone(), [sweep.is_log, sweep.is_log_in_y].map(scale), sweep.y.key)
            },
        );
        let line = |scheme: usize| {
            let own = cases.iter().filter(|&&case| self.plan.cases[case].scheme == scheme);
            let mut band = Band {
                name: experiment.schemes[scheme].name.clone(),
                style: self.styles[scheme],
                points: Vec::new(),
                dots: Vec::new(),
            };
            for &case in own {
                let (sample, x) = (self.sample(case), points[self.plan.cases[case].point].x);
                band.points.extend(band_point(&sample, y, x));
                band.dots.extend(sample.of_designs(y).into_iter().map(|value| (x, value)));
            }
            band.points.sort_by(|a, b| a.x.total_cmp(&b.x));
            band
        };
        // A scheme may have been left out.
        let lines = (0..experiment.schemes.len()).map(|scheme| (scheme, line(scheme)));
        let (schemes, lines): (Vec<usize>, Vec<Band>) =
            lines.filter(|(_, line)| !line.points.is_empty()).unzip();
        let range = |&scheme: &usize| {
            let scheme = &experiment.schemes[scheme];
            let (low, high) = scheme.designed_for?;
            Some(DesignRange { name: format!("{}: design range", scheme.name), low, high })
        };
        let y_axis = crate::metric::Metric::named(y).map_or(y, |metric| metric.words);
        let figure = Sweep {
            title: words.title,
            subtitle: words.subtitle,
            description: format!("{y_axis} over {x_axis}, with 95 % intervals."),
            x_axis,
            x_scale,
            y_axis: y_axis.to_owned(),
            y_scale,
            areas: self.areas(&schemes),
            lines,
            ranges: schemes.iter().filter_map(range).collect(),
        };
        Files::of(&figure)
    }

    /// Which two of `schemes`, by their places there, share a curve: they are the edges of an area.
    fn areas(&self, schemes: &[usize]) -> Vec<[usize; 2]> {
        let curve = |place: usize| self.plan.experiment.schemes[schemes[place]].curve.as_ref();
        let next = |place: usize| {
            let own = curve(place)?;
            (place + 1..schemes.len()).find(|&other| curve(other) == Some(own))
        };
        (0..schemes.len()).filter_map(|place| Some([place, next(place)?])).collect()
    }

    /// The share of the throughput of each group of flows.
    fn bars(&self, words: Words, cases: &[usize]) -> Files {
        let Some(&first) = cases.first() else { return Files::default() };
        let groups = &self.plan.cases[first].scenario.flows;
        let bar = |case: usize, group: usize| {
            let share = |row: &&RunRow| {
                let all: f64 = row.flows.iter().filter_map(|flow| flow.throughput_mbps).sum();
                let own = row.flows.iter().filter(|flow| flow.group == group);
                let own: f64 = own.filter_map(|flow| flow.throughput_mbps).sum();
                (all > 0.0).then(|| 100.0 * own / all)
            };
            let designs = self.sample(case).designs;
            let of_each = designs.iter().map(|design| design.rows.iter().filter_map(share));
            let shares: Vec<f64> = match designs.len() {
                1 => of_each.flatten().collect(),
                _ => of_each.filter_map(mean).collect(),
            };
            let estimate = Estimate::of_any(&shares)?;
            let reach = if estimate.error.is_finite() { estimate.reach() } else { 0.0 };
            let value = estimate.mean;
            // A share is between 0 and 100 %.
            Some(Bar { value, low: (value - reach).max(0.0), high: (value + reach).min(100.0) })
        };
        let bars = groups.iter().enumerate().map(|(group, flows)| BarGroup {
            name: flows.name.clone(),
            bars: cases.iter().map(|&case| bar(case, group)).collect(),
        });
        let scheme = |&case: &usize| BarScheme { name: self.name(case), style: self.style(case) };
        let equal =
            Reference { value: 100.0 / groups.len() as f64, name: "equal share".to_owned() };
        let figure = Bars {
            title: words.title,
            subtitle: words.subtitle,
            description: "The share of the throughput that each group of flows got.".to_owned(),
            x_axis: "flows".to_owned(),
            y_axis: "share of the throughput, %".to_owned(),
            schemes: cases.iter().map(scheme).collect(),
            groups: bars.collect(),
            reference: Some(equal),
        };
        Files::of(&figure)
    }
}

/// A metric over all runs of a case, with its interval.
fn band_point(sample: &Sample<'_>, key: &str, x: f64) -> Option<BandPoint> {
    let y = sample.value(key, &sample.runs()).filter(|value| value.is_finite())?;
    let [low, high] = sample.interval(key, y).unwrap_or([y, y]);
    Some(BandPoint { x, y, low, high })
}

/// The number of the first flow that the scheme runs.
fn first_own(case: &Case) -> usize {
    let own = case.is_own.iter().position(|&is_own| is_own).unwrap_or(0);
    case.scenario.flows[..own].iter().map(|group| group.count).sum()
}

/// `text` as part of a file's name.
fn slug(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(slug("As in the papers (IW 3)"), "as-in-the-papers-iw-3");
        assert_eq!(slug("4.7 Mbps"), "4.7-mbps");
    }
}
