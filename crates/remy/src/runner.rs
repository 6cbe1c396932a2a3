//! [`RemyCc`]: a rule table as a congestion controller.

use crate::action::CompiledAction;
use crate::extended::ExtendedMemory;
use crate::grid::Grid;
use crate::lookup::Lookup;
use crate::memory::Memory;
use crate::signal::{Point, Signal};
use crate::table::RuleTable;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use exm_cc::{Ack, Congestion, Controller, Decision, MAX_WINDOW, Needs, Start};
use exm_units::{Instant, Packets};

/// A RemyCC. Clones share the table.
///
/// The time between arrivals is taken from [`Ack::received_at`] if given, otherwise from the arrival
/// of the ACKs; the RTT is measured by the sender. So the receiver's clock may differ from the
/// sender's. A table that uses [`Signal::Ecn`] asks its host for marks.
///
/// An ACK of several packets ([`Ack::acked`]), as TCP and QUIC send them, counts as one ACK for each, spread evenly
/// over the time since the one before: tables are designed for one ACK a packet.
#[derive(Clone, Debug)]
pub struct RemyCc {
    rules: Arc<Rules>,
    memory: Memory,
    /// Only where the table uses an extended signal.
    extended: Option<Box<ExtendedMemory>>,
    window: u32,
    rule: usize,
}

#[derive(Debug)]
struct Rules {
    table: RuleTable,
    grid: Grid,
    actions: Vec<CompiledAction>,
}

impl RemyCc {
    /// A sender run by `table`, before its first flow.
    pub fn new(table: &RuleTable) -> RemyCc {
        let actions = table.rules().iter().map(|rule| rule.action.compile()).collect();
        let rules = Arc::new(Rules { table: table.clone(), grid: Grid::new(table), actions });
        let extended = table.signals().is_extended().then(Box::default);
        RemyCc { rules, memory: Memory::new(), extended, window: 0, rule: 0 }
    }

    /// The table that it follows.
    pub fn table(&self) -> &RuleTable {
        &self.rules.table
    }

    /// Follows the table of `other` from the next ACK on, and keeps its memory and its window. The two share that
    /// table then. Returns whether it does: a table of other signals changes nothing.
    pub fn follow(&mut self, other: &RemyCc) -> bool {
        if self.table().signals() != other.table().signals() {
            return false;
        }
        self.rules = Arc::clone(&other.rules);
        self.rule = self.rule.min(self.rules.actions.len() - 1);
        true
    }

    /// The signals of the present flow; the extended ones are zero where the table uses none of them.
    #[inline]
    pub fn signals(&self) -> Point {
        let mut signals = self.memory.signals();
        if let Some(extended) = &self.extended {
            extended.fill(&mut signals);
        }
        signals
    }

    /// The memory of the present flow by Remy's six signals.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The number of the rule applied last.
    pub fn rule(&self) -> usize {
        self.rule
    }

    /// Applies the rule of the present memory to the window.
    #[inline(always)]
    fn apply(&mut self) -> Decision {
        self.rule = self.rules.grid.find(&self.signals(), self.rule);
        let action = &self.rules.actions[self.rule];
        self.window = action.window(self.window);
        self.decision()
    }

    /// As [`Controller::on_ack`], where that takes more: the table uses an extended signal, or the ACK is of several
    /// packets, followed each after the one before. By value: the caller's ACK can stay in registers.
    #[cold]
    #[inline(never)]
    fn on_uncommon_ack(&mut self, ack: Ack) -> Decision {
        if let Some(extended) = &mut self.extended {
            extended.on_ack(&ack);
        }
        let (received, mut gap) = (received_at(&ack), gap(&ack));
        let packets = ack.acked.min(MAX_WINDOW).get().max(1);
        gap = gap.saturating_sub(packets - 1);
        for left in (1..=packets).rev() {
            let (sent, received) = self.memory.next_of(left, ack.sent_at, received);
            self.memory.on_ack(sent, received, ack.rtt(), gap);
            self.apply();
            gap = 1;
        }
        self.decision()
    }

    #[inline]
    fn decision(&self) -> Decision {
        Decision {
            cwnd: Packets::new(u64::from(self.window)),
            intersend: self.rules.actions[self.rule].intersend(),
            wake_at: None,
        }
    }
}

/// When the acknowledged packet was received, as closely as is known.
#[inline]
fn received_at(ack: &Ack) -> Instant {
    ack.received_at.unwrap_or(ack.now)
}

/// How far the acknowledged packet is above the largest acknowledged before.
#[inline]
fn gap(ack: &Ack) -> u64 {
    ack.largest_acked.map_or(1, |largest| ack.sequence.saturating_sub(largest))
}

/// It has none: its actions are in its table.
impl exm_cc::Parameters for RemyCc {}

impl Controller for RemyCc {
    fn on_start(&mut self, _start: &Start) -> Decision {
        self.memory = Memory::new();
        self.extended.iter_mut().for_each(|extended| **extended = ExtendedMemory::new());
        self.window = 0;
        self.apply()
    }

    /// The ACK of an earlier flow's packet does not change the memory but still applies a rule, as in
    /// the original program.
    // In the simulator's hottest loop the ACK then stays in registers, and its other fields are not written.
    #[inline(always)]
    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if !ack.stale {
            if self.extended.is_some() || ack.acked.get() > 1 {
                return self.on_uncommon_ack(*ack);
            }
            self.memory.on_ack(ack.sent_at, received_at(ack), ack.rtt(), gap(ack));
        }
        self.apply()
    }

    /// A RemyCC sees losses only through its signals, and applies a rule only at ACKs.
    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        if let Some(extended) = &mut self.extended {
            extended.on_congestion(congestion);
        }
        self.decision()
    }

    fn on_tick(&mut self, _now: Instant) -> Decision {
        self.decision()
    }

    /// Its memory lasts for one on-period, even if the connection outlives it. It asks for marks and
    /// counts of losses only where its table looks at them.
    fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        needs.restart = true;
        let signals = self.rules.table.signals();
        needs.marks = signals.contains(Signal::Ecn);
        needs.l4s = signals.is_for_l4s();
        needs.delivery = signals.contains(Signal::Loss);
        needs
    }
}
