//! [`Conditions`]: the ranges of a set of networks, and how they exceed the design range of a table.
//!
//! A table file contains the model that the table was designed for. Programs that run the table can query which
//! quantities of a network are outside that model:
//!
//! ```
//! use exm_design::{Conditions, Model};
//!
//! let model = "[network]\nrate = \"10..20 Mbps\"\nrtt = \"100..200 ms\"\nsenders = \"1..16\"\n\
//!              [traffic]\non = \"exp 5 s\"\noff = \"exp 5 s\"\n[objective]\n";
//! let design = Conditions::of_model(&Model::parse(model, "general")?);
//! let other = model.replace("10..20 Mbps", "100 Mbps").replace("1..16", "32");
//! let outside = Conditions::of_model(&Model::parse(&other, "other")?).outside(&design);
//! let lines: Vec<String> = outside.iter().map(ToString::to_string).collect();
//! assert_eq!(lines, ["rate 100 Mbps (designed for 10..20 Mbps)", "senders 32 (designed for 1..16)"]);
//! # Ok::<(), exm_grammar::FileError>(())
//! ```

use crate::model::{Buffer, Class, Model, Senders};
use exm_link::Limit;
use exm_sim::network::Network;
use exm_sim::traffic::{OnFor, Traffic};
use exm_units::{Bytes, Rate, Span};
use std::collections::BTreeMap;
use std::fmt;

/// The tolerance by which a value may exceed a range: values with
/// two or three digits are rounded.
const ROUNDING: f64 = 0.01;
/// Rates below this are printed in kbps.
const MEGABIT: Rate = Rate::from_bps(1_000_000);
/// Flows that exceed the longest of a design by this factor are outside its range: the table has never seen
/// what follows the beginning. Shorter flows are covered, since every flow has a beginning.
const MUCH_LONGER: f64 = 100.0;
/// A design with an unlimited buffer covers any buffer of at least this many bandwidth-delay products:
/// the queue of a table fits into it.
const AS_GOOD_AS_UNLIMITED: f64 = 1.0;

/// What the window of a sender may exceed the largest bandwidth-delay product by: room for a queue of four of them.
const LARGEST_WINDOW_BDP: f64 = 5.0;
/// What the kernel of Linux lets any connection send at first, in packets: no bound is less.
const LEAST_BOUND: f64 = 10.0;

/// The range of each quantity of a set of networks, from minimum to maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// The rate of the bottleneck; of a trace, the mean.
    pub rate: (Rate, Rate),
    /// The round-trip propagation delay.
    pub rtt: (Span, Span),
    /// How many senders share the bottleneck; in a model with several links, a link of the path.
    pub senders: (u64, u64),
    /// The probability of random loss.
    pub loss: (f64, f64),
    /// The minimum buffer of the bottleneck.
    pub buffer: QueueLimit,
    /// The mean length of flows, in seconds. For an amount of data, it is the transmission time on an idle link plus an
    /// RTT.
    pub flow_s: (f64, f64),
}

/// A queue limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueLimit {
    /// Unlimited.
    Unlimited,
    /// At least this many packets.
    Packets {
        /// Whole packets.
        packets: f64,
        /// The same in bandwidth-delay products: the minimum over the networks.
        bdp: f64,
    },
    /// At least this many bandwidth-delay products.
    Bdp {
        /// Bandwidth-delay products.
        bdp: f64,
    },
}

/// A quantity of networks that lies outside the range that a table was designed for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    /// Its name, such as "rate".
    pub quantity: &'static str,
    /// Its value or values, with their unit.
    pub value: String,
    /// The range of the design, with its unit.
    pub range: String,
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} (designed for {})", self.quantity, self.value, self.range)
    }
}

impl Conditions {
    /// The conditions of designed tables in the networks of `model`, including its parts: the links that their senders
    /// cross, with all other senders on these links.
    pub fn of_model(model: &Model) -> Conditions {
        let designed = model.own_classes().iter().filter(|class| class.is_designed());
        let own = designed.map(|class| Conditions::of_class(model, class));
        let parts = model.parts.iter().map(|part| Conditions::of_model(&part.model));
        own.chain(parts).reduce(Conditions::joined).expect("a model designs a table")
    }

