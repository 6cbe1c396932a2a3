//! The pictures of an experiment.

use crate::convergence;
use crate::experiment::{Experiment, FigureKind};
use crate::plan::{Case, Plan};
use crate::results::{Picture, Results, rows_of};
use crate::series::{self, Recording};
use crate::store::Rows;
use crate::summary::Sample;
use exm_measure::Estimate;
use exm_measure::figure::{
    Band, BandPoint, Bar, BarGroup, BarScheme, Bars, DesignRange, Distribution, Event, Line,
    Reference, Run, Sample as Values, Scale, Scheme, Sequence, Series, SeriesPanel, Spread, Style,
    Styles, Sweep, ThroughputDelay,
};
use exm_random::{Purpose, Stream};
use exm_sim::traffic::OnFor;
use exm_units::Span;

/// A picture and what it is called.
pub(crate) struct Drawn {
    pub(crate) picture: Picture,
    pub(crate) svg: String,
}

/// How many lengths are drawn for a picture of flow lengths, and how many of them are shown, in order.
const LENGTHS: usize = 20_000;
const SHOWN: usize = 400;

/// Draws all pictures of the runs `rows` of `plan`.
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
    /// How each scheme looks.
    styles: Vec<Style>,
}

/// What stands about a picture.
struct Words {
    title: String,
    subtitle: String,
}

