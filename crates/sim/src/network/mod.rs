//! [`Network`]: links, the flows that cross them, and the duration.

mod host;

pub use host::{Host, hosts};

use crate::active::MeasuredOver;
use crate::controllers::AnyController;
use crate::traffic::{OnFor, OnOff, Traffic};
use exm_link::{Limit, QueueKind, Reordering, Service};
use exm_random::Distribution;
use exm_units::{Bytes, Instant, Packets, Probability, Span};

/// The most senders a network may have.
pub const MAX_FLOWS: usize = 100_000;
/// The most links.
pub const MAX_LINKS: usize = 100_000;
/// The most links on one path.
pub const MAX_HOPS: usize = 64;
/// The largest packet: well above IP's 65 535 bytes, and small enough to avoid overflow.
pub const MAX_PACKET: Bytes = Bytes::new(1_000_000);
/// The longest simulation and the longest delay: 31 years, a ninth of the range of 64 bits.
pub const MAX_TIME: Span = Span::from_secs(1_000_000_000);

/// The most that jitter, and the most that reordering adds to a packet's delay.
pub const MAX_VARIATION: Span = Span::from_secs(1000);

/// The longest duration that can be simulated with `links` links and `flows` senders: the engine packs the
/// time of an event, its kind and its source into 64 bits. That is 18 years for two senders and a link,
/// and 2 hours for the largest networks.
pub const fn longest_duration(links: usize, flows: usize) -> Span {
    let sources = (links + flows + 1).next_power_of_two() as u64;
    let latest = u64::MAX / EVENT_KINDS / sources - 1;
    if latest < MAX_TIME.as_nanos() { Span::from_nanos(latest) } else { MAX_TIME }
}

/// How many kinds of events the engine knows.
pub(crate) const EVENT_KINDS: u64 = 8;

/// A one-way link from one node to another.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// Its name, in reports and errors.
    pub name: String,
    /// The numbers of the nodes that it leads from and to.
    pub ends: (usize, usize),
    /// Its rate or trace.
    pub service: Service,
    /// Its queue discipline.
    pub queue: QueueKind,
    /// Its buffer: how much may wait.
    pub buffer: Limit,
    /// Its propagation delay, one way.
    pub delay: Span,
    /// The probability that a packet is lost: on a link of fixed rate after transmission, as in Remy's
    /// networks; on one with a trace before the queue, as in Cellsim.
    pub loss: Probability,
    /// What jitter adds to the propagation delay of each packet, in seconds, at most [`MAX_VARIATION`].
    /// Packets keep their order: one that would arrive before another sent earlier arrives with it.
    pub jitter: Distribution,
    /// Which packets are held back beyond that, so that others overtake them.
    pub reordering: Reordering,
}

impl LinkSpec {
    /// The jitter of a link that has none.
    pub const NO_JITTER: Distribution = Distribution::Fixed(0.0);
    /// The reordering of a link that keeps packets in order.
    pub const NO_REORDERING: Reordering =
        Reordering { probability: Probability::ZERO, extra: Reordering::DEFAULT_EXTRA };

    /// Whether every packet has the same propagation delay.
    pub fn has_constant_delay(&self) -> bool {
        self.jitter == LinkSpec::NO_JITTER && self.reordering.probability == Probability::ZERO
    }

    /// A link of `service` called "bottleneck" from node 0 to node 1, with a drop-tail queue limited to
    /// `buffer`, without delay, jitter, reordering or loss.
    pub fn bottleneck(service: Service, buffer: Limit) -> LinkSpec {
        LinkSpec {
            name: "bottleneck".to_owned(),
            ends: (0, 1),
            service,
            queue: QueueKind::default(),
            buffer,
            delay: Span::ZERO,
            loss: Probability::ZERO,
            jitter: LinkSpec::NO_JITTER,
            reordering: LinkSpec::NO_REORDERING,
        }
    }
}

