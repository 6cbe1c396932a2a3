//! [`Score`]: what a submission reached on a pair of links.

use crate::entrant::Entrant;
use crate::error::ContestError;
use crate::hash::sha256;
use exm_link::Service;
use exm_sim::engine;
use exm_sim::metrics::Report;
use exm_sim::network::{FlowSpec, LinkSpec, Network};
use exm_trace::Trace;
use exm_trace::delay::{Scores, omniscient};
use exm_units::{Instant, Span};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The links of both directions: data crosses the first, ACKs the second.
#[derive(Clone, Debug)]
pub struct Pair {
    down: Arc<Trace>,
    up: Arc<Trace>,
}

impl Pair {
    /// The pair of these traces.
    pub fn new(down: Trace, up: Trace) -> Pair {
        Pair { down: Arc::new(down), up: Arc::new(up) }
    }

    /// The SHA-256 hash of both traces.
    pub fn hash(&self) -> String {
        sha256(format!("{}\n{}", self.down.to_text(), self.up.to_text()).as_bytes())
    }
}

/// How a run is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setting {
    /// The simulated time.
    pub duration: Span,
    /// How much of it is not scored.
    pub warm_up: Span,
    /// The propagation delay of each direction.
    pub propagation: Span,
}

impl Setting {
    /// Runs of `duration`, scored after `warm_up`, over links with this one-way `propagation` delay.
    pub const fn new(duration: Span, warm_up: Span, propagation: Span) -> Setting {
        Setting { duration, warm_up, propagation }
    }
}

/// The score of a run, or how its controller failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Score {
    /// Throughput, Mbps.
    pub throughput_mbps: f64,
    /// The 95 % end-to-end delay, ms; none if nothing arrived.
    pub delay_95_ms: Option<f64>,
    /// By how much that exceeds the omniscient protocol's, ms.
    pub self_inflicted_ms: Option<f64>,
    /// Mbps per second of 95 % end-to-end delay; none if nothing arrived, or the controller failed.
    pub power: Option<f64>,
    /// How its controller failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failure: Option<String>,
}

impl Score {
    fn of(scores: &Scores, best: &Scores) -> Score {
        let throughput_mbps = scores.throughput.as_mbps();
        let millis = |span: Span| span.as_secs_f64() * 1000.0;
        let positive = scores.delay_95.filter(|delay| !delay.is_zero());
        Score {
            throughput_mbps,
            delay_95_ms: scores.delay_95.map(millis),
            self_inflicted_ms: scores.self_inflicted(best).map(millis),
            power: positive.map(|delay| throughput_mbps / delay.as_secs_f64()),
            failure: None,
        }
    }
}

/// The score of `entrant` on `pair`: one long flow down the first link, ACKs on the second. It is the same on every machine.
///
/// # Errors
/// [`ContestError::Network`] if the links cannot be simulated so.
pub fn run(entrant: &Entrant, pair: &Pair, setting: &Setting) -> Result<Score, ContestError> {
    let link = |name: &str, trace: &Arc<Trace>, (from, to)| {
        let link = LinkSpec::new(Service::Trace(Arc::clone(trace)));
        link.name(name).delay(setting.propagation).ends(from, to)
    };
    let links = vec![link("down", &pair.down, (0, 1)), link("up", &pair.up, (1, 0))];
    let flow = FlowSpec::new(entrant.transport()).name("entrant").path([0]).back([1]);
    let network = Network::new(links, vec![flow], setting.duration)
        .and_then(|network| network.scored_after(setting.warm_up))
        .map_err(|error| ContestError::Network(error.to_string()))?;
    Ok(of_report(&engine::run(&network, 1)))
}

fn of_report(report: &Report) -> Score {
    if let Some(failure) = report.failure() {
        return Score { failure: Some(failure.to_string()), ..Score::default() };
    }
    let flow = &report.flows[0];
    match (&flow.end_to_end, &flow.omniscient) {
        (Some(scores), Some(best)) => Score::of(scores, best),
        _ => Score::default(),
    }
}

/// The score of the protocol that knows the link in advance.
pub fn best_possible(pair: &Pair, setting: &Setting) -> Score {
    let (from, until) = (Instant::ZERO + setting.warm_up, Instant::ZERO + setting.duration);
    let best = omniscient(&pair.down, setting.propagation, from, until);
    Score::of(&best, &best)
}