    /// The largest window that a sender needs in these networks, in packets of 1500 bytes: five bandwidth-delay
    /// products of the fastest and longest of them.
    pub fn largest_window(&self) -> u32 {
        let product = bandwidth_delay(self.rate.1, self.rtt.1, Bytes::new(1500));
        (LARGEST_WINDOW_BDP * product).max(LEAST_BOUND).ceil() as u32
    }

    fn of_class(model: &Model, class: &Class) -> Conditions {
        let networks = &model.networks;
        let links = || class.path.iter().map(|&link| &networks.links[link]);
        let join = |a: (Rate, Rate), b: (Rate, Rate)| (a.0.min(b.0), a.1.max(b.1));
        let rate = links().map(|link| link.rate.ends()).reduce(join).expect("a path has a link");
        let rtt = class.rtt_extremes(networks);
        let losses = links().map(|link| link.loss.ends());
        let loss = losses.fold((1.0, 0.0), |ends: (f64, f64), (low, high)| {
            (ends.0.min(low.get()), ends.1.max(high.get()))
        });
        let largest = bandwidth_delay(rate.1, rtt.1, networks.packet);
        let buffers = links().flat_map(|link| link.buffer.extremes());
        let rooms = buffers.map(|buffer| match buffer {
            Buffer::Unlimited => QueueLimit::Unlimited,
            Buffer::Packets(count) => {
                QueueLimit::Packets { packets: count as f64, bdp: count as f64 / largest }
            }
            Buffer::Bdp(bdp) => QueueLimit::Bdp { bdp },
        });
        let length = |rate: Rate, rtt: Span| {
            let alone = |bits: f64| bits / rate.as_bps() as f64 + rtt.as_secs_f64();
            mean_length(&class.traffic.on, networks.packet, model.design().duration, &alone)
        };
        Conditions {
            rate,
            rtt,
            senders: class
                .path
                .iter()
                .map(|link| count(model.own_classes(), *link))
                .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
                .expect("a path has a link"),
            loss,
            buffer: rooms.reduce(QueueLimit::least).unwrap_or(QueueLimit::Unlimited),
            flow_s: (length(rate.1, rtt.0), length(rate.0, rtt.1)),
        }
    }

    /// The conditions of flow `index` of `network` at the slowest link of its path.
    ///
    /// # Panics
    /// If there is no such flow.
    pub fn of_flow(network: &Network, index: usize) -> Conditions {
        let flow = &network.flows()[index];
        let links = network.links();
        let slowest = flow.path.iter().min_by_key(|&&link| links[link].service.rate());
        let bottleneck = *slowest.expect("a path has a link");
        let (rate, limit) = (links[bottleneck].service.rate(), links[bottleneck].buffer);
        let rtt = flow.propagation(links);
        let senders = network.flows().iter().filter(|flow| flow.path.contains(&bottleneck)).count();
        let kept = flow.path.iter().map(|&link| 1.0 - links[link].loss.get()).product::<f64>();
        let bdp = bandwidth_delay(rate, rtt, flow.packet_size);
        let room = |packets: f64| QueueLimit::Packets { packets, bdp: packets / bdp };
        let buffer = match limit {
            Limit::Unlimited => QueueLimit::Unlimited,
            Limit::Packets(packets) => room(packets.get() as f64),
            Limit::Bytes(bytes) => room((bytes.get() / flow.packet_size.get()) as f64),
        };
        let alone = |bits: f64| bits / rate.as_bps() as f64 + rtt.as_secs_f64();
        let length = match &flow.traffic {
            Traffic::Schedule { visits, on } if on.is_endless() => visits
                .iter()
                .map(|&(start, end)| end.map_or(network.duration(), |end| end - start))
                .max()
                .unwrap_or(Span::ZERO)
                .as_secs_f64(),
            traffic => mean_length(traffic.on(), flow.packet_size, network.duration(), &alone),
        };
        Conditions {
            rate: (rate, rate),
            rtt: (rtt, rtt),
            senders: (senders as u64, senders as u64),
            loss: (1.0 - kept, 1.0 - kept),
            buffer,
            flow_s: (length, length),
        }
    }

