//! [`Reading`]: the state of one direction of the link over the last interval.

use exm_emulator::Snapshot;
use exm_units::Rate;

/// The state of one direction of the link over the last interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    /// The rate at which packets arrived at the link.
    pub(super) offered: Rate,
    /// The rate at which packets left the link.
    pub(super) carried: Rate,
    /// The rate at which packets could have left.
    pub(super) capacity: Rate,
    /// The state at the end of the interval.
    pub(super) now: Snapshot,
    /// Packets lost during the interval.
    pub(super) lost: u64,
}

impl Reading {
    /// The reading as part of a line.
    pub(super) fn describe(&self) -> String {
        let Reading { carried, capacity, now, lost, .. } = self;
        let mut text = format!(
            "{:7.2} of {:7.2} Mbps, queue {:4}, delay {:7.1} ms",
            carried.as_mbps(),
            capacity.as_mbps(),
            now.queue.packets,
            now.total.as_millis_f64()
        );
        if *lost > 0 {
            text += &format!(", {lost} lost");
        }
        text
    }
}
