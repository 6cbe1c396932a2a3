//! [`Specimen`]: one network drawn from a model, and the random seed of its traffic and losses.

mod draw;

pub(crate) use draw::strata;

use crate::objective::Path;
use exm_link::{Aggregation, BlockErrors, Limit, QueueKind, Reordering, Service};
use exm_random::Distribution;
use exm_sim::dumbbell::Dumbbell;
use exm_sim::network::{FlowSpec, LinkSpec, Network, NetworkError, Transport};
use exm_sim::traffic::Traffic;
use exm_trace::Trace;
use exm_units::{Bytes, Packets, Probability, Rate, Span};
use std::sync::Arc;

/// How many quantities of a link are drawn: rate, round trip, buffer, loss, jitter, the probability of
/// reordering and its delay, medium access, block errors and their steps.
pub(crate) const LINK_AXES: usize = 10;

/// A network for evaluating tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Specimen {
    /// The network.
    pub network: Layout,
    /// The random seed of its traffic and losses: the same for every candidate.
    pub seed: u64,
}

/// A network and its senders, without their controllers.
#[derive(Clone, Debug, PartialEq)]
pub enum Layout {
    /// One link, and senders of one kind that all run the designed table: the fast path simulates
    /// it.
    Dumbbell {
        /// The class of all senders.
        class: usize,
        /// The link and the senders.
        network: Dumbbell,
    },
    /// Anything else, for the event engine.
    Mixed(Mixed),
}

/// The properties of a network at its slowest link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bottleneck {
    /// The link's rate.
    pub rate: Rate,
    /// How many packets may wait; none for no limit.
    pub buffer: Option<Packets>,
    /// The probability of loss on it.
    pub loss: Probability,
    /// The round-trip propagation delay of a sender that crosses it.
    pub rtt: Span,
}

/// Links between nodes, and senders of several kinds.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixed {
    /// The links.
    pub links: Vec<DrawnLink>,
    /// The senders, those of the first class first.
    pub senders: Vec<DrawnSender>,
    /// The size of every packet.
    pub packet: Bytes,
    /// How much time to simulate.
    pub duration: Span,
}

/// A link of a [`Mixed`] network.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnLink {
    /// The nodes where it starts and ends.
    pub ends: (usize, usize),
    /// Its rate; for a trace, the mean over the simulated time.
    pub rate: Rate,
    /// The trace that it follows; `None` for a fixed rate.
    pub trace: Option<Arc<Trace>>,
    /// Its propagation delay, one way.
    pub delay: Span,
    /// How many packets may wait; none for no limit.
    pub buffer: Option<Packets>,
    /// The probability that a packet is lost after it.
    pub loss: Probability,
    /// Its queue.
    pub queue: QueueKind,
    /// The mean of the additional, exponentially distributed delay of each packet.
    pub jitter: Span,
    /// Which packets are delayed further, so that others overtake them.
    pub reordering: Reordering,
    /// The mean time of medium access before each frame, exponentially distributed; zero without frames.
    pub access: Span,
    /// Which blocks fail, if any.
    pub block_errors: Option<BlockErrors>,
}

/// A sender of a [`Mixed`] network.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnSender {
    /// Its class, by number.
    pub class: usize,
    /// The links that it crosses.
    pub path: Vec<usize>,
    /// The links that its ACKs cross; empty if they return without queueing.
    pub back: Vec<usize>,
    /// Its round-trip propagation delay.
    pub rtt: Span,
    /// When it has something to send.
    pub traffic: Traffic,
}

impl Layout {
    /// How many senders there are.
    pub fn senders(&self) -> usize {
        match self {
            Layout::Dumbbell { network, .. } => network.delays.len(),
            Layout::Mixed(mixed) => mixed.senders.len(),
        }
    }

    /// The class of sender number `sender`: its number in [`Model::classes`](crate::Model::classes).
    pub fn class_of(&self, sender: usize) -> usize {
        self.path_of(sender).0
    }

    /// The class of sender number `sender`, and the path that it crosses.
    pub(crate) fn path_of(&self, sender: usize) -> (usize, Path) {
        match self {
            Layout::Dumbbell { class, network } => {
                (*class, Path::of(network, &network.delays[sender]))
            }
            Layout::Mixed(mixed) => {
                let sender = &mixed.senders[sender];
                (sender.class, mixed.path(sender))
            }
        }
    }

    /// How much time is simulated.
    pub fn duration(&self) -> Span {
        match self {
            Layout::Dumbbell { network, .. } => network.duration,
            Layout::Mixed(mixed) => mixed.duration,
        }
    }

    /// Simulates it for `duration` instead.
    pub fn set_duration(&mut self, duration: Span) {
        *self.duration_mut() = duration;
    }

    pub(crate) fn duration_mut(&mut self) -> &mut Span {
        match self {
            Layout::Dumbbell { network, .. } => &mut network.duration,
            Layout::Mixed(mixed) => &mut mixed.duration,
        }
    }

    /// The dumbbell that it is, if it is one.
    pub fn as_dumbbell(&self) -> Option<&Dumbbell> {
        match self {
            Layout::Dumbbell { network, .. } => Some(network),
            Layout::Mixed(_) => None,
        }
    }

