//! [`Network`]: links, the flows that cross them, and for how long.

use crate::controllers::AnyController;
use crate::traffic::{OnFor, OnOff, Traffic};
use exm_link::{Limit, QueueKind, Service};
use exm_random::Distribution;
use exm_units::{Bytes, Probability, Span};

/// The most senders a network may have.
pub const MAX_FLOWS: usize = 100_000;
/// The most links.
pub const MAX_LINKS: usize = 100_000;
/// The most links on one path.
pub const MAX_HOPS: usize = 64;
/// The largest packet: well above IP's 65 535 bytes, well below what overflows.
pub const MAX_PACKET: Bytes = Bytes::new(1_000_000);
/// The longest simulation and the longest delay: 31 years, a ninth of what 64 bits hold.
pub const MAX_TIME: Span = Span::from_secs(1_000_000_000);

/// A one-way link from one node to another.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// Its name, in reports and errors.
    pub name: String,
    /// The nodes it leaves from and leads to, by number.
    pub ends: (usize, usize),
    /// How fast it transmits.
    pub service: Service,
    /// The discipline of the queue before it.
    pub queue: QueueKind,
    /// How much may wait there.
    pub buffer: Limit,
    /// Its propagation delay, one way.
    pub delay: Span,
    /// The chance that a packet it has transmitted is lost.
    pub loss: Probability,
}

impl LinkSpec {
    /// A link of `service` called "bottleneck" from node 0 to node 1, at which as much as `buffer`
    /// may wait in a drop-tail queue; it neither delays nor loses.
    pub fn bottleneck(service: Service, buffer: Limit) -> LinkSpec {
        LinkSpec {
            name: "bottleneck".to_owned(),
            ends: (0, 1),
            service,
            queue: QueueKind::default(),
            buffer,
            delay: Span::ZERO,
            loss: Probability::ZERO,
        }
    }
}

/// A sender, its path and its receiver.
///
/// Acknowledgements take no time of their own: the round-trip time of a packet that finds every
/// queue empty is the delay of each link and the time of transmission on each, and `extra_delay`.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Its name, in reports and errors; several flows may share one.
    pub name: String,
    /// The links it crosses, by number, in order.
    pub path: Vec<usize>,
    /// Delay between the last link and the receiver.
    pub extra_delay: Span,
    /// The size of its packets.
    pub packet_size: Bytes,
    /// What runs its sender.
    pub controller: AnyController,
    /// When it has something to send.
    pub traffic: Traffic,
    /// How its sender repairs what is lost.
    pub transport: Transport,
}

/// How a sender repairs what is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transport {
    /// Not at all: what RemyCCs are trained on. A lost packet is only a gap in the numbers.
    Bare {
        /// Whether the sender keeps a timer, and goes on when nothing comes back.
        timer: bool,
    },
    /// As TCP does. Of each packet [`TCP_HEADER`] is headers, and only what arrives in order counts
    /// as delivered.
    Tcp(exm_tcp::Settings),
}

/// The headers of a TCP segment: 20 bytes of IPv4, 20 of TCP and 12 of timestamps (RFC 7323).
pub const TCP_HEADER: Bytes = Bytes::new(52);

impl Transport {
    /// How much of a packet of `size` is its user's.
    pub fn payload(&self, size: Bytes) -> Bytes {
        match self {
            Transport::Bare { .. } => size,
            Transport::Tcp(_) => Bytes::new(size.get().saturating_sub(TCP_HEADER.get())),
        }
    }
}

/// A network that can be simulated: every number in it has been checked.
#[derive(Clone, Debug)]
pub struct Network {
    links: Vec<LinkSpec>,
    flows: Vec<FlowSpec>,
    duration: Span,
}

/// Why links and flows do not make a network. Links and flows are given by number.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NetworkError {
    /// Nothing would happen.
    #[error("there are no senders: give at least one")]
    NoFlows,
    /// More than [`MAX_FLOWS`].
    #[error("{0} senders are too many: give at most {MAX_FLOWS}")]
    TooManyFlows(usize),
    /// More than [`MAX_LINKS`].
    #[error("{0} links are too many: give at most {MAX_LINKS}")]
    TooManyLinks(usize),
    /// No time, or more than [`MAX_TIME`].
    #[error("a duration of {0} cannot be simulated: give one between 1 ns and {MAX_TIME}")]
    BadDuration(Span),
    /// A link that carries nothing.
    #[error("a rate of zero carries nothing: give a rate such as \"15 Mbps\"")]
    ZeroRate {
        /// The link.
        link: usize,
    },
    /// A queue that lets nothing through.
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
    /// A delay longer than [`MAX_TIME`].
    #[error("a delay of {delay} is too long: give at most {MAX_TIME}")]
    LinkDelay {
        /// The link.
        link: usize,
        /// Its delay.
        delay: Span,
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
    /// A path over a link that is not there.
    #[error("the path names link {link}, but there are only {links}")]
    NoSuchLink {
        /// The flow.
        flow: usize,
        /// What its path names.
        link: usize,
        /// How many there are.
        links: usize,
    },
    /// A path that jumps.
    #[error(
        "the path is broken: link \"{before}\" does not lead to where link \"{after}\" leaves \
         from; correct the path, or the links' \"from\" and \"to\""
    )]
    BrokenPath {
        /// The flow.
        flow: usize,
        /// The link before the jump.
        before: String,
        /// The link after it.
        after: String,
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
    /// Packets of no size, or larger than [`MAX_PACKET`].
    #[error("packets of {size} cannot be sent: give a size between 1 B and {MAX_PACKET}")]
    PacketSize {
        /// The flow.
        flow: usize,
        /// The size.
        size: Bytes,
    },
    /// Packets that their headers fill.
    #[error(
        "packets of {size} have no room beside TCP's headers of {TCP_HEADER}: make them larger"
    )]
    NoPayload {
        /// The flow.
        flow: usize,
        /// The size.
        size: Bytes,
    },
    /// A distribution of impossible numbers.
    #[error("the {what} time or amount is drawn from impossible numbers: {problem}")]
    BadTraffic {
        /// The flow.
        flow: usize,
        /// "on" or "off".
        what: &'static str,
        /// What is wrong.
        problem: &'static str,
    },
    /// A sender that would switch without end at one instant.
    #[error("a sender on and off for no time at all never gets further: lengthen one of them")]
    NoTimePasses {
        /// The flow.
        flow: usize,
    },
}

