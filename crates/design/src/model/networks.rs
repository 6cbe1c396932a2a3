//! [`Networks`]: the networks a model stands for.

use super::choice::{Choice, Grammar, Quantity};
use super::error::Problem;
use super::section::{Section, Value, parsed, scalar, word};
use exm_link::{Limit, QueueKind};
use exm_units::{Bytes, Packets, Probability, Rate, RateText, Span};
use std::fmt;

/// The most senders a network may have: the simulator numbers them with 16 bits.
pub(super) const MAX_SENDERS: u64 = 65_000;
/// The most links of a network.
const MAX_LINKS: usize = 64;
/// The longest round trip: longer than to the Moon and back, and sums of times stay far from
/// overflow.
const MAX_RTT: Span = Span::from_secs(1_000);
/// The largest packet: what the length field of IP can tell.
const MAX_PACKET: Bytes = Bytes::new(65_535);
/// The most packets a buffer holds, or bandwidth-delay products.
const MAX_BUFFER: f64 = 1e12;
/// The least time to transmit a packet: the simulator's clock counts whole nanoseconds, so that
/// below this its link would be off by more than 5 %.
const LEAST_SERVICE: Span = Span::from_nanos(10);

/// The networks a model stands for: each quantity is chosen by itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Networks {
    /// Links in a row; never empty.
    pub(crate) links: Vec<Link>,
    /// The number of senders, where they are all of one kind.
    pub(crate) senders: Option<Choice<Senders>>,
    pub(crate) packet: Bytes,
    pub(crate) draw: Draw,
}

/// What a link may be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Link {
    pub(crate) rate: Choice<Rate>,
    /// The round-trip propagation delay that crossing it adds.
    pub(crate) rtt: Choice<Span>,
    pub(crate) buffer: Choice<Buffer>,
    pub(crate) loss: Choice<Probability>,
    pub(crate) queue: Queue,
}

/// A queue, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queue(usize);

impl Queue {
    const DROP_TAIL: &str = "drop-tail";

    fn drop_tail() -> Queue {
        let index = QueueKind::NAMES.iter().position(|name| *name == Queue::DROP_TAIL);
        Queue(index.expect("there are drop-tail queues"))
    }

    pub(crate) fn is_drop_tail(self) -> bool {
        self == Queue::drop_tail()
    }

    pub(crate) fn name(self) -> &'static str {
        QueueKind::NAMES[self.0]
    }

    pub(crate) fn kind(self) -> QueueKind {
        QueueKind::named(self.name()).expect("it is one of the names")
    }
}

/// How networks are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Draw {
    /// At random, every quantity's range evenly covered.
    Random,
    /// Every combination in turn.
    Grid,
}

/// A number of senders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Senders(pub(crate) u64);

/// How much may wait at the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Buffer {
    Unlimited,
    /// So many packets.
    Packets(u64),
    /// So many times the product of the link's rate and the round-trip propagation delay.
    Bdp(f64),
}

impl Draw {
    const NAMES: [&str; 2] = ["random", "grid"];
}

impl Buffer {
    /// `written`, bytes as whole packets of `packet`, as many as fit.
    fn of(written: exm_grammar::Buffer, packet: Bytes) -> Buffer {
        match written {
            exm_grammar::Buffer::Limit(Limit::Unlimited) => Buffer::Unlimited,
            exm_grammar::Buffer::Limit(Limit::Packets(count)) => Buffer::Packets(count.get()),
            exm_grammar::Buffer::Limit(Limit::Bytes(size)) => {
                Buffer::Packets(size.get() / packet.get())
            }
            exm_grammar::Buffer::Bdp(times) => Buffer::Bdp(times),
        }
    }

    /// The limit in packets on a link of `rate` whose round trip is `rtt`.
    pub(crate) fn limit(self, rate: Rate, rtt: Span, packet: Bytes) -> Option<Packets> {
        match self {
            Buffer::Unlimited => None,
            Buffer::Packets(packets) => Some(Packets::new(packets)),
            Buffer::Bdp(times) => Some(rate.bandwidth_delay(rtt, times, packet)),
        }
    }
}

