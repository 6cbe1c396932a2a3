//! [`Step`]: DCTCP's marking queue.

use crate::backlog::Backlog;
use crate::fifo::{Admission, Fifo};
use crate::parameters::parameters;
use crate::{Packet, QueueActions};
use exm_units::Packets;

/// A drop-tail queue that marks each packet that finds more than a threshold waiting (Alizadeh et
/// al., "Data Center TCP", SIGCOMM 2010, section 3.1).
///
/// Marking depends on the instantaneous queue, not on an average. Packets that are not ECN-capable
/// pass unmarked.
pub type Step = Fifo<MarkAbove>;

/// The admission rule of [`Step`].
#[derive(Clone, Debug)]
pub struct MarkAbove {
    threshold: u64,
}

/// The parameters of [`Step`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepSettings {
    /// A packet that finds more than this many waiting is marked: K. By default 65 packets, the
    /// paper's value for a link of 10 Gbps; for 1 Gbps it has 20 (section 3.5).
    pub threshold: Packets,
}

parameters!(StepSettings { threshold });

impl Default for StepSettings {
    fn default() -> StepSettings {
        StepSettings { threshold: Packets::new(65) }
    }
}

impl Admission for MarkAbove {
    const NAME: &'static str = "step";

    type Settings = StepSettings;

    fn new(settings: &StepSettings) -> MarkAbove {
        MarkAbove { threshold: settings.threshold.get() }
    }

    #[inline]
    fn admit(&self, backlog: &mut Backlog, mut packet: Packet, actions: &mut QueueActions) {
        if backlog.is_full(packet.size) {
            actions.drop(packet);
            return;
        }
        if backlog.packets() as u64 > self.threshold {
            actions.mark(&mut packet);
        }
        backlog.push(packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::config;
    use crate::{Discipline, Ecn, Limit};
    use exm_units::Instant;

    #[test]
    fn what_finds_more_than_the_threshold_is_marked() {
        let settings = StepSettings { threshold: Packets::new(2) };
        let mut queue = Step::new(&settings, config(Limit::Packets(Packets::new(6))));
        let mut actions = QueueActions::default();
        for sequence in 0..7 {
            let mut packet = Packet::new(0, sequence, 1500, Instant::ZERO);
            packet.ecn = if sequence == 4 { Ecn::NotCapable } else { Ecn::Capable };
            queue.enqueue(Instant::ZERO, packet, &mut actions);
        }
        // The seventh does not fit; only packets that are forwarded are marked.
        assert_eq!(actions.take_dropped().map(|packet| packet.sequence).collect::<Vec<_>>(), [6]);
        assert_eq!(actions.take_marked().len(), 2);
        let left = std::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut actions));
        let marked = left.filter(|packet| packet.ecn == Ecn::Marked).map(|packet| packet.sequence);
        assert_eq!(marked.collect::<Vec<_>>(), [3, 5]);
    }
}
