//! [`Space`]: the networks that are searched for the worst.

use crate::conditions::Conditions;
use crate::model::Model;
use crate::specimen::{DrawnLink, DrawnSender, Mixed};
use exm_link::{QueueKind, Reordering};
use exm_random::{Distribution, Stream};
use exm_sim::network::LinkSpec;
use exm_sim::traffic::{OnFor, OnOff, Traffic};
use exm_units::{Bytes, Instant, Packets, Probability, Rate, Span};

/// The number of coordinates, from 0 to 1, that describe a network.
pub(super) const AXES: usize = 14;
/// A network, each number from 0 to 1.
pub(super) type Point = [f64; AXES];

/// The class of the senders that are tested, and that of their competitors.
pub const TESTED: usize = 0;
/// The class of the competitors.
pub const COMPETITOR: usize = 1;

/// Limits that keep the simulation time reasonable, however wide the ranges are.
const LEAST_RATE: Rate = Rate::from_bps(50_000);
const MOST_RATE: Rate = Rate::from_bps(10_000_000_000);
const LEAST_RTT: Span = Span::from_micros(10);
const MOST_RTT: Span = Span::from_secs(10);
const MOST_SENDERS: u64 = 1000;
/// In packets: less is rare, and the reason of what is then found.
const LEAST_BUFFER: u64 = 8;

/// The fraction by which quantities vary between the evaluation runs of a network.
const VARIED: f64 = 0.03;

/// A simulation takes as long as its link carries this many packets, within limits.
const PACKETS: f64 = 40_000.0;
const SHORTEST: Span = Span::from_secs(1);
const LONGEST: Span = Span::from_secs(300);

/// The networks that are searched: each quantity has a range, both ends included.
///
/// They have one bottleneck or two in a row, which half of the tested senders cross; senders that are always on,
/// or on for times or amounts of data; and, in a third of them each, competitors, jitter and reordering at the
/// first bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    /// The rate of the slowest link.
    pub rate: (Rate, Rate),
    /// The round-trip propagation delay.
    pub rtt: (Span, Span),
    /// How many senders are tested.
    pub senders: (u64, u64),
    /// Buffers, in bandwidth-delay products.
    pub buffer: (f64, f64),
    /// The probability of random loss; half of the networks have none.
    pub loss: (f64, f64),
    /// The maximum number of competitors; 0 for none.
    pub competitors: u64,
    /// The mean jitter over the propagation RTT; two thirds of the networks have none.
    pub jitter: (f64, f64),
    /// The probability that a packet is delayed by up to an RTT; two thirds of the networks have none.
    pub reorder: (f64, f64),
    /// Whether there are networks with two bottlenecks.
    pub two_bottlenecks: bool,
}

/// Wider than what controllers are commonly designed for.
impl Default for Space {
    fn default() -> Space {
        Space {
            rate: (Rate::from_mbps(0.2), Rate::from_mbps(500.0)),
            rtt: (Span::from_millis(2), Span::from_millis(400)),
            senders: (1, 64),
            buffer: (0.25, 16.0),
            loss: (0.0, 0.03),
            competitors: 2,
            jitter: (0.01, 0.5),
            reorder: (0.001, 0.1),
            two_bottlenecks: true,
        }
    }
}

impl Space {
    /// Networks with the ranges of the designed senders of `model`, each widened by `factor` on both
    /// sides; with a factor of 1 they are the model's, except for traffic and competitors. Losses go up to that
    /// factor in percent, beyond a factor of 1; with it, delays are constant.
    pub fn around(model: &Model, factor: f64) -> Space {
        let Conditions { rate, rtt, senders, loss, .. } = Conditions::of_model(model);
        let scaled = |value: f64, by: f64| (value * by).max(1.0);
        let rates = [(rate.0, 1.0 / factor), (rate.1, factor)]
            .map(|(rate, by)| Rate::from_bps(scaled(rate.as_bps() as f64, by) as u64));
        let rtts = [(rtt.0, 1.0 / factor), (rtt.1, factor)]
            .map(|(rtt, by)| Span::from_nanos(scaled(rtt.as_nanos() as f64, by) as u64));
        let counts = [(senders.0, 1.0 / factor), (senders.1, factor)]
            .map(|(count, by)| scaled(count as f64, by) as u64);
        let wide = Space::default();
        let more_loss = if factor > 1.0 { (factor / 100.0).min(0.1) } else { 0.0 };
        Space {
            rate: (rates[0].max(LEAST_RATE), rates[1].min(MOST_RATE)),
            rtt: (rtts[0].max(LEAST_RTT), rtts[1].min(MOST_RTT)),
            senders: (counts[0], counts[1].min(MOST_SENDERS)),
            loss: (loss.0, loss.1.max(more_loss)),
            jitter: if factor > 1.0 { wide.jitter } else { (0.0, 0.0) },
            reorder: if factor > 1.0 { wide.reorder } else { (0.0, 0.0) },
            ..wide
        }
    }

