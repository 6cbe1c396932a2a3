//! [`PacketSample`]: where each packet in the network is.

use super::event_loop::Engine;
use super::observer::{Observer, PacketId};
use crate::network::{FlowSpec, Network};
use exm_link::Packet;
use exm_units::{Instant, Span};

/// A packet in the network, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketSample {
    /// The number of its sender, or of the sender that it acknowledges.
    pub flow: usize,
    /// The packet, as in events.
    pub packet: PacketId,
    /// Where it is.
    pub whereabouts: Whereabouts,
}

/// Where a packet is.
///
/// While a packet propagates, `(now - left_at) / (arrives_at - left_at)` is the fraction of its way that it
/// has covered. `arrives_at` is exact: it includes jitter and reordering, and the time until packets that it
/// may not overtake have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Whereabouts {
    /// It waits in the queue of a link.
    Waiting {
        /// The link's number.
        link: usize,
        /// How many packets would leave the queue before it if no more arrived and none were dropped.
        place: usize,
    },
    /// A link transmits it. A packet that a link of fixed rate will lose at random counts as lost from the
    /// start of its transmission, and is not reported.
    Transmitting {
        /// The link's number.
        link: usize,
        /// When its last byte leaves.
        ends_at: Instant,
    },
    /// It propagates to the next link.
    Propagating {
        /// The number of the link that it left.
        link: usize,
        /// When its last byte left that link.
        left_at: Instant,
        /// When it arrives at the next one.
        arrives_at: Instant,
    },
    /// It has left the last link of its path, and propagates to its receiver.
    ///
    /// If no links lead back, a packet's arrival and its ACK's are one event, at `arrives_at`: the
    /// simulator does not distinguish the ways there and back. To draw both, let the packet reach the receiver
    /// at `arrives_at - back`, and its ACK propagate from then on. With that, both ways take equally long, if
    /// [`FlowSpec::extra_delay`] suffices for it.
    Arriving {
        /// The number of the link that it left.
        link: usize,
        /// When its last byte left that link.
        left_at: Instant,
        /// When it arrives: [`EventKind::Delivered`](super::EventKind::Delivered).
        arrives_at: Instant,
        /// The part of the time from `left_at` to `arrives_at` to be drawn as the ACK's way back: half of
        /// the propagation delay of the flow's path, but at most its extra delay; zero if links lead back.
        back: Span,
    },
    /// It is an ACK that has left the last link of the return path, and propagates to its sender.
    Returning {
        /// The number of the link that it left.
        link: usize,
        /// When its last byte left that link.
        left_at: Instant,
        /// When it arrives at the sender.
        arrives_at: Instant,
    },
}

impl<O: Observer> Engine<O, true> {
    /// All packets in the network: by link, those in its queue, in transmission and on the way to another link;
    /// then, by flow, those past their last links.
    pub(super) fn packets(&self, network: &Network) -> Vec<PacketSample> {
        let mut samples = Vec::new();
        let mut add = |packet: &Packet, whereabouts| {
            let (flow, packet) = (packet.flow as usize, self.identify(packet));
            samples.push(PacketSample { flow, packet, whereabouts });
        };
        for (link, transmitter) in self.links.iter().enumerate() {
            let mut place = 0;
            transmitter.queue().visit_waiting(&mut |packet| {
                add(packet, Whereabouts::Waiting { link, place });
                place += 1;
            });
            if let Some((packet, ends_at)) = transmitter.partly_carried() {
                add(packet, Whereabouts::Transmitting { link, ends_at });
            }
            for (packet, left_at) in transmitter.wire.iter() {
                let arrives_at = packet.at;
                let propagating = Whereabouts::Propagating { link, left_at, arrives_at };
                add(packet, self.unless_transmitting(link, left_at, propagating));
            }
        }
        for (host, spec) in self.hosts.iter().zip(network.flows()) {
            let most_back = way_back(network, spec);
            for (packet, left_at) in host.arriving.iter() {
                let (link, arrives_at) = (self.link_before(packet), packet.at);
                let back = most_back.min(arrives_at - left_at);
                let arriving = Whereabouts::Arriving { link, left_at, arrives_at, back };
                add(packet, self.unless_transmitting(link, left_at, arriving));
            }
            for (packet, left_at) in host.acks_arriving.iter() {
                let (link, arrives_at) = (self.link_before(packet), packet.at);
                let returning = Whereabouts::Returning { link, left_at, arrives_at };
                add(packet, self.unless_transmitting(link, left_at, returning));
            }
        }
        samples
    }

    /// `then` if the packet has left `link`: a link of fixed rate hands packets on when it takes them from
    /// its queue.
    fn unless_transmitting(&self, link: usize, left_at: Instant, then: Whereabouts) -> Whereabouts {
        if left_at > self.now {
            return Whereabouts::Transmitting { link, ends_at: left_at };
        }
        then
    }

    /// The link that `packet` was handed on by.
    fn link_before(&self, packet: &Packet) -> usize {
        self.hops[packet.tag as usize - 1] as usize
    }
}

/// The part of the extra delay of `flow` that is drawn as the way back, if no links lead back.
fn way_back(network: &Network, flow: &FlowSpec) -> Span {
    if !flow.back.is_empty() {
        return Span::ZERO;
    }
    let there: Span = flow.path.iter().map(|&link| network.links()[link].delay).sum();
    flow.extra_delay.min((there + flow.extra_delay) / 2)
}
