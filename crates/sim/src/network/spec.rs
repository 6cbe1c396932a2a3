//! What a network is built of: [`LinkSpec`], [`FlowSpec`] and its [`Transport`].

use super::Host;
use crate::controllers::AnyController;
use crate::traffic::{OnOff, Traffic};
use exm_link::{Aggregation, BlockErrors, Limit, QueueKind, Reordering, Service, Thinning, Timing};
use exm_random::Distribution;
use exm_tcp::Recovery;
use exm_units::{Bytes, Probability, Rate, Span};

/// A one-way link from one node to another.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LinkSpec {
    /// Its name, in reports and errors.
    pub name: String,
    /// The numbers of the nodes that it leads from and to.
    pub ends: (usize, usize),
    /// Its rate or trace.
    pub service: Service,
    /// Its queue discipline.
    pub queue: QueueKind,
    /// Its buffer: the queue limit.
    pub buffer: Limit,
    /// Its propagation delay, one way.
    pub delay: Span,
    /// The probability that a packet is lost: on a link of fixed rate after transmission, as in Remy's
    /// networks; on one with a trace before the queue, as in Cellsim.
    pub loss: Probability,
    /// The jitter: the additional propagation delay of each packet, in seconds, at most [`MAX_VARIATION`](super::MAX_VARIATION).
    /// Packets keep their order: one that would arrive before another sent earlier arrives with it.
    pub jitter: Distribution,
    /// Which packets are held back beyond that, so that others overtake them.
    pub reordering: Reordering,
    /// How it aggregates packets into frames, if it does; only with a fixed rate.
    pub aggregation: Option<Aggregation>,
    /// Which of its blocks fail and arrive later, if any, with all packets behind them.
    pub block_errors: Option<BlockErrors>,
    /// How its rate, its delay and its loss change by the clock, if they do; the rate only if it is fixed.
    pub timing: Option<Timing>,
    /// Which of the ACKs that wait there are left out, if any: those of bare and of TCP hosts; only with a fixed rate.
    pub thinning: Option<Thinning>,
}

impl LinkSpec {
    /// The jitter of a link that has none.
    pub const NO_JITTER: Distribution = Distribution::Fixed(0.0);
    /// The reordering of a link that keeps packets in order.
    pub const NO_REORDERING: Reordering =
        Reordering { probability: Probability::ZERO, extra: Reordering::DEFAULT_EXTRA };

    /// Whether every packet has the same propagation delay.
    pub fn has_constant_delay(&self) -> bool {
        self.jitter == LinkSpec::NO_JITTER
            && self.reordering.probability == Probability::ZERO
            && self.block_errors.is_none()
            && self.timing.is_none()
    }

    /// Whether the end of a packet's transmission may be known when it arrives.
    pub(crate) fn may_look_ahead(&self) -> bool {
        self.aggregation.is_none() && self.timing.is_none() && self.thinning.is_none()
    }

    /// A link of `service` called "bottleneck" from node 0 to node 1, with an unlimited drop-tail queue,
    /// without delay, jitter, reordering, loss or frames.
    ///
    /// ```
    /// use exm_link::{Limit, Service};
    /// use exm_sim::network::LinkSpec;
    /// use exm_units::{Packets, Rate, Span};
    ///
    /// let link = LinkSpec::new(Service::Fixed(Rate::from_mbps(20.0)))
    ///     .buffer(Limit::Packets(Packets::new(200)))
    ///     .delay(Span::from_millis(10));
    /// assert!(link.has_constant_delay());
    /// ```
    pub fn new(service: Service) -> LinkSpec {
        LinkSpec {
            name: "bottleneck".to_owned(),
            ends: (0, 1),
            service,
            queue: QueueKind::default(),
            buffer: Limit::Unlimited,
            delay: Span::ZERO,
            loss: Probability::ZERO,
            jitter: LinkSpec::NO_JITTER,
            reordering: LinkSpec::NO_REORDERING,
            aggregation: None,
            block_errors: None,
            timing: None,
            thinning: None,
        }
    }

    /// As [`LinkSpec::new`], with a queue limited to `buffer`.
    pub fn bottleneck(service: Service, buffer: Limit) -> LinkSpec {
        LinkSpec::new(service).buffer(buffer)
    }