/// A sender, its path and its receiver.
///
/// The RTT of a packet that finds every queue empty is the sum of the delay of each link both ways, the
/// transmission time on each, and `extra_delay`. If no links lead back, ACKs take no time of their own.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Its name, in reports and errors; several flows may share one.
    pub name: String,
    /// The links it crosses, by number, in order.
    pub path: Vec<usize>,
    /// The links that its receiver's ACKs cross, by number, in order; if none, ACKs cross no links.
    pub back: Vec<usize>,
    /// Delay after the last link: before the receiver or, if links lead back, before the sender.
    pub extra_delay: Span,
    /// The size of its packets.
    pub packet_size: Bytes,
    /// When it is on, and how much it sends.
    pub traffic: Traffic,
    /// Its transport.
    pub transport: Transport,
}

/// A sender's transport.
#[derive(Clone, Debug)]
pub enum Transport {
    /// A controller without loss recovery: what RemyCCs are trained on. A lost packet is only a gap in the
    /// numbers.
    Bare {
        /// The controller.
        controller: AnyController,
        /// Whether the sender keeps a retransmission timer.
        timer: bool,
    },
    /// A controller over TCP, which repairs losses. [`TCP_HEADER`] bytes of each packet are headers, and
    /// only data in order counts as delivered.
    Tcp {
        /// The controller.
        controller: AnyController,
        /// TCP's settings.
        settings: exm_tcp::Settings,
    },
    /// Sprout, which follows its receiver's forecasts. [`SPROUT_HEADER`] bytes of each packet are headers;
    /// the flow's packet size overrides the one in the settings.
    Sprout(exm_sprout::Settings),
}

/// The headers of a TCP segment: 20 bytes of IPv4, 20 of TCP and 12 of timestamps (RFC 7323).
pub const TCP_HEADER: Bytes = Bytes::new(52);

/// The headers of a Sprout packet: 20 bytes of IPv4, 8 of UDP, 28 of encryption and timestamps, and about
/// 14 of its own.
pub const SPROUT_HEADER: Bytes = Bytes::new(70);
/// A Sprout packet without data, which carries a forecast.
pub const SPROUT_EMPTY: Bytes = Bytes::new(90);

impl Transport {
    /// The controller, if there is one.
    pub fn controller(&self) -> Option<&AnyController> {
        match self {
            Transport::Bare { controller, .. } | Transport::Tcp { controller, .. } => {
                Some(controller)
            }
            Transport::Sprout(_) => None,
        }
    }

    /// Its host, if it has a controller.
    pub fn host(&self) -> Option<Host> {
        match self {
            Transport::Bare { .. } => Some(Host::Bare),
            Transport::Tcp { .. } => Some(Host::Tcp),
            Transport::Sprout(_) => None,
        }
    }

    /// The name of its host: "tcp", "bare" or "sprout".
    pub fn host_name(&self) -> &'static str {
        self.host().map_or("sprout", Host::name)
    }

    /// The payload of a packet of `size`.
    pub fn payload(&self, size: Bytes) -> Bytes {
        let headers = match self {
            Transport::Bare { .. } => Bytes::ZERO,
            Transport::Tcp { .. } => TCP_HEADER,
            // A packet with data is larger than one without by this much.
            Transport::Sprout(_) if size <= SPROUT_EMPTY => size,
            Transport::Sprout(_) => SPROUT_HEADER,
        };
        Bytes::new(size.get().saturating_sub(headers.get()))
    }
}

/// A network that can be simulated: all its parameters have been checked.
#[derive(Clone, Debug)]
pub struct Network {
    links: Vec<LinkSpec>,
    flows: Vec<FlowSpec>,
    duration: Span,
    warm_up: Span,
    over: MeasuredOver,
}

