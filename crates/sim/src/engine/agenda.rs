//! [`Agenda`]: the queue of upcoming events.

use crate::network::EVENT_KINDS;
use exm_units::Instant;

/// The kinds of events, in the order in which they are processed at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// A link's transmission ends, or its trace offers an opportunity.
    Transmission,
    /// A packet reaches the end of a link's propagation delay, where the next link begins.
    Wire,
    /// A packet arrives at its receiver.
    Arrival,
    /// An ACK that crossed links arrives at its sender.
    AckArrival,
    /// A sender's timer expires.
    Timer,
    /// A sender switches on or off.
    Switch,
    /// A sender sends.
    Send,
    /// The observer takes its samples.
    Observer,
}

impl Turn {
    const ALL: [Turn; 8] = [
        Turn::Transmission,
        Turn::Wire,
        Turn::Arrival,
        Turn::AckArrival,
        Turn::Timer,
        Turn::Switch,
        Turn::Send,
        Turn::Observer,
    ];
}

/// When an event is due, and its kind. Events are ordered by time; at the same instant, by kind; of
/// the same kind, by the number of their source.
///
/// One number: the time in nanoseconds, above three bits for the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Due(u64);

impl Due {
    const TURN_BITS: u32 = 3;
    const LATEST: u64 = u64::MAX >> Due::TURN_BITS;

    /// Never.
    pub(super) const NEVER: Due = Due(u64::MAX);

    /// An event of kind `turn` at `time`; at [`Instant::MAX`], never. Times that need more than 61
    /// bits are cut to the largest, which is beyond the end of the longest simulation.
    #[inline]
    pub(super) const fn new(time: Instant, turn: Turn) -> Due {
        let time = time.as_nanos();
        let time = if time > Due::LATEST { Due::LATEST } else { time };
        Due(time << Due::TURN_BITS | turn as u64)
    }

    #[inline]
    pub(super) const fn time(self) -> Instant {
        Instant::from_nanos(self.0 >> Due::TURN_BITS)
    }

    /// Whether its time never comes.
    #[inline]
    pub(super) const fn is_never(self) -> bool {
        self.0 >> Due::TURN_BITS >= Due::LATEST
    }

    #[inline]
    pub(super) const fn turn(self) -> Turn {
        Turn::ALL[self.0 as usize % Turn::ALL.len()]
    }
}

const _: () = assert!(Turn::ALL.len() == 1 << Due::TURN_BITS);
const _: () = assert!(Turn::ALL.len() as u64 == EVENT_KINDS);

/// The next event of each flow and of each link, and the earliest of them all. The observer counts as the last of the
/// links.
#[derive(Clone, Debug)]
pub(super) struct Agenda {
    flows: Tournament<8>,
    links: Tournament<4>,
    /// How many bits of a key identify the source, and those bits.
    source_bits: u32,
    source_mask: u64,
    /// Events due at this time or later are beyond the end and never happen.
    latest: Due,
}

impl Agenda {
    /// An agenda of `flows` flows and `links` links, none of which has an event.
    pub(super) fn new(flows: usize, links: usize) -> Agenda {
        let source_bits = source_bits(flows.max(links));
        Agenda {
            flows: Tournament::new(flows),
            links: Tournament::new(links),
            source_bits,
            source_mask: (1 << source_bits) - 1,
            latest: Due(u64::MAX >> source_bits),
        }
    }

    /// The earliest event, and the number of its flow or link.
    #[inline]
    pub(super) fn first(&self) -> (Due, usize) {
        // Flows and links have no kind of event in common.
        let key = self.flows.least.min(self.links.least);
        (Due(key >> self.source_bits), (key & self.source_mask) as usize)
    }

    /// Sets the next event of `flow` to `due`.
    #[inline]
    pub(super) fn set_flow(&mut self, flow: usize, due: Due) {
        self.flows.set(flow, self.key(flow, due));
    }

    /// Sets the next event of `link` to `due`.
    #[inline]
    pub(super) fn set_link(&mut self, link: usize, due: Due) {
        self.links.set(link, self.key(link, due));
    }

    /// The time, the turn and the source in one number.
    #[inline]
    fn key(&self, source: usize, due: Due) -> u64 {
        due.min(self.latest).0 << self.source_bits | source as u64
    }
}

/// The least of a fixed number of keys: a tree in which each node is the minimum of its `FAN` children.
#[derive(Clone, Debug)]
struct Tournament<const FAN: usize> {
    /// The root's children come first; the children of the node at `n` start at `FAN * (n + 1)`; the
    /// keys are last.
    families: Vec<[u64; FAN]>,
    /// The index of the first key.
    leaves: usize,
    least: u64,
}

impl<const FAN: usize> Tournament<FAN> {
    /// Of `count` keys, all as large as can be.
    fn new(count: usize) -> Tournament<FAN> {
        let (mut leaves, mut width) = (0, FAN);
        while width < count {
            leaves += width;
            width *= FAN;
        }
        let families = vec![[u64::MAX; FAN]; (leaves + count).div_ceil(FAN)];
        Tournament { families, leaves, least: u64::MAX }
    }

    /// Changes one key.
    #[inline]
    fn set(&mut self, index: usize, mut key: u64) {
        let mut node = self.leaves + index;
        loop {
            let family = &mut self.families[node / FAN];
            family[node % FAN] = key;
            key = family.iter().fold(u64::MAX, |least, &child| least.min(child));
            if node < FAN {
                break;
            }
            node = node / FAN - 1;
        }
        self.least = key;
    }
}

/// How many bits it takes to number `sources` sources.
const fn source_bits(sources: usize) -> u32 {
    usize::BITS - sources.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::longest_duration;
    use proptest::prelude::*;

    /// The end of the longest simulation with `sources` sources.
    fn latest(sources: usize) -> Instant {
        Instant::ZERO + longest_duration(0, sources - 1)
    }

    proptest! {
        #[test]
        fn the_first_is_the_earliest_then_the_first_in_turn_then_of_the_lowest_number(
            flows in 1usize..70,
            links in 1usize..20,
            changes in prop::collection::vec((0usize..90, 0u64..50, 0usize..8), 1..300),
        ) {
            let mut agenda = Agenda::new(flows, links);
            let never = (Due::NEVER.time(), 7);
            let mut plain = vec![(never, 0); flows + links];
            for (source, time, turn) in changes {
                let source = source % (flows + links);
                let of_links = [Turn::Transmission, Turn::Wire, Turn::Observer];
                let of_flows =
                    [Turn::Arrival, Turn::AckArrival, Turn::Timer, Turn::Switch, Turn::Send];
                let link = source.checked_sub(flows);
                let turn = link.map_or(of_flows[turn % 5], |_| of_links[turn % 3]);
                let due = match time {
                    49 => Due::NEVER,
                    48 => Due::new(latest(flows + links), turn),
                    time => Due::new(Instant::from_nanos(time), turn),
                };
                match link {
                    Some(link) => agenda.set_link(link, due),
                    None => agenda.set_flow(source, due),
                }
                plain[source] = ((due.time(), due.turn() as usize), link.unwrap_or(source));
                let least = plain.iter().min().copied();
                let (first, source) = agenda.first();
                if least.is_some_and(|(least, _)| least == never) {
                    prop_assert!(first.time() > latest(flows + links));
                } else {
                    prop_assert_eq!(Some(((first.time(), first.turn() as usize), source)), least);
                }
            }
        }
    }
}
