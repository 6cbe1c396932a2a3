//! [`RunRow`]: the measurements of one run, as stored.

use crate::backend::Measured;
use crate::case::{Asked, Case};
use crate::completions;
use crate::convergence::{self, Convergence};
use crate::metric;
use crate::series;
use crate::timeline::Timeline;
use exm_cc::Failure;
use exm_sim::engine;
use exm_sim::metrics::{FlowReport, Histogram, LinkReport, Report};
use exm_sim::network::FlowSpec;
use exm_sim::video::VideoReport;
use exm_units::{Rate, Span};
use serde::{Deserialize, Serialize};

/// The measurements of one run of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// The seed of the run.
    pub seed: u64,
    /// Each flow, in the order of the scenario.
    pub flows: Vec<FlowRow>,
    /// Each link.
    pub links: Vec<LinkRow>,
}

/// One sender of a run. Times are in ms; unknown values are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowRow {
    /// The number of its group in the scenario.
    pub group: usize,
    /// How long it was on, in seconds.
    pub on_s: f64,
    /// Data delivered in order to the application, over the time the sender was on.
    pub throughput_mbps: Option<f64>,
    /// Throughput over the equal share of the path's narrowest link.
    pub share: Option<f64>,
    /// The mean queueing delay of packets.
    pub queueing_ms: Option<f64>,
    /// The median of it; none if it was stored by an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queueing_50_ms: Option<f64>,
    /// The 95th percentile of it; none if it was stored by an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queueing_95_ms: Option<f64>,
    /// The mean RTT of packets.
    pub rtt_ms: Option<f64>,
    /// The mean RTT over the propagation RTT.
    pub rtt_ratio: Option<f64>,
    /// Packets sent, retransmissions included.
    pub sent: u64,
    /// Packets retransmitted.
    #[serde(alias = "resent")]
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Packets dropped by queues or lost at random.
    pub lost: u64,
    /// Flows completed.
    pub completed: u64,
    /// Their mean completion time.
    pub completion_ms: Option<f64>,
    /// Completion times and their counts, if the experiment needs them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completions: Vec<(f64, u64)>,
    /// How soon it reached its fair share, if the experiment needs it and the flow starts at set times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convergence: Option<Convergence>,
    /// How many RTTs it took to use capacity that another flow had freed, if the experiment needs it and
    /// others end at set times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_rtts: Option<f64>,
    /// Measurements at the receiver, if ACKs cross links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_to_end: Option<EndToEndRow>,
    /// What its receiver saw, if its traffic is a video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video: Option<VideoRow>,
    /// Throughput and delay over time, if the experiment needs them.
    #[serde(default, rename = "course", skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

/// Measurements at the receiver of a flow after the warm-up, see [`exm_trace::delay`]. Times are in ms;
/// unknown values are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndToEndRow {
    /// The rate of arrivals, headers included.
    pub received_mbps: f64,
    /// The part of it that is payload; none if it was stored by an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_mbps: Option<f64>,
    /// The 95 % end-to-end delay.
    pub delay_95_ms: Option<f64>,
    /// The propagation delay of the path, one way.
    pub propagation_ms: f64,
    /// The capacity of the link, if it follows a trace.
    pub capacity_mbps: Option<f64>,
    /// The 95 % end-to-end delay of the omniscient protocol.
    pub omniscient_95_ms: Option<f64>,
    /// The percentage of packets, from the start on, that were queued for at most 100 ms.
    pub queued_within: Option<f64>,
}

/// What the receiver of a video saw, see [`VideoReport`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VideoRow {
    /// The rate of the frames that were shown, headers not included.
    pub shown_mbps: f64,
    /// The 95th percentile of the delay of frames, in ms, from the encoder until they were complete; none if none arrived.
    pub delay_95_ms: Option<f64>,
    /// The frames shown, in percent of those that the encoder could have sent.
    pub frames_shown: f64,
    /// The time for which the picture was frozen, in percent.
    pub frozen: f64,
}