/// Why links and flows do not make a network. Links and flows are identified by number.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NetworkError {
    /// There are no senders.
    #[error("there are no senders: give at least one")]
    NoFlows,
    /// More than [`MAX_FLOWS`].
    #[error("{0} senders are too many: give at most {MAX_FLOWS}")]
    TooManyFlows(usize),
    /// More than [`MAX_LINKS`].
    #[error("{0} links are too many: give at most {MAX_LINKS}")]
    TooManyLinks(usize),
    /// A duration of zero, or longer than [`longest_duration`].
    #[error("a duration of {duration} cannot be simulated: give one between 1 ns and {longest}")]
    BadDuration {
        /// The requested duration.
        duration: Span,
        /// The longest possible.
        longest: Span,
    },
    /// The warm-up leaves nothing to measure.
    #[error("a warm-up of {warm_up} leaves nothing of {duration} to measure: shorten it")]
    WarmUp {
        /// The warm-up.
        warm_up: Span,
        /// The duration.
        duration: Span,
    },
    /// A link with a rate of zero.
    #[error("a rate of zero carries nothing: give a rate such as \"15 Mbps\"")]
    ZeroRate {
        /// The link.
        link: usize,
    },
    /// A queue that can hold no packet.
    #[error(
        "a buffer of {limit} holds no packet of {packet}, so that none could ever pass: give at \
         least one packet's room, or \"unlimited\""
    )]
    NoBuffer {
        /// The link.
        link: usize,
        /// Its queue's limit.
        limit: Limit,
        /// The size of a packet that crosses it.
        packet: Bytes,
    },
    /// A queue with a limit of zero.
    #[error(
        "a buffer of no packets lets none ever pass: give at least one packet's room, or \
         \"unlimited\""
    )]
    EmptyBuffer {
        /// The link.
        link: usize,
    },
    /// A delay longer than [`MAX_TIME`].
    #[error("a delay of {delay} is too long: give at most {MAX_TIME}")]
    LinkDelay {
        /// The link.
        link: usize,
        /// Its delay.
        delay: Span,
    },
    /// Jitter drawn from impossible values.
    #[error("jitter is drawn from impossible times: {problem}")]
    Jitter {
        /// The link.
        link: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// Packets held back for longer than [`MAX_VARIATION`].
    #[error("packets held back for {extra} come too late: give at most {MAX_VARIATION}")]
    HeldBack {
        /// The link.
        link: usize,
        /// For how long.
        extra: Span,
    },
    /// A path of no links.
    #[error("the path is empty: name at least one link")]
    EmptyPath {
        /// The flow.
        flow: usize,
    },
    /// A path of more than [`MAX_HOPS`].
    #[error("a path of {hops} links is too long: give at most {MAX_HOPS}")]
    LongPath {
        /// The flow.
        flow: usize,
        /// The length of its path.
        hops: usize,
    },
    /// A path over a link that does not exist.
    #[error("the path names link {link}, but there are only {links}")]
    NoSuchLink {
        /// The flow.
        flow: usize,
        /// The link that its path names.
        link: usize,
        /// The number of links.
        links: usize,
    },
    /// A path whose links do not connect.
    #[error(
        "the path is broken: link \"{before}\" does not lead to where link \"{after}\" leaves \
         from; correct the path, or the links' \"from\" and \"to\""
    )]
    BrokenPath {
        /// The flow.
        flow: usize,
        /// The link before the gap.
        before: String,
        /// The link after it.
        after: String,
    },
    /// A return path that does not end where the path begins.
    #[error("the way back ends with link \"{link}\", which does not lead to where the path begins")]
    NoReturn {
        /// The flow.
        flow: usize,
        /// The last link.
        link: String,
    },
    /// A path that crosses a link twice.
    #[error("the path crosses link \"{link}\" twice: name each link once")]
    Loop {
        /// The flow.
        flow: usize,
        /// The link.
        link: String,
    },
    /// A delay longer than [`MAX_TIME`].
    #[error("a delay of {delay} is too long: give at most {MAX_TIME}")]
    FlowDelay {
        /// The flow.
        flow: usize,
        /// Its extra delay.
        delay: Span,
    },
    /// Packets of size zero, or larger than [`MAX_PACKET`].
    #[error("packets of {size} cannot be sent: give a size between 1 B and {MAX_PACKET}")]
    PacketSize {
        /// The flow.
        flow: usize,
        /// The size.
        size: Bytes,
    },
    /// Packets with no room beside their headers.
    #[error(
        "packets of {size} have no room beside the headers of their transport: make them larger"
    )]
    NoPayload {
        /// The flow.
        flow: usize,
        /// The size.
        size: Bytes,
    },
    /// A distribution of impossible values.
    #[error("the {what} time or amount is drawn from impossible numbers: {problem}")]
    BadTraffic {
        /// The flow.
        flow: usize,
        /// "on" or "off".
        what: &'static str,
        /// What is wrong.
        problem: &'static str,
    },
    /// A sender that would switch endlessly at one instant.
    #[error(
        "a sender with on and off times of zero, or with starts spread over their whole period, would \
         switch endlessly: lengthen one of them"
    )]
    NoTimePasses {
        /// The flow.
        flow: usize,
    },
}

