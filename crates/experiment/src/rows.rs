//! [`RunRow`]: what one run measured, as it is kept.

use crate::completions;
use crate::convergence::{self, Convergence};
use crate::plan::{Asked, Case};
use crate::series;
use exm_sim::engine;
use exm_sim::metrics::{FlowReport, Histogram, LinkReport, Report};
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
        let Some(window) = asked.window else {
            return RunRow::new(case, &engine::run(&case.network, seed), asked);
        };
        let (report, recording) = series::record(case, seed, convergence::step(window));
        let mut row = RunRow::new(case, &report, asked);
        let told = convergence::convergence(case, &recording);
        row.flows.iter_mut().zip(told).for_each(|(flow, told)| flow.convergence = told);
        row
    }

    fn new(case: &Case, report: &Report, asked: Asked) -> RunRow {
        let groups = case.scenario.flows.iter().enumerate();
        let groups =
            groups.flat_map(|(index, group)| std::iter::repeat_n((index, group), group.count));
        let flows = groups.zip(&report.flows).map(|((index, group), flow)| {
            let base_ms = group.rtt.as_secs_f64() * 1e3;
            let mut row = FlowRow::new(index, base_ms, flow);
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
        }
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
