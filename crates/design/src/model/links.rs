//! [`Link`]: the possible properties of a link of a model, and the nodes that it joins.

use super::choice::{Choice, Grammar, Quantity};
use super::error::Problem;
use super::quantities::Buffer;
use super::section::{Section, Value, parsed, scalar};
use super::traces::{self, NamedTrace};
use exm_link::{BlockErrors, QueueKind, Reordering};
use exm_units::{Bytes, Probability, Rate, RateText, Span};
use std::fmt;

/// The longest round trip: longer than to the Moon and back, and sums of times stay far from
/// overflow.
const MAX_RTT: Span = Span::from_secs(1_000);
/// The maximum buffer, in packets or bandwidth-delay products.
const MAX_BUFFER: f64 = 1e12;
/// The minimum time to transmit a packet: the simulator's clock counts whole nanoseconds, so that
/// below this the link's rate would be off by more than 5 %.
pub(super) const LEAST_SERVICE: Span = Span::from_nanos(10);

/// The possible properties of a link.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Link {
    /// Its name, by which paths may call it; its number where it has none.
    pub(crate) name: Option<String>,
    /// The nodes where it starts and ends; `None` for a link that follows the previous one.
    pub(crate) nodes: Option<[String; 2]>,
    /// Its rate; of a link that follows traces, the mean rate of each.
    pub(crate) rate: Choice<Rate>,
    /// The traces that it may follow, equally likely; empty for a fixed rate.
    pub(crate) traces: Vec<NamedTrace>,
    /// The round-trip propagation delay that crossing it adds: half of it there, and, unless other links
    /// lead back, half of it on the return.
    pub(crate) rtt: Choice<Span>,
    pub(crate) buffer: Choice<Buffer>,
    pub(crate) loss: Choice<Probability>,
    pub(crate) queue: QueueKind,
    /// The mean of the additional, exponentially distributed propagation delay of each packet.
    pub(crate) jitter: Choice<Span>,
    /// The probability that a packet is delayed further, so that others overtake it.
    pub(crate) reorder: Choice<Probability>,
    /// For how long.
    pub(crate) reorder_delay: Choice<Span>,
    /// The mean time of medium access before each frame, exponentially distributed; zero without frames.
    pub(crate) access: Choice<Span>,
    /// The probability that a transmission of a block fails, and the time of a retransmission.
    pub(crate) block_errors: Choice<Probability>,
    pub(crate) block_step: Choice<Span>,
}

impl Link {
    /// What describes a link in `[network]`.
    pub(super) const KEYS: [&str; 12] = [
        "rate",
        "trace",
        "rtt",
        "buffer",
        "loss",
        "queue",
        "jitter",
        "reorder",
        "reorder_delay",
        "access",
        "block_errors",
        "block_step",
    ];

    /// The link of `section`: the first of a model, in `[network]`, or one of `[[link]]`.
    pub(super) fn read(section: Section<'_>, packet: Bytes) -> Result<Link, Problem> {
        let traces = traces::read(section)?;
        Ok(Link {
            name: section.text("name", "a link's name")?,
            nodes: read_nodes(section)?,
            rate: match &traces[..] {
                [] => read_rate(section, packet)?,
                traces => Choice::List(traces.iter().map(NamedTrace::mean_rate).collect()),
            },
            traces,
            rtt: read_rtt_choice(section.need("rtt", "\"100..200 ms\"")?)?,
            buffer: read_buffer(section, packet)?,
            loss: read_loss(section)?,
            queue: match section.get("queue") {
                None => QueueKind::default(),
                Some(value) => parsed(value, "a queue: give one such as \"codel\"", |text| {
                    Ok(exm_grammar::queue(text)?)
                })?,
            },
            jitter: read_variation(section, "jitter", Span::ZERO)?,
            reorder: read_probability(section, "reorder", "a probability of reordering")?,
            reorder_delay: read_reorder_delay(section)?,
            access: read_variation(section, "access", Span::ZERO)?,
            block_errors: read_probability(section, "block_errors", "a probability of errors")?,
            block_step: read_block_step(section)?,
        })
    }

    /// The trace that it follows where its rate is at `quantile`; none for a fixed rate.
    pub(crate) fn trace_at(&self, quantile: f64) -> Option<&NamedTrace> {
        let index = (quantile * self.traces.len() as f64) as usize;
        self.traces.get(index.min(self.traces.len().saturating_sub(1)))
    }

    /// Whether every packet takes the same time to cross it, but for the queue.
    pub(crate) fn has_constant_delay(&self) -> bool {
        let never = |choice: &Choice<Probability>| choice.ends().1 == Probability::ZERO;
        self.jitter.ends().1.is_zero()
            && never(&self.reorder)
            && self.access.ends().1.is_zero()
            && never(&self.block_errors)
    }

