//! [`Scenario`]: a network described in a file, or by a few numbers.
//!
//! A file is TOML. Quantities are text with their unit. The top level has
//!
//! | key | meaning | default |
//! |---|---|---|
//! | `title` | what it shows | |
//! | `seed` | the random seed | 1 |
//! | `duration` | how much time to simulate | required |
//! | `packet_size` | of all packets | `"1500 B"` |
//! | `warm_up` | how much to skip before end-to-end delays are measured | none |
//! | `measure.throughput` | over what time throughput is measured: `"arrivals"`, from the start of each on-period until its last packet has arrived, or `"papers"`, the on-period alone, while what arrives later counts | `"arrivals"` |
//!
//! A single bottleneck shared by equal senders is a `[dumbbell]`:
//!
//! | key | meaning | default |
//! |---|---|---|
//! | `rate` | of the link: `"15 Mbps"`, or `"1.25 packets/ms"` of the `packet_size` above | required, or `trace` |
//! | `trace` | a file of delivery opportunities, the name of a synthetic link, or the model of one in TOML; these two with another seed than 1 as `"lte, seed 2"` | |
//! | `rtt` | round-trip propagation delay | required |
//! | `senders` | how many | required |
//! | `controller` | a name such as `"cubic"`, which parameters may follow: `"cubic beta=0.8,c=0.2"` ([`Builtin`]); or the path of a rule table, from where the file is | required |
//! | `traffic.on` | `"always"`, or a distribution of times or amounts of data | required |
//! | `traffic.off` | a distribution of times | required unless on is `"always"` |
//! | `traffic.every` | instead of `off`: a flow at each multiple of this time, for all senders at once | |
//! | `traffic.spread` | with `every`: each starts up to so much later, uniformly | `"0 s"` |
//! | `traffic.at` | instead of `off`: a list of set times, `"10 s"` or `"10 s..20 s"` | |
//! | `buffer` | `"1000 packets"`, `"250 kB"`, `"5 BDP"` or `"unlimited"` | `"unlimited"` |
//! | `queue` | the queue's discipline and parameters, `"codel target=5ms,interval=50ms"`, or a table of its `name` and parameters | `"drop-tail"` |
//! | `loss` | the probability of random loss: `0.01` or `"1 %"` | 0 |
//! | `jitter` | what is added to the propagation delay of each packet: a distribution of times; packets keep their order | none |
//! | `reorder` | the probability that a packet is held back, so that others overtake it | 0 |
//! | `reorder_delay` | for how long | `"10 ms"` |
//! | `aggregation` | packets leave in frames: a table of `packets` and `airtime`, the limits of a frame (`"64 packets"`, `"4 ms"`), and `access`, the time of medium access before each, a distribution of times (`"exp 0.5 ms"`) | none |
//! | `block_errors` | blocks fail and arrive later, with all behind them: a table of `probability` (0.1), `step`, the time of a retransmission (`"8 ms"`), `retries`, the most of them (3), and `slot`, the length of a block (`"1 ms"`) | none |
//! | `schedule` | the link changes at set times: a table of `steps`, each with `at` and some of `rate`, `delay` (added to its own) and `loss`, and `every`, the time after which they begin anew | none |
//! | `slots` | the link changes from slot to slot, as behind a satellite: a table of `every` (`"15 s"`), `delay`, a distribution of times that is added to its own, `lowest_rate`, `loss` and `edge`, the time at the start of each slot in which packets are lost so | none |
//! | `thin_acks` | of the ACKs of a flow that wait, each of this number (`"4 packets"`), or one in this time (`"10 ms"`), is sent, and the last | none |
//! | `host` | the host of all controllers, RemyCCs included: `"tcp"`, `"quic"` for the recovery of QUIC (RFC 9002), or `"bare"` for the sender without loss recovery that RemyCCs are trained on | `"tcp"` |
//! | `tcp` | a table of settings for TCP hosts, see below | |
//! | `sprout` | a table of settings for Sprout, see below | |
//! | `timer` | with `host = "bare"`: whether senders keep a retransmission timer | true except for RemyCCs |
//!
//! Any other graph has a `[[link]]` for each link, with `name`, `from` and `to` (names of nodes; a single link
//! may omit them), `rate`, `delay` (one way, default 0), `buffer`, `queue`, `loss`, `jitter`, `reorder`,
//! `reorder_delay`, `aggregation`, `block_errors`,
//! `schedule`, `slots` and `thin_acks`; and a `[[flow]]` for
//! each group of equal flows, with `path` (names of links in order; may be omitted if there is one link),
//! `back` (the links that the receiver's ACKs cross; by default ACKs cross none), `rtt` (the delays of the
//! links count towards it, the rest follows the last of them), `controller`, `traffic`, `count` (default 1),
//! `name`, `packet_size`, `host`, `tcp`, `sprout`, `timer` and, for Sprout, `duplex` (false; true: the receiver always has
//! data to send as well, in the same session, which loads the links that lead back) and `foresight` (none; a time such as
//! `"100 ms"`: for so long ahead the receiver's forecasts are what the trace of the path's first link delivers).
//!
//! A `[tcp]` table sets the defaults of all TCP hosts, which a flow's own `tcp` may override: `initial_window`
//! (10 packets), `handshake` (false: connections start established), `rto` (the floor of the retransmission
//! timer: `"linux"`, or a time for the whole of it), `delayed_acks` (false), `ecn` (false), `accecn`
//! (`"option"`: ACKs report each mark; `"ace"`: a count modulo eight, and where it may have gone round the most marks,
//! RFC 9768, appendix A.2.1; `"ace-averaged"`: not where ACKs usually cover many segments), `receive_window`
//! (none), `tail_loss_probe` (false), `timestamps` (the granularity of the clock with which RTTs are measured,
//! such as `"1 ms"`; none for exact), `persistent` (false: each on-period is a new connection; true: one
//! connection carries all on-periods of a sender, and keeps window, threshold and RTT estimate), `idle_restart`
//! (`"none"`: what an idle time longer than the retransmission timer does to the window of a persistent
//! connection; `"rfc5681"`: the initial window, `"rfc2861"`: half for each such time, as in Linux),
//! `window_validation` (true: a window grows only while it is used, RFC 7661; false: with every ACK, as in
//! ns-2) and `eifel` (true: the response to spurious retransmissions is undone, RFC 4015; false as in ns-2).
//!
//! The controllers `"sprout"` and `"sprout-ewma"` select the Sprout transport. A `[sprout]` table sets the
//! defaults of all Sprout hosts, which a flow's own `sprout` may override: `model` (`"default"` or `"paper"`),
//! `risk` (0.05: the accepted probability that less is delivered than forecast), `lookahead` (5 ticks of 20 ms,
//! within which each packet should leave the queue), `queueing` (`"61 ms"`; zero in the paper's model: the
//! queueing delay allowed even if the RTT leaves less of the lookahead), `sigma` (182; 200 in the paper's
//! model: how far a rate of 200 packets a second wanders, in packets a second per square root of a second),
//! `outage` (`"1 s"`, the mean length of an outage), `learns` (false: whether these two are slowly learnt from
//! the link), `idleness` (0.28; 0 in the paper's model: the weight of time in which the window left the link
//! idle, where 1 ignores such time) and `slow` (160; 0 in the paper's model: the rate in packets a second below which the
//! risk grows with the power of -1.5 of the believed rate, up to four times). Parameters after the name, as in `"sprout risk=0.1"`, override both.
//!
//! A `[series]` table requests time series: `every` is a duration, or `"event"` for a sample after each event;
//! `flows` and `links` select what is recorded (both, unless one is `false`).
//!
//! Distributions are `"5 s"`, `"fixed 20 packets"`, `"exp 100 kB"`, `"uniform 1..2 s"`,
//! `"pareto xm=147 alpha=0.5 shift=-40 cap=3.3e9 B"`, `"cdf 1:0,10:0.9,1000:1 kB"` or `"empirical FILE B"`,
//! the last a file of one number a line, or of one and its cumulative probability.
//!
//! Unknown keys are rejected, with the nearest known one as a suggestion.

