//! Figures over time.

use super::{Artist, Files, Words, first_own};
use crate::case::{Case, STEPS, step};
use crate::convergence;
use crate::series::{self, Recording};
use exm_measure::figure::{Curve, Event, Scale, Sequence, Series, SeriesPanel, Style};
use exm_units::Span;

impl Artist<'_> {
    /// The throughput and delay of each scheme's first flow over time, beside the capacity.
    pub(super) fn rate_and_delay(&self, words: Words, cases: &[usize]) -> Files {
        let (mut rates, mut delays, mut offered) = (Vec::new(), Vec::new(), None);
        for &case in cases {
            let of_plan = &self.plan.cases[case];
            let flow = first_own(of_plan);
            let row = self.rows.get(&(case, 0)).and_then(|row| row.flows.get(flow));
            let Some((row, timeline)) = row.and_then(|row| Some((row, row.timeline.as_ref()?)))
            else {
                continue;
            };
            let line = |points| Curve { name: self.name(case), style: self.style(case), points };
            rates.push(line(timeline.throughput()));
            delays.push(line(timeline.delay()));
            offered = offered.or_else(|| timeline.offered(of_plan, row.group));
        }
        let back =
            |name: &str, points| Curve { name: name.to_owned(), style: Style::BACKGROUND, points };
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
        Files::of(&figure)
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

    pub(super) fn sequence(&self, words: Words, cases: &[usize]) -> Files {
        let recordings = self.recordings(cases);
        let line = |(case, recording): &(usize, Recording)| {
            let flow = first_own(&self.plan.cases[*case]);
            let spec = &self.plan.cases[*case].network.flows()[flow];
            let megabytes = spec.transport.payload(spec.packet_size).get() as f64 * 1e-6;
            let points = recording.flows[flow].iter();
            Curve {
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
            events: self.others(&recordings),
        };
        Files::of(&figure)
    }

    /// When flows other than the scheme's first started and ended.
    fn others(&self, recordings: &[(usize, Recording)]) -> Vec<Event> {
        self.events(recordings, |case, flow| flow != first_own(case))
    }

    /// When those flows of the first case started and ended.
    fn events(
        &self,
        recordings: &[(usize, Recording)],
        is_shown: impl Fn(&Case, usize) -> bool,
    ) -> Vec<Event> {
        let Some((case, recording)) = recordings.first() else { return Vec::new() };
        let case = &self.plan.cases[*case];
        let flows = recording.flows.iter().enumerate().filter(|(flow, _)| is_shown(case, *flow));
        let mut events = Vec::new();
        for (flow, samples) in flows {
            let name = &case.network.flows()[flow].name;
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
        // Flows that start and end all the time are not marked.
        if events.len() > 12 { Vec::new() } else { events }
    }

    pub(super) fn series(&self, words: Words, cases: &[usize]) -> Files {
        let recordings = self.recordings(cases);
        let line = |case: usize, points: Vec<(f64, f64)>| Curve {
            name: self.name(case),
            style: self.style(case),
            points,
        };
        let queues = recordings.iter().map(|(case, recording)| line(*case, queue(recording)));
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
            events: self.others(&recordings),
        };
        Files::of(&figure)
    }

    /// The queue of the first link over time, and when it dropped packets, one panel for each scheme.
    pub(super) fn queue(&self, words: Words, cases: &[usize]) -> Files {
        let recordings = self.recordings(cases);
        let panel = |(case, recording): &(usize, Recording)| {
            let name = self.name(*case);
            let line = Curve { name, style: self.style(*case), points: queue(recording) };
            let ticks = series::drops(&self.plan.cases[*case], self.plan.seed_of(0));
            SeriesPanel { ticks, ..SeriesPanel::new("queue, packets", vec![line]) }
        };
        let figure = Series {
            title: words.title,
            subtitle: format!("{}; drops ticked above, the first run", words.subtitle),
            description: "The queue of the first link over time, and when it dropped packets, one \
                          panel for each scheme."
                .to_owned(),
            panels: recordings.iter().map(panel).collect(),
            events: self.events(&recordings, |_, _| true),
        };
        Files::of(&figure)
    }

    /// The throughput of each flow over time, scheme by scheme.
    pub(super) fn convergence(&self, words: Words, cases: &[usize]) -> Files {
        let window = self.plan.experiment.window;
        let pace = step(window);
        let record = |&case: &usize| (case, self.recording(case, |_| pace));
        let recordings: Vec<(usize, Recording)> = cases.iter().map(record).collect();
        let panel = |(case, recording): &(usize, Recording)| {
            let network = &self.plan.cases[*case].network;
            let line = |flow: usize| {
                let samples = &recording.flows[flow];
                let ends = (STEPS..samples.len()).map(|end| {
                    let window = (end - STEPS, end);
                    (samples[end].time, convergence::rate(network, recording, flow, window))
                });
                Curve {
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
            events: self.others(&recordings),
        };
        Files::of(&figure)
    }
}

/// The queue of the first link: seconds and packets.
fn queue(recording: &Recording) -> Vec<(f64, f64)> {
    let link = recording.links.first().map_or(&[][..], Vec::as_slice);
    link.iter().map(|&(time, packets)| (time, packets as f64)).collect()
}