impl Link {
    /// The link of `section`: the first of a model, in `[network]`, or one of `[[link]]`.
    fn read(section: Section<'_>, packet: Bytes) -> Result<Link, Problem> {
        Ok(Link {
            rate: read_rate(section, packet)?,
            rtt: read_rtt_choice(section.need("rtt", "\"100..200 ms\"")?)?,
            buffer: read_buffer(section, packet)?,
            loss: read_loss(section)?,
            queue: match section.get("queue") {
                None => Queue::drop_tail(),
                Some(value) => Queue(word(value, "a queue", QueueKind::NAMES)?),
            },
        })
    }

    /// The ends of its keys, as they stand in a file after those that `[network]` has besides.
    fn write_rest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "buffer = {}", self.buffer)?;
        writeln!(f, "loss = {}", self.loss)?;
        if self.queue.is_drop_tail() {
            return Ok(());
        }
        writeln!(f, "queue = \"{}\"", self.queue.name())
    }
}

impl Networks {
    /// The networks of the file whose top is `top`.
    pub(super) fn read(top: Section<'_>) -> Result<Networks, Problem> {
        let section = top.section("network")?;
        let classes = !top.list("sender")?.is_empty();
        let packet = read_packet(section)?;
        let further = top.list("link")?;
        if let (false, Some(link)) = (classes, further.first()) {
            let what =
                "where there are several links, senders say which they cross: write a [[sender]]";
            return Err(link.problem("rate", what));
        }
        let first = Link::read(section, packet)?;
        let further = further.into_iter().map(|section| Link::read(section, packet));
        let links = std::iter::once(Ok(first)).chain(further).collect::<Result<Vec<_>, _>>()?;
        if links.len() > MAX_LINKS {
            let what =
                format!("{} links cannot be simulated: give {MAX_LINKS} at most", links.len());
            return Err(Problem::nowhere(what));
        }
        let senders = match (section.get("senders"), classes) {
            (Some(_), true) => {
                let what = "each [[sender]] has its own \"count\": take \"senders\" away";
                return Err(section.problem("senders", what));
            }
            (None, true) => None,
            (_, false) => Some(read_senders(section)?),
        };
        let networks = Networks {
            links,
            senders,
            packet,
            draw: match section.get("draw") {
                None => Draw::Random,
                Some(value) => match word(value, "a way to draw networks", &Draw::NAMES)? {
                    0 => Draw::Random,
                    _ => Draw::Grid,
                },
            },
        };
        if networks.draw == Draw::Grid {
            networks.check_grid(section)?;
        }
        Ok(networks)
    }

    /// The least time any of the links takes to transmit a packet.
    pub(super) fn shortest_service(&self) -> Span {
        let rates = self.links.iter().flat_map(|link| link.rate.extremes());
        rates.map(|rate| rate.service_time(self.packet)).min().unwrap_or(LEAST_SERVICE)
    }

    /// The longest time any link takes to transmit a packet.
    pub(super) fn longest_service(&self) -> Span {
        let rates = self.links.iter().flat_map(|link| link.rate.extremes());
        rates.map(|rate| rate.service_time(self.packet)).max().unwrap_or(LEAST_SERVICE)
    }

    fn check_grid(&self, section: Section<'_>) -> Result<(), Problem> {
        let [link] = &self.links[..] else {
            let what = "a grid is of one link: let draw be \"random\"";
            return Err(section.problem("draw", what));
        };
        let Some(senders) = &self.senders else {
            let what = "a grid is of one kind of senders: let draw be \"random\"";
            return Err(section.problem("draw", what));
        };
        let is_list = [
            ("rate", link.rate.values().is_some()),
            ("rtt", link.rtt.values().is_some()),
            ("senders", senders.values().is_some()),
            ("buffer", link.buffer.values().is_some()),
            ("loss", link.loss.values().is_some()),
        ];
        let Some((key, _)) = is_list.into_iter().find(|&(_, is_list)| !is_list) else {
            return Ok(());
        };
        let what = format!(
            "a grid takes every combination, and a range has no end of them: list the values of \
             \"{key}\", or let draw be \"random\""
        );
        Err(Problem::at(section.get(key).map_or(0, |value| value.span().start), what))
    }
}