impl Artist<'_> {
    /// A picture of a variant, or of the mean over all of them.
    fn drawn(&self, kind: FigureKind, variant: Option<usize>, point: Option<usize>) -> Drawn {
        let cases = self.cases(variant, point);
        let words = self.words(kind, (variant, point), &cases);
        let caption = format!("{}: {}", words.title, words.subtitle);
        let picture = Picture { file: self.file(kind, variant, point), title: caption };
        let svg = match kind {
            FigureKind::ThroughputDelay => self.throughput_delay(words, &cases),
            FigureKind::Means => self.means(words, &cases),
            FigureKind::RateAndDelay => self.rate_and_delay(words, &cases),
            FigureKind::Sweep => self.sweep(words, &cases),
            FigureKind::Bars => self.bars(words, &cases),
            FigureKind::Sequence => self.sequence(words, &cases),
            FigureKind::Convergence => self.convergence(words, &cases),
            FigureKind::Distribution => self.distribution(words, &cases),
            FigureKind::FlowLengths => self.flow_lengths(words, &cases),
            FigureKind::Series | FigureKind::Table => self.series(words, &cases),
        };
        Drawn { picture, svg }
    }

    /// The numbers of the cases of a variant, or of the first, at one point or all.
    fn cases(&self, variant: Option<usize>, point: Option<usize>) -> Vec<usize> {
        let is_shown = |&index: &usize| {
            let case = &self.plan.cases[index];
            case.variant == variant.unwrap_or(0) && point.is_none_or(|point| case.point == point)
        };
        (0..self.plan.cases.len()).filter(is_shown).collect()
    }

    fn words(
        &self,
        kind: FigureKind,
        (variant, point): (Option<usize>, Option<usize>),
        cases: &[usize],
    ) -> Words {
        let experiment = &self.plan.experiment;
        // The mean is over all variants, each of which may have a trace of its own.
        let shown = cases.iter().map(|&case| &self.plan.cases[case]);
        let mut title = match variant {
            Some(_) => self.plan.title(shown),
            None => self.plan.title(self.plan.cases.iter()),
        };
        let points = experiment.points();
        if let Some(point) = point.filter(|_| points.len() > 1) {
            let label = &points[point].label;
            title += &format!(": {label}");
            // A number alone says nothing of what it counts.
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
        let plural = if *runs == 1 { "run" } else { "runs" };
        parts.push(format!("{runs} {plural} of {duration}"));
        parts.extend(self.spread_in_words(kind));
        Words { title, subtitle: parts.join(", ") }
    }

    /// How the scatter of runs is shown in pictures of this kind, where it could be.
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

    /// The name of a picture: "figure", and what sets it apart from others.
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
        let is_own = self.plan.cases[case].is_own.clone();
        Sample::new(rows_of(self.rows, case), self.plan, case, is_own)
    }

    fn name(&self, case: usize) -> String {
        self.plan.experiment.schemes[self.plan.cases[case].scheme].name.clone()
    }

    fn style(&self, case: usize) -> Style {
        self.styles[self.plan.cases[case].scheme]
    }

    fn throughput_delay(&self, words: Words, cases: &[usize]) -> String {
        let description =
            format!("Throughput against {} of each sender in each run.", self.delay());
        let y_axis = self.plan.experiment.y.words.to_owned();
        let marks: Vec<Mark> = cases.iter().flat_map(|&case| self.marks(case)).collect();
        self.scatter(words, (y_axis, description), &marks)
    }

    /// A mark for each group of flows that a scheme runs: unlike ones have no median in common.
    fn marks(&self, case: usize) -> Vec<Mark> {
        let of_plan = &self.plan.cases[case];
        let own: Vec<usize> =
            (0..of_plan.is_own.len()).filter(|&group| of_plan.is_own[group]).collect();
        let mark = |group: &usize| {
            let groups = (0..of_plan.is_own.len()).map(|other| other == *group).collect();
            let sample = Sample::new(rows_of(self.rows, case), self.plan, case, groups);
            let run = |(throughput, delay_ms)| Run { delay_ms, throughput };
            let name = (own.len() > 1).then(|| of_plan.scenario.flows[*group].name.clone());
            Mark { case, group: name, runs: sample.points().map(run).collect() }
        };
        own.iter().map(mark).collect()
    }

    /// The means over all variants of the schemes of `cases`, which are of the first of them.
    fn means(&self, words: Words, cases: &[usize]) -> String {
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
            Mark { case, group: None, runs: run.into_iter().collect() }
        };
        let description =
            format!("The mean throughput against the mean {} of each scheme.", self.delay());
        let y_axis = format!("mean {}", y.words);
        let marks: Vec<Mark> = cases.iter().map(mean).collect();
        self.scatter(words, (y_axis, description), &marks)
    }

    /// Which delay is drawn.
    fn delay(&self) -> &'static str {
        let words = self.plan.experiment.x.words;
        words.split_once(',').map_or(words, |(quantity, _)| quantity)
    }

    fn scatter(
        &self,
        words: Words,
        (y_axis, description): (String, String),
        marks: &[Mark],
    ) -> String {
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
                name,
            }
        };
        let schemes = marks.iter().map(scheme).collect();
        let figure = ThroughputDelay {
            title: words.title,
            subtitle: words.subtitle,
            description,
            y_axis,
            delay: self.delay().to_owned(),
            spread: if is_single { Spread::None } else { Spread::Ellipse(experiment.sigma) },
            original: experiment.paper_axes,
            schemes,
        };
        figure.svg()
    }

    /// The efficient frontiers that `mark`, one of `marks`, takes part in: among all schemes, or, where
    /// some name a frontier of theirs, in each of these among its own and those that name none; among
    /// flows of the same group in any case. One scheme at several settings has its curve instead.
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
        let told = |name: Option<&String>| {
            let with = name.map_or(String::new(), |name| format!(" with {name}"));
            let group = mark.group.as_ref().map_or(String::new(), |group| format!(", {group}"));
            format!("efficient frontier{with}{group}")
        };
        names.into_iter().map(told).collect()
    }

    /// What each scheme's first flow received over time and with which delay, beside what there was.
    fn rate_and_delay(&self, words: Words, cases: &[usize]) -> String {
        let (mut rates, mut delays, mut offered) = (Vec::new(), Vec::new(), None);
        for &case in cases {
            let of_plan = &self.plan.cases[case];
            let flow = first_own(of_plan);
            let row = self.rows.get(&(case, 0)).and_then(|row| row.flows.get(flow));
            let Some((row, course)) = row.and_then(|row| Some((row, row.course.as_ref()?))) else {
                continue;
            };
            let line = |points| Line { name: self.name(case), style: self.style(case), points };
            rates.push(line(course.throughput()));
            delays.push(line(course.delay()));
            offered = offered.or_else(|| course.offered(of_plan, row.group));
        }
        let back =
            |name: &str, points| Line { name: name.to_owned(), style: Style::BACKGROUND, points };
        let (capacity, least) = offered
            .map(|all| (back("capacity", all.throughput), back("omniscient", all.delay)))
            .unzip();
        let panels = vec![
            SeriesPanel { backdrop: capacity, ..SeriesPanel::new("throughput, Mbps", rates) },
            SeriesPanel {
                backdrop: least,
                y_scale: Scale::Log,
                ..SeriesPanel::new("end-to-end delay, ms", delays)
            },
        ];
        let window = self.plan.experiment.window;
        let figure = Series {
            title: words.title,
            subtitle: format!("{}; throughput over {window}, the first run", words.subtitle),
            description: "Throughput and end-to-end delay at the receiver over time, and what the \
                          link offered."
                .to_owned(),
            panels,
            events: Vec::new(),
        };
        figure.svg()
    }

    fn sweep(&self, words: Words, cases: &[usize]) -> String {
        let experiment = &self.plan.experiment;
        let points = experiment.points();
        let (x_axis, x_scale, y) = experiment.sweep.as_ref().map_or_else(
            || (String::new(), Scale::Linear, "throughput"),
            |sweep| {
                let scale = if sweep.is_log { Scale::Log } else { Scale::Linear };
                (sweep.title.clone(), scale, sweep.y.key)
            },
        );
        let line = |scheme: usize| {
            let own = cases.iter().filter(|&&case| self.plan.cases[case].scheme == scheme);
            let mut told: Vec<BandPoint> = own
                .filter_map(|&case| {
                    let x = points[self.plan.cases[case].point].x;
                    band(&self.sample(case), y, x, self.plan.seed)
                })
                .collect();
            told.sort_by(|a, b| a.x.total_cmp(&b.x));
            Band {
                name: experiment.schemes[scheme].name.clone(),
                style: self.styles[scheme],
                points: told,
            }
        };
        let range = |scheme: &crate::experiment::Scheme| {
            let (low, high) = scheme.designed_for?;
            Some(DesignRange { name: format!("{}: design range", scheme.name), low, high })
        };
        let lines = (0..experiment.schemes.len()).map(line).filter(|line| !line.points.is_empty());
        let y_axis = crate::metric::Metric::named(y).map_or(y, |metric| metric.words);
        let figure = Sweep {
            title: words.title,
            subtitle: words.subtitle,
            description: format!("{y_axis} over {x_axis}, with 95 % intervals."),
            x_axis,
            x_scale,
            y_axis: y_axis.to_owned(),
            lines: lines.collect(),
            ranges: experiment.schemes.iter().filter_map(range).collect(),
        };
        figure.svg()
    }

    /// The share of the throughput that each group of flows got.
    fn bars(&self, words: Words, cases: &[usize]) -> String {
        let Some(&first) = cases.first() else { return String::new() };
        let groups = &self.plan.cases[first].scenario.flows;
        let bar = |case: usize, group: usize| {
            let shares = rows_of(self.rows, case).into_iter().filter_map(|row| {
                let all: f64 = row.flows.iter().filter_map(|flow| flow.throughput_mbps).sum();
                let own = row.flows.iter().filter(|flow| flow.group == group);
                let own: f64 = own.filter_map(|flow| flow.throughput_mbps).sum();
                (all > 0.0).then(|| 100.0 * own / all)
            });
            let estimate = Estimate::of_any(&shares.collect::<Vec<f64>>())?;
            let reach = if estimate.error.is_finite() { estimate.reach() } else { 0.0 };
            let value = estimate.mean;
            // A share is neither below nothing nor above all.
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
        figure.svg()
    }

    /// The first run of a case.
    fn recording(&self, case: usize, pace: impl Fn(&Case) -> Span) -> Recording {
        let case = &self.plan.cases[case];
        series::record(case, self.plan.seed_of(0), pace(case)).1
    }

    fn recordings(&self, cases: &[usize]) -> Vec<(usize, Recording)> {
        let record = |&case: &usize| (case, self.recording(case, series::pace));
        cases.iter().map(record).collect()
    }

    fn sequence(&self, words: Words, cases: &[usize]) -> String {
        let recordings = self.recordings(cases);
        let line = |(case, recording): &(usize, Recording)| {
            let flow = first_own(&self.plan.cases[*case]);
            let spec = &self.plan.cases[*case].network.flows()[flow];
            let megabytes = spec.transport.payload(spec.packet_size).get() as f64 * 1e-6;
            let points = recording.flows[flow].iter();
            Line {
                name: self.name(*case),
                style: self.style(*case),
                points: points.map(|at| (at.time, at.delivered as f64 * megabytes)).collect(),
            }
        };
        let figure = Sequence {
            title: words.title,
            subtitle: format!("{}; the first run", words.subtitle),
            description: "What one flow had delivered up to each moment.".to_owned(),
            y_axis: "delivered, MB".to_owned(),
            lines: recordings.iter().map(line).collect(),
            events: recordings
                .first()
                .map_or_else(Vec::new, |(case, recording)| self.events(*case, recording)),
        };
        figure.svg()
    }

    /// When flows other than the first of the scheme's started and ended.
    fn events(&self, case: usize, recording: &Recording) -> Vec<Event> {
        let own = first_own(&self.plan.cases[case]);
        let flows = recording.flows.iter().enumerate().filter(|(flow, _)| *flow != own);
        let mut events = Vec::new();
        for (flow, samples) in flows {
            let name = &self.plan.cases[case].network.flows()[flow].name;
            let mut was_on = false;
            for sample in samples {
                if sample.is_on != was_on {
                    was_on = sample.is_on;
                    let word = if was_on { "starts" } else { "ends" };
                    events.push(Event { time: sample.time, label: format!("{name} {word}") });
                }
            }
        }
        events.sort_by(|a, b| a.time.total_cmp(&b.time));
        // Flows that come and go all the time are no events.
        if events.len() > 12 { Vec::new() } else { events }
    }

    fn series(&self, words: Words, cases: &[usize]) -> String {
        let recordings = self.recordings(cases);
        let line = |case: usize, points: Vec<(f64, f64)>| Line {
            name: self.name(case),
            style: self.style(case),
            points,
        };
        let queues = recordings.iter().map(|(case, recording)| {
            let link = recording.links.first().map_or(&[][..], Vec::as_slice);
            line(*case, link.iter().map(|&(time, packets)| (time, packets as f64)).collect())
        });
        let flights = recordings.iter().map(|(case, recording)| {
            let samples = &recording.flows[first_own(&self.plan.cases[*case])];
            line(*case, samples.iter().map(|at| (at.time, at.in_flight as f64)).collect())
        });
        let panels = vec![
            SeriesPanel::new("queue, packets", queues.collect()),
            SeriesPanel::new("in flight, packets", flights.collect()),
        ];
        let figure = Series {
            title: words.title,
            subtitle: format!("{}; the first run", words.subtitle),
            description: "The queue of the first link, and what the first flow has in flight."
                .to_owned(),
            panels,
            events: recordings
                .first()
                .map_or_else(Vec::new, |(case, recording)| self.events(*case, recording)),
        };
        figure.svg()
    }

    /// The throughput of each flow over time, scheme by scheme.
    fn convergence(&self, words: Words, cases: &[usize]) -> String {
        let window = self.plan.experiment.window;
        let pace = convergence::step(window);
        let record = |&case: &usize| (case, self.recording(case, |_| pace));
        let recordings: Vec<(usize, Recording)> = cases.iter().map(record).collect();
        let panel = |(case, recording): &(usize, Recording)| {
            let network = &self.plan.cases[*case].network;
            let line = |flow: usize| {
                let samples = &recording.flows[flow];
                let ends = (convergence::STEPS..samples.len()).map(|end| {
                    let window = (end - convergence::STEPS, end);
                    (samples[end].time, convergence::rate(network, recording, flow, window))
                });
                Line {
                    name: network.flows()[flow].name.clone(),
                    style: Style::nth(flow),
                    points: ends.collect(),
                }
            };
            let lines = (0..network.flows().len()).map(line).collect();
            SeriesPanel::new(format!("{}, Mbps", self.name(*case)), lines)
        };
        let figure = Series {
            title: words.title,
            subtitle: format!("{}; throughput over {window}, the first run", words.subtitle),
            description: "The throughput of each flow over time, one panel for each scheme."
                .to_owned(),
            panels: recordings.iter().map(panel).collect(),
            events: recordings
                .first()
                .map_or_else(Vec::new, |(case, recording)| self.events(*case, recording)),
        };
        figure.svg()
    }

    /// How the lengths of the schemes' first flows are distributed, as their traffic draws them.
    fn flow_lengths(&self, words: Words, cases: &[usize]) -> String {
        let sample = |&case: &usize| {
            let flow = first_own(&self.plan.cases[case]);
            let spec = &self.plan.cases[case].network.flows()[flow];
            let payload = spec.transport.payload(spec.packet_size).get() as f64;
            let stream = Stream::new(self.plan.seed, Purpose::Traffic, flow);
            Values {
                name: self.name(case),
                style: self.style(case),
                values: lengths(spec.traffic.on(), payload, stream),
            }
        };
        let figure = Distribution {
            title: words.title,
            subtitle: format!("{LENGTHS} flows of each, as the simulator draws their lengths"),
            description: "The part of all flows that are no longer than each length.".to_owned(),
            x_axis: "flow length, bytes".to_owned(),
            x_scale: Scale::Log,
            is_tail: false,
            samples: cases.iter().map(sample).collect(),
        };
        figure.svg()
    }

    /// How the completion times of all flows of all runs are distributed.
    fn distribution(&self, words: Words, cases: &[usize]) -> String {
        let sample = |&case: &usize| {
            let runs: Vec<usize> = (0..self.sample(case).runs()).collect();
            Values {
                name: self.name(case),
                style: self.style(case),
                values: self.sample(case).completions(&runs),
            }
        };
        let figure = Distribution {
            title: words.title,
            subtitle: words.subtitle,
            description: "The part of all flows that took no longer than each time.".to_owned(),
            x_axis: "flow completion time, ms".to_owned(),
            x_scale: Scale::Log,
            is_tail: false,
            samples: cases.iter().map(sample).collect(),
        };
        figure.svg()
    }
}

