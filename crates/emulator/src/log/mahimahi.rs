//! [`MahimahiLog`]: a log for mahimahi's own scripts.

use super::{Event, Format, Log, LogError, Origin, Unlogged, create, write_head};
use crate::Direction;
use exm_link::Service;
use exm_trace::{OPPORTUNITY, Opportunities};
use exm_units::{Instant, Rate, Span};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A log in mahimahi's format, from which its scripts draw graphs: a file for each direction, a line for each
/// event, times in milliseconds. `t + bytes` is an arrival at the queue, `t # bytes` a delivery opportunity,
/// `t - bytes delay` a departure with the time since the arrival, and `t d packets bytes` a drop.
///
/// The propagation delay is not included: in mahimahi another program emulates it.
#[derive(Debug)]
pub struct MahimahiLog {
    files: [OneWay; 2],
}

#[derive(Debug)]
struct OneWay {
    out: BufWriter<File>,
    offered: Offered,
}

/// The delivery opportunities that have not been logged yet.
#[derive(Debug)]
enum Offered {
    Trace(Opportunities),
    /// A fixed rate, with the number of opportunities before the next.
    Fixed(Rate, u64),
}

impl Offered {
    fn new(service: &Service) -> Offered {
        match service {
            Service::Fixed(rate) => Offered::Fixed(*rate, 1),
            Service::Trace(trace) => Offered::Trace(Opportunities::new(trace.clone())),
        }
    }

    /// The next opportunity, if it is not after `time`.
    fn take_until(&mut self, time: Instant) -> Option<Instant> {
        match self {
            Offered::Trace(opportunities) => {
                (opportunities.peek() <= time).then(|| opportunities.take())
            }
            Offered::Fixed(rate, number) => {
                let bit_nanos = u128::from(OPPORTUNITY.get()) * 8_000_000_000;
                let nanos = u128::from(*number) * bit_nanos / u128::from(rate.as_bps().max(1));
                let at = Instant::ZERO + Span::from_nanos(u64::try_from(nanos).ok()?);
                (at <= time).then(|| {
                    *number += 1;
                    at
                })
            }
        }
    }
}

impl MahimahiLog {
    /// The files of a log called `file`, up first.
    pub fn files(file: &Path) -> [PathBuf; 2] {
        Direction::BOTH.map(|direction| {
            let mut name = file.as_os_str().to_owned();
            name.push(format!(".{}", direction.name()));
            PathBuf::from(name)
        })
    }

    /// Begins a log in the files `file.up` and `file.down`, for links with these `services`, up first.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn create(file: &Path, origin: &Origin, services: [&Service; 2]) -> Result<Log, LogError> {
        let paths = MahimahiLog::files(file);
        let begin = |direction: Direction| {
            let path = &paths[direction as usize];
            let mut out = create(path)?;
            let begun = write_beginning(&mut out, origin, direction);
            begun.map_err(|source| LogError::Create { file: path.clone(), source })?;
            Ok(OneWay { out, offered: Offered::new(services[direction as usize]) })
        };
        let files = [begin(Direction::Up)?, begin(Direction::Down)?];
        Ok(Log::start(paths.to_vec(), MahimahiLog { files }))
    }
}

fn write_beginning(out: &mut impl Write, origin: &Origin, direction: Direction) -> io::Result<()> {
    let name = match direction {
        Direction::Up => "uplink",
        Direction::Down => "downlink",
    };
    write_head(
        out,
        &[
            format!("exm cellsim ({name}) [{}]", origin.paths[direction as usize]),
            format!("command line: {}", origin.command),
            format!("queue: {}", origin.paths[direction as usize]),
            format!("seed: {} configuration: {}", origin.seed, origin.configuration),
            format!("version: {}", origin.version),
            format!("init timestamp: {}", origin.began / 1_000_000),
            "base timestamp: 0".to_owned(),
        ],
    )
}

impl OneWay {
    /// Writes the opportunities up to `time`.
    fn offer(&mut self, time: Instant) -> io::Result<()> {
        while let Some(at) = self.offered.take_until(time) {
            writeln!(self.out, "{} # {}", millis(at), OPPORTUNITY.get())?;
        }
        Ok(())
    }
}

impl Format for MahimahiLog {
    fn write(&mut self, direction: Direction, event: &Event) -> io::Result<()> {
        let file = &mut self.files[direction as usize];
        match event {
            Event::Flow(..) => Ok(()),
            Event::Queued(packet) => {
                file.offer(packet.queued_at)?;
                writeln!(file.out, "{} + {}", millis(packet.queued_at), packet.size)
            }
            Event::Delivered(delivery) => {
                let (at, packet) = (delivery.received_at, &delivery.packet);
                file.offer(at)?;
                let delay = millis(at).saturating_sub(millis(packet.queued_at));
                writeln!(file.out, "{} - {} {delay}", millis(at), packet.size)
            }
            Event::Dropped(packet, at, _) => {
                file.offer(*at)?;
                writeln!(file.out, "{} d 1 {}", millis(*at), packet.size)
            }
        }
    }

    fn finish(&mut self, end: Instant, _rest: &Unlogged) -> io::Result<()> {
        for file in &mut self.files {
            file.offer(end)?;
            file.out.flush()?;
        }
        Ok(())
    }
}

fn millis(time: Instant) -> u64 {
    time.as_nanos() / 1_000_000
}
