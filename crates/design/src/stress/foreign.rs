//! Networks with delay that the table's senders did not cause.
//!
//! On the stress networks of [`StressSet`](super::StressSet) all senders run the table, so that they cause every queue and can
//! shorten it. Here others increase the RTT: a Cubic upload on the ACKs' path, a Cubic download through the same
//! queue, jitter, ACKs that arrive in bunches, traffic of the same kind in the other direction. A sender that slows down
//! until the RTT falls starves.

use super::networks::{Around, Draft, SEED, log_uniform};
use crate::evaluate::events;
use crate::model::Model;
use crate::objective::{Objective, Path};
use exm_link::{Limit, Service};
use exm_measure::mean;
use exm_random::{Distribution, Purpose, Stream};
use exm_remy::{RemyCc, RuleTable};
use exm_sim::controllers::AnyController;
use exm_sim::dumbbell::{Dumbbell, Outcome};
use exm_sim::network::{FlowSpec, Host, LinkSpec, Network, Transport};
use exm_sim::traffic::OnOff;
use exm_trace::Trace;
use exm_units::{Instant, Span};
use rayon::prelude::*;
use std::sync::Arc;

/// The number of held-out networks of this kind: each cause twice, once with flows that never end.
pub const FOREIGN: usize = 12;
/// The number of networks used for hardening.
const PRACTICE: usize = 24;
/// The maximum number of the table's senders on one of them.
const MAX_SENDERS: f64 = 6.0;
/// The buffers of the links, in bandwidth-delay products.
const BUFFERS: (f64, f64) = (1.0, 8.0);
/// Times between two bunches of ACKs, in seconds.
const BUNCHES: (f64, f64) = (4e-3, 10e-3);
/// Mean jitter, in propagation delays.
const JITTERS: (f64, f64) = (0.02, 0.2);
/// The shortest RTT, as a fraction of the model's shortest: there a few milliseconds of delay matter most.
const SHORTEST: f64 = 0.25;

/// The maximum number of packets that a link carries, and the same for hardening, which simulates hundreds of candidates.
const MAX_PACKETS: u64 = 60_000;
const MAX_PRACTICE_PACKETS: u64 = 10_000;

/// Senders that send fewer packets in a propagation RTT starve.
const STARVING: f64 = 1.0 / 3.0;

/// A cause of delay other than the table's senders.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cause {
    /// A Cubic flow in the other direction, whose queue the ACKs cross.
    Reverse,
    /// A Cubic flow in the same direction, which fills the queue.
    Beside,
    /// Jitter with this mean.
    Jitter(Span),
    /// ACKs that arrive in bunches, this far apart.
    Bunches(Span),
    /// An equal number of the table's senders in the other direction.
    BothWays,
}

/// A network with foreign delay.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignNetwork {
    /// Its description, such as "beside Cubic, 15.0 Mbps, 150 ms, 2 senders, 1.0 BDP, always on".
    pub name: String,
    cause: Cause,
    /// The link and the table's senders. ACKs return over another link like it.
    dumbbell: Dumbbell,
    seed: u64,
}

/// The results of the table's senders on a [`ForeignNetwork`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForeignTrial {
    /// Their score, in relative units.
    pub score: f64,
    /// Their throughput over the rate of the link, in the geometric mean over senders.
    pub share: f64,
    /// How many packets each sends in a propagation RTT, in the geometric mean.
    pub packets_per_rtt: f64,
    /// Their mean RTT over the propagation delay.
    pub rtt_ratio: f64,
}

impl ForeignTrial {
    /// Whether the table's senders send less than one packet in three propagation RTTs.
    pub fn starves(&self) -> bool {
        self.packets_per_rtt < STARVING
    }
}

/// The networks with foreign delay around those of table number `table` of `model`. `None` gives those for hardening;
/// each seed draws others.
pub fn foreign(model: &Model, table: usize, seed: Option<u64>) -> Vec<ForeignNetwork> {
    let around = Around::of(model, table, super::StressSet::Practice);
    let count = if seed.is_some() { FOREIGN } else { PRACTICE };
    (0..count).map(|index| around.foreign(seed, index)).collect()
}

/// The results of senders of `table` on each of `networks`, scored by `objective`.
pub fn run_foreign(
    networks: &[ForeignNetwork],
    objective: &Objective,
    table: &RuleTable,
) -> Vec<ForeignTrial> {
    let controller = AnyController::from(RemyCc::new(table));
    networks.par_iter().map(|network| network.run(objective, &controller)).collect()
}

/// The throughput in `trials` over that in `others`, of the same networks, in the geometric mean.
pub fn throughput_ratio(trials: &[ForeignTrial], others: &[ForeignTrial]) -> f64 {
    let ratios = trials.iter().zip(others).map(|(one, other)| libm::log2(one.share / other.share));
    libm::exp2(mean(ratios).unwrap_or(0.0))
}

