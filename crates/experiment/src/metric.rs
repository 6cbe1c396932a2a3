//! [`Metric`]: what is told of a scheme.

/// A number that is told of each scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name in files.
    pub key: &'static str,
    /// What stands above its column, in two lines: what it is, and its unit or kind.
    pub heading: [&'static str; 2],
    /// In words, with its unit.
    pub words: &'static str,
    /// With how many decimals it is printed.
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

/// All that can be told, in the order of the columns.
///
/// `shortest_over_longest` and `rtt_exponent` are of flows with several RTTs, of all runs together.
/// `convergence` is of flows that start at set times: how long each takes until its throughput over
/// a window stays within 20 % of its fair share to the next set start or end of any flow; the median,
/// where a flow that does not come to that took for ever. `converged` is the part that does.
pub const METRICS: [Metric; 24] = [
    metric("throughput", ["throughput", "Mbps"], "throughput, Mbps", 3),
    metric("mean_throughput", ["throughput", "mean"], "mean throughput, Mbps", 3),
    metric("sd_throughput", ["±", "Mbps"], "standard deviation of throughput, Mbps", 3),
    metric("queueing", ["queueing", "ms"], "queueing delay, ms", 2),
    metric("mean_queueing", ["queueing", "mean"], "mean queueing delay, ms", 2),
    metric("sd_queueing", ["±", "ms"], "standard deviation of queueing delay, ms", 2),
    metric("rtt", ["RTT", "ms"], "RTT, ms", 2),
    metric("mean_rtt", ["RTT", "mean"], "mean RTT, ms", 2),
    metric("completion", ["completion", "ms"], "mean flow completion time of a sender, ms", 1),
    metric("median_completion", ["completion", "median"], "median flow completion time, ms", 2),
    metric("p99_completion", ["completion", "99 %"], "99th percentile of completion times, ms", 2),
    metric("completed", ["flows", "completed"], "flows completed a sender and run", 1),
    metric("share", ["share", "%"], "share of the throughput, %", 1),
    metric("loss", ["loss", "%"], "packets lost or dropped, %", 2),
    metric("marks", ["marks", "%"], "packets marked, %", 2),
    metric("resent", ["resent", "%"], "packets sent again, %", 2),
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
    metric("utilisation", ["link", "%"], "utilisation of the busiest link, %", 1),
    metric("objective", ["objective", ""], "log2(throughput/share) - log2(RTT/propagation RTT)", 3),
];

/// What is printed unless an experiment says otherwise.
pub(crate) const USUAL: [&str; 9] = [
    "throughput",
    "sd_throughput",
    "queueing",
    "sd_queueing",
    "rtt",
    "loss",
    "resent",
    "jain",
    "utilisation",
];

/// Those that only runs tell which are asked for them: of the distribution of completion times.
pub(crate) const COMPLETIONS: [&str; 2] = ["median_completion", "p99_completion"];
/// And of the way to the fair share.
pub(crate) const CONVERGENCES: [&str; 2] = ["convergence", "converged"];

/// How many times the reference's throughput a scheme's is, told as a paper's number.
pub(crate) const SPEEDUP: &str = "speedup";
/// How many times the reference's queueing delay a scheme's is, told as a paper's number.
pub(crate) const DELAY_REDUCTION: &str = "delay_reduction";

impl Metric {
    /// The metric called `key`.
    pub fn named(key: &str) -> Option<Metric> {
        METRICS.into_iter().find(|metric| metric.key == key)
    }
}

/// The names of all metrics.
pub(crate) fn keys() -> Vec<&'static str> {
    METRICS.iter().map(|metric| metric.key).collect()
}
