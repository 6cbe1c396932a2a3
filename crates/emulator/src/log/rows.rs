//! [`RowLog`]: our own log, with one row per packet.

use super::{Event, Format, Log, LogError, Origin, Unlogged, create, write_head};
use crate::{Delivery, Direction, PacketInfo};
use exm_units::Instant;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Our own log: comma-separated text with a row for each packet, written when its fate is known.
///
/// It begins with lines after `#` that state the origin of the log and explain the columns; the names of the
/// columns follow. Such a line before the first packet of a flow names the flow; the last ones count the
/// packets without rows, which are still on the link or were missed by the emulator, and the events that were
/// left out because the disk was too slow.
#[derive(Debug)]
pub struct RowLog {
    out: BufWriter<File>,
}

/// The columns and their meaning.
const COLUMNS: [(&str, &str); 12] = [
    ("direction", "up is from the program under test to the outside, down the opposite"),
    ("number", "of the packet in its direction, from 0"),
    ("flow", "its flow: a number, explained by a line \"# flow\" before its first packet"),
    ("bytes", "its size as an IP packet"),
    ("sent_ns", "when it was read from the ingress device"),
    ("queued_ns", "when it arrived at the queue, after the propagation delay"),
    ("scheduled_ns", "when it left the link; empty if it was lost before"),
    ("left_ns", "when it was written to the egress device, or was lost"),
    ("queueing_ns", "scheduled - queued: queueing and transmission time on the link"),
    ("total_ns", "left - sent: the whole delay, as a receiver sees it"),
    ("late_ns", "left - scheduled: the emulator's lateness"),
    ("fate", "delivered, marked (and delivered), or why it was lost"),
];

impl RowLog {
    /// Begins a log in `file`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(file: &Path, origin: &Origin) -> Result<Log, LogError> {
        let mut out = create(file)?;
        let begun = write_beginning(&mut out, origin);
        begun.map_err(|source| LogError::Create { file: file.to_owned(), source })?;
        Ok(Log::start(vec![file.to_owned()], RowLog { out }))
    }

    fn row(
        &mut self,
        direction: Direction,
        packet: &PacketInfo,
        times: (Option<Instant>, Instant),
        fate: &str,
    ) -> io::Result<()> {
        let PacketInfo { number, flow, size, sent_at, queued_at } = *packet;
        let (scheduled, left) = times;
        let (sent, queued) = (sent_at.as_nanos(), queued_at.as_nanos());
        let direction = direction.name();
        write!(self.out, "{direction},{number},{flow:08x},{size},{sent},{queued},")?;
        let total = left.saturating_since(sent_at).as_nanos();
        let left_nanos = left.as_nanos();
        if let Some(scheduled) = scheduled {
            let queueing = scheduled.saturating_since(queued_at).as_nanos();
            let late = left.saturating_since(scheduled).as_nanos();
            let scheduled = scheduled.as_nanos();
            writeln!(self.out, "{scheduled},{left_nanos},{queueing},{total},{late},{fate}")
        } else {
            writeln!(self.out, ",{left_nanos},,{total},,{fate}")
        }
    }
}

fn write_beginning(out: &mut impl Write, origin: &Origin) -> io::Result<()> {
    let [up, down] = &origin.paths;
    write_head(
        out,
        &[
            "exm cellsim, a row for each packet".to_owned(),
            format!("command: {}", origin.command),
            format!("version: {}", origin.version),
            format!("seed: {}", origin.seed),
            format!("configuration: {}", origin.configuration),
            format!("up: {up}"),
            format!("down: {down}"),
            format!("began: {} ns since 1970", origin.began),
            "times: in ns since then".to_owned(),
        ],
    )?;
    COLUMNS.iter().try_for_each(|(name, meaning)| writeln!(out, "# {name}: {meaning}"))?;
    let names = COLUMNS.map(|(name, _)| name);
    writeln!(out, "{}", names.join(","))
}

impl Format for RowLog {
    fn write(&mut self, direction: Direction, event: &Event) -> io::Result<()> {
        match event {
            Event::Flow(number, flow) => writeln!(self.out, "# flow {number:08x} {flow}"),
            Event::Queued(_) => Ok(()),
            Event::Delivered(delivery) => {
                let Delivery { packet, due_at, received_at, marked } = delivery;
                let fate = if *marked { "marked" } else { "delivered" };
                self.row(direction, packet, (Some(*due_at), *received_at), fate)
            }
            Event::Dropped(packet, at, cause) => {
                self.row(direction, packet, (None, *at), cause.name())
            }
        }
    }

    fn finish(&mut self, end: Instant, rest: &Unlogged) -> io::Result<()> {
        let Unlogged { inside, missed, left_out } = rest;
        writeln!(self.out, "# ended: {} ns", end.as_nanos())?;
        for direction in Direction::BOTH {
            let (name, place) = (direction.name(), direction as usize);
            let (inside, missed) = (inside[place], missed[place]);
            writeln!(self.out, "# {name}: {inside} packets still on the link, {missed} missed")?;
        }
        if *left_out > 0 {
            writeln!(self.out, "# left out: {left_out} events because the disk was too slow")?;
        }
        self.out.flush()
    }
}
