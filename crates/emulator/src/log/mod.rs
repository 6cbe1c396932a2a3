//! Logs of what became of each packet, in two formats: our own and mahimahi's.
//!
//! The thread that moves packets hands what happened to another one, which writes it: a disk that is
//! slow makes no packet late. What waits for the disk is bounded; beyond that, events are left out of
//! the log and counted.

mod mahimahi;
mod rows;
#[cfg(test)]
mod tests;

pub use mahimahi::MahimahiLog;
pub use rows::RowLog;

use crate::{Cause, Delivery, Direction, Flow, Passage, Watch};
use exm_units::Instant;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

/// So many events are handed over at once.
const BATCH: usize = 1024;
/// So many batches wait for the disk at most: 256 000 events, about 30 MB.
const MOST_WAITING: usize = 250;

/// Where a log comes from, for its head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The command that writes it.
    pub command: String,
    /// The version of the program.
    pub version: String,
    /// What all chances are drawn from.
    pub seed: u64,
    /// A number that tells configurations apart.
    pub configuration: String,
    /// What each direction is like, up first: for people.
    pub paths: [String; 2],
    /// What the calendar showed at the start, in nanoseconds since 1970.
    pub began: u64,
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug)]
enum Event {
    Flow(u32, Flow),
    Queued(Passage),
    Delivered(Delivery),
    Dropped(Passage, Instant, Cause),
}

/// How events are written.
trait Format: Send {
    /// Writes what happened on the way in `direction`.
    fn write(&mut self, direction: Direction, event: &Event) -> io::Result<()>;

    /// Nothing more happens after `end`, and this is what is still inside, or was never seen.
    fn finish(&mut self, end: Instant, rest: &Rest) -> io::Result<()>;
}

/// What the rows of a log do not show, up first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// How many packets are on the link still.
    pub inside: [u64; 2],
    /// How many found no room before the emulator could read them.
    pub missed: [u64; 2],
    /// How many events were left out, both directions together, since too many waited for the disk.
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

/// A log whose end is not written.
trait Unfinished: Send {
    fn finish(&mut self, end: Instant, rest: &Rest) -> io::Result<()>;
}

impl<F: Format> Unfinished for F {
    fn finish(&mut self, end: Instant, rest: &Rest) -> io::Result<()> {
        Format::finish(self, end, rest)
    }
}

/// Why there is no log, or not all of one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// It cannot be begun.
    #[error("the log {} cannot be created: {source}", file.display())]
    Create {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It ends too soon.
    #[error("the log {} is incomplete: {source}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Log {
    /// A thread that writes to `files` in `format`.
    fn start(files: Vec<PathBuf>, format: impl Format + 'static) -> Log {
        let (sender, receiver) = sync_channel(MOST_WAITING);
        let first = files[0].clone();
        let writer = thread::spawn(move || write_all(receiver, format, &first));
        Log { files, sender, left_out: Arc::default(), writer }
    }

    /// The files it writes.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Who watches one direction for it.
    pub fn watch(&self, direction: Direction) -> Box<dyn Watch> {
        let (sender, left_out) = (self.sender.clone(), self.left_out.clone());
        Box::new(Tap { direction, sender, left_out, events: Vec::with_capacity(BATCH) })
    }

    /// Waits until all is written that those who watch for it, who are gone by now, saw up to `end`,
    /// and writes what the `rest` is, but for [`Rest::left_out`], which it knows itself and returns.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(self, end: Instant, rest: &Rest) -> Result<u64, LogError> {
        let Log { files, sender, left_out, writer } = self;
        drop(sender);
        let mut log = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let left_out = left_out.load(Ordering::Relaxed);
        let failed = |source| LogError::Write { file: files[0].clone(), source };
        log.finish(end, &Rest { left_out, ..*rest }).map_err(failed)?;
        Ok(left_out)
    }
}

/// Writes what comes until nothing more can. Where a disk is full, the rest is thrown away.
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

/// Creates a file to be written to.
fn create(file: &Path) -> Result<BufWriter<File>, LogError> {
    let created = File::create(file);
    let failed = |source| LogError::Create { file: file.to_owned(), source };
    Ok(BufWriter::with_capacity(1 << 18, created.map_err(failed)?))
}

/// Hands what happens in one direction over to the thread that writes.
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
        // Who wrote is gone only if it failed, which is told at the end.
        if let Err(TrySendError::Full((_, mut events))) =
            self.sender.try_send((self.direction, events))
        {
            let before = events.len();
            // What flows are is needed to read what follows, unless they are all there is.
            events.retain(|event| matches!(event, Event::Flow(..)));
            if events.len() == BATCH {
                events.clear();
            }
            self.left_out.fetch_add((before - events.len()) as u64, Ordering::Relaxed);
            self.events.append(&mut events);
        }
    }
}

impl Watch for Tap {
    fn queued(&mut self, packet: &Passage) {
        self.push(Event::Queued(*packet));
    }

    fn delivered(&mut self, delivery: &Delivery) {
        self.push(Event::Delivered(*delivery));
    }

    fn dropped(&mut self, packet: &Passage, at: Instant, cause: Cause) {
        self.push(Event::Dropped(*packet, at, cause));
    }

    fn flow(&mut self, number: u32, flow: &Flow) {
        self.push(Event::Flow(number, *flow));
    }
}

impl Drop for Tap {
    /// The run is over, so that it may wait for the disk.
    fn drop(&mut self) {
        let _ = self.sender.send((self.direction, std::mem::take(&mut self.events)));
    }
}

/// Writes the lines of a head, each after `#`.
fn write_head(out: &mut impl Write, lines: &[String]) -> io::Result<()> {
    lines.iter().try_for_each(|line| writeln!(out, "# {line}"))
}
