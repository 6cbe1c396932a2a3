//! What happens at the links of an [`Engine`].

use super::agenda::{Due, Turn};
use super::event_loop::{Engine, RECEIVER, SENDER, take_first};
use super::observer::{EventKind, Observer};
use super::transmitter::ServiceState;
use exm_link::Packet;
use exm_units::Instant;

/// How a packet leaves a link.
#[derive(Clone, Copy)]
struct Departure {
    /// When its transmission ends.
    at: Instant,
    /// When it would have to leave to arrive at the same time without jitter and reordering.
    from: Instant,
    /// Whether others may overtake it.
    held_back: bool,
}

impl<O: Observer, const LIVE: bool> Engine<O, LIVE> {
    /// A transmission ends, and the next packet is taken.
    #[inline]
    pub(super) fn depart(&mut self, link: usize) {
        match self.links[link].work {
            ServiceState::Trace { .. } => return self.use_opportunity(link),
            ServiceState::Frames(_) => return self.use_medium(link),
            _ => self.serve(link),
        }
        self.report_link(link);
    }

    /// `link` takes the next packet, if any; the end of its transmission is known now.
    #[inline]
    fn serve(&mut self, link: usize) {
        let transmitter = &mut self.links[link];
        let mut served = transmitter.serve(self.now, &mut self.actions);
        let finish = served.as_ref().map(|packet| packet.at);
        self.agenda.set_link(link, transmitter.plan_transmission(finish));
        self.read_actions(link);
        if let Some(packet) = &mut served {
            self.transmit(link, packet, packet.at);
        }
    }

    /// `packet` has been transmitted at a fixed rate at `finish`. A packet transmitted after the end of
    /// the simulation is still in flight then.
    #[inline(always)]
    fn transmit(&mut self, link: usize, packet: &mut Packet, finish: Instant) {
        if finish < self.end {
            self.report_packet(finish, packet, |packet| EventKind::Transmitted { packet, link });
        }
        if finish < self.end && self.links[link].loses_transmitted(packet) {
            self.report_packet(finish, packet, |packet| EventKind::Lost { packet, link });
            return self.hosts[packet.flow as usize].count_loss(packet);
        }
        self.forward(link, packet, finish);
    }

    /// A trace carries packets.
    fn use_opportunity(&mut self, link: usize) {
        let mut departed = std::mem::take(&mut self.departed);
        let transmitter = &mut self.links[link];
        let next = transmitter.use_opportunity(self.now, &mut self.actions, &mut departed);
        self.agenda.set_link(link, transmitter.plan_transmission(next));
        self.read_actions(link);
        for mut packet in departed.drain(..) {
            let transmitted = |packet| EventKind::Transmitted { packet, link };
            self.report_packet(self.now, &packet, transmitted);
            self.forward(link, &mut packet, self.now);
        }
        self.departed = departed;
        self.report_link(link);
    }

    /// Medium access, or a frame, ends; in the first case the end of the frame that begins is known now.
    fn use_medium(&mut self, link: usize) {
        let mut departed = std::mem::take(&mut self.departed);
        let transmitter = &mut self.links[link];
        let next = transmitter.use_medium(self.now, &mut self.actions, &mut departed);
        self.agenda.set_link(link, transmitter.plan_transmission(next));
        self.read_actions(link);
        for mut packet in departed.drain(..) {
            let end = packet.at;
            self.transmit(link, &mut packet, end);
        }
        self.departed = departed;
        self.report_link(link);
    }

    /// `packet` leaves `link` at `at`, for the next link or its receiver.
    #[inline(always)]
    fn forward(&mut self, link: usize, packet: &mut Packet, at: Instant) {
        packet.tag += 1;
        if self.links[link].variation.is_some() {
            return self.vary(link, packet, at);
        }
        self.propagate::<false>(link, packet, Departure { at, from: at, held_back: false });
    }

    /// As [`Engine::forward`], on a link whose delay varies.
    #[cold]
    fn vary(&mut self, link: usize, packet: &mut Packet, at: Instant) {
        let transmitter = &mut self.links[link];
        let added = transmitter.added_delay(at);
        let variation = transmitter.variation.as_mut();
        let (from, held_back) =
            variation.map_or((at, false), |variation| variation.postpone(at, added));
        self.propagate::<true>(link, packet, Departure { at, from, held_back });
    }

