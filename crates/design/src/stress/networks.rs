//! The stress networks of a model.

use crate::conditions::Conditions;
use crate::model::{Class, Model};
use exm_random::{Distribution, Purpose, Stream};
use exm_sim::dumbbell::Dumbbell;
use exm_sim::traffic::{OnFor, OnOff};
use exm_units::{Bytes, Packets, Probability, Rate, Span};

/// The maximum number of packets that the link of a stress network carries, so that a fast link costs as much time as a
/// slow one.
const MAX_PACKETS: f64 = 400_000.0;
/// The same for networks for practice, on which hundreds of candidates are tried.
const MAX_PRACTICE_PACKETS: f64 = 60_000.0;
/// The minimum duration of a stress network in RTTs, unless that is too many packets.
const MIN_ROUND_TRIPS: u64 = 100;
/// The seed of the networks for practice, and of all traffic: the same for all tables, so that they can be compared.
pub(super) const SEED: u64 = 1;
/// The length of a flow that ends soon after its start.
const SHORT_FLOW_BYTES: f64 = 100_000.0;
/// The mean time between short flows, in propagation delays.
const SHORT_FLOW_GAP: f64 = 3.0;
/// How many networks are held out.
const HELD_OUT: usize = 48;
/// The number of networks for practice.
const PRACTICE: usize = 36;
/// The number of crowds added to these, and their maximum number of senders as a multiple of the model's.
const CROWDS: usize = 8;
const CROWDED: f64 = 4.0;
/// How many networks have the model's links and senders, and short flows.
const BRIEF: usize = 16;

/// The seed of the held-out networks whose results table files record.
pub const HELD_OUT_SEED: u64 = 1;

/// Which networks around a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StressSet {
    /// One or two in every direction.
    Near,
    /// The same, simulated for a shorter time: hardening optimises on them.
    NearPractice,
    /// Drawn at random further out: hardening optimises on them as well.
    Practice,
    /// The model's links and senders, with flows of 100 kB: hardening should cost little there.
    Brief,
    /// Drawn from this seed in the same way as those for practice, but never used for optimisation.
    HeldOut(u64),
}

/// A network around a model.
#[derive(Clone, Debug, PartialEq)]
pub struct StressNetwork {
    /// How it differs from the model, such as "32 senders".
    pub name: String,
    /// The network. All of its senders run the table.
    pub network: Dumbbell,
    /// The random seed of its traffic.
    pub seed: u64,
}

/// The networks around those of table number `table` of `model`: a single drop-tail link, whatever the
/// model's are.
pub fn networks(model: &Model, table: usize, set: StressSet) -> Vec<StressNetwork> {
    let around = Around::of(model, table, set);
    match set {
        StressSet::Near | StressSet::NearPractice => around.near(),
        StressSet::Practice => {
            let mut drawn = around.drawn(SEED, Purpose::Search, PRACTICE);
            drawn.extend(around.crowds());
            drawn
        }
        StressSet::Brief => around.brief(),
        StressSet::HeldOut(seed) => around.drawn(seed, Purpose::Specimen, HELD_OUT),
    }
}

/// A number drawn uniformly in its logarithm.
pub(super) fn log_uniform(stream: &mut Stream, (low, high): (f64, f64)) -> f64 {
    libm::exp(libm::log(low) + stream.uniform() * libm::log(high / low))
}

/// The centre of the stress networks.
pub(super) struct Around<'a> {
    pub(super) conditions: Conditions,
    pub(super) class: &'a Class,
    pub(super) packet: Bytes,
    duration: Span,
    max_packets: f64,
}

/// The parts of a stress network.
#[derive(Clone)]
pub(super) struct Draft {
    pub(super) rate: f64,
    pub(super) rtt: f64,
    pub(super) senders: u64,
    /// In bandwidth-delay products; `None` if unlimited.
    pub(super) buffer: Option<f64>,
    pub(super) traffic: OnOff,
}