    /// The network at `point`.
    pub(super) fn network(&self, point: &Point) -> Mixed {
        let [rate, rtt, senders, buffer, loss, flow, length, off, competitors, second, rest @ ..] =
            *point;
        let [reverse, varied @ ..] = rest;
        let packet = Bytes::PACKET;
        let number = |(low, high): (Rate, Rate)| (low.as_bps() as f64, high.as_bps() as f64);
        let rate = Rate::from_bps(digits(log(rate, number(self.rate)), 2) as u64);
        let ends = |(low, high): (Span, Span)| (low.as_nanos() as f64, high.as_nanos() as f64);
        let rtt = Span::from_nanos(digits(log(rtt, ends(self.rtt)), 2) as u64);
        let senders = log(senders, (self.senders.0 as f64, self.senders.1 as f64 + 0.999)) as usize;
        // Half of the networks lose nothing at random.
        let loss = (2.0 * loss - 1.0).max(0.0) * (self.loss.1 - self.loss.0) + self.loss.0;
        let competitors =
            ((competitors - 2.0 / 3.0).max(0.0) * 3.0 * self.competitors as f64).ceil();
        let hops = if self.two_bottlenecks && second >= 2.0 / 3.0 { 2 } else { 1 };
        // The second link is up to four times as fast.
        let faster = Rate::from_bps(digits(rate.as_bps() as f64 * ratio(second), 2) as u64);
        let (jitter, reordering) = self.variation(varied, rtt);
        let two_way = self.competitors > 0 && hops == 1 && reverse >= 2.0 / 3.0;
        let link = |(index, (ends, rate)): (usize, ((usize, usize), Rate))| {
            let room = rate.bandwidth_delay(rtt, log(buffer, self.buffer), packet).get();
            DrawnLink {
                ends,
                rate,
                trace: None,
                delay: Span::ZERO,
                buffer: Some(Packets::new(room.max(LEAST_BUFFER))),
                loss: Probability::new(digits(loss, 1)).unwrap_or(Probability::ZERO),
                queue: QueueKind::default(),
                jitter: if index == 0 { jitter } else { Span::ZERO },
                reordering: if index == 0 { reordering } else { LinkSpec::NO_REORDERING },
                access: Span::ZERO,
                block_errors: None,
            }
        };
        let links: Vec<((usize, usize), Rate)> = match (hops, two_way) {
            (1, false) => vec![((0, 1), rate)],
            (1, true) => vec![((0, 1), rate), ((1, 0), rate)],
            _ => vec![((0, 1), rate), ((1, 2), faster)],
        };
        let traffic: Traffic = traffic(flow, length, off, rate).into();
        let tested = |index: usize| match (hops, index % 4) {
            (1, _) => vec![0],
            (_, 0 | 1) => vec![0, 1],
            (_, 2) => vec![0],
            _ => vec![1],
        };
        let sender = |class, path: Vec<usize>, traffic: &Traffic| {
            let back = if two_way { vec![1 - path[0]] } else { Vec::new() };
            DrawnSender { class, path, back, rtt, traffic: traffic.clone() }
        };
        let mut paths: Vec<Vec<usize>> = (0..senders).map(tested).collect();
        // Equal senders stand together.
        paths.sort();
        let own = paths.into_iter().map(|path| sender(TESTED, path, &traffic));
        let always = OnOff::always().into();
        let others = (0..competitors as usize).map(|_| sender(COMPETITOR, vec![0], &always));
        let reverse = two_way.then(|| sender(COMPETITOR, vec![1], &always));
        Mixed {
            links: links.into_iter().enumerate().map(link).collect(),
            senders: own.chain(others).chain(reverse).collect(),
            packet,
            duration: duration(rate, rtt),
        }
    }
}

impl Space {
    /// The jitter and the reordering of the first bottleneck, each of which a third of the networks have.
    fn variation(&self, [jitter, reorder, delay]: [f64; 3], rtt: Span) -> (Span, Reordering) {
        let third = |at: f64| (at >= 2.0 / 3.0).then_some(3.0 * at - 2.0);
        let rtts = |rtts: f64| Span::from_nanos(digits(rtts * rtt.as_nanos() as f64, 1) as u64);
        let within = |at, ends: (f64, f64)| if ends.1 > 0.0 { log(at, ends) } else { 0.0 };
        let jitter = third(jitter).map_or(Span::ZERO, |at| rtts(within(at, self.jitter)));
        let reorder = third(reorder).map_or(0.0, |at| digits(within(at, self.reorder), 1));
        let probability = Probability::new(reorder).unwrap_or(Probability::ZERO);
        let reordering = Reordering { probability, extra: rtts(log(delay, (0.01, 1.0))) };
        (jitter, if reorder > 0.0 { reordering } else { LinkSpec::NO_REORDERING })
    }
}

