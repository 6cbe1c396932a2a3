//! [`Meters`]: shows throughput, queue and delay of the link while it runs.

use super::output::Stream;
use super::reading::Reading;
use super::screen::Screen;
use crate::shell::{self, Failure};
use exm_emulator::{Direction, RunningLink, Setup, Snapshot};
use exm_link::Service;
use exm_os::Running;
use exm_units::{Instant, Rate, Span};
use std::io::IsTerminal;
use std::process::{Command, Stdio};

/// How often a line is printed.
const LINES: Span = Span::from_secs(1);
/// How often the display is drawn.
const DRAWING: Span = Span::from_millis(200);

#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(super) struct Show {
    /// Show meters on the whole terminal, with the output of COMMAND below them; q ends it
    ///
    /// COMMAND then has no terminal; its output and that of --peer are printed again at the end.
    #[arg(long, conflicts_with_all = ["plain", "quiet"])]
    pub(super) meters: bool,
    /// Print a line of meters each second, along with the output of COMMAND
    #[arg(long, conflicts_with = "quiet")]
    plain: bool,
    /// Do not print the summary either
    #[arg(long)]
    pub(super) quiet: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Shows the state of the link: not at all, in lines, or on the whole terminal.
pub(super) struct Meters {
    kind: Kind,
    every: Span,
    next: Instant,
    before: [Snapshot; 2],
    services: [Service; 2],
}

enum Kind {
    Nothing,
    Lines,
    Screen(Box<Screen>),
}

impl Meters {
    /// The meters that `show` asks for, of a link with `setup`.
    pub(super) fn new(show: &Show, setup: &Setup) -> Result<Meters, Failure> {
        let (kind, every) = if show.plain {
            (Kind::Lines, LINES)
        } else if show.meters {
            if !std::io::stdout().is_terminal() {
                let tip = "--plain prints a line each second";
                return Err(Failure::new("there is no terminal to show meters on").with_tip(tip));
            }
            (Kind::Screen(Box::new(Screen::new()?)), DRAWING)
        } else {
            (Kind::Nothing, Span::MAX)
        };
        let services = [setup.up.service.clone(), setup.down.service.clone()];
        let before = <[Snapshot; 2]>::default();
        Ok(Meters { kind, every, next: Instant::ZERO + every, before, services })
    }

    /// If the meters cover the terminal, redirects the output of a program to them.
    pub(super) fn redirect(&self, command: &mut Command) {
        if let Kind::Screen(_) = self.kind {
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        }
    }

    /// Shows the output of a program that was redirected.
    pub(super) fn follow(&mut self, running: &mut Running) {
        if let Kind::Screen(screen) = &mut self.kind {
            let child = running.child();
            screen.follow(Stream::Out, child.stdout.take());
            screen.follow(Stream::Err, child.stderr.take());
        }
    }

    /// Restores the terminal once all programs have ended, and prints their output.
    pub(super) fn finish(self) -> Result<(), Failure> {
        if let Kind::Screen(screen) = self.kind {
            let left_out = screen.finish()?;
            if left_out > 0 {
                shell::note(&format!("{left_out} earlier lines of output were not kept"));
            }
        }
        Ok(())
    }

    /// Whether the user has asked to quit.
    pub(super) fn is_quitted(&self) -> bool {
        matches!(&self.kind, Kind::Screen(screen) if screen.is_quitted())
    }

    /// Shows the state of the link if it is time to.
    pub(super) fn show(&mut self, link: &RunningLink) -> Result<(), Failure> {
        let now = link.clock().now();
        if now < self.next || matches!(self.kind, Kind::Nothing) {
            return Ok(());
        }
        self.next = now + self.every;
        let readings = Direction::BOTH.map(|direction| self.read(direction, link));
        match &mut self.kind {
            Kind::Nothing => {}
            Kind::Lines => {
                shell::tell(&line(now, &readings));
            }
            Kind::Screen(screen) => screen.draw(now, readings)?,
        }
        Ok(())
    }

    /// The reading of one direction since the last one.
    fn read(&mut self, direction: Direction, link: &RunningLink) -> Reading {
        let now = link.snapshot(direction);
        let before = std::mem::replace(&mut self.before[direction as usize], now);
        let time = now.at.saturating_since(before.at);
        let rate = |bytes: u64| Rate::from_mbps(8e-6 * bytes as f64 / time.as_secs_f64().max(1e-9));
        let capacity = match &self.services[direction as usize] {
            Service::Fixed(rate) => *rate,
            Service::Trace(trace) => rate(trace.capacity(before.at, now.at).get()),
        };
        Reading {
            offered: rate(now.arrived.bytes.saturating_sub(before.arrived.bytes)),
            carried: rate(now.delivered.bytes.saturating_sub(before.delivered.bytes)),
            capacity,
            now,
            lost: now.lost.packets.saturating_sub(before.lost.packets),
        }
    }
}

/// A line of both directions.
fn line(now: Instant, readings: &[Reading; 2]) -> String {
    let mut text = format!("{:6.1} s", now.as_secs_f64());
    for (direction, reading) in Direction::BOTH.iter().zip(readings) {
        text += &format!("  {:<4} {}", direction.name(), reading.describe());
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_emulator::Tally;

    #[test]
    fn a_line_has_both_directions() {
        let queue = Tally { packets: 12, bytes: 18_000 };
        let now = Snapshot { queue, total: Span::from_millis(31), ..Snapshot::default() };
        let reading = Reading {
            carried: Rate::from_mbps(4.25),
            capacity: Rate::from_mbps(10.0),
            now,
            lost: 3,
            ..Reading::default()
        };
        let text = line(Instant::ZERO + Span::from_secs(5), &[reading, Reading::default()]);
        let expected = "   5.0 s  up      4.25 of   10.00 Mbps, queue   12, delay    31.0 ms, \
                        3 lost  down    0.00 of    0.00 Mbps, queue    0, delay     0.0 ms\n";
        assert_eq!(text, expected);
    }
}