mod builder;
mod effects;
mod file;
mod read;
mod shipped;
mod synthetic;
mod times;
mod traces;
mod transports;

pub use crate::builtin::{SPROUT_DESCRIPTION, SPROUT_NAMES};
pub use builder::ScenarioBuilder;
pub use shipped::SHIPPED;
pub use synthetic::{is_synthetic, load_synthetic, parse_synthetic};
pub use times::{ValueError, parse_off, parse_on, parse_traffic};
pub use traces::Traces;

use crate::active::MeasuredOver;
use crate::builtin::Builtin;
use crate::controllers::AnyController;
use crate::engine::Pace;
use crate::network::{FlowSpec, Host, LinkSpec, Network, NetworkError, Transport};
use crate::traffic::Traffic;
use exm_grammar::{FileError, Offset, Source};
use exm_tcp::Settings;
use exm_units::{Bytes, Span};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The default packet size: Ethernet's MTU.
pub const DEFAULT_PACKET_SIZE: Bytes = Bytes::PACKET;

/// A network as described, with controllers still given by name.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it shows.
    pub title: Option<String>,
    /// The random seed.
    pub seed: u64,
    /// The simulated time.
    pub duration: Span,
    /// How much of it to skip before end-to-end delays are measured.
    pub warm_up: Span,
    /// Over what time throughput is measured.
    pub over: MeasuredOver,
    /// The links.
    pub links: Vec<LinkSpec>,
    /// The groups of flows.
    pub flows: Vec<FlowGroup>,
    /// The time series to record, if any.
    pub series: Option<SeriesSpec>,
    /// The directory that its relative paths start from.
    dir: PathBuf,
    source: Source,
    places: Places,
}