impl Network {
    /// A network of `links` crossed by `flows`, to be simulated for `duration`.
    ///
    /// # Errors
    /// [`NetworkError`] where a number or a path is impossible.
    pub fn new(
        links: Vec<LinkSpec>,
        flows: Vec<FlowSpec>,
        duration: Span,
    ) -> Result<Network, NetworkError> {
        let network = Network { links, flows, duration };
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
        if self.duration.is_zero() || self.duration > MAX_TIME {
            return Err(NetworkError::BadDuration(self.duration));
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
        let (path, links) = (&spec.path, self.links.len());
        if path.is_empty() {
            return Err(NetworkError::EmptyPath { flow });
        }
        if path.len() > MAX_HOPS {
            return Err(NetworkError::LongPath { flow, hops: path.len() });
        }
        if let Some(&link) = path.iter().find(|&&link| link >= links) {
            return Err(NetworkError::NoSuchLink { flow, link, links });
        }
        for pair in path.windows(2) {
            let (before, after) = (&self.links[pair[0]], &self.links[pair[1]]);
            if before.ends.1 != after.ends.0 {
                let (before, after) = (before.name.clone(), after.name.clone());
                return Err(NetworkError::BrokenPath { flow, before, after });
            }
        }
        if let Some(i) = (1..path.len()).find(|&i| path[..i].contains(&path[i])) {
            return Err(NetworkError::Loop { flow, link: self.links[path[i]].name.clone() });
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
            if let limit @ Limit::Bytes(room) = self.links[link].buffer
                && room < size
            {
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
    if let limit @ Limit::Packets(room) = spec.buffer
        && room.get() == 0
    {
        return Err(NetworkError::NoBuffer { link, limit, packet: Bytes::new(1) });
    }
    if spec.delay > MAX_TIME {
        return Err(NetworkError::LinkDelay { link, delay: spec.delay });
    }
    Ok(())
}

fn check_traffic(flow: usize, traffic: &Traffic) -> Result<(), NetworkError> {
    let bad = |what| move |problem| NetworkError::BadTraffic { flow, what, problem };
    let takes_time = match traffic.on() {
        OnFor::Ever => true,
        OnFor::Time(span) => {
            check_distribution(span).map_err(bad("on"))?;
            !is_always_zero(span)
        }
        OnFor::Packets(count) | OnFor::Bytes(count) => {
            check_distribution(count).map_err(bad("on"))?;
            true
        }
    };
    let passes = match traffic {
        Traffic::OnOff(OnOff { on: OnFor::Ever, .. }) => true,
        Traffic::OnOff(OnOff { off, .. }) => {
            check_distribution(off).map_err(bad("off"))?;
            takes_time || !is_always_zero(off)
        }
        Traffic::Every { period, .. } => takes_time && !period.is_zero(),
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

/// What makes numbers impossible to draw as times or amounts, if anything.
fn check_distribution(distribution: &Distribution) -> Result<(), &'static str> {
    let sound = |value: &f64| (0.0..1e18).contains(value);
    match distribution {
        Distribution::Fixed(value) | Distribution::Exponential { mean: value } => {
            sound(value).then_some(()).ok_or("the value must be a number from 0 to 1e18")
        }
        Distribution::Uniform { low, high } => (sound(low) && sound(high) && low <= high)
            .then_some(())
            .ok_or("the ends must be numbers from 0 to 1e18, the lower first"),
        Distribution::Pareto { scale, shape, shift, cap } => {
            let numbers = sound(scale) && sound(cap) && shift.is_finite();
            let shaped = *scale > 0.0 && *shape > 0.0 && shape.is_finite();
            (numbers && shaped)
                .then_some(())
                .ok_or("xm and alpha must be above zero, the cap at most 1e18")
        }
        Distribution::Empirical(values) => (!values.is_empty() && values.iter().all(sound))
            .then_some(())
            .ok_or("there must be at least one value, all from 0 to 1e18"),
    }
}

fn is_always_zero(distribution: &Distribution) -> bool {
    match distribution {
        Distribution::Fixed(value) | Distribution::Exponential { mean: value } => *value < 1e-9,
        Distribution::Uniform { high, .. } => *high < 1e-9,
        Distribution::Pareto { cap, .. } => *cap < 1e-9,
        Distribution::Empirical(values) => values.iter().all(|value| *value < 1e-9),
    }
}

#[cfg(test)]
mod tests;
