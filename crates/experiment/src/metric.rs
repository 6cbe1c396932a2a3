//! [`Metric`]: a quantity that summarises the runs of a scheme.

/// A quantity that summarises the runs of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name in files.
    pub key: &'static str,
    /// The heading of its column, in two lines: the quantity, and its unit or kind.
    pub heading: [&'static str; 2],
    /// Its name in words, with its unit.
    pub words: &'static str,
    /// The number of decimals that are printed.
    pub decimals: usize,
}

const fn metric(
    key: &'static str,
    heading: [&'static str; 2],
    words: &'static str,
    decimals: usize,
) -> Metric {
    Metric { key, heading, words, decimals }
}

/// The axes of pictures and the terms of ratios, unless an experiment sets others.
pub(crate) const THROUGHPUT: Metric =
    metric("throughput", ["throughput", "Mbps"], "throughput, Mbps", 3);
pub(crate) const DELAY: Metric = metric("queueing", ["queueing", "ms"], "queueing delay, ms", 2);

/// All metrics, in the order of the columns.
///
/// `shortest_over_longest` and `rtt_exponent` are of flows with several RTTs, of all runs together.
/// `convergence` is of flows that start at set times: how long each takes until its throughput over a
/// window stays within 20 % of its fair share to the next set start or end of any flow; the median,
/// where a flow that does not settle counts as infinite. `converged` is the fraction that does.
///
/// `claim_rtts` is of flows beside which others end at set times: how many propagation RTTs each takes
/// from such an end until its throughput over a window first reaches 90 % of its throughput in the last
/// fifth of the time to the next set start or end.
///
/// From `received` on they are measured at the receiver after the warm-up, as in section 2.4.1 of the
/// thesis, for flows whose ACKs cross links: see [`exm_trace::delay`]. `capacity_used` and the
/// comparisons with the omniscient protocol are of a path that follows a trace. `queued_within` counts
/// packets from the start on.
///
/// From `video` on they are of flows whose traffic is a video, from the start on: see
/// [`VideoReport`](exm_sim::video::VideoReport).
pub const METRICS: [Metric; 40] = [
    THROUGHPUT,
    metric("mean_throughput", ["throughput", "mean Mbps"], "mean throughput, Mbps", 3),
    metric("sd_throughput", ["±", "Mbps"], "standard deviation of throughput, Mbps", 3),
    DELAY,
    metric("mean_queueing", ["queueing", "mean ms"], "mean queueing delay, ms", 2),
    metric("sd_queueing", ["±", "ms"], "standard deviation of queueing delay, ms", 2),
    metric("queueing_50", ["queueing", "50 % ms"], "median queueing delay of packets, ms", 2),
    metric("queueing_95", ["queueing", "95 % ms"], "95 % queueing delay of packets, ms", 2),
    metric("rtt", ["RTT", "ms"], "RTT, ms", 2),
    metric("mean_rtt", ["RTT", "mean ms"], "mean RTT, ms", 2),
    metric("completion", ["completion", "ms"], "mean flow completion time of a sender, ms", 1),
    metric("median_completion", ["completion", "median ms"], "median flow completion time, ms", 2),
    metric(
        "p95_completion",
        ["completion", "95 % ms"],
        "95th percentile of completion times, ms",
        2,
    ),
    metric(
        "p99_completion",
        ["completion", "99 % ms"],
        "99th percentile of completion times, ms",
        2,
    ),
    metric("completed", ["flows", "completed"], "flows completed a sender and run", 1),
    metric("share", ["share", "%"], "share of the throughput, %", 1),
    metric("loss", ["loss", "%"], "packets lost or dropped, %", 2),
    metric("marks", ["marks", "%"], "packets marked, %", 2),
    metric("retransmitted", ["retransmitted", "%"], "packets retransmitted, %", 2),
    metric("timeouts", ["timeouts", "a flow"], "timeouts a flow and run", 2),
    metric("jain", ["Jain's", "index"], "Jain's index of fairness", 3),
    metric(
        "shortest_over_longest",
        ["shortest/longest", "RTT"],
        "throughput at the shortest RTT over that at the longest",
        2,
    ),
    metric("rtt_exponent", ["RTT", "exponent"], "exponent k of throughput ~ 1 / RTT^k", 2),
    metric("convergence", ["convergence", "s"], "time to the fair share, s", 1),
    metric("converged", ["converged", "%"], "starts after which the fair share was reached, %", 0),
    metric(CLAIM, ["claim", "RTTs"], "time to use what another flow has freed, RTTs", 1),
    metric("utilisation", ["link", "%"], "utilisation of the busiest link, %", 1),
    metric("objective", ["objective", ""], "log2(throughput/share) - log2(RTT/propagation RTT)", 3),
    metric(
        "received",
        ["received", "Mbps"],
        "throughput at the receiver, headers included, Mbps",
        3,
    ),
    metric("goodput", ["goodput", "Mbps"], "payload at the receiver, Mbps", 3),
    metric("capacity_used", ["capacity", "used %"], "utilisation of the link's capacity, %", 1),
    metric("delay_95", ["delay", "95 % ms"], "95 % end-to-end delay, ms", 1),
    metric("omniscient", ["omniscient", "ms"], "95 % delay of the omniscient protocol, ms", 1),
    metric("self_inflicted", ["self-inflicted", "ms"], "self-inflicted delay, ms", 1),
    metric(
        "queued_95",
        ["delay - prop.", "95 % ms"],
        "95 % end-to-end delay beyond propagation, ms",
        1,
    ),
    metric("queued_within", ["in queues", "<= 100 ms %"], "packets queued at most 100 ms, %", 1),
    metric("video", ["video", "Mbps"], "video shown, Mbps", 3),
    metric("frame_delay_95", ["frames", "95 % ms"], "95 % delay of frames, ms", 1),
    metric("frames_shown", ["frames", "shown %"], "frames shown, %", 1),
    metric("frozen", ["frozen", "%"], "time with a frozen picture, %", 2),
];

/// The columns of tables, unless an experiment sets others.
pub(crate) const USUAL: [&str; 9] = [
    "throughput",
    "sd_throughput",
    "queueing",
    "sd_queueing",
    "rtt",
    "loss",
    "retransmitted",
    "jain",
    "utilisation",
];

/// Metrics of the distribution of completion times, which runs measure only on request.
pub(crate) const COMPLETIONS: [&str; 3] = ["median_completion", "p95_completion", "p99_completion"];
/// Metrics of convergence to the fair share, which runs measure only on request.
pub(crate) const CONVERGENCES: [&str; 2] = ["convergence", "converged"];

/// How soon flows use capacity that others have freed, which runs measure only on request.
pub(crate) const CLAIM: &str = "claim_rtts";

/// The key of a paper's number: the reference's throughput over a scheme's.
pub(crate) const SPEEDUP: &str = "speedup";
/// The key of a paper's number: a scheme's delay over the reference's.
pub(crate) const DELAY_REDUCTION: &str = "delay_reduction";

/// Which values of a metric are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The higher ones.
    More,
    /// The lower ones.
    Less,
}

impl Metric {
    /// Which of its values are better; `None` where neither higher nor lower ones are, as of marks.
    pub fn better(&self) -> Option<Better> {
        match self.key {
            "throughput" | "mean_throughput" | "completed" | "share" | "jain" | "converged"
            | "utilisation" | "objective" | "received" | "goodput" | "capacity_used"
            | "queued_within" | "video" | "frames_shown" => Some(Better::More),
            "sd_throughput"
            | "sd_queueing"
            | "marks"
            | "shortest_over_longest"
            | "rtt_exponent"
            | "omniscient" => None,
            _ => Some(Better::Less),
        }
    }

    /// The metric called `key`.
    pub fn named(key: &str) -> Option<Metric> {
        METRICS.into_iter().find(|metric| metric.key == key)
    }
}

/// The names of all metrics.
pub(crate) fn keys() -> Vec<&'static str> {
    METRICS.iter().map(|metric| metric.key).collect()
}