    /// How many values its rate, round trip, buffer, loss, jitter, probability of reordering and its delay,
    /// medium access, block errors and their steps have; none for a range.
    pub(super) fn counts(&self) -> [(&'static str, Option<usize>); 10] {
        [
            ("rate", self.rate.count()),
            ("rtt", self.rtt.count()),
            ("buffer", self.buffer.count()),
            ("loss", self.loss.count()),
            ("jitter", self.jitter.count()),
            ("reorder", self.reorder.count()),
            ("reorder_delay", self.reorder_delay.count()),
            ("access", self.access.count()),
            ("block_errors", self.block_errors.count()),
            ("block_step", self.block_step.count()),
        ]
    }

    /// Its first keys, as they stand in a file.
    pub(super) fn write_rate(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.traces[..] {
            [] => writeln!(f, "rate = {}\nrtt = {}", self.rate, self.rtt),
            traces => {
                traces::write(f, traces)?;
                writeln!(f, "rtt = {}", self.rtt)
            }
        }
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
        if self.queue != QueueKind::default() {
            writeln!(f, "queue = \"{}\"", self.queue)?;
        }
        // Left out where delays are constant: models from before there was a choice keep their hash.
        if !self.jitter.ends().1.is_zero() {
            writeln!(f, "jitter = {}", self.jitter)?;
        }
        if self.reorder.ends().1 != Probability::ZERO {
            writeln!(f, "reorder = {}\nreorder_delay = {}", self.reorder, self.reorder_delay)?;
        }
        if !self.access.ends().1.is_zero() {
            writeln!(f, "access = {}", self.access)?;
        }
        if self.block_errors.ends().1 == Probability::ZERO {
            return Ok(());
        }
        writeln!(f, "block_errors = {}\nblock_step = {}", self.block_errors, self.block_step)
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
        self.write_rate(f)?;
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

/// A time that varies delays, `default` where it is not given.
fn read_variation(section: Section<'_>, key: &str, default: Span) -> Result<Choice<Span>, Problem> {
    let Some(value) = section.get(key) else { return Ok(Choice::List(vec![default])) };
    Grammar {
        what: "a time",
        example: "\"5 ms\"",
        range: "0..10 ms",
        units: Span::UNITS.to_vec(),
        parse: &|text| text.parse().ok(),
        check: &|time: Span| {
            if time > MAX_RTT {
                return Err(format!("{time} is too long: give at most {MAX_RTT}"));
            }
            Ok(())
        },
    }
    .read(value)
}

fn read_reorder_delay(section: Section<'_>) -> Result<Choice<Span>, Problem> {
    if let (Some(_), None) = (section.get("reorder_delay"), section.get("reorder")) {
        let what = "no packets are held back: add \"reorder\", the probability of it";
        return Err(section.problem("reorder_delay", what));
    }
    read_variation(section, "reorder_delay", Reordering::DEFAULT_EXTRA)
}

fn read_block_step(section: Section<'_>) -> Result<Choice<Span>, Problem> {
    if let (Some(_), None) = (section.get("block_step"), section.get("block_errors")) {
        let what = "no blocks fail: add \"block_errors\", the probability of it";
        return Err(section.problem("block_step", what));
    }
    read_variation(section, "block_step", BlockErrors::default().step)
}

fn read_loss(section: Section<'_>) -> Result<Choice<Probability>, Problem> {
    read_probability(section, "loss", "a probability of loss")
}

fn read_probability(
    section: Section<'_>,
    key: &str,
    what: &'static str,
) -> Result<Choice<Probability>, Problem> {
    let Some(value) = section.get(key) else {
        return Ok(Choice::List(vec![Probability::ZERO]));
    };
    Grammar {
        what,
        example: "0.01 or \"1 %\"",
        range: "0..1 %",
        units: Vec::new(),
        parse: &|text| text.parse().ok(),
        check: &|probability: Probability| {
            if key != "loss" || probability.get() < 1.0 {
                Ok(())
            } else {
                Err("where everything is lost there is nothing to design: give less".to_owned())
            }
        },
    }
    .read(value)
    .map_err(|problem| out_of_unit(key, value, problem))
}

/// A clearer error for a number that is not a probability.
fn out_of_unit(key: &str, value: &Value<'_>, problem: Problem) -> Problem {
    let number = scalar(value).and_then(|text| {
        let number = text.trim().trim_end_matches('%').trim().parse::<f64>().ok()?;
        Some((text.into_owned(), number))
    });
    match number {
        Some((text, number)) if !(0.0..1.0).contains(&number) && !text.contains('%') => {
            let what = format!("a {key} of {text} is out of bounds: give 0 up to 1, or per cent");
            Problem::at(value.span().start, what)
        }
        _ => problem,
    }
}