fn read_packet(section: Section<'_>) -> Result<Bytes, Problem> {
    let Some(value) = section.get("packet_size") else { return Ok(Bytes::PACKET) };
    parsed(value, "a size of packets: give one such as \"1500 B\"", |text| {
        let size = text.parse::<Bytes>().map_err(|error| error.to_string())?;
        if size == Bytes::ZERO || size > MAX_PACKET {
            return Err(format!("packets of {size} do not exist: give 1 B to {MAX_PACKET}"));
        }
        Ok(size)
    })
}

fn read_rate(section: Section<'_>, packet: Bytes) -> Result<Choice<Rate>, Problem> {
    Grammar {
        what: "a rate",
        example: "\"15 Mbps\" or \"1.25 packets/ms\"",
        range: "10..20 Mbps",
        units: Rate::UNITS.to_vec(),
        parse: &|text| text.parse().ok().map(|rate: RateText| rate.of(packet)),
        check: &|rate: Rate| {
            if rate.as_bps() == 0 {
                return Err("a rate of zero carries nothing: give more".to_owned());
            }
            if rate.service_time(packet) < LEAST_SERVICE {
                return Err(format!(
                    "packets of {packet} take less than {LEAST_SERVICE} at {rate}, too short for the \
                     simulator's clock: give a lower rate, or larger packets"
                ));
            }
            Ok(())
        },
    }
    .read(section.need("rate", "\"10..20 Mbps\"")?)
}

/// A round-trip propagation delay.
pub(super) fn read_rtt_choice(value: &Value<'_>) -> Result<Choice<Span>, Problem> {
    Grammar {
        what: "a round-trip propagation delay",
        example: "\"150 ms\"",
        range: "100..200 ms",
        units: Span::UNITS.to_vec(),
        parse: &|text| text.parse().ok(),
        check: &|rtt: Span| {
            if rtt.is_zero() {
                Err("a round trip takes time: give more than zero".to_owned())
            } else if rtt > MAX_RTT {
                Err(format!("a round trip of {rtt} is too long: give at most {MAX_RTT}"))
            } else {
                Ok(())
            }
        },
    }
    .read(value)
}

fn read_senders(section: Section<'_>) -> Result<Choice<Senders>, Problem> {
    Grammar {
        what: "a number of senders",
        example: "2",
        range: "1..16",
        units: Vec::new(),
        parse: &|text| text.parse().ok().map(Senders),
        check: &|Senders(count)| {
            if (1..=MAX_SENDERS).contains(&count) {
                Ok(())
            } else {
                Err(format!("{count} senders cannot be simulated: give 1 to {MAX_SENDERS}"))
            }
        },
    }
    .read(section.need("senders", "\"1..16\"")?)
}

fn read_buffer(section: Section<'_>, packet: Bytes) -> Result<Choice<Buffer>, Problem> {
    let Some(value) = section.get("buffer") else {
        return Ok(Choice::List(vec![Buffer::Unlimited]));
    };
    Grammar {
        what: "a buffer",
        example: "\"unlimited\", \"1000 packets\", \"250 kB\" or \"5 BDP\"",
        range: "1..10 BDP",
        units: [&["packet", "packets", "BDP"], Bytes::UNITS].concat(),
        parse: &|text| match text.parse() {
            Ok(buffer) => Some(Buffer::of(buffer, packet)),
            // A number that no buffer has, for `check` to refuse.
            Err(_) => text.strip_suffix("BDP")?.trim().parse().ok().map(Buffer::Bdp),
        },
        check: &|buffer: Buffer| match buffer {
            Buffer::Unlimited => Ok(()),
            Buffer::Packets(0) => {
                Err(format!("the buffer must hold at least one packet of {packet}: give more"))
            }
            _ if buffer.number() > 0.0 && buffer.number() <= MAX_BUFFER => Ok(()),
            _ => Err(format!(
                "the buffer is out of bounds: give more than nothing and at most {MAX_BUFFER}, or \
                 \"unlimited\""
            )),
        },
    }
    .read(value)
}