    /// The slowest link on the path of the first sender; in a network without senders, the first link.
    pub fn bottleneck(&self) -> Bottleneck {
        match self {
            Layout::Dumbbell { network: Dumbbell { rate, buffer, loss, delays, .. }, .. } => {
                let rtt = delays.first().copied().unwrap_or(Span::ZERO);
                Bottleneck { rate: *rate, buffer: *buffer, loss: *loss, rtt }
            }
            Layout::Mixed(mixed) => {
                let first = mixed.senders.first();
                let link = &mixed.links[first.map_or(0, |sender| mixed.slowest(sender))];
                let rtt = first.map_or(Span::ZERO, |sender| sender.rtt);
                Bottleneck { rate: link.rate, buffer: link.buffer, loss: link.loss, rtt }
            }
        }
    }

    /// The same for the event engine: `transport` returns the transport of a class of senders.
    ///
    /// # Errors
    /// [`NetworkError`] where the engine refuses it.
    pub fn network(&self, transport: impl Fn(usize) -> Transport) -> Result<Network, NetworkError> {
        match self {
            Layout::Dumbbell { class, network } => Mixed::of(network, *class).network(transport),
            Layout::Mixed(mixed) => mixed.network(transport),
        }
    }
}

impl Layout {
    /// The same, its classes counted from `first` on.
    fn with_classes_from(mut self, first: usize) -> Layout {
        match &mut self {
            Layout::Dumbbell { class, .. } => *class += first,
            Layout::Mixed(mixed) => {
                mixed.senders.iter_mut().for_each(|sender| sender.class += first);
            }
        }
        self
    }
}

impl Mixed {
    /// For the event engine, with senders of `class`.
    pub(crate) fn of(dumbbell: &Dumbbell, class: usize) -> Mixed {
        let link = DrawnLink {
            ends: (0, 1),
            rate: dumbbell.rate,
            trace: None,
            delay: Span::ZERO,
            buffer: dumbbell.buffer,
            loss: dumbbell.loss,
            queue: QueueKind::default(),
            jitter: Span::ZERO,
            reordering: LinkSpec::NO_REORDERING,
            access: Span::ZERO,
            block_errors: None,
        };
        let sender = |&rtt| DrawnSender {
            class,
            path: vec![0],
            back: Vec::new(),
            rtt,
            traffic: dumbbell.traffic.clone().into(),
        };
        Mixed {
            links: vec![link],
            senders: dumbbell.delays.iter().map(sender).collect(),
            packet: dumbbell.packet,
            duration: dumbbell.duration,
        }
    }

    fn network(&self, transport: impl Fn(usize) -> Transport) -> Result<Network, NetworkError> {
        let links = self.links.iter().map(|link| {
            let limit = link.buffer.map_or(Limit::Unlimited, Limit::Packets);
            let service = match &link.trace {
                None => Service::Fixed(link.rate),
                Some(trace) => Service::Trace(Arc::clone(trace)),
            };
            let jitter = match link.jitter {
                Span::ZERO => LinkSpec::NO_JITTER,
                mean => Distribution::Exponential { mean: mean.as_secs_f64() },
            };
            let aggregation = (!link.access.is_zero()).then(|| {
                let mean = link.access.as_secs_f64();
                Aggregation::default().access(Distribution::Exponential { mean })
            });
            let spec = LinkSpec::bottleneck(service, limit)
                .ends(link.ends.0, link.ends.1)
                .delay(link.delay)
                .loss(link.loss)
                .queue(link.queue.clone())
                .jitter(jitter)
                .reordering(link.reordering);
            let spec = aggregation.map_or(spec.clone(), |frames| spec.aggregation(frames));
            link.block_errors.map_or(spec.clone(), |errors| spec.block_errors(errors))
        });
        let flows = self.senders.iter().map(|sender| {
            let links = sender.path.iter().chain(&sender.back);
            let crossing: Span = links.map(|&link| self.links[link].delay).sum();
            FlowSpec::new(transport(sender.class))
                .name("sender")
                .path(sender.path.clone())
                .back(sender.back.clone())
                .extra_delay(sender.rtt.saturating_sub(crossing))
                .packet_size(self.packet)
                .traffic(sender.traffic.clone())
        });
        Network::new(links.collect(), flows.collect(), self.duration)
    }

    /// The slowest link that `sender` crosses, the first of equals.
    pub(crate) fn slowest(&self, sender: &DrawnSender) -> usize {
        let links = sender.path.iter().copied();
        links.min_by_key(|&link| self.links[link].rate).expect("a path has a link")
    }

    pub(crate) fn path(&self, sender: &DrawnSender) -> Path {
        let service = |&link: &usize| self.links[link].rate.service_time(self.packet);
        Path {
            packets_per_ms: self.links[self.slowest(sender)].rate.as_packets_per_ms(self.packet),
            delay_ms: sender.rtt.as_millis_f64(),
            service_ms: sender.path.iter().map(service).sum::<Span>().as_millis_f64(),
            duration: self.duration,
        }
    }
}

#[cfg(test)]
impl Specimen {
    /// Its network, which is a dumbbell.
    pub(crate) fn dumbbell(&self) -> &Dumbbell {
        self.network.as_dumbbell().expect("it is a dumbbell")
    }

    /// The same for the event engine.
    pub(crate) fn mixed(self) -> Mixed {
        match self.network {
            Layout::Dumbbell { class, network } => Mixed::of(&network, class),
            Layout::Mixed(mixed) => mixed,
        }
    }
}

#[cfg(test)]
mod tests;