    /// Those of both.
    #[must_use]
    pub fn joined(self, other: Conditions) -> Conditions {
        let (a, b) = (self, other);
        Conditions {
            rate: (a.rate.0.min(b.rate.0), a.rate.1.max(b.rate.1)),
            rtt: (a.rtt.0.min(b.rtt.0), a.rtt.1.max(b.rtt.1)),
            senders: (a.senders.0.min(b.senders.0), a.senders.1.max(b.senders.1)),
            loss: (a.loss.0.min(b.loss.0), a.loss.1.max(b.loss.1)),
            buffer: a.buffer.least(b.buffer),
            flow_s: (a.flow_s.0.min(b.flow_s.0), a.flow_s.1.max(b.flow_s.1)),
        }
    }

    /// The quantities outside those of `design`, in a fixed order: rate, RTT, senders, loss if
    /// it is higher, buffer if it is smaller (the rest of a deeper one is never used), and the
    /// length of flows if it is a hundred times as long.
    pub fn outside(&self, design: &Conditions) -> Vec<OutOfRange> {
        let mut outside = Vec::new();
        let mut add = |quantity, is_outside, value: String, range: String| {
            if is_outside {
                outside.push(OutOfRange { quantity, value, range });
            }
        };
        let bps = |(low, high): (Rate, Rate)| (low.as_bps() as f64, high.as_bps() as f64);
        let nanos = |(low, high): (Span, Span)| (low.as_nanos() as f64, high.as_nanos() as f64);
        let counts = |(low, high): (u64, u64)| (low as f64, high as f64);
        let is_rate = leaves(bps(self.rate), bps(design.rate));
        // In one unit, so that they compare at a glance.
        let (unit, bps) = if design.rate.1 < MEGABIT { ("kbps", 1e3) } else { ("Mbps", 1e6) };
        let text = |rate: Rate| format!("{} {unit}", digits(rate.as_bps() as f64 / bps));
        let rates = |(low, high): (Rate, Rate)| range((text(low), text(high)));
        add("rate", is_rate, rates(self.rate), rates(design.rate));
        let is_rtt = leaves(nanos(self.rtt), nanos(design.rtt));
        add("RTT", is_rtt, range(self.rtt), range(design.rtt));
        let is_senders = leaves(counts(self.senders), counts(design.senders));
        add("senders", is_senders, range(self.senders), range(design.senders));
        let is_loss = self.loss.1 > design.loss.1 * (1.0 + ROUNDING);
        add("loss", is_loss, percent(self.loss), percent(design.loss));
        if let Some(range) = self.buffer.falls_short_of(design.buffer) {
            add("buffer", true, self.buffer.to_string(), range);
        }
        let is_long = self.flow_s.1 > design.flow_s.1 * MUCH_LONGER;
        let about = |(low, high)| format!("about {}", range((seconds(low), seconds(high))));
        add("flow length", is_long, about(self.flow_s), about(design.flow_s));
        outside
    }
}

/// As people write it: "10..20 Mbps, RTT 100..200 ms, 1..16 senders, buffer unlimited".
impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let senders = if self.senders == (1, 1) { "sender" } else { "senders" };
        let (rate, rtt, count) = (range(self.rate), range(self.rtt), range(self.senders));
        write!(f, "{rate}, RTT {rtt}, {count} {senders}, buffer {}", self.buffer)?;
        if self.loss.1 > 0.0 {
            write!(f, ", loss {}", percent(self.loss))?;
        }
        Ok(())
    }
}

impl QueueLimit {
    /// The smaller limit. In different units, it is the one with fewer bandwidth-delay products.
    fn least(self, other: QueueLimit) -> QueueLimit {
        if other.bdp() < self.bdp() { other } else { self }
    }

    fn bdp(self) -> f64 {
        match self {
            QueueLimit::Unlimited => f64::INFINITY,
            QueueLimit::Packets { bdp, .. } | QueueLimit::Bdp { bdp } => bdp,
        }
    }