/// A group of equal flows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FlowGroup {
    /// The group's name in reports.
    pub name: String,
    /// The links the flows cross, by number.
    pub path: Vec<usize>,
    /// The links that their ACKs cross, by number; if none, ACKs cross no links.
    pub back: Vec<usize>,
    /// Their round-trip propagation delay.
    pub rtt: Span,
    /// How many there are.
    pub count: usize,
    /// Their controller: the text of a [`Builtin`], such as "cubic beta=0.8", or the path of a rule table.
    pub controller: String,
    /// When they are on, and how much they send.
    pub traffic: Traffic,
    /// The size of their packets.
    pub packet_size: Bytes,
    /// Their host.
    pub host: Host,
    /// Whether a bare sender keeps a retransmission timer; by default, unless it is a RemyCC.
    pub timer: Option<bool>,
    /// Their settings, if the host is TCP or QUIC.
    pub tcp: Settings,
    /// Their settings, if the transport is Sprout; the packet size is the group's.
    pub sprout: exm_sprout::Settings,
    /// Whether their receivers always have data to send as well: Sprout's only.
    pub duplex: bool,
    /// How long ahead their receivers know the first link: Sprout's only, see [`FlowSpec::foresight`].
    pub foresight: Option<Span>,
}

impl FlowGroup {
    /// The senders' transport if they run `controller`.
    pub fn transport(&self, controller: AnyController) -> Transport {
        match self.host {
            Host::Tcp => Transport::Tcp { controller, settings: self.tcp },
            Host::Quic => Transport::Tcp { controller, settings: self.tcp.over_quic() },
            Host::Bare => {
                let timer = self.timer.unwrap_or(controller.keeps_timer());
                Transport::Bare { controller, timer }
            }
        }
    }
}

/// Which time series to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesSpec {
    /// How often.
    pub pace: Pace,
    /// Whether to record flows.
    pub flows: bool,
    /// Whether to record links.
    pub links: bool,
}

/// Loads the controller of a name in a scenario, which is also given as a path from the scenario's directory;
/// or returns what is wrong with it.
pub type Load<'a> = dyn FnMut(&str, &Path) -> Result<AnyController, String> + 'a;

/// The positions in the file of the values that a network may reject.
#[derive(Clone, Debug, Default)]
struct Places {
    duration: Offset,
    warm_up: Offset,
    links: Vec<LinkPlaces>,
    flows: Vec<FlowPlaces>,
}

#[derive(Clone, Copy, Debug, Default)]
struct LinkPlaces {
    rate: Offset,
    buffer: Offset,
    delay: Offset,
    jitter: Offset,
    reorder_delay: Offset,
    aggregation: Offset,
    block_errors: Offset,
    schedule: Offset,
    slots: Offset,
    thin_acks: Offset,
}

