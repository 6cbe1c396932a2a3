//! [`MahimahiLog`]: a log for mahimahi's own scripts.

use super::{Event, Format, Log, LogError, Origin, Unlogged, create};
use crate::Direction;
use exm_link::{MahimahiWriter, Service};
use exm_units::Instant;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// A log in mahimahi's format, from which its scripts draw graphs: a file for each direction, as [`MahimahiWriter`] writes
/// it.
///
/// The propagation delay is not included: in mahimahi another program emulates it.
#[derive(Debug)]
pub struct MahimahiLog {
    files: [MahimahiWriter<BufWriter<File>>; 2],
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
            let head = beginning(origin, direction);
            let begun = MahimahiWriter::new(create(path)?, &head, services[direction as usize]);
            begun.map_err(|source| LogError::Create { file: path.clone(), source })
        };
        let files = [begin(Direction::Up)?, begin(Direction::Down)?];
        Ok(Log::start(paths.to_vec(), MahimahiLog { files }))
    }
}

fn beginning(origin: &Origin, direction: Direction) -> [String; 7] {
    let name = match direction {
        Direction::Up => "uplink",
        Direction::Down => "downlink",
    };
    [
        format!("exm cellsim ({name}) [{}]", origin.paths[direction as usize]),
        format!("command line: {}", origin.command),
        format!("queue: {}", origin.paths[direction as usize]),
        format!("seed: {} configuration: {}", origin.seed, origin.configuration),
        format!("version: {}", origin.version),
        format!("init timestamp: {}", origin.began / 1_000_000),
        "base timestamp: 0".to_owned(),
    ]
}

impl Format for MahimahiLog {
    fn write(&mut self, direction: Direction, event: &Event) -> io::Result<()> {
        let file = &mut self.files[direction as usize];
        match event {
            Event::Flow(..) => Ok(()),
            Event::Queued(packet) => file.queued(packet.queued_at, packet.size),
            Event::Delivered(delivery) => {
                let packet = &delivery.packet;
                file.delivered(delivery.received_at, packet.queued_at, packet.size)
            }
            Event::Dropped(packet, at, _) => file.dropped(*at, packet.size),
        }
    }

    fn finish(&mut self, end: Instant, _rest: &Unlogged) -> io::Result<()> {
        self.files.iter_mut().try_for_each(|file| file.finish(end))
    }
}
