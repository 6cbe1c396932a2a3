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
pub const METRICS: [Metric; 17] = [
    metric("throughput", ["throughput", "Mbps"], "throughput, Mbps", 3),
    metric("mean_throughput", ["throughput", "mean"], "mean throughput, Mbps", 3),
    metric("sd_throughput", ["±", "Mbps"], "standard deviation of throughput, Mbps", 3),
    metric("queueing", ["queueing", "ms"], "queueing delay, ms", 2),
    metric("mean_queueing", ["queueing", "mean"], "mean queueing delay, ms", 2),
    metric("sd_queueing", ["±", "ms"], "standard deviation of queueing delay, ms", 2),
    metric("rtt", ["RTT", "ms"], "RTT, ms", 2),
    metric("mean_rtt", ["RTT", "mean"], "mean RTT, ms", 2),
    metric("completion", ["completion", "ms"], "flow completion time, ms", 1),
    metric("share", ["share", "%"], "share of the throughput, %", 1),
    metric("loss", ["loss", "%"], "packets lost or dropped, %", 2),
    metric("marks", ["marks", "%"], "packets marked, %", 2),
    metric("resent", ["resent", "%"], "packets sent again, %", 2),
    metric("timeouts", ["timeouts", "a flow"], "timeouts a flow and run", 2),
    metric("jain", ["Jain's", "index"], "Jain's index of fairness", 3),
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
