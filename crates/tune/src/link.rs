//! [`Link`]: what candidates are scored on.

use crate::search::Search;
use exm_link::Service;
use exm_random::{Purpose, Stream};
use exm_sim::engine;
use exm_sim::network::{FlowSpec, LinkSpec, Network, Transport};
use exm_sprout::{Settings, TICK};
use exm_trace::{Synthetic, SyntheticError, Trace};
use exm_units::{Probability, Span};
use serde::Serialize;
use std::sync::Arc;

/// One direction of a network, with the other as its way back.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// The name of its network: what is left out is left out with all directions.
    pub network: String,
    /// The trace of the data, and that of the way back.
    pub ways: [Arc<Trace>; 2],
    /// The propagation delay of each.
    pub delay: Span,
    /// The share of packets that each loses at random.
    pub loss: Probability,
}

/// What a session reached on a link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The mean throughput, over phases and loads.
    pub throughput_mbps: f64,
    /// The mean self-inflicted delay.
    pub delay_ms: f64,
}

/// How an outcome compares with another, as logarithms of ratios.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Gain {
    /// That of the throughputs.
    pub throughput: f64,
    /// That of the delays, each with 20 ms added.
    pub delay: f64,
}

/// Delays compare as if they were longer by this, in ms: nobody notices whether one of a few milliseconds doubles.
const FLOOR: f64 = 20.0;

impl Outcome {
    /// How it compares with `other`.
    pub fn over(&self, other: &Outcome) -> Gain {
        let rate = |outcome: &Outcome| outcome.throughput_mbps.max(1e-6);
        Gain {
            throughput: libm::log(rate(self) / rate(other)),
            delay: libm::log((self.delay_ms + FLOOR) / (other.delay_ms + FLOOR)),
        }
    }
}

impl Gain {
    /// The mean of `gains`; zero of none.
    pub fn mean(gains: impl Iterator<Item = Gain>) -> Gain {
        let (mut sum, mut count) = (Gain::default(), 0.0);
        for gain in gains {
            sum.throughput += gain.throughput;
            sum.delay += gain.delay;
            count += 1.0;
        }
        let count = f64::max(count, 1.0);
        Gain { throughput: sum.throughput / count, delay: sum.delay / count }
    }

    /// What it is worth, where the delay counts `weight` times as much as the throughput.
    pub fn worth(&self, weight: f64) -> f64 {
        self.throughput - weight * self.delay
    }
}

impl Link {
    /// What Sprout with `settings` reaches, on average over both loads and the phases of `search`: the way back idle but for
    /// forecasts, and both directions saturated. The RTT is longer by a random part of a tick, since recordings have whole milliseconds.
    pub(crate) fn outcome(&self, settings: Settings, search: &Search) -> Outcome {
        let mut sum = Outcome { throughput_mbps: 0.0, delay_ms: 0.0 };
        let mut random = Stream::new(search.seed, Purpose::Hosts, 0);
        let runs = 2 * search.phases;
        for run in 0..runs {
            let phase = Span::from_secs_f64(TICK.as_secs_f64() * random.uniform());
            let one = self.run(settings, run % 2 == 1, phase, search);
            sum.throughput_mbps += one.throughput_mbps / f64::from(runs);
            sum.delay_ms += one.delay_ms / f64::from(runs);
        }
        sum
    }

    fn run(&self, settings: Settings, duplex: bool, phase: Span, search: &Search) -> Outcome {
        let link = |way: usize| {
            LinkSpec::new(Service::Trace(Arc::clone(&self.ways[way])))
                .name(["data", "back"][way])
                .ends(way, 1 - way)
                .delay(self.delay)
                .loss(self.loss)
        };
        let flow = FlowSpec::new(Transport::Sprout(settings)).back([1]).duplex(duplex);
        let network =
            Network::new(vec![link(0), link(1)], vec![flow.extra_delay(phase)], search.duration)
                .and_then(|network| network.scored_after(search.warm_up))
                .expect("two links make a network, and a search checks its times");
        let report = engine::run(&network, search.seed).flows.swap_remove(0);
        let reached = report.end_to_end.as_ref().expect("links lead back");
        let best = report.omniscient.as_ref().expect("the link follows a trace");
        // Nothing arrived: as late as it can be.
        let delay = reached.self_inflicted(best).unwrap_or(search.duration);
        Outcome { throughput_mbps: reached.throughput.as_mbps(), delay_ms: delay.as_millis_f64() }
    }
}

/// The propagation delays of synthetic networks in ms, and their losses, in turn.
const DELAYS: [u64; 8] = [20, 5, 50, 20, 100, 10, 20, 40];
const LOSSES: [f64; 5] = [0.0, 0.0, 0.0, 0.01, 0.0];

/// Both directions of the first so many networks of the population of synthetic links
/// ([`Synthetic::seeded`] `any`), over traces of `length`.
///
/// # Errors
/// The length is impossible.
pub fn population(networks: u64, length: Span) -> Result<Vec<Link>, SyntheticError> {
    let mut links = Vec::new();
    for number in 1..=networks {
        let trace = |seed: u64| {
            let link = Synthetic::seeded("any", seed).expect("it is built in");
            link.generate(seed, length).map(Arc::new)
        };
        let (down, up) = (trace(2 * number - 1)?, trace(2 * number)?);
        let index = number as usize - 1;
        let loss = Probability::new(LOSSES[index % LOSSES.len()]).expect("a probability");
        for (word, ways) in [("down", [&down, &up]), ("up", [&up, &down])] {
            links.push(Link {
                name: format!("network {number} {word}"),
                network: format!("network {number}"),
                ways: ways.map(Arc::clone),
                delay: Span::from_millis(DELAYS[index % DELAYS.len()]),
                loss,
            });
        }
    }
    Ok(links)
}