impl VideoRow {
    fn new(video: &VideoReport) -> Option<VideoRow> {
        let seconds = video.time.as_secs_f64();
        (seconds > 0.0).then(|| VideoRow {
            shown_mbps: video.rate().as_mbps(),
            delay_95_ms: video.delay.percentile(95.0).map(Span::as_millis_f64),
            frames_shown: 100.0 * video.part_shown(),
            frozen: 100.0 * video.frozen.as_secs_f64() / seconds,
        })
    }
}

/// One link of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkRow {
    /// The fraction of time that it was transmitting.
    pub utilisation: f64,
    /// The mean queue length, in packets.
    pub mean_queue: f64,
    /// The maximum queue length, in packets.
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
    /// Simulates `case` with this seed, with the optional measurements `asked`.
    ///
    /// # Errors
    /// The failure of a controller.
    pub(crate) fn made(case: &Case, seed: u64, asked: Asked) -> Result<RunRow, Failure> {
        let sound = |report: &Report| match report.failure() {
            Some(failure) => Err(failure.clone()),
            None => Ok(()),
        };
        if let Some(fluid) = &case.fluid {
            return Ok(RunRow::omniscient(case, fluid, seed));
        }
        let Some(step) = asked.step() else {
            let report = engine::run(&case.network, seed);
            sound(&report)?;
            return Ok(RunRow::new(case, &report, asked));
        };
        let (report, recording) = series::record(case, seed, step);
        sound(&report)?;
        let mut row = RunRow::new(case, &report, asked);
        if asked.convergence.is_some() {
            let times = convergence::convergence(case, &recording);
            row.flows.iter_mut().zip(times).for_each(|(flow, time)| flow.convergence = time);
        }
        if asked.claims.is_some() {
            let times = convergence::claims(case, &recording);
            row.flows.iter_mut().zip(times).for_each(|(flow, time)| flow.claim_rtts = time);
        }
        if asked.timeline.is_some() {
            let timelines = Timeline::of(case, &recording);
            row.flows
                .iter_mut()
                .zip(timelines)
                .for_each(|(flow, timeline)| flow.timeline = timeline);
        }
        Ok(row)
    }

    /// The row of the measurements `measured` by a backend in a run of `case`.
    pub(crate) fn measured(case: &Case, measured: Measured, asked: Asked) -> RunRow {
        let mut row = RunRow::new(case, &measured.report, asked);
        let timelines = measured.timelines.into_iter();
        row.flows.iter_mut().zip(timelines).for_each(|(flow, timeline)| flow.timeline = timeline);
        row
    }

    fn new(case: &Case, report: &Report, asked: Asked) -> RunRow {
        let flows = case.groups_of_flows().zip(&report.flows).zip(case.network.flows());
        let flows = flows.map(|(((index, group), flow), spec)| {
            let base_ms = group.rtt.as_secs_f64() * 1e3;
            let mut row = FlowRow::new(index, base_ms, flow);
            let links = group.path.iter().map(|&link| case.network.links()[link].delay);
            row.end_to_end = EndToEndRow::new(flow, spec, links.sum());
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
        let measured_s = flow.measured().0.as_secs_f64();
        let megabits = flow.bytes.get() as f64 * 8e-6;
        let rtt_ms = mean_ms(&flow.rtt);
        FlowRow {
            on_s: flow.on_time.as_secs_f64(),
            throughput_mbps: (measured_s > 0.0).then(|| megabits / measured_s),
            share: flow.normalised_throughput(),
            queueing_ms: mean_ms(&flow.queueing_delay),
            queueing_50_ms: flow.queueing_delay.percentile(50.0).map(Span::as_millis_f64),
            queueing_95_ms: flow.queueing_delay.percentile(95.0).map(Span::as_millis_f64),
            rtt_ms,
            rtt_ratio: rtt_ms.map(|rtt| rtt / base_ms).filter(|ratio| ratio.is_finite()),
            sent: flow.sent,
            retransmitted: flow.retransmitted,
            timeouts: flow.timeouts,
            delivered: flow.delivered,
            lost: flow.lost + flow.dropped_in_all(),
            completed: flow.completion.count(),
            completion_ms: mean_ms(&flow.completion),
            video: flow.video.as_deref().and_then(VideoRow::new),
            ..FlowRow::of_group(group)
        }
    }

    /// Of a flow of this group that was never on.
    pub(crate) fn of_group(group: usize) -> FlowRow {
        FlowRow {
            group,
            on_s: 0.0,
            throughput_mbps: None,
            share: None,
            queueing_ms: None,
            queueing_50_ms: None,
            queueing_95_ms: None,
            rtt_ms: None,
            rtt_ratio: None,
            sent: 0,
            retransmitted: 0,
            timeouts: 0,
            delivered: 0,
            lost: 0,
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
}

/// Sprout's bound of queueing delay: interactive use stays undisturbed (thesis, section 2.3).
const QUEUED_WITHIN: Span = Span::from_millis(100);

impl EndToEndRow {
    fn new(flow: &FlowReport, spec: &FlowSpec, propagation: Span) -> Option<EndToEndRow> {
        let (scores, best) = (flow.end_to_end.as_ref()?, flow.omniscient.as_ref());
        let mbps = |rate: Rate| rate.as_bps() as f64 * 1e-6;
        let waited = &flow.queueing_delay;
        let within = waited.count_up_to(QUEUED_WITHIN) as f64 / waited.count() as f64;
        Some(EndToEndRow {
            received_mbps: mbps(scores.throughput),
            goodput_mbps: Some(mbps(spec.transport.goodput(scores.throughput, spec.packet_size))),
            delay_95_ms: scores.delay_95.map(Span::as_millis_f64),
            propagation_ms: propagation.as_millis_f64(),
            capacity_mbps: best.map(|best| mbps(best.throughput)),
            omniscient_95_ms: best.and_then(|best| best.delay_95).map(Span::as_millis_f64),
            queued_within: (waited.count() > 0).then_some(100.0 * within),
        })
    }

    /// Utilisation of the link's capacity, in percent.
    pub(crate) fn capacity_used(&self) -> Option<f64> {
        let offered = self.capacity_mbps.filter(|&offered| offered > 0.0)?;
        Some(100.0 * self.received_mbps / offered)
    }

    /// The self-inflicted delay: the delay beyond that of the omniscient protocol.
    pub(crate) fn self_inflicted(&self) -> Option<f64> {
        Some((self.delay_95_ms? - self.omniscient_95_ms?).max(0.0))
    }

    /// The delay beyond the propagation delay.
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

/// Reads a metric from one flow of one run.
pub(crate) type OfFlow = fn(&FlowRow) -> Option<f64>;

/// The metric `key` of a single flow, if it has one; several flows are summarised by its median.
pub(crate) fn of_flow(key: &str) -> Option<OfFlow> {
    fn end_to_end(flow: &FlowRow, value: fn(&EndToEndRow) -> Option<f64>) -> Option<f64> {
        flow.end_to_end.as_ref().and_then(value)
    }
    Some(match key {
        "throughput" => |flow| flow.throughput_mbps,
        "queueing" => |flow| flow.queueing_ms,
        "queueing_50" => |flow| flow.queueing_50_ms,
        "queueing_95" => |flow| flow.queueing_95_ms,
        "rtt" => |flow| flow.rtt_ms,
        "completion" => |flow| flow.completion_ms,
        metric::CLAIM => |flow| flow.claim_rtts,
        "received" => |flow| end_to_end(flow, |row| Some(row.received_mbps)),
        "goodput" => |flow| end_to_end(flow, |row| row.goodput_mbps),
        "capacity_used" => |flow| end_to_end(flow, EndToEndRow::capacity_used),
        "delay_95" => |flow| end_to_end(flow, |row| row.delay_95_ms),
        "omniscient" => |flow| end_to_end(flow, |row| row.omniscient_95_ms),
        "self_inflicted" => |flow| end_to_end(flow, EndToEndRow::self_inflicted),
        "queued_95" => |flow| end_to_end(flow, EndToEndRow::queued_95),
        "video" => |flow| Some(flow.video.as_ref()?.shown_mbps),
        "frame_delay_95" => |flow| flow.video.as_ref()?.delay_95_ms,
        "frames_shown" => |flow| Some(flow.video.as_ref()?.frames_shown),
        "frozen" => |flow| Some(flow.video.as_ref()?.frozen),
        "queued_within" => |flow| end_to_end(flow, |row| row.queued_within),
        _ => return None,
    })
}
