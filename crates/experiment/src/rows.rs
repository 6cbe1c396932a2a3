//! [`RunRow`]: what one run measured, as it is kept.

use crate::completions;
use crate::convergence::{self, Convergence};
use crate::course::Course;
use crate::lab::Measured;
use crate::plan::{Asked, Case};
use crate::series;
use exm_sim::engine;
use exm_sim::metrics::{FlowReport, Histogram, LinkReport, Report};
use exm_units::{Rate, Span};
use serde::{Deserialize, Serialize};

/// What one run of one case measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// The seed of the run.
    pub seed: u64,
    /// Each flow, in the order of the scenario.
    pub flows: Vec<FlowRow>,
    /// Each link.
    pub links: Vec<LinkRow>,
}

/// One sender of a run. Times are in ms; what is not known is nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowRow {
    /// The number of its group in the scenario.
    pub group: usize,
    /// How long it was on, in seconds.
    pub on_s: f64,
    /// Data of its user's delivered in order, over the time it was on.
    pub throughput_mbps: Option<f64>,
    /// Throughput over the equal share of the path's narrowest link.
    pub share: Option<f64>,
    /// The mean over packets of how long each waited in queues.
    pub queueing_ms: Option<f64>,
    /// The mean over packets of their round-trip times.
    pub rtt_ms: Option<f64>,
    /// That over the propagation delay.
    pub rtt_ratio: Option<f64>,
    /// Packets sent, again or for the first time.
    pub sent: u64,
    /// Packets sent again.
    pub resent: u64,
    /// How often a retransmission timer ran out.
    pub timeouts: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Packets dropped by queues or lost at random.
    pub lost: u64,
    /// Flows completed.
    pub completed: u64,
    /// How long they took on average.
    pub completion_ms: Option<f64>,
    /// How many took how long, where an experiment asks for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completions: Vec<(f64, u64)>,
    /// How soon it came to its fair share, where an experiment asks for it and it starts at set times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convergence: Option<Convergence>,
    /// How many RTTs it took to use what another flow had freed, where an experiment asks for it and
    /// others end at set times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_rtts: Option<f64>,
    /// What was measured at the receiver, where answers cross links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_to_end: Option<EndToEndRow>,
    /// How that went over time, where an experiment asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub course: Option<Course>,
}

/// What was measured at the receiver of a flow after the warm-up, see [`exm_trace::delay`]. Times are in
/// ms; what is not known is nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndToEndRow {
    /// What arrived, headers included.
    pub received_mbps: f64,
    /// The end-to-end delay that was not exceeded 95 % of the time.
    pub delay_95_ms: Option<f64>,
    /// The propagation delay of the path, one way.
    pub propagation_ms: f64,
    /// What the link offered, where it follows a trace.
    pub capacity_mbps: Option<f64>,
    /// The 95 % end-to-end delay of a protocol that knew the trace.
    pub omniscient_95_ms: Option<f64>,
    /// Of all packets from the start on, the part that was queued for at most 100 ms, in percent.
    pub queued_within: Option<f64>,
}

/// One link of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkRow {
    /// The part of the time it was transmitting.
    pub utilisation: f64,
    /// The mean number of packets that waited.
    pub mean_queue: f64,
    /// The most packets that ever waited.
    pub max_queue: u64,
    /// Packets transmitted.
    pub transmitted: u64,
    /// Packets its queue dropped.
    pub dropped: u64,
    /// Packets its queue marked.
    pub marked: u64,
    /// Packets lost at random.
    pub lost: u64,
}

impl RunRow {
    /// Makes the run of `case` with this seed; what it tells besides the usual is `asked` for.
    pub(crate) fn made(case: &Case, seed: u64, asked: Asked) -> RunRow {
        let Some(step) = asked.step() else {
            return RunRow::new(case, &engine::run(&case.network, seed), asked);
        };
        let (report, recording) = series::record(case, seed, step);
        let mut row = RunRow::new(case, &report, asked);
        if asked.convergence.is_some() {
            let told = convergence::convergence(case, &recording);
            row.flows.iter_mut().zip(told).for_each(|(flow, told)| flow.convergence = told);
        }
        if asked.claims.is_some() {
            let told = convergence::claims(case, &recording);
            row.flows.iter_mut().zip(told).for_each(|(flow, told)| flow.claim_rtts = told);
        }
        if asked.course.is_some() {
            let told = Course::of(case, &recording);
            row.flows.iter_mut().zip(told).for_each(|(flow, told)| flow.course = told);
        }
        row
    }