fn read_loss(section: Section<'_>) -> Result<Choice<Probability>, Problem> {
    let Some(value) = section.get("loss") else {
        return Ok(Choice::List(vec![Probability::ZERO]));
    };
    Grammar {
        what: "a probability of loss",
        example: "0.01 or \"1 %\"",
        range: "0..1 %",
        units: Vec::new(),
        parse: &|text| text.parse().ok(),
        check: &|loss: Probability| {
            if loss.get() < 1.0 {
                Ok(())
            } else {
                Err("where everything is lost there is nothing to design: give less".to_owned())
            }
        },
    }
    .read(value)
    .map_err(|problem| out_of_unit(value, problem))
}

/// A clearer word for a number that is no probability.
fn out_of_unit(value: &Value<'_>, problem: Problem) -> Problem {
    let number = scalar(value).and_then(|text| {
        let number = text.trim().trim_end_matches('%').trim().parse::<f64>().ok()?;
        Some((text.into_owned(), number))
    });
    match number {
        Some((text, number)) if !(0.0..1.0).contains(&number) && !text.contains('%') => {
            let what = format!("a loss of {text} is out of bounds: give 0 up to 1, or per cent");
            Problem::at(value.span().start, what)
        }
        _ => problem,
    }
}

impl Quantity for Senders {
    fn number(self) -> f64 {
        self.0 as f64
    }
    fn with(self, number: f64) -> Senders {
        Senders(number as u64)
    }
    fn is_whole(self) -> bool {
        true
    }
}

impl Quantity for Probability {
    fn number(self) -> f64 {
        self.get()
    }
    fn with(self, number: f64) -> Probability {
        Probability::new(number).unwrap_or(self)
    }
    fn is_whole(self) -> bool {
        false
    }
}

impl Quantity for Buffer {
    fn number(self) -> f64 {
        match self {
            Buffer::Unlimited => f64::INFINITY,
            Buffer::Packets(count) => count as f64,
            Buffer::Bdp(times) => times,
        }
    }
    fn with(self, number: f64) -> Buffer {
        match self {
            Buffer::Unlimited => Buffer::Unlimited,
            Buffer::Packets(_) => Buffer::Packets(number as u64),
            Buffer::Bdp(_) => Buffer::Bdp(number),
        }
    }
    fn is_whole(self) -> bool {
        matches!(self, Buffer::Packets(_))
    }
    fn is_like(self, other: Buffer) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

impl fmt::Display for Senders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Buffer::Unlimited => f.write_str("unlimited"),
            Buffer::Packets(count) => write!(f, "{}", Packets::new(*count)),
            Buffer::Bdp(times) => write!(f, "{times} BDP"),
        }
    }
}

/// Writes the sections as they are read.
impl fmt::Display for Networks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, further)) = self.links.split_first() else { return Ok(()) };
        writeln!(f, "[network]\nrate = {}\nrtt = {}", first.rate, first.rtt)?;
        if let Some(senders) = &self.senders {
            writeln!(f, "senders = {senders}")?;
        }
        first.write_rest(f)?;
        writeln!(f, "packet_size = \"{}\"", self.packet)?;
        writeln!(f, "draw = \"{}\"", Draw::NAMES[self.draw as usize])?;
        for link in further {
            writeln!(f, "\n[[link]]\nrate = {}\nrtt = {}", link.rate, link.rtt)?;
            link.write_rest(f)?;
        }
        Ok(())
    }
}

/// As a file has it.
impl<T: Quantity> fmt::Display for Choice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::List(values) if values.len() == 1 => f.write_str(&written(values[0])),
            Choice::List(values) => {
                let values: Vec<_> = values.iter().map(|&value| written(value)).collect();
                write!(f, "[{}]", values.join(", "))
            }
            Choice::Uniform(low, high) => write!(f, "\"{low}..{high}\""),
            Choice::LogUniform(low, high) => write!(f, "\"log {low}..{high}\""),
        }
    }
}

/// A quantity as a file has it: in quotes unless it is a mere number.
fn written(value: impl Quantity) -> String {
    let text = value.to_string();
    if text.parse::<f64>().is_ok() { text } else { format!("\"{text}\"") }
}