impl Network {
    /// A network of `links` crossed by `flows`, to be simulated for `duration`.
    ///
    /// # Errors
    /// [`NetworkError`] if a parameter or a path is impossible.
    pub fn new(
        links: Vec<LinkSpec>,
        flows: Vec<FlowSpec>,
        duration: Span,
    ) -> Result<Network, NetworkError> {
        let network =
            Network { links, flows, duration, warm_up: Span::ZERO, over: MeasuredOver::default() };
        network.check()?;
        Ok(network)
    }

    /// The links.
    pub fn links(&self) -> &[LinkSpec] {
        &self.links
    }

    /// The flows.
    pub fn flows(&self) -> &[FlowSpec] {
        &self.flows
    }

    /// For how long it is simulated.
    pub fn duration(&self) -> Span {
        self.duration
    }

    /// The same network, with end-to-end delays and the omniscient throughput measured only after
    /// `warm_up`.
    ///
    /// # Errors
    /// [`NetworkError::WarmUp`] if nothing would be measured.
    pub fn scored_after(self, warm_up: Span) -> Result<Network, NetworkError> {
        if warm_up >= self.duration {
            return Err(NetworkError::WarmUp { warm_up, duration: self.duration });
        }
        Ok(Network { warm_up, ..self })
    }

    /// The same network, with throughput measured `over` another time.
    pub fn measured_over(self, over: MeasuredOver) -> Network {
        Network { over, ..self }
    }

    /// Over what time throughput is measured.
    pub fn over(&self) -> MeasuredOver {
        self.over
    }

    /// The same network with its links and flows changed by `change`.
    ///
    /// # Errors
    /// [`NetworkError`] if a parameter or a path is then impossible.
    pub fn changed(
        mut self,
        change: impl FnOnce(&mut [LinkSpec], &mut [FlowSpec]),
    ) -> Result<Network, NetworkError> {
        change(&mut self.links, &mut self.flows);
        self.check()?;
        Ok(self)
    }

    /// The interval in which end-to-end delays are measured.
    pub fn scored(&self) -> (Instant, Instant) {
        (Instant::ZERO + self.warm_up, Instant::ZERO + self.duration)
    }

    fn check(&self) -> Result<(), NetworkError> {
        if self.flows.is_empty() {
            return Err(NetworkError::NoFlows);
        }
        if self.flows.len() > MAX_FLOWS {
            return Err(NetworkError::TooManyFlows(self.flows.len()));
        }
        if self.links.len() > MAX_LINKS {
            return Err(NetworkError::TooManyLinks(self.links.len()));
        }
        let longest = longest_duration(self.links.len(), self.flows.len());
        if self.duration.is_zero() || self.duration > longest {
            return Err(NetworkError::BadDuration { duration: self.duration, longest });
        }
        for (index, link) in self.links.iter().enumerate() {
            check_link(index, link)?;
        }
        for (index, flow) in self.flows.iter().enumerate() {
            self.check_path(index, flow)?;
            self.check_sender(index, flow)?;
        }
        Ok(())
    }

    fn check_path(&self, flow: usize, spec: &FlowSpec) -> Result<(), NetworkError> {
        let (path, back) = (&spec.path, &spec.back);
        let all: Vec<usize> = path.iter().chain(back).copied().collect();
        let links = self.links.len();
        if path.is_empty() {
            return Err(NetworkError::EmptyPath { flow });
        }
        if all.len() > MAX_HOPS {
            return Err(NetworkError::LongPath { flow, hops: all.len() });
        }
        if let Some(&link) = all.iter().find(|&&link| link >= links) {
            return Err(NetworkError::NoSuchLink { flow, link, links });
        }
        let ends = |pair: &[usize]| (self.links[pair[0]].ends.1, self.links[pair[1]].ends.0);
        if let Some(pair) = all.windows(2).find(|pair| ends(pair).0 != ends(pair).1) {
            let name = |link: usize| self.links[link].name.clone();
            let (before, after) = (name(pair[0]), name(pair[1]));
            return Err(NetworkError::BrokenPath { flow, before, after });
        }
        if let Some(i) = (1..all.len()).find(|&i| all[..i].contains(&all[i])) {
            return Err(NetworkError::Loop { flow, link: self.links[all[i]].name.clone() });
        }
        if !back.is_empty() && ends(&[all[all.len() - 1], all[0]]).0 != self.links[path[0]].ends.0 {
            let link = self.links[all[all.len() - 1]].name.clone();
            return Err(NetworkError::NoReturn { flow, link });
        }
        Ok(())
    }