    /// Sets its name.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> LinkSpec {
        LinkSpec { name: name.into(), ..self }
    }

    /// Sets the nodes that it leads from and to.
    #[must_use]
    pub fn ends(self, from: usize, to: usize) -> LinkSpec {
        LinkSpec { ends: (from, to), ..self }
    }

    /// Sets its rate or trace.
    #[must_use]
    pub fn service(self, service: Service) -> LinkSpec {
        LinkSpec { service, ..self }
    }

    /// Sets its queue discipline.
    #[must_use]
    pub fn queue(self, queue: QueueKind) -> LinkSpec {
        LinkSpec { queue, ..self }
    }

    /// Sets its buffer.
    #[must_use]
    pub fn buffer(self, buffer: Limit) -> LinkSpec {
        LinkSpec { buffer, ..self }
    }

    /// Sets its propagation delay, one way.
    #[must_use]
    pub fn delay(self, delay: Span) -> LinkSpec {
        LinkSpec { delay, ..self }
    }

    /// Sets the probability that a packet is lost at random.
    #[must_use]
    pub fn loss(self, loss: Probability) -> LinkSpec {
        LinkSpec { loss, ..self }
    }

    /// Sets the jitter: the additional propagation delay of each packet, in seconds.
    #[must_use]
    pub fn jitter(self, jitter: Distribution) -> LinkSpec {
        LinkSpec { jitter, ..self }
    }

    /// Sets which packets are held back, so that others overtake them.
    #[must_use]
    pub fn reordering(self, reordering: Reordering) -> LinkSpec {
        LinkSpec { reordering, ..self }
    }

    /// Lets it transmit packets in frames, as Wi-Fi does.
    #[must_use]
    pub fn aggregation(self, aggregation: Aggregation) -> LinkSpec {
        LinkSpec { aggregation: Some(aggregation), ..self }
    }

    /// Lets blocks fail and arrive later, with all packets behind them, as on cellular links.
    #[must_use]
    pub fn block_errors(self, block_errors: BlockErrors) -> LinkSpec {
        LinkSpec { block_errors: Some(block_errors), ..self }
    }

    /// Lets its rate, its delay and its loss change by the clock.
    #[must_use]
    pub fn timing(self, timing: Timing) -> LinkSpec {
        LinkSpec { timing: Some(timing), ..self }
    }

    /// Lets it leave out some of the ACKs that wait there.
    #[must_use]
    pub fn thinning(self, thinning: Thinning) -> LinkSpec {
        LinkSpec { thinning: Some(thinning), ..self }
    }

    /// The keys, in a scenario's file, of what only some links do and this one does.
    pub fn effects(&self) -> impl Iterator<Item = &'static str> {
        let timing = self.timing.as_ref().map(|timing| match timing {
            Timing::Slots(_) => "slots",
            _ => "schedule",
        });
        let aggregation = self.aggregation.as_ref().map(|_| "aggregation");
        let block_errors = self.block_errors.map(|_| "block_errors");
        let thinning = self.thinning.map(|_| "thin_acks");
        [aggregation, block_errors, timing, thinning].into_iter().flatten()
    }
}

/// A sender, its path and its receiver.
///
/// The RTT of a packet that finds every queue empty is the sum of the delay of each link both ways, the
/// transmission time on each, and `extra_delay`. If no links lead back, ACKs take no time of their own.
#[derive(Clone, Debug)]
#[non_exhaustive]
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
    /// Whether its receiver always has data to send as well, in the same session. Only Sprout's does so, and it takes
    /// links that lead back.
    pub duplex: bool,
    /// How long ahead its receiver knows the first link, which follows a trace: forecasts for that time are what the
    /// trace delivers. An oracle, to measure what foresight is worth; only Sprout's, and a multiple of its ticks of 20 ms.
    pub foresight: Option<Span>,
}