    /// `packet` leaves `link`, and propagates. Only links with a `VARIED` delay postpone it or hold it back.
    #[inline(always)]
    fn propagate<const VARIED: bool>(
        &mut self,
        link: usize,
        packet: &mut Packet,
        departure: Departure,
    ) {
        let Departure { at, from, held_back } = departure;
        let flow = packet.flow as usize;
        let hop = self.hops[packet.tag as usize];
        let host = &mut self.hosts[flow];
        let plan = &mut host.plan;
        let (pipe, planned, delay, turn) = match hop {
            RECEIVER => (&mut host.arriving, &mut plan.arrival, host.last_delay, Turn::Arrival),
            SENDER => {
                (&mut host.acks_arriving, &mut plan.ack_arrival, host.back_delay, Turn::AckArrival)
            }
            _ => {
                let transmitter = &mut self.links[link];
                packet.at = from + transmitter.delay;
                if LIVE || VARIED {
                    transmitter.wire.insert::<LIVE>(*packet, at, held_back);
                } else {
                    transmitter.wire.append(packet);
                }
                return self.agenda.set_link(link, transmitter.first());
            }
        };
        packet.at = from + delay;
        let first = if LIVE || VARIED {
            pipe.insert::<LIVE>(*packet, at, held_back)
        } else {
            pipe.append(packet)
        };
        if let Some(arrival) = first {
            *planned = Due::new(arrival, turn);
            self.agenda.set_flow(flow, host.plan.first());
        }
    }

    /// A packet reaches the end of a link's propagation delay, where the next link begins.
    pub(super) fn leave_wire(&mut self, link: usize) {
        let transmitter = &mut self.links[link];
        let (mut packet, _) = take_first::<LIVE>(&mut transmitter.wire, Turn::Wire);
        self.agenda.set_link(link, transmitter.first());
        self.arrive(&mut packet);
    }

    /// `packet` arrives at the next link of its path.
    #[inline(always)]
    pub(super) fn arrive(&mut self, packet: &mut Packet) {
        let link = self.hops[packet.tag as usize] as usize;
        let transmitter = &mut self.links[link];
        if let ServiceState::Ahead(ahead) = &mut transmitter.work {
            transmitter.report.arrived += 1;
            return match ahead.take_in(self.now, packet) {
                Some(finish) => self.pass(link, packet, finish),
                None => self.turn_away(link, packet),
            };
        }
        self.enqueue(link, packet);
    }

    /// `packet` arrives at a link that does not look ahead.
    #[inline(never)]
    fn enqueue(&mut self, link: usize, packet: &Packet) {
        let transmitter = &mut self.links[link];
        if transmitter.loses(self.now) {
            self.report_packet(self.now, packet, |packet| EventKind::Lost { packet, link });
            return self.hosts[packet.flow as usize].count_loss(packet);
        }
        let free = transmitter.enqueue(self.now, *packet, &mut self.actions);
        if self.observer.wants_events() && !self.actions.drops(packet) {
            self.report_packet(self.now, packet, |packet| EventKind::Enqueued { packet, link });
        }
        if free {
            self.serve(link);
        } else {
            let transmitter = &mut self.links[link];
            if let Some(at) = transmitter.first_opportunity(self.now) {
                self.agenda.set_link(link, transmitter.plan_transmission(Some(at)));
            }
            self.read_actions(link);
        }
        self.report_link(link);
    }

    /// A link that looks ahead transmits `packet`, which arrives now, until `finish`.
    #[inline(always)]
    fn pass(&mut self, link: usize, packet: &mut Packet, finish: Instant) {
        self.report_packet(self.now, packet, |packet| EventKind::Enqueued { packet, link });
        self.events += u64::from(finish < self.end);
        self.transmit(link, packet, finish);
    }

    /// A link that looks ahead drops `packet`, which arrives now.
    #[cold]
    fn turn_away(&mut self, link: usize, packet: &Packet) {
        self.links[link].report.dropped += 1;
        self.report_packet(self.now, packet, |packet| EventKind::Dropped { packet, link });
        self.hosts[packet.flow as usize].count_drop(packet);
    }

    #[inline]
    pub(super) fn read_actions(&mut self, link: usize) {
        if !self.actions.is_empty() {
            self.count_actions(link);
        }
    }

    #[cold]
    fn count_actions(&mut self, link: usize) {
        let mut actions = std::mem::take(&mut self.actions);
        for packet in actions.take_dropped() {
            self.report_packet(self.now, &packet, |packet| EventKind::Dropped { packet, link });
            self.links[link].report.dropped += 1;
            self.hosts[packet.flow as usize].count_drop(&packet);
        }
        for packet in actions.take_marked() {
            self.report_packet(self.now, &packet, |packet| EventKind::Marked { packet, link });
            self.links[link].report.marked += 1;
        }
        self.actions = actions;
    }
}