    /// The range of the design, if this limit is smaller.
    fn falls_short_of(self, design: QueueLimit) -> Option<String> {
        let (has, needs) = match (self, design) {
            (_, QueueLimit::Unlimited) => (self.bdp(), AS_GOOD_AS_UNLIMITED),
            (QueueLimit::Packets { packets, .. }, QueueLimit::Packets { packets: needed, .. }) => {
                (packets, needed)
            }
            (_, QueueLimit::Packets { bdp, .. } | QueueLimit::Bdp { bdp }) => (self.bdp(), bdp),
        };
        let range = match design {
            QueueLimit::Unlimited => "unlimited, or 1 BDP and more".to_owned(),
            other => format!("{other} and more"),
        };
        (has < needs * (1.0 - ROUNDING)).then_some(range)
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueLimit::Unlimited => f.write_str("unlimited"),
            QueueLimit::Packets { packets, .. } => {
                write!(f, "{}", exm_units::Packets::new(*packets as u64))
            }
            QueueLimit::Bdp { bdp } => write!(f, "{bdp} BDP"),
        }
    }
}

/// The minimum and maximum number of senders of all classes that cross `link`, but at least one. Of mutually exclusive
/// classes only the largest counts.
fn count(classes: &[Class], link: usize) -> (u64, u64) {
    let (mut few, mut many, mut groups) = (0, 0, BTreeMap::new());
    for class in classes.iter().filter(|class| class.path.contains(&link)) {
        let (Senders(least), Senders(most)) = class.count.ends();
        few += if class.presence.is_always() { least } else { 0 };
        match class.presence.group.as_deref() {
            None => many += most,
            Some(group) => {
                let largest = groups.entry(group).or_insert(0);
                *largest = most.max(*largest);
            }
        }
    }
    (few.max(1), many + groups.values().sum::<u64>())
}

/// The bandwidth-delay product in packets.
pub(crate) fn bandwidth_delay(rate: Rate, rtt: Span, packet: Bytes) -> f64 {
    rate.as_packets_per_ms(packet) * rtt.as_millis_f64()
}

/// The mean length in seconds of flows with the lengths `on`, in a run of `duration`; `alone` is how
/// long so many bits take.
fn mean_length(on: &OnFor, packet: Bytes, duration: Span, alone: &dyn Fn(f64) -> f64) -> f64 {
    let bits = packet.get() as f64 * 8.0;
    let length = match on {
        OnFor::Always | OnFor::Video(_) => f64::INFINITY,
        OnFor::Time(time) => time.mean(),
        OnFor::Packets(amount) => alone(amount.mean() * bits),
        OnFor::Bytes(amount) => alone(amount.mean() * 8.0),
    };
    length.min(duration.as_secs_f64())
}

/// Whether the range `inner` reaches beyond `outer`.
fn leaves(inner: (f64, f64), outer: (f64, f64)) -> bool {
    inner.0 < outer.0 * (1.0 - ROUNDING) || inner.1 > outer.1 * (1.0 + ROUNDING)
}

/// "10..20 Mbps", "100 ms..10 s" or, where both ends are one, "15 Mbps".
fn range<T: fmt::Display>((low, high): (T, T)) -> String {
    let (low, high) = (low.to_string(), high.to_string());
    if low == high {
        return low;
    }
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}..{high}"),
        _ => format!("{low}..{high}"),
    }
}

/// To four digits.
fn digits(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let unit = libm::pow(10.0, 3.0 - libm::floor(libm::log10(value)));
    (value * unit).round() / unit
}

fn percent((low, high): (f64, f64)) -> String {
    let text = |loss: f64| format!("{} %", (loss * 1e5).round() / 1e3);
    range((text(low), text(high)))
}

/// To about two digits, since lengths of flows are approximate.
fn seconds(value: f64) -> Span {
    let unit = if value >= 10.0 { 1.0 } else { 100.0 };
    Span::from_nanos(((value * unit).round() / unit * 1e9) as u64)
}

#[cfg(test)]
mod tests;