impl FlowSpec {
    /// A sender of `transport` called "flow" that is always on, with packets of 1500 bytes over link 0,
    /// without further delay.
    ///
    /// ```
    /// use exm_cc::Cubic;
    /// use exm_sim::network::{FlowSpec, Host};
    /// use exm_units::Span;
    ///
    /// let flow = FlowSpec::new(Host::Tcp.transport(Cubic::new().into()))
    ///     .path([0, 1])
    ///     .extra_delay(Span::from_millis(50));
    /// assert_eq!(flow.packet_size.get(), 1500);
    /// ```
    pub fn new(transport: Transport) -> FlowSpec {
        FlowSpec {
            name: "flow".to_owned(),
            path: vec![0],
            back: Vec::new(),
            extra_delay: Span::ZERO,
            packet_size: Bytes::PACKET,
            traffic: OnOff::always().into(),
            transport,
            duplex: false,
            foresight: None,
        }
    }

    /// Sets its name.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> FlowSpec {
        FlowSpec { name: name.into(), ..self }
    }

    /// Sets the links it crosses, by number, in order.
    #[must_use]
    pub fn path(self, links: impl Into<Vec<usize>>) -> FlowSpec {
        FlowSpec { path: links.into(), ..self }
    }

    /// Sets the links that its receiver's ACKs cross, by number, in order.
    #[must_use]
    pub fn back(self, links: impl Into<Vec<usize>>) -> FlowSpec {
        FlowSpec { back: links.into(), ..self }
    }

    /// Sets the delay after the last link: the whole round-trip propagation delay if its links have none.
    #[must_use]
    pub fn extra_delay(self, extra_delay: Span) -> FlowSpec {
        FlowSpec { extra_delay, ..self }
    }

    /// Sets the size of its packets.
    #[must_use]
    pub fn packet_size(self, packet_size: Bytes) -> FlowSpec {
        FlowSpec { packet_size, ..self }
    }

    /// Sets when it is on, and how much it sends.
    #[must_use]
    pub fn traffic(self, traffic: impl Into<Traffic>) -> FlowSpec {
        FlowSpec { traffic: traffic.into(), ..self }
    }

    /// Sets its transport.
    #[must_use]
    pub fn transport(self, transport: Transport) -> FlowSpec {
        FlowSpec { transport, ..self }
    }

    /// Sets whether its receiver always has data to send as well.
    #[must_use]
    pub fn duplex(self, duplex: bool) -> FlowSpec {
        FlowSpec { duplex, ..self }
    }

    /// Sets how long ahead its receiver knows the first link.
    #[must_use]
    pub fn foresight(self, foresight: Span) -> FlowSpec {
        FlowSpec { foresight: Some(foresight), ..self }
    }

    /// Its round-trip propagation delay: that of the `links` that it crosses, both ways, and its own.
    ///
    /// # Panics
    /// If it crosses a link that is not there.
    pub fn propagation(&self, links: &[LinkSpec]) -> Span {
        let delays = self.path.iter().chain(&self.back).map(|&link| links[link].delay);
        delays.fold(self.extra_delay, Span::saturating_add)
    }
}

/// A sender's transport.
#[derive(Clone, Debug)]
#[non_exhaustive]
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

    /// The controller, if there is one, mutably.
    pub fn controller_mut(&mut self) -> Option<&mut AnyController> {
        match self {
            Transport::Bare { controller, .. } | Transport::Tcp { controller, .. } => {
                Some(controller)
            }
            Transport::Sprout(_) => None,
        }
    }

    /// The part of `rate`, of packets of `size`, that is payload: goodput.
    pub fn goodput(&self, rate: Rate, size: Bytes) -> Rate {
        let bits = u128::from(rate.as_bps()) * u128::from(self.payload(size).get());
        let goodput = bits.checked_div(u128::from(size.get())).unwrap_or(0);
        Rate::from_bps(u64::try_from(goodput).unwrap_or(u64::MAX))
    }

    /// Its host, if it has a controller.
    pub fn host(&self) -> Option<Host> {
        match self {
            Transport::Bare { .. } => Some(Host::Bare),
            Transport::Tcp { settings, .. } if settings.recovery == Recovery::Quic => {
                Some(Host::Quic)
            }
            Transport::Tcp { .. } => Some(Host::Tcp),
            Transport::Sprout(_) => None,
        }
    }

    /// The name of its host: "tcp", "quic", "bare" or "sprout".
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