    /// What a lab `measured` of a run of `case`.
    pub(crate) fn measured(case: &Case, measured: Measured, asked: Asked) -> RunRow {
        let mut row = RunRow::new(case, &measured.report, asked);
        let courses = measured.courses.into_iter();
        row.flows.iter_mut().zip(courses).for_each(|(flow, course)| flow.course = course);
        row
    }

    fn new(case: &Case, report: &Report, asked: Asked) -> RunRow {
        let groups = case.scenario.flows.iter().enumerate();
        let groups =
            groups.flat_map(|(index, group)| std::iter::repeat_n((index, group), group.count));
        let flows = groups.zip(&report.flows).map(|((index, group), flow)| {
            let base_ms = group.rtt.as_secs_f64() * 1e3;
            let mut row = FlowRow::new(index, base_ms, flow);
            let links = group.path.iter().map(|&link| case.network.links()[link].delay);
            row.end_to_end = EndToEndRow::new(flow, links.sum());
            if asked.completions {
                row.completions = completions::counted(&flow.completion);
            }
            row
        });
        RunRow {
            seed: report.seed,
            flows: flows.collect(),
            links: report.links.iter().map(LinkRow::new).collect(),
        }
    }
}

impl FlowRow {
    fn new(group: usize, base_ms: f64, flow: &FlowReport) -> FlowRow {
        let on_s = flow.on_time.as_secs_f64();
        let megabits = flow.bytes.get() as f64 * 8e-6;
        let rtt_ms = mean_ms(&flow.rtt);
        FlowRow {
            group,
            on_s,
            throughput_mbps: (on_s > 0.0).then(|| megabits / on_s),
            share: flow.normalised_throughput(),
            queueing_ms: mean_ms(&flow.queueing_delay),
            rtt_ms,
            rtt_ratio: rtt_ms.map(|rtt| rtt / base_ms).filter(|ratio| ratio.is_finite()),
            sent: flow.sent,
            resent: flow.resent,
            timeouts: flow.timeouts,
            delivered: flow.delivered,
            lost: flow.lost + flow.dropped_in_all(),
            completed: flow.completion.count(),
            completion_ms: mean_ms(&flow.completion),
            completions: Vec::new(),
            convergence: None,
            claim_rtts: None,
            end_to_end: None,
            course: None,
        }
    }
}

/// What queues no longer than this disturbs no conversation: Sprout's aim (thesis, section 2.3).
const QUEUED_WITHIN: Span = Span::from_millis(100);

impl EndToEndRow {
    fn new(flow: &FlowReport, propagation: Span) -> Option<EndToEndRow> {
        let (scores, best) = (flow.end_to_end.as_ref()?, flow.omniscient.as_ref());
        let mbps = |rate: Rate| rate.as_bps() as f64 * 1e-6;
        let waited = &flow.queueing_delay;
        let within = waited.count_up_to(QUEUED_WITHIN) as f64 / waited.count() as f64;
        Some(EndToEndRow {
            received_mbps: mbps(scores.throughput),
            delay_95_ms: scores.delay_95.map(Span::as_millis_f64),
            propagation_ms: propagation.as_millis_f64(),
            capacity_mbps: best.map(|best| mbps(best.throughput)),
            omniscient_95_ms: best.and_then(|best| best.delay_95).map(Span::as_millis_f64),
            queued_within: (waited.count() > 0).then_some(100.0 * within),
        })
    }

    /// Utilisation of what the link offered, in percent.
    pub(crate) fn capacity_used(&self) -> Option<f64> {
        let offered = self.capacity_mbps.filter(|&offered| offered > 0.0)?;
        Some(100.0 * self.received_mbps / offered)
    }

    /// By how much the delay exceeds what the link inflicts on everybody.
    pub(crate) fn self_inflicted(&self) -> Option<f64> {
        Some((self.delay_95_ms? - self.omniscient_95_ms?).max(0.0))
    }

    /// By how much the delay exceeds propagation.
    pub(crate) fn queued_95(&self) -> Option<f64> {
        Some((self.delay_95_ms? - self.propagation_ms).max(0.0))
    }
}

impl LinkRow {
    fn new(link: &LinkReport) -> LinkRow {
        LinkRow {
            utilisation: link.utilisation,
            mean_queue: link.mean_queue,
            max_queue: link.max_queue,
            transmitted: link.transmitted,
            dropped: link.dropped,
            marked: link.marked,
            lost: link.lost,
        }
    }
}

/// The exact mean, in ms.
fn mean_ms(spans: &Histogram) -> Option<f64> {
    let count = spans.count();
    (count > 0).then(|| spans.sum_nanos() as f64 * 1e-6 / count as f64)
}