impl<'a> Around<'a> {
    pub(super) fn of(model: &'a Model, table: usize, set: StressSet) -> Around<'a> {
        let class = model.classes().iter().find(|class| class.runs(table));
        Around {
            conditions: Conditions::of_model(model),
            class: class.expect("a class runs each table that a model designs"),
            packet: model.networks.packet,
            duration: model.design().duration,
            max_packets: match set {
                StressSet::NearPractice | StressSet::Practice | StressSet::Brief => {
                    MAX_PRACTICE_PACKETS
                }
                StressSet::Near | StressSet::HeldOut(_) => MAX_PACKETS,
            },
        }
    }

    /// The geometric middle of the model, with the most senders.
    pub(super) fn middle(&self) -> Draft {
        let Conditions { rate, rtt, senders, .. } = self.conditions;
        let middle = |low: f64, high: f64| (low * high).sqrt();
        Draft {
            rate: middle(rate.0.as_bps() as f64, rate.1.as_bps() as f64),
            rtt: middle(rtt.0.as_nanos() as f64, rtt.1.as_nanos() as f64),
            senders: senders.1,
            buffer: None,
            traffic: self.class.traffic.clone(),
        }
    }

    fn near(&self) -> Vec<StressNetwork> {
        let middle = self.middle();
        let few = middle.senders.div_ceil(2);
        let always = OnOff::always();
        let Conditions { rate, rtt, .. } = self.conditions;
        let (slowest, fastest) = (rate.0.as_bps() as f64, rate.1.as_bps() as f64);
        let (shortest, longest) = (rtt.0.as_nanos() as f64, rtt.1.as_nanos() as f64);
        let drafts = [
            ("twice the senders", Draft { senders: 2 * middle.senders, ..middle.clone() }),
            (
                "three times the senders, always on",
                Draft { senders: 3 * middle.senders, traffic: always.clone(), ..middle.clone() },
            ),
            ("a fifth of the rate", Draft { rate: slowest / 5.0, ..middle.clone() }),
            (
                "a twentieth of the rate, half the senders",
                Draft { rate: slowest / 20.0, senders: few, ..middle.clone() },
            ),
            ("four times the rate", Draft { rate: fastest * 4.0, ..middle.clone() }),
            ("a fifth of the RTT", Draft { rtt: shortest / 5.0, ..middle.clone() }),
            ("twice the RTT", Draft { rtt: longest * 2.0, ..middle.clone() }),
            ("always on", Draft { traffic: always.clone(), ..middle.clone() }),
            (
                "half the senders, always on, the slowest rate",
                Draft { senders: few, rate: slowest, traffic: always.clone(), ..middle.clone() },
            ),
            ("one sender, always on", Draft { senders: 1, traffic: always, ..middle.clone() }),
            ("flows of 100 kB", Draft { traffic: self.short_flows(&middle), ..middle.clone() }),
            (
                "flows of 100 kB, half the senders, a fifth of the rate",
                Draft {
                    senders: few,
                    rate: slowest / 5.0,
                    traffic: self.short_flows(&middle),
                    ..middle.clone()
                },
            ),
            ("a buffer of 0.5 BDP", Draft { buffer: Some(0.5), ..middle.clone() }),
        ];
        let number = |(index, (name, draft)): (usize, (&str, Draft))| {
            self.network(name.to_owned(), &draft, index as u64)
        };
        drafts.into_iter().enumerate().map(number).collect()
    }

    /// Flows of 100 kB each, a few round trips apart.
    fn short_flows(&self, draft: &Draft) -> OnOff {
        OnOff {
            on: OnFor::Bytes(Distribution::Fixed(SHORT_FLOW_BYTES)),
            off: Distribution::Exponential { mean: SHORT_FLOW_GAP * draft.rtt / 1e9 },
        }
    }

    /// Drawn uniformly in the logarithm: rates from a fiftieth of the slowest to ten times the fastest, RTTs
    /// from a fiftieth of the shortest to twice the longest, up to sixteen times the senders, buffers from 0.25 BDP
    /// to 16 BDP or none.
    fn drawn(&self, seed: u64, purpose: Purpose, count: usize) -> Vec<StressNetwork> {
        let Conditions { rate, rtt, senders, .. } = self.conditions;
        let rates = (rate.0.as_bps() as f64 / 50.0, rate.1.as_bps() as f64 * 10.0);
        let rtts = (rtt.0.as_nanos() as f64 / 50.0, rtt.1.as_nanos() as f64 * 2.0);
        let drawn = |index: usize| {
            let mut stream = Stream::new(seed, purpose, index);
            let mut log = |ends| log_uniform(&mut stream, ends);
            let mut draft = Draft {
                rate: log(rates),
                rtt: log(rtts),
                senders: (log((1.0, 16.0 * senders.1 as f64)) as u64).max(1),
                buffer: Some(log((0.25, 16.0))),
                traffic: self.class.traffic.clone(),
            };
            match index % 3 {
                0 => draft.traffic = OnOff::always(),
                1 => draft.traffic = self.short_flows(&draft),
                _ => {}
            }
            if !index.is_multiple_of(4) {
                draft.buffer = None;
            }
            self.network(self.described(&draft, index), &draft, index as u64)
        };
        (0..count).map(drawn).collect()
    }

    /// Flows that never end on the links of the model, with one to several times its senders. They train equal
    /// shares.
    fn crowds(&self) -> Vec<StressNetwork> {
        let drawn = |index: usize| {
            let mut draft = self.inside(PRACTICE + index, CROWDED);
            draft.traffic = OnOff::always();
            self.network(self.described(&draft, 0), &draft, (PRACTICE + index) as u64)
        };
        (0..CROWDS).map(drawn).collect()
    }

    fn brief(&self) -> Vec<StressNetwork> {
        let drawn = |index: usize| {
            let index = PRACTICE + CROWDS + index;
            let mut draft = self.inside(index, 1.0);
            draft.traffic = self.short_flows(&draft);
            self.network(self.described(&draft, 1), &draft, index as u64)
        };
        (0..BRIEF).map(drawn).collect()
    }

    /// A link of the model, with up to `crowded` times its senders, drawn uniformly in the logarithm.
    fn inside(&self, index: usize, crowded: f64) -> Draft {
        let Conditions { rate, rtt, senders, .. } = self.conditions;
        let mut stream = Stream::new(SEED, Purpose::Search, index);
        let mut log = |low: f64, high: f64| log_uniform(&mut stream, (low, high));
        Draft {
            rate: log(rate.0.as_bps() as f64, rate.1.as_bps() as f64),
            rtt: log(rtt.0.as_nanos() as f64, rtt.1.as_nanos() as f64),
            senders: (log(1.0, crowded * senders.1 as f64) as u64).max(1),
            buffer: None,
            traffic: self.class.traffic.clone(),
        }
    }

    fn described(&self, draft: &Draft, index: usize) -> String {
        let traffic = ["always on", "flows of 100 kB", "the model's traffic"][index % 3];
        let buffer = draft.buffer.map_or(String::new(), |bdp| format!(", {bdp:.2} BDP"));
        let Draft { rate, rtt, senders, .. } = draft;
        let noun = if *senders == 1 { "sender" } else { "senders" };
        format!("{senders} {noun}, {:.2} Mbps, {:.1} ms{buffer}, {traffic}", rate / 1e6, rtt / 1e6)
    }

    pub(super) fn network(&self, name: String, draft: &Draft, index: u64) -> StressNetwork {
        let (rate, rtt) = (Rate::from_bps(draft.rate as u64), Span::from_nanos(draft.rtt as u64));
        let round_trips = Span::from_nanos(rtt.as_nanos().saturating_mul(MIN_ROUND_TRIPS));
        let affordable =
            Span::from_millis_f64(self.max_packets / rate.as_packets_per_ms(self.packet).max(1e-9));
        let network = Dumbbell {
            rate,
            packet: self.packet,
            buffer: draft.buffer.map(|bdp| {
                let packets = rate.bandwidth_delay(rtt, bdp, self.packet);
                packets.max(Packets::new(1))
            }),
            loss: Probability::ZERO,
            delays: vec![rtt; draft.senders as usize],
            traffic: draft.traffic.clone(),
            duration: self.duration.max(round_trips).min(affordable.max(rtt * 4)),
        };
        let seed = Stream::new(SEED, Purpose::Traffic, index as usize).seed();
        StressNetwork { name, network, seed }
    }
}
