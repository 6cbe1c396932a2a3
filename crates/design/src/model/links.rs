//! [`Link`]: what a link of a model may be, and which nodes it joins.

use super::choice::{Choice, Grammar, Quantity};
use super::error::Problem;
use super::quantities::Buffer;
use super::section::{Section, Value, parsed, scalar};
use exm_link::QueueKind;
use exm_units::{Bytes, Probability, Rate, RateText, Span};
use std::fmt;

/// The longest round trip: longer than to the Moon and back, and sums of times stay far from
/// overflow.
const MAX_RTT: Span = Span::from_secs(1_000);
/// The most packets a buffer holds, or bandwidth-delay products.
const MAX_BUFFER: f64 = 1e12;
/// The least time to transmit a packet: the simulator's clock counts whole nanoseconds, so that
/// below this its link would be off by more than 5 %.
pub(super) const LEAST_SERVICE: Span = Span::from_nanos(10);

/// What a link may be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Link {
    /// Its name, by which paths may call it; its number where it has none.
    pub(crate) name: Option<String>,
    /// The nodes that it leaves from and leads to; none for a link that follows the one before it.
    pub(crate) nodes: Option<[String; 2]>,
    pub(crate) rate: Choice<Rate>,
    /// The round-trip propagation delay that crossing it adds: half of it there, and, unless other links
    /// lead back, half of it on the return.
    pub(crate) rtt: Choice<Span>,
    pub(crate) buffer: Choice<Buffer>,
    pub(crate) loss: Choice<Probability>,
    pub(crate) queue: QueueKind,
}

impl Link {
    /// What describes a link in `[network]`.
    pub(super) const KEYS: [&str; 5] = ["rate", "rtt", "buffer", "loss", "queue"];

    /// The link of `section`: the first of a model, in `[network]`, or one of `[[link]]`.
    pub(super) fn read(section: Section<'_>, packet: Bytes) -> Result<Link, Problem> {
        Ok(Link {
            name: section.text("name", "a link's name")?,
            nodes: read_nodes(section)?,
            rate: read_rate(section, packet)?,
            rtt: read_rtt_choice(section.need("rtt", "\"100..200 ms\"")?)?,
            buffer: read_buffer(section, packet)?,
            loss: read_loss(section)?,
            queue: match section.get("queue") {
                None => QueueKind::default(),
                Some(value) => parsed(value, "a queue: give one such as \"codel\"", |text| {
                    Ok(exm_grammar::queue(text)?)
                })?,
            },
        })
    }

    /// Whether it may stand in `[network]`.
    pub(super) fn is_plain(&self) -> bool {
        self.name.is_none() && self.nodes.is_none()
    }

    /// Whether `text` calls it, which is link `index`: by its name or by its number, counted from 1.
    pub(super) fn is_called(&self, index: usize, text: &str) -> bool {
        self.name.as_deref() == Some(text) || text.parse() == Ok(index + 1)
    }

    /// The end of its keys, as they stand in a file after those that `[network]` has besides.
    pub(super) fn write_rest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "buffer = {}", self.buffer)?;
        writeln!(f, "loss = {}", self.loss)?;
        if self.queue == QueueKind::default() {
            return Ok(());
        }
        writeln!(f, "queue = \"{}\"", self.queue)
    }
}

/// As a section `[[link]]` of a file.
impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[[link]]\n")?;
        if let Some(name) = &self.name {
            writeln!(f, "name = {}", toml::Value::from(name.as_str()))?;
        }
        if let Some([from, to]) = &self.nodes {
            let [from, to] = [from, to].map(|node| toml::Value::from(node.as_str()));
            writeln!(f, "from = {from}\nto = {to}")?;
        }
        writeln!(f, "rate = {}\nrtt = {}", self.rate, self.rtt)?;
        self.write_rest(f)
    }
}

fn read_nodes(section: Section<'_>) -> Result<Option<[String; 2]>, Problem> {
    let node = |key| section.text(key, "a node's name");
    match (node("from")?, node("to")?) {
        (Some(from), Some(to)) => Ok(Some([from, to])),
        (None, None) => Ok(None),
        (Some(_), None) => Err(section.problem("from", "the link leads nowhere: add \"to\"")),
        (None, Some(_)) => Err(section.problem("to", "the link has no start: add \"from\"")),
    }
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
