//! Logs of what happened to each packet, in two formats: our own and mahimahi's.
//!
//! The forwarding thread passes events to another thread, which writes them, so a slow disk does not delay
//! packets. The queue between them is bounded; beyond that, events are left out of the log and counted.

mod mahimahi;
mod rows;
#[cfg(test)]
mod tests;

pub use mahimahi::MahimahiLog;
pub use rows::RowLog;

use crate::{Cause, Delivery, Direction, Flow, Observer, PacketInfo};
use exm_units::Instant;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

/// The number of events passed at once.
const BATCH: usize = 1024;
/// The most batches that wait for the disk: 256 000 events, about 30 MB.
const MOST_WAITING: usize = 250;

/// The origin of a log, for its header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The command that writes it.
    pub command: String,
    /// The version of the program.
    pub version: String,
    /// The random seed.
    pub seed: u64,
    /// The fingerprint of the configuration.
    pub configuration: String,
    /// Descriptions of the directions, up first.
    pub paths: [String; 2],
    /// The wall-clock time of the start, in nanoseconds since 1970.
    pub began: u64,
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug)]
enum Event {
    Flow(u32, Flow),
    Queued(PacketInfo),
    Delivered(Delivery),
    Dropped(PacketInfo, Instant, Cause),
}

/// How events are written.
trait Format: Send {
    /// Writes an event of `direction`.
    fn write(&mut self, direction: Direction, event: &Event) -> io::Result<()>;

    /// Writes the end of the log: nothing happens after `end`, and `rest` has no rows.
    fn finish(&mut self, end: Instant, rest: &Unlogged) -> io::Result<()>;
}

/// Packets without rows in a log, up first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unlogged {
    /// The numbers of packets still on the link.
    pub inside: [u64; 2],
    /// The numbers of packets dropped before the emulator could read them.
    pub missed: [u64; 2],
    /// The number of events of both directions that were left out because too many waited for the disk.
    pub left_out: u64,
}

type Batch = (Direction, Vec<Event>);

/// A log that is being written.
#[derive(Debug)]
pub struct Log {
    files: Vec<PathBuf>,
    sender: SyncSender<Batch>,
    left_out: Arc<AtomicU64>,
    writer: JoinHandle<Result<Box<dyn Unfinished>, LogError>>,
}

/// A log whose end has not been written.
trait Unfinished: Send {
    fn finish(&mut self, end: Instant, rest: &Unlogged) -> io::Result<()>;
}

impl<F: Format> Unfinished for F {
    fn finish(&mut self, end: Instant, rest: &Unlogged) -> io::Result<()> {
        Format::finish(self, end, rest)
    }
}

/// Why a log cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// It cannot be created.
    #[error("the log {} cannot be created: {source}", file.display())]
    Create {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Writing failed.
    #[error("the log {} is incomplete: {source}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl Log {
    /// Starts a thread that writes to `files` in `format`.
    fn start(files: Vec<PathBuf>, format: impl Format + 'static) -> Log {
        let (sender, receiver) = sync_channel(MOST_WAITING);
        let first = files[0].clone();
        let writer = thread::spawn(move || write_all(receiver, format, &first));
        Log { files, sender, left_out: Arc::default(), writer }
    }

    /// The files that it writes.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The observer of one direction.
    pub fn observer(&self, direction: Direction) -> Box<dyn Observer> {
        let (sender, left_out) = (self.sender.clone(), self.left_out.clone());
        Box::new(Tap { direction, sender, left_out, events: Vec::with_capacity(BATCH) })
    }

    /// Waits until everything is written that its observers, which must have been dropped, received up to
    /// `end`, and writes `rest` except [`Unlogged::left_out`], which it counts itself and returns.
    ///
    /// # Errors
    /// Writing failed.
    pub fn finish(self, end: Instant, rest: &Unlogged) -> Result<u64, LogError> {
        let Log { files, sender, left_out, writer } = self;
        drop(sender);
        let mut log = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let left_out = left_out.load(Ordering::Relaxed);
        let failed = |source| LogError::Write { file: files[0].clone(), source };
        log.finish(end, &Unlogged { left_out, ..*rest }).map_err(failed)?;
        for file in files.iter().filter(|file| partial(file).exists()) {
            let failed = |source| LogError::Write { file: file.clone(), source };
            fs::rename(partial(file), file).map_err(failed)?;
        }
        Ok(left_out)
    }
}

/// Writes events until all senders are gone. After an error the rest is discarded.
fn write_all(
    batches: Receiver<Batch>,
    mut format: impl Format + 'static,
    file: &Path,
) -> Result<Box<dyn Unfinished>, LogError> {
    let mut written = Ok(());
    for (direction, events) in batches {
        if written.is_ok() {
            written = events.iter().try_for_each(|event| format.write(direction, event));
        }
    }
    match written {
        Ok(()) => Ok(Box::new(format)),
        Err(source) => Err(LogError::Write { file: file.to_owned(), source }),
    }
}

/// Creates a file for writing. It gets its name when it is finished: until then it is called FILE.partial, so that
/// a killed process leaves no log that looks complete.
fn create(file: &Path) -> Result<BufWriter<File>, LogError> {
    let created = File::create(if is_special(file) { file.to_owned() } else { partial(file) });
    let failed = |source| LogError::Create { file: file.to_owned(), source };
    Ok(BufWriter::with_capacity(1 << 18, created.map_err(failed)?))
}

/// The name of an unfinished log.
fn partial(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

/// Whether `file` is a device or a pipe, which no other file can replace.
fn is_special(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|metadata| !metadata.is_file())
}

/// Passes the events of one direction to the writing thread.
struct Tap {
    direction: Direction,
    sender: SyncSender<Batch>,
    left_out: Arc<AtomicU64>,
    events: Vec<Event>,
}

impl Tap {
    #[inline]
    fn push(&mut self, event: Event) {
        self.events.push(event);
        if self.events.len() == BATCH {
            self.send();
        }
    }

    fn send(&mut self) {
        let events = std::mem::replace(&mut self.events, Vec::with_capacity(BATCH));
        // The writer is gone only if it failed, which is reported at the end.
        if let Err(TrySendError::Full((_, mut events))) =
            self.sender.try_send((self.direction, events))
        {
            let before = events.len();
            // Events that name flows are needed to read others, so they are left out last.
            events.retain(|event| matches!(event, Event::Flow(..)));
            if events.len() == BATCH {
                events.clear();
            }
            self.left_out.fetch_add((before - events.len()) as u64, Ordering::Relaxed);
            self.events.append(&mut events);
        }
    }
}

impl Observer for Tap {
    fn queued(&mut self, packet: &PacketInfo) {
        self.push(Event::Queued(*packet));
    }

    fn delivered(&mut self, delivery: &Delivery) {
        self.push(Event::Delivered(*delivery));
    }

    fn dropped(&mut self, packet: &PacketInfo, at: Instant, cause: Cause) {
        self.push(Event::Dropped(*packet, at, cause));
    }

    fn flow(&mut self, number: u32, flow: &Flow) {
        self.push(Event::Flow(number, *flow));
    }
}

impl Drop for Tap {
    /// The run has ended, so it may wait for the disk.
    fn drop(&mut self) {
        let _ = self.sender.send((self.direction, std::mem::take(&mut self.events)));
    }
}

/// Writes the lines of a header, each after `#`.
fn write_head(out: &mut impl Write, lines: &[String]) -> io::Result<()> {
    lines.iter().try_for_each(|line| writeln!(out, "# {line}"))
}