/// A third of the networks each has senders that are always on, on for a time, or on for an amount of data.
fn traffic(flow: f64, length: f64, off: f64, rate: Rate) -> OnOff {
    let off = Distribution::Exponential { mean: digits(log(off, (0.1, 10.0)), 1) };
    let on = match (flow * 3.0) as u32 {
        0 => return OnOff::always(),
        1 => OnFor::Time(Distribution::Exponential { mean: digits(log(length, (0.1, 20.0)), 1) }),
        _ => {
            // From two packets to what the link carries in ten seconds.
            let most = (rate.as_bps() as f64 / 8.0 * 10.0).max(3000.0);
            OnFor::Bytes(Distribution::Exponential { mean: digits(log(length, (3000.0, most)), 1) })
        }
    };
    OnOff { on, off }
}

/// Long enough for a hundred round trips, and for as many packets as can be simulated soon.
fn duration(rate: Rate, rtt: Span) -> Span {
    let packets_per_s = rate.as_packets_per_ms(Bytes::PACKET) * 1e3;
    let time = Span::from_secs_f64((PACKETS / packets_per_s).ceil());
    time.clamp(SHORTEST, LONGEST).max(Span::from_secs_f64((rtt.as_secs_f64() * 100.0).ceil()))
}

/// `network` with small changes, so that results do not depend on phase effects: the rates, the
/// RTT and the buffers change by up to [`VARIED`] each, and senders that are always on start within an RTT of each other.
pub(super) fn varied(network: &Mixed, mut random: Stream) -> Mixed {
    let mut network = network.clone();
    let mut scale = || 1.0 + VARIED * (2.0 * random.uniform() - 1.0);
    let (rates, rtts, buffers) = (scale(), scale(), scale());
    let times = |span: Span, by: f64| Span::from_secs_f64(span.as_secs_f64() * by);
    for link in &mut network.links {
        link.rate = Rate::from_bps((link.rate.as_bps() as f64 * rates) as u64);
        let room = |room: Packets| Packets::new((room.get() as f64 * buffers).round() as u64);
        link.buffer = link.buffer.map(room);
    }
    for sender in &mut network.senders {
        sender.rtt = times(sender.rtt, rtts);
        if *sender.traffic.on() == OnFor::Always {
            let start = Instant::ZERO + times(sender.rtt, random.uniform());
            sender.traffic = Traffic::Schedule { visits: vec![(start, None)], on: OnFor::Always };
        }
    }
    network
}

/// The second link's rate over the first's.
fn ratio(second: f64) -> f64 {
    log(((second - 2.0 / 3.0) * 3.0).clamp(0.0, 1.0), (1.0, 4.0))
}

/// The number at `at` of the way from one end to the other, on a logarithmic scale.
fn log(at: f64, (low, high): (f64, f64)) -> f64 {
    if low == high { low } else { low * libm::pow(high / low, at) }
}

/// `value` to so many digits, so that people can read what is found.
fn digits(value: f64, digits: i32) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let unit = libm::pow(10.0, f64::from(digits - 1) - libm::floor(libm::log10(value)));
    (value * unit).round() / unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(digits(123_456.0, 2), 120_000.0);
        assert_eq!(digits(0.012_34, 1), 0.01);
        assert_eq!(digits(0.0, 2), 0.0);
    }

    proptest! {
        /// The engine takes every network of the space, and all lie within its ranges.
        #[test]
        fn every_point_is_a_network(point in prop::collection::vec(0.0_f64..1.0, AXES)) {
            let space = Space::default();
            let network = space.network(&point.try_into().expect("it has as many axes"));
            let transport = |_| exm_sim::network::Transport::Bare {
                controller: exm_cc::Reno::new().into(),
                timer: true,
            };
            let built = crate::Layout::Mixed(network.clone()).network(transport);
            prop_assert!(built.is_ok(), "{built:?}");
            let rate = network.links[0].rate.as_mbps();
            prop_assert!((0.19..=510.0).contains(&rate), "{rate}");
            let tested = network.senders.iter().filter(|sender| sender.class == TESTED).count();
            prop_assert!((1..=64).contains(&tested));
            prop_assert!(network.senders.len() <= 67);
        }
    }
}
