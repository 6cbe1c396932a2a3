//! The report of a simulation.

use crate::options::Setup;
use exm_measure::{Estimate, mean};
use exm_sim::metrics::{FlowReport, Histogram, LinkReport, Report};
use exm_sim::network::{FlowSpec, Network, hosts};
use exm_sim::scenario::{FlowGroup, Scenario};
use exm_sim::traffic::OnFor;
use exm_sim::video::VideoReport;
use exm_units::{Rate, Span};
use serde::{Serialize, Serializer};

/// The whole report.
#[derive(Serialize)]
pub(super) struct Results {
    pub(super) title: Option<String>,
    /// The seed of the first run.
    pub(super) seed: u64,
    /// The hosts of the senders.
    pub(super) host: String,
    /// The options, for a network described by options.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) setup: Option<Setup>,
    #[serde(rename = "duration_s", serialize_with = "as_secs")]
    pub(super) duration: Span,
    /// Means over all runs.
    pub(super) means: Means,
    pub(super) runs: Vec<Run>,
}

/// Means over all runs, with intervals if there are several.
#[derive(Serialize)]
pub(super) struct Means {
    /// The mean over flows of throughput over equal share.
    pub(super) tp: Option<Estimate>,
    /// The mean over flows of mean RTT over propagation RTT.
    pub(super) del: Option<Estimate>,
    /// Each group of equal flows: means over its flows.
    pub(super) groups: Vec<Group>,
    pub(super) links: Vec<LinkMeans>,
}

#[derive(Serialize)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) controller: String,
    pub(super) count: usize,
    #[serde(flatten)]
    pub(super) values: Values,
}

#[derive(Serialize)]
pub(super) struct LinkMeans {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) values: Values,
}