#[derive(Clone, Copy, Debug, Default)]
struct FlowPlaces {
    path: Offset,
    rtt: Offset,
    controller: Offset,
    duplex: Offset,
    foresight: Offset,
    packet_size: Offset,
    traffic: Offset,
}

impl Scenario {
    /// Each group of flows, with the number of its first flow in the network of the scenario.
    pub fn groups(&self) -> impl Iterator<Item = (usize, &FlowGroup)> {
        self.flows.iter().scan(0, |next, group| {
            let first = *next;
            *next += group.count;
            Some((first, group))
        })
    }

    /// The text of the file that it was read from, empty if it was built, and the directory that its relative
    /// paths start from.
    pub fn source(&self) -> (&str, &Path) {
        (&self.source.text, &self.dir)
    }

    /// Reads the scenario in the file at `path`.
    ///
    /// # Errors
    /// [`FileError`] if it cannot be read or is not a valid scenario.
    pub fn load(path: &Path) -> Result<Scenario, FileError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            let source = Source { file: name.clone(), text: String::new() };
            source.error(None, format!("the scenario cannot be read: {error}"))
        })?;
        Scenario::parse(&text, &name, path.parent().unwrap_or(Path::new("")))
    }

    /// Parses the scenario `text`, called `name` in errors; paths in it start from `dir`.
    ///
    /// # Errors
    /// [`FileError`] if it is not a valid scenario.
    pub fn parse(text: &str, name: &str, dir: &Path) -> Result<Scenario, FileError> {
        Scenario::parse_with(text, name, dir, &mut Traces::default())
    }

    /// As [`Scenario::parse`], for one of several scenarios that share `traces`, so that none is read twice.
    ///
    /// # Errors
    /// [`FileError`] if it is not a valid scenario.
    pub fn parse_with(
        text: &str,
        name: &str,
        dir: &Path,
        traces: &mut Traces,
    ) -> Result<Scenario, FileError> {
        read::scenario(Source { file: name.to_owned(), text: text.to_owned() }, dir, traces)
    }

    /// The network it describes. A controller that is not a [`Builtin`] is loaded by `load`,
    /// once per name: it is given the name and a path from the scenario's directory, and returns a controller,
    /// or what is wrong.
    ///
    /// # Errors
    /// [`FileError`] if a controller, a number or a path is impossible.
    pub fn network(&self, load: &mut Load<'_>) -> Result<Network, FileError> {
        let mut controllers = BTreeMap::new();
        let mut transports = Vec::new();
        for (index, group) in self.flows.iter().enumerate() {
            transports.push(self.transport(index, group, &mut controllers, load)?);
        }
        self.network_of(transports).map_err(|error| {
            let place = self.place_of(&error);
            self.source.error(place, error.to_string()).with_key(error.key())
        })
    }

    /// The network it describes, with `transports` in place of the controllers that it names: one for each
    /// group of flows, in order.
    ///
    /// # Errors
    /// [`NetworkError`] if a number or a path is impossible.
    pub fn network_of(
        &self,
        transports: impl IntoIterator<Item = Transport>,
    ) -> Result<Network, NetworkError> {
        let count = self.flows.iter().fold(0, |sum: usize, group| sum.saturating_add(group.count));
        if count > crate::network::MAX_FLOWS {
            return Err(NetworkError::TooManyFlows(count));
        }
        let mut flows = Vec::new();
        for (group, transport) in self.flows.iter().zip(transports) {
            let flow = self.flow(flows.len(), group, transport)?;
            flows.extend(std::iter::repeat_n(flow, group.count));
        }
        let network = Network::new(self.links.clone(), flows, self.duration)?;
        Ok(network.scored_after(self.warm_up)?.measured_over(self.over))
    }

    /// The transport of flow group `index`. Its controller is looked up in `controllers`, or loaded and added
    /// there.
    fn transport<'a>(
        &self,
        index: usize,
        group: &'a FlowGroup,
        controllers: &mut BTreeMap<&'a str, AnyController>,
        load: &mut Load<'_>,
    ) -> Result<Transport, FileError> {
        let name = group.controller.as_str();
        let place = self.places.flow(index).controller;
        let blame = |problem| self.source.error(place, problem).with_key("controller");
        let builtin = Builtin::parse(name).map_err(|error| blame(error.to_string()))?;
        if let Some(settings) = builtin.as_ref().and_then(|builtin| builtin.sprout(group.sprout)) {
            return Ok(Transport::Sprout(settings));
        }
        if !controllers.contains_key(name) {
            let controller = match builtin.and_then(Builtin::controller) {
                Some(controller) => controller,
                None => load(name, &self.dir.join(name)).map_err(blame)?,
            };
            controllers.insert(name, controller);
        }
        Ok(group.transport(controllers[name].clone()))
    }

    /// The flows of `group`, of which the first has this `number`.
    fn flow(
        &self,
        number: usize,
        group: &FlowGroup,
        transport: Transport,
    ) -> Result<FlowSpec, NetworkError> {
        let delays = group.crossed().filter_map(|link| Some(self.links.get(link)?.delay));
        let along = delays.fold(Span::ZERO, Span::saturating_add);
        if along > group.rtt {
            return Err(NetworkError::ShortRoundTrip { flow: number, rtt: group.rtt, along });
        }
        Ok(FlowSpec {
            name: group.name.clone(),
            path: group.path.clone(),
            back: group.back.clone(),
            extra_delay: group.rtt - along,
            packet_size: group.packet_size,
            traffic: group.traffic.clone(),
            transport,
            duplex: group.duplex,
            foresight: group.foresight,
        })
    }

    /// The position in the file of what `error` is about.
    fn place_of(&self, error: &NetworkError) -> Offset {
        use NetworkError as E;
        let of_flow = |flow| self.places.flow(self.group_of(flow));
        match *error {
            E::NoFlows | E::TooManyFlows(_) | E::TooManyLinks(_) => None,
            E::BadDuration { .. } => self.places.duration,
            E::WarmUp { .. } => self.places.warm_up,
            E::ZeroRate { link } => self.places.link(link).rate,
            E::NoBuffer { link, .. } | E::EmptyBuffer { link } => self.places.link(link).buffer,
            E::LinkDelay { link, .. } => self.places.link(link).delay,
            E::Jitter { link, .. } => self.places.link(link).jitter,
            E::HeldBack { link, .. } => self.places.link(link).reorder_delay,
            E::LinkSetting { link, key, .. } => self.places.link(link).setting(key),
            E::EmptyPath { flow }
            | E::LongPath { flow, .. }
            | E::NoSuchLink { flow, .. }
            | E::BrokenPath { flow, .. }
            | E::NoReturn { flow, .. }
            | E::Loop { flow, .. } => of_flow(flow).path,
            E::Duplex { flow } => of_flow(flow).duplex,
            E::Foresight { flow } => of_flow(flow).foresight,
            E::FlowDelay { flow, .. } | E::ShortRoundTrip { flow, .. } => of_flow(flow).rtt,
            E::PacketSize { flow, .. } | E::NoPayload { flow, .. } => of_flow(flow).packet_size,
            E::BadTraffic { flow, .. } | E::NoTimePasses { flow } | E::Video { flow, .. } => {
                of_flow(flow).traffic
            }
        }
    }

    /// The group of the flow of number `flow`.
    fn group_of(&self, flow: usize) -> usize {
        let mut before = 0;
        let past = self.flows.iter().take_while(|group| {
            before += group.count;
            before <= flow
        });
        past.count()
    }
}

impl LinkPlaces {
    /// The place of a setting that only some links have.
    fn setting(&self, key: &str) -> Offset {
        match key {
            "aggregation" => self.aggregation,
            "block_errors" => self.block_errors,
            "schedule" => self.schedule,
            "slots" => self.slots,
            "thin_acks" => self.thin_acks,
            _ => None,
        }
    }
}

impl Places {
    fn link(&self, link: usize) -> LinkPlaces {
        self.links.get(link).copied().unwrap_or_default()
    }

    fn flow(&self, group: usize) -> FlowPlaces {
        self.flows.get(group).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
