//! [`Networks`]: the networks a model stands for.

use super::choice::{Choice, Grammar};
use super::error::Problem;
use super::links::{LEAST_SERVICE, Link};
use super::quantities::Senders;
use super::section::{Section, parsed, word};
use exm_units::{Bytes, Span};
use std::fmt;

/// The most senders a network may have: the simulator numbers them with 16 bits.
pub(super) const MAX_SENDERS: u64 = 65_000;
/// The most links of a network.
const MAX_LINKS: usize = 64;
/// The largest packet: the limit of the length field of IP.
const MAX_PACKET: Bytes = Bytes::new(65_535);

/// The networks a model stands for: each quantity is chosen by itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Networks {
    /// Never empty.
    pub(crate) links: Vec<Link>,
    /// The nodes that each link leaves from and leads to, by number.
    pub(crate) ends: Vec<(usize, usize)>,
    /// The number of senders, where they are all of one kind.
    pub(crate) senders: Option<Choice<Senders>>,
    pub(crate) packet: Bytes,
    pub(crate) draw: Draw,
}

/// How networks are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Draw {
    /// At random, every quantity's range evenly covered.
    Random,
    /// Every combination in turn.
    Grid,
}

impl Draw {
    const NAMES: [&str; 2] = ["random", "grid"];
}

impl Networks {
    /// The networks of the file whose top is `top`.
    pub(super) fn read(top: Section<'_>) -> Result<Networks, Problem> {
        let section = top.section("network")?;
        let classes = !top.list("sender")?.is_empty();
        let packet = read_packet(section)?;
        let links = read_links(top, packet)?;
        if let (false, [_, ..]) = (classes, &links[1..]) {
            let what =
                "where there are several links, senders say which they cross: write a [[sender]]";
            return Err(top.list("link")?[0].problem("rate", what));
        }
        let ends = ends(&links);
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
            ends,
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
        let [rate, rtt, buffer, loss, variation @ ..] = link.counts();
        let counts = [rate, rtt, ("senders", senders.count()), buffer, loss];
        if let Some((key, _)) = variation.iter().find(|(_, count)| *count != Some(1)) {
            let what = format!("in a grid delays vary in one way: give \"{key}\" one value");
            return Err(section.problem(key, what));
        }
        let Some((key, _)) = counts.into_iter().find(|(_, count)| count.is_none()) else {
            return Ok(());
        };
        let what = format!(
            "a grid takes every combination, and a range has no end of them: list the values of \
             \"{key}\", or let draw be \"random\""
        );
        Err(Problem::at(section.get(key).map_or(0, |value| value.span().start), what))
    }
}

/// The links of the file: that of `[network]`, if it has one, and those of `[[link]]`.
fn read_links(top: Section<'_>, packet: Bytes) -> Result<Vec<Link>, Problem> {
    let (network, sections) = (top.section("network")?, top.list("link")?);
    let of_network = sections.is_empty() || network.get("rate").or(network.get("trace")).is_some();
    if let (false, Some(key)) =
        (of_network, Link::KEYS.iter().find(|key| network.get(key).is_some()))
    {
        let what = format!(
            "[network] describes no link without a \"rate\": give one, or move \"{key}\" to a [[link]]"
        );
        return Err(network.problem(key, what));
    }
    let sections = of_network.then_some(network).into_iter().chain(sections);
    let mut links: Vec<Link> = Vec::new();
    for section in sections {
        let link = Link::read(section, packet)?;
        if let Some(name) = &link.name {
            check_name(name, &links).map_err(|what| section.problem("name", what))?;
        }
        if links.first().is_some_and(|first| first.nodes.is_some() != link.nodes.is_some()) {
            let what = "links follow one another in a row, or each names the nodes \"from\" and \"to\" \
                        (that of [network] moves to a [[link]] of its own for that)";
            return Err(section.problem("from", what));
        }
        links.push(link);
    }
    if links.len() > MAX_LINKS {
        let what = format!("{} links cannot be simulated: give {MAX_LINKS} at most", links.len());
        return Err(Problem::nowhere(what));
    }
    Ok(links)
}

fn check_name(name: &str, others: &[Link]) -> Result<(), String> {
    if name.parse::<f64>().is_ok() {
        return Err(format!("\"{name}\" would be taken for a link's number: write a word"));
    }
    if others.iter().any(|other| other.name.as_deref() == Some(name)) {
        return Err(format!("there are two links \"{name}\": rename one"));
    }
    Ok(())
}

/// The nodes of `links` by number, in the order in which they are named; a row's are counted through.
fn ends(links: &[Link]) -> Vec<(usize, usize)> {
    let mut known: Vec<&str> = Vec::new();
    let mut number = |node| {
        known.iter().position(|known| *known == node).unwrap_or_else(|| {
            known.push(node);
            known.len() - 1
        })
    };
    let ends = links.iter().enumerate().map(|(index, link)| match &link.nodes {
        None => (index, index + 1),
        Some([from, to]) => (number(from), number(to)),
    });
    ends.collect()
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

/// Writes the sections as they are read.
impl fmt::Display for Networks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The first link stands in [network], if it may.
        let plain = self.links.first().filter(|link| link.is_plain());
        f.write_str("[network]\n")?;
        if let Some(link) = plain {
            link.write_rate(f)?;
        }
        if let Some(senders) = &self.senders {
            writeln!(f, "senders = {senders}")?;
        }
        if let Some(link) = plain {
            link.write_rest(f)?;
        }
        writeln!(f, "packet_size = \"{}\"", self.packet)?;
        writeln!(f, "draw = \"{}\"", Draw::NAMES[self.draw as usize])?;
        let sections = &self.links[usize::from(plain.is_some())..];
        sections.iter().try_for_each(|link| write!(f, "\n{link}"))
    }
}