/// An estimate for each metric, by its name.
pub(super) struct Values(pub(super) Vec<(&'static str, Option<Estimate>)>);

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

/// Writes a span in seconds, to the nearest double.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn as_secs<S: Serializer>(span: &Span, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(span.as_nanos() as f64 / 1e9)
}

/// One run.
#[derive(Serialize)]
pub(super) struct Run {
    pub(super) seed: u64,
    pub(super) tp: Option<f64>,
    pub(super) del: Option<f64>,
    pub(super) flows: Vec<Flow>,
    pub(super) links: Vec<Link>,
}

/// One sender.
#[derive(Serialize)]
pub(super) struct Flow {
    /// The name of its group, with its number in a group of several flows.
    pub(super) name: String,
    pub(super) controller: String,
    host: &'static str,
    propagation_rtt_ms: f64,
    #[serde(rename = "on_s", serialize_with = "as_secs")]
    on: Span,
    sent: u64,
    delivered: u64,
    lost: u64,
    dropped: u64,
    throughput_mbps: Option<f64>,
    share: Option<f64>,
    rtt_ratio: Option<f64>,
    rtt_ms: Spread,
    queueing_delay_ms: Spread,
    loss_percent: Option<f64>,
    /// Flows completed, if they had an amount of data to deliver.
    completed: Option<u64>,
    /// Their completion times.
    completion_ms: Spread,
    /// The measurements at the receiver, if ACKs cross links.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_to_end: Option<EndToEnd>,
    /// What the receiver saw, if the traffic is a video.
    #[serde(skip_serializing_if = "Option::is_none")]
    video: Option<Video>,
}

/// What the receiver of a video saw.
#[derive(Serialize)]
struct Video {
    shown_mbps: f64,
    frames: u64,
    skipped: u64,
    shown: u64,
    lost: u64,
    frames_shown_percent: f64,
    delay_ms: Spread,
    freezes: u64,
    frozen_percent: f64,
}

/// The measurements at a receiver after the warm-up.
#[derive(Serialize)]
struct EndToEnd {
    received_mbps: f64,
    /// The part of it that is payload, as in the throughput.
    goodput_mbps: f64,
    /// The capacity of the link, if it follows a trace.
    capacity_mbps: Option<f64>,
    delay_median_ms: Option<f64>,
    delay_p95_ms: Option<f64>,
    /// The omniscient protocol's 95 % delay, and the self-inflicted delay.
    omniscient_p95_ms: Option<f64>,
    self_inflicted_ms: Option<f64>,
}

/// A distribution of durations, in ms; all none if there are none.
#[derive(Serialize)]
struct Spread {
    mean: Option<f64>,
    median: Option<f64>,
    p95: Option<f64>,
}

/// One link.
#[derive(Serialize)]
pub(super) struct Link {
    pub(super) name: String,
    utilisation_percent: f64,
    arrived: u64,
    transmitted: u64,
    dropped: u64,
    lost: u64,
    mean_queue_packets: f64,
    max_queue_packets: u64,
}

/// A metric of each flow or link.
pub(super) struct Metric<T> {
    /// Its name among the means.
    key: &'static str,
    /// The heading of its column, in two lines.
    pub(super) heading: [&'static str; 2],
    pub(super) decimals: usize,
    pub(super) of: fn(&T) -> Option<f64>,
}

const fn metric<T>(
    key: &'static str,
    heading: [&'static str; 2],
    decimals: usize,
    of: fn(&T) -> Option<f64>,
) -> Metric<T> {
    Metric { key, heading, decimals, of }
}

/// The metrics of a flow, in the order of their columns.
pub(super) const FLOW_METRICS: [Metric<Flow>; 18] = [
    metric("throughput_mbps", ["throughput", "Mbps"], 3, |flow| flow.throughput_mbps),
    metric("share", ["of equal", "share"], 3, |flow| flow.share),
    metric("rtt_mean_ms", ["RTT", "mean ms"], 1, |flow| flow.rtt_ms.mean),
    metric("rtt_median_ms", ["RTT", "median ms"], 1, |flow| flow.rtt_ms.median),
    metric("rtt_p95_ms", ["RTT", "95 % ms"], 1, |flow| flow.rtt_ms.p95),
    metric("queueing_delay_mean_ms", ["queueing", "mean ms"], 1, |f| f.queueing_delay_ms.mean),
    metric("queueing_delay_median_ms", ["queueing", "median ms"], 1, |f| {
        f.queueing_delay_ms.median
    }),
    metric("queueing_delay_p95_ms", ["queueing", "95 % ms"], 1, |f| f.queueing_delay_ms.p95),
    metric("loss_percent", ["loss", "%"], 2, |flow| flow.loss_percent),
    metric("completed", ["flows", "completed"], 0, |flow| flow.completed.map(|n| n as f64)),
    metric("goodput_mbps", ["goodput", "Mbps"], 3, |flow| {
        Some(flow.end_to_end.as_ref()?.goodput_mbps)
    }),
    metric("capacity_used_percent", ["capacity", "used %"], 1, |flow| {
        let measured = flow.end_to_end.as_ref()?;
        Some(100.0 * measured.received_mbps / measured.capacity_mbps.filter(|&all| all > 0.0)?)
    }),
    metric("delay_p95_ms", ["delay", "95 % ms"], 1, |f| f.end_to_end.as_ref()?.delay_p95_ms),
    metric("self_inflicted_ms", ["self-inflicted", "ms"], 1, |flow| {
        flow.end_to_end.as_ref()?.self_inflicted_ms
    }),
    metric("video_mbps", ["video", "Mbps"], 3, |flow| Some(flow.video.as_ref()?.shown_mbps)),
    metric("frame_delay_p95_ms", ["frames", "95 % ms"], 1, |f| f.video.as_ref()?.delay_ms.p95),
    metric("frames_shown_percent", ["frames", "shown %"], 1, |flow| {
        Some(flow.video.as_ref()?.frames_shown_percent)
    }),
    metric("frozen_percent", ["frozen", "%"], 2, |flow| Some(flow.video.as_ref()?.frozen_percent)),
];

/// The metrics of a link, in the order of their columns.
pub(super) const LINK_METRICS: [Metric<Link>; 5] = [
    metric("utilisation_percent", ["utilisation", "%"], 1, |link| Some(link.utilisation_percent)),
    metric("dropped", ["packets", "dropped"], 0, |link| Some(link.dropped as f64)),
    metric("lost", ["packets", "lost"], 0, |link| Some(link.lost as f64)),
    metric("mean_queue_packets", ["mean queue", "packets"], 1, |link| {
        Some(link.mean_queue_packets)
    }),
    metric("max_queue_packets", ["max. queue", "packets"], 0, |l| Some(l.max_queue_packets as f64)),
];

impl Results {
    /// The results of `runs`, at least one, of `network`, which is that of `scenario`.
    pub(super) fn new(
        scenario: &Scenario,
        network: &Network,
        runs: Vec<Run>,
        setup: Option<Setup>,
    ) -> Results {
        Results {
            title: scenario.title.clone(),
            seed: runs[0].seed,
            host: hosts([network]),
            setup,
            duration: network.duration(),
            means: Means::of(scenario, &runs),
            runs,
        }
    }
}

impl Means {
    fn of(scenario: &Scenario, runs: &[Run]) -> Means {
        let over_runs = |value: &dyn Fn(&Run) -> Option<f64>| -> Option<Estimate> {
            Estimate::of_any(&runs.iter().filter_map(value).collect::<Vec<f64>>())
        };
        let mut groups = Vec::new();
        let mut first = 0;
        for group in &scenario.flows {
            let flows = first..first + group.count;
            first = flows.end;
            let value = |metric: &Metric<Flow>| {
                let of_run =
                    |run: &Run| mean(run.flows[flows.clone()].iter().filter_map(metric.of));
                (metric.key, over_runs(&of_run))
            };
            groups.push(Group {
                name: group.name.clone(),
                controller: group.controller.clone(),
                count: group.count,
                values: Values(FLOW_METRICS.iter().map(value).collect()),
            });
        }
        let links = scenario.links.iter().enumerate().map(|(index, link)| {
            let value = |metric: &Metric<Link>| {
                (metric.key, over_runs(&|run| (metric.of)(&run.links[index])))
            };
            let values = Values(LINK_METRICS.iter().map(value).collect());
            LinkMeans { name: link.name.clone(), values }
        });
        let links = links.collect();
        Means { tp: over_runs(&|run| run.tp), del: over_runs(&|run| run.del), groups, links }
    }
}

impl Run {
    pub(super) fn new(scenario: &Scenario, network: &Network, report: &Report) -> Run {
        let groups =
            scenario.flows.iter().flat_map(|group| (1..=group.count).map(move |n| (group, n)));
        let flows: Vec<Flow> = groups
            .zip(report.flows.iter().zip(network.flows()))
            .map(|((group, number), (report, spec))| Flow::new(group, number, report, spec))
            .collect();
        Run {
            seed: report.seed,
            tp: report.mean_normalised_throughput(),
            del: mean(flows.iter().filter_map(|flow| flow.rtt_ratio)),
            flows,
            links: report.links.iter().map(Link::new).collect(),
        }
    }
}

impl Flow {
    fn new(group: &FlowGroup, number: usize, report: &FlowReport, spec: &FlowSpec) -> Flow {
        let completes = matches!(spec.traffic.on(), OnFor::Packets(_) | OnFor::Bytes(_));
        let missing = report.lost + report.dropped_in_all();
        let is_alone = group.count == 1;
        Flow {
            name: if is_alone { group.name.clone() } else { format!("{} {number}", group.name) },
            controller: group.controller.clone(),
            host: spec.transport.host_name(),
            propagation_rtt_ms: group.rtt.as_millis_f64(),
            on: report.on_time,
            sent: report.sent,
            delivered: report.delivered,
            lost: report.lost,
            dropped: report.dropped_in_all(),
            throughput_mbps: report.throughput().map(Rate::as_mbps),
            share: report.normalised_throughput(),
            rtt_ratio: report.rtt_ratio(group.rtt).filter(|ratio| ratio.is_finite()),
            rtt_ms: Spread::of(&report.rtt),
            queueing_delay_ms: Spread::of(&report.queueing_delay),
            loss_percent: (report.sent > 0).then(|| 100.0 * missing as f64 / report.sent as f64),
            completed: completes.then(|| report.completion.count()),
            completion_ms: Spread::of(&report.completion),
            end_to_end: EndToEnd::of(report, spec),
            video: report.video.as_deref().map(Video::of),
        }
    }
}

impl Video {
    fn of(report: &VideoReport) -> Video {
        let seconds = report.time.as_secs_f64();
        let frozen = report.frozen.as_secs_f64();
        Video {
            shown_mbps: report.rate().as_mbps(),
            frames: report.frames,
            skipped: report.skipped,
            shown: report.shown,
            lost: report.lost,
            frames_shown_percent: 100.0 * report.part_shown(),
            delay_ms: Spread::of(&report.delay),
            freezes: report.freezes,
            frozen_percent: if seconds > 0.0 { 100.0 * frozen / seconds } else { 0.0 },
        }
    }
}

impl EndToEnd {
    fn of(report: &FlowReport, spec: &FlowSpec) -> Option<EndToEnd> {
        let (scores, best) = (report.end_to_end.as_ref()?, report.omniscient.as_ref());
        let millis = |span: Option<Span>| span.map(Span::as_millis_f64);
        let goodput = spec.transport.goodput(scores.throughput, spec.packet_size);
        Some(EndToEnd {
            received_mbps: scores.throughput.as_mbps(),
            goodput_mbps: goodput.as_mbps(),
            capacity_mbps: best.map(|best| best.throughput.as_mbps()),
            delay_median_ms: millis(scores.percentile(50.0)),
            delay_p95_ms: millis(scores.delay_95),
            omniscient_p95_ms: millis(best.and_then(|best| best.delay_95)),
            self_inflicted_ms: millis(best.and_then(|best| scores.self_inflicted(best))),
        })
    }
}

impl Link {
    fn new(report: &LinkReport) -> Link {
        Link {
            name: report.name.clone(),
            utilisation_percent: 100.0 * report.utilisation,
            arrived: report.arrived,
            transmitted: report.transmitted,
            dropped: report.dropped,
            lost: report.lost,
            mean_queue_packets: report.mean_queue,
            max_queue_packets: report.max_queue,
        }
    }
}

impl Spread {
    fn of(spans: &Histogram) -> Spread {
        let millis = |span: Option<Span>| span.map(Span::as_millis_f64);
        Spread {
            mean: millis(spans.mean()),
            median: millis(spans.percentile(50.0)),
            p95: millis(spans.percentile(95.0)),
        }
    }
}
