//! [`FixedRemyCc`]: a sender run by a table in fixed point.

use crate::fixed::{FixedMemory, FixedTable};

/// What follows the table of one flow, as [`RemyCc`](crate::RemyCc) does, in integers.
#[derive(Clone, Debug)]
pub struct FixedRemyCc<'a> {
    table: &'a FixedTable,
    memory: FixedMemory,
    window: u32,
    rule: usize,
}

impl FixedRemyCc<'_> {
    /// A sender at the start of a flow.
    pub fn new(table: &FixedTable) -> FixedRemyCc<'_> {
        let mut sender = FixedRemyCc { table, memory: FixedMemory::default(), window: 0, rule: 0 };
        sender.apply();
        sender
    }

    /// Follows an ACK: all times in ns, `gap` as in [`Memory::on_ack`](crate::Memory::on_ack).
    pub fn on_ack(&mut self, sent: i64, received: i64, rtt: u64, gap: u32) {
        self.memory.on_ack(sent, received, rtt, gap);
        self.apply();
    }

    fn apply(&mut self) {
        self.rule = self.table.find(&self.memory.signals());
        let action = &self.table.actions()[self.rule];
        self.window = action.window(self.window, self.table.max_window());
    }

    /// The window, in packets.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// The minimum time between sends, ns.
    pub fn intersend_ns(&self) -> u64 {
        self.table.actions()[self.rule].intersend_ns
    }

    /// The number of the rule applied last.
    pub fn rule(&self) -> usize {
        self.rule
    }

    /// Its memory.
    pub fn memory(&self) -> &FixedMemory {
        &self.memory
    }
}