    fn check_sender(&self, flow: usize, spec: &FlowSpec) -> Result<(), NetworkError> {
        let size = spec.packet_size;
        if size == Bytes::ZERO || size > MAX_PACKET {
            return Err(NetworkError::PacketSize { flow, size });
        }
        if spec.transport.payload(size) == Bytes::ZERO {
            return Err(NetworkError::NoPayload { flow, size });
        }
        for &link in &spec.path {
            let limit = self.links[link].buffer;
            if !limit.holds(size) {
                return Err(NetworkError::NoBuffer { link, limit, packet: size });
            }
        }
        if spec.extra_delay > MAX_TIME {
            return Err(NetworkError::FlowDelay { flow, delay: spec.extra_delay });
        }
        check_traffic(flow, &spec.traffic)
    }
}

fn check_link(link: usize, spec: &LinkSpec) -> Result<(), NetworkError> {
    if spec.service.rate().as_bps() == 0 {
        return Err(NetworkError::ZeroRate { link });
    }
    if spec.buffer == Limit::Packets(Packets::ZERO) {
        return Err(NetworkError::EmptyBuffer { link });
    }
    if spec.delay > MAX_TIME {
        return Err(NetworkError::LinkDelay { link, delay: spec.delay });
    }
    spec.jitter.check().map_err(|problem| NetworkError::Jitter { link, problem })?;
    if spec.reordering.extra > MAX_VARIATION {
        return Err(NetworkError::HeldBack { link, extra: spec.reordering.extra });
    }
    Ok(())
}

fn check_traffic(flow: usize, traffic: &Traffic) -> Result<(), NetworkError> {
    let bad = |what| move |problem| NetworkError::BadTraffic { flow, what, problem };
    let takes_time = match traffic.on() {
        OnFor::Always => true,
        OnFor::Time(span) => {
            span.check().map_err(bad("on"))?;
            !is_always_zero(span)
        }
        OnFor::Packets(count) | OnFor::Bytes(count) => {
            count.check().map_err(bad("on"))?;
            true
        }
    };
    let passes = match traffic {
        Traffic::OnOff(OnOff { on: OnFor::Always, .. }) => true,
        Traffic::OnOff(OnOff { off, .. }) => {
            off.check().map_err(bad("off"))?;
            takes_time || !is_always_zero(off)
        }
        Traffic::Every { period, spread, .. } => takes_time && spread < period,
        Traffic::Schedule { visits, .. } => {
            let ends = visits.iter().map(|&(start, end)| (start, end.unwrap_or(start)));
            if !ends.clone().is_sorted() || ends.clone().any(|(start, end)| end < start) {
                return Err(bad("scheduled")(
                    "the flows must be in order, each ending after it starts",
                ));
            }
            true
        }
    };
    if passes { Ok(()) } else { Err(NetworkError::NoTimePasses { flow }) }
}

fn is_always_zero(distribution: &Distribution) -> bool {
    match distribution {
        Distribution::Fixed(value) | Distribution::Exponential { mean: value } => *value < 1e-9,
        Distribution::Uniform { high, .. } => *high < 1e-9,
        Distribution::Pareto { cap, .. } => *cap < 1e-9,
        Distribution::Empirical(values) => values.iter().all(|value| *value < 1e-9),
        Distribution::Cdf(points) => points.iter().all(|&(value, _)| value < 1e-9),
    }
}

#[cfg(test)]
mod tests;