impl Around<'_> {
    fn foreign(&self, seed: Option<u64>, index: usize) -> ForeignNetwork {
        let purpose = if seed.is_some() { Purpose::Specimen } else { Purpose::Search };
        let mut stream = Stream::new(seed.unwrap_or(SEED), purpose, 1000 + index);
        let mut log = |ends| log_uniform(&mut stream, ends);
        let (rate, rtt) = (self.conditions.rate, self.conditions.rtt);
        let rate = log((rate.0.as_bps() as f64, rate.1.as_bps() as f64));
        let shortest = if index.is_multiple_of(2) { 1.0 } else { SHORTEST };
        let rtt = log((shortest * rtt.0.as_nanos() as f64, rtt.1.as_nanos() as f64));
        let senders = log((1.0, MAX_SENDERS.min(self.conditions.senders.1 as f64) + 0.99)) as u64;
        let bdp = log(BUFFERS);
        let (cause, what) = match index % 6 {
            0 => (Cause::Reverse, "Cubic on the ACKs' path"),
            1 | 2 => (Cause::Beside, "beside Cubic"),
            3 => (Cause::Jitter(Span::from_nanos((log(JITTERS) * rtt) as u64)), "jitter"),
            4 => (Cause::Bunches(Span::from_secs_f64(log(BUNCHES))), "ACKs in bunches"),
            _ => (Cause::BothWays, "the same both ways"),
        };
        let always = index % FOREIGN < FOREIGN / 2;
        let traffic = if always { OnOff::always() } else { self.class.traffic.clone() };
        let draft = Draft { rate, rtt, senders, buffer: Some(bdp), traffic };
        let packets = if seed.is_some() { MAX_PACKETS } else { MAX_PRACTICE_PACKETS };
        let mut dumbbell = self.network(String::new(), &draft, index as u64).network;
        let affordable = dumbbell.rate.service_time(self.packet) * packets;
        dumbbell.duration = dumbbell.duration.min(affordable);
        let on = if always { "always on" } else { "the model's traffic" };
        ForeignNetwork {
            name: format!(
                "{what}, {:.1} Mbps, {:.0} ms, {senders} of the table's, {bdp:.1} BDP, {on}",
                rate / 1e6,
                rtt / 1e6
            ),
            cause,
            dumbbell,
            seed: Stream::new(SEED, Purpose::Traffic, 1000 + index).seed(),
        }
    }
}

impl ForeignNetwork {
    fn run(&self, objective: &Objective, controller: &AnyController) -> ForeignTrial {
        let network = self.network(controller).without_distributions();
        let all = events(&network, self.seed, &mut ());
        let path = Path::of(&self.dumbbell, &self.dumbbell.delays[0]);
        let objective = objective.relative();
        let outcomes = &all[..self.dumbbell.delays.len()];
        let of = |quantity: &dyn Fn(&Outcome) -> f64| {
            mean(outcomes.iter().filter(|one| !one.on_time.is_zero()).map(quantity)).unwrap_or(0.0)
        };
        let share = |one: &Outcome| {
            let packets = (one.delivered as f64).max(0.5);
            libm::log2(packets / one.on_time.as_millis_f64() / path.packets_per_ms)
        };
        let share = libm::exp2(of(&share));
        ForeignTrial {
            score: of(&|one| objective.value(path, objective.got(path, one))),
            share,
            packets_per_rtt: share * path.packets_per_ms * path.delay_ms,
            rtt_ratio: of(&|one| path.rtt_ratio(one).unwrap_or(f64::NAN)),
        }
    }

    fn network(&self, controller: &AnyController) -> Network {
        let Dumbbell { rate, packet, buffer, delays, traffic, duration, .. } = &self.dumbbell;
        let limit = buffer.map_or(Limit::Unlimited, Limit::Packets);
        let link = |(from, to): (usize, usize)| {
            let link = LinkSpec::bottleneck(Service::Fixed(*rate), limit);
            link.ends(from, to).delay(delays[0] / 2)
        };
        let (mut forward, mut back) = (link((0, 1)), link((1, 0)));
        let flow = |[there, back]: [usize; 2], transport: Transport, traffic: OnOff| {
            let flow = FlowSpec::new(transport).path([there]).back([back]);
            flow.packet_size(*packet).traffic(traffic)
        };
        // On the bare host a window of a few packets that others' queue drops whole never sends again.
        let own = || Host::Tcp.transport(controller.clone());
        let cubic = || Host::Tcp.transport(AnyController::named("cubic").expect("it is there"));
        let there = flow([0, 1], own(), traffic.clone());
        let mut flows = vec![there; delays.len()];
        match self.cause {
            Cause::Reverse => flows.push(flow([1, 0], cubic(), OnOff::always())),
            Cause::Beside => flows.push(flow([0, 1], cubic(), OnOff::always())),
            Cause::Jitter(mean) => {
                forward.jitter = Distribution::Exponential { mean: mean.as_secs_f64() };
            }
            Cause::Bunches(apart) => {
                back.service = Service::Trace(Arc::new(self.bunches(apart)));
                back.buffer = Limit::Unlimited;
            }
            Cause::BothWays => {
                let back = flow([1, 0], own(), traffic.clone());
                flows.extend(vec![back; delays.len()]);
            }
        }
        Network::new(vec![forward, back], flows, *duration).expect("its parameters are sound")
    }

    /// A link that delivers once every `apart`, as much as the other direction carries in that time.
    fn bunches(&self, apart: Span) -> Trace {
        let bytes = self.dumbbell.rate.as_bps() as f64 / 8.0 * apart.as_secs_f64();
        let opportunities = (bytes / exm_trace::OPPORTUNITY.get() as f64) as usize + 1;
        Trace::new(vec![Instant::ZERO + apart; opportunities]).expect("its times are sound")
    }
}