/// [`LENGTHS`] flow lengths of `on`, in bytes, drawn from `stream`, of which [`SHOWN`] are left, evenly over
/// their order; none of flows that last for a time.
fn lengths(on: &OnFor, payload: f64, mut stream: Stream) -> Vec<f64> {
    let mut all: Vec<f64> = (0..LENGTHS)
        .filter_map(|_| match on {
            OnFor::Bytes(bytes) => Some(bytes.draw(&mut stream)),
            OnFor::Packets(packets) => Some(packets.draw(&mut stream) * payload),
            OnFor::Time(_) | OnFor::Ever => None,
        })
        .collect();
    all.sort_unstable_by(f64::total_cmp);
    let step = LENGTHS / SHOWN;
    all.into_iter().skip(step / 2).step_by(step).collect()
}

/// What becomes a point of a picture.
struct Mark {
    case: usize,
    /// The group of flows that it is of, where the scheme runs several.
    group: Option<String>,
    runs: Vec<Run>,
}

/// A metric over all runs of a case, with its interval.
fn band(sample: &Sample<'_>, key: &str, x: f64, seed: u64) -> Option<BandPoint> {
    let all: Vec<usize> = (0..sample.runs()).collect();
    let y = sample.value(key, &all).filter(|value| value.is_finite())?;
    let [low, high] = sample.interval(seed, |runs| sample.value(key, runs)).unwrap_or([y, y]);
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
    use exm_random::Distribution;

    /// The closed form: the published fit of the ICSI's flow lengths, x + 40 of a Pareto distribution
    /// with Xm = 147 and alpha = 0.5, has 1 - (147 / (x + 40))^0.5 of its flows below x.
    #[test]
    fn lengths_are_those_of_the_published_fit() {
        let pareto = |shift| {
            OnFor::Bytes(Distribution::Pareto { scale: 147.0, shape: 0.5, shift, cap: 3.3e9 })
        };
        let draw = |shift| lengths(&pareto(shift), 1448.0, Stream::new(1, Purpose::Traffic, 0));
        let fit = draw(-40.0);
        assert_eq!(fit.len(), SHOWN);
        for (index, &length) in fit.iter().enumerate() {
            let part = 1.0 - (147.0 / (length + 40.0)).sqrt();
            let drawn = (index as f64 + 0.5) / SHOWN as f64;
            assert!((part - drawn).abs() < 0.012, "{length} B: {part} and {drawn}");
        }
        let longer = draw(15_960.0);
        assert!(fit.iter().zip(&longer).all(|(a, b)| a + 16_000.0 >= *b && *b > 16_000.0));
        assert!(lengths(&OnFor::Ever, 1448.0, Stream::new(1, Purpose::Traffic, 0)).is_empty());
    }

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(slug("As in the papers (IW 3)"), "as-in-the-papers-iw-3");
        assert_eq!(slug("4.7 Mbps"), "4.7-mbps");
    }
}
