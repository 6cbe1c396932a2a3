//! The transfer of files over channels, which goes on where it was interrupted.
//!
//! A channel carries one file. Numbers are big-endian.
//!
//! | from | bytes | |
//! |---|---|---|
//! | sender | 8 + 4 | the size of the file, and its permissions |
//! | receiver | 8 + 32 | how many bytes it has of an earlier attempt, and their SHA-256 |
//! | sender | 8 | where it begins: there if its own bytes have that hash, else 0 |
//! | sender | size − start | the content |
//! | sender | 32 | the SHA-256 of the whole file |
//! | receiver | 1 | the file is complete and has its name |
//!
//! Either end closes the channel if something is wrong, and says what. The receiver writes to a file beside the final one, which
//! stays if the transfer is interrupted.

mod receiver;
mod sender;

pub(super) use receiver::Receiver;
pub(super) use sender::Sender;

use crate::channels::{ChannelId, Channels, Event, Opening, Reason};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How many bytes are read from a file at a time.
const CHUNK: usize = 64 << 10;
/// How many steps each transfer makes before others have their turn: some milliseconds of work.
const STEPS: usize = 16;
/// The length of a hash.
const HASH: usize = 32;

/// Why the server refuses to store a file at a path that names a directory, which it may well do below it.
pub(super) const IS_DIRECTORY: &str = "it is a directory";

/// What came of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// There is more to do at once.
    Busy,
    /// The other end is to send or to read something.
    Waiting,
    /// The file was transferred.
    Finished,
}

/// One end of a transfer.
#[derive(Debug)]
pub(super) enum Transfer {
    Sending(Sender),
    Receiving(Receiver),
}

impl Transfer {
    /// Makes at most [`STEPS`] steps.
    pub(super) fn advance(
        &mut self,
        channels: &mut Channels,
        id: ChannelId,
    ) -> Result<Step, String> {
        for _ in 0..STEPS {
            let step = match self {
                Transfer::Sending(sender) => sender.step(channels, id),
                Transfer::Receiving(receiver) => receiver.step(channels, id),
            }?;
            if step != Step::Busy {
                return Ok(step);
            }
        }
        Ok(Step::Busy)
    }
}

/// The transfers that a server serves.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    transfers: BTreeMap<ChannelId, Transfer>,
    is_busy: bool,
}

impl Transfers {
    /// Begins the one that a client opens.
    pub(super) fn open(&mut self, channels: &mut Channels, id: ChannelId, opening: Opening) {
        let opened = match opening {
            Opening::Fetch { path, offset: 0 } => {
                Sender::open(&absolute(&path)).map(Transfer::Sending)
            }
            Opening::Store { path, offset: 0, .. } => {
                Receiver::open(absolute(&path)).map(Transfer::Receiving)
            }
            _ => return channels.refuse(id, Reason::Unsupported),
        };
        match opened {
            Ok(transfer) => {
                self.transfers.insert(id, transfer);
                channels.accept(id);
            }
            Err(error) => channels.refuse(id, Reason::Failed(text(&error))),
        }
    }

    /// Processes an event of a channel. Returns whether it is of a transfer.
    pub(super) fn process(&mut self, event: &Event) -> bool {
        match event {
            Event::Closed(id, _) => self.transfers.remove(id).is_some(),
            Event::Data(id) | Event::Ended(id) => self.transfers.contains_key(id),
            _ => false,
        }
    }

    /// Goes on with all of them.
    pub(super) fn advance(&mut self, channels: &mut Channels) {
        self.is_busy = false;
        let is_busy = &mut self.is_busy;
        self.transfers.retain(|id, transfer| match transfer.advance(channels, *id) {
            Ok(step) => {
                *is_busy |= step == Step::Busy;
                step != Step::Finished
            }
            Err(problem) => {
                channels.close(*id, Reason::Failed(problem));
                false
            }
        });
    }

    /// Whether [`Transfers::advance`] has more to do at once.
    pub(super) fn is_busy(&self) -> bool {
        self.is_busy
    }
}

/// The path that a client names: relative ones count from the home directory.
fn absolute(path: &[u8]) -> PathBuf {
    let path = path.strip_prefix(b"~/").unwrap_or(if path == b"~" { b"" } else { path });
    let home = std::env::var_os("HOME").unwrap_or_default();
    Path::new(&home).join(OsStr::from_bytes(path))
}

/// The error for people, without the system's number.
fn text(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}

/// Collects a message of a known length.
#[derive(Debug, Default)]
struct Collector(Vec<u8>);

impl Collector {
    /// The next message of `N` bytes, once it is there.
    fn take<const N: usize>(&mut self, channels: &mut Channels, id: ChannelId) -> Option<[u8; N]> {
        self.0.extend(channels.read(id, N.saturating_sub(self.0.len())));
        let message = self.0.as_slice().try_into().ok()?;
        self.0.clear();
        Some(message)
    }
}

/// Writes a message; returns false if there is no room yet.
fn put(channels: &mut Channels, id: ChannelId, message: &[u8]) -> bool {
    let is_room = channels.writable(id) >= message.len();
    is_room && channels.write(id, message) == message.len()
}

fn finished(hash: Sha256) -> [u8; HASH] {
    hash.finalize().into()
}

/// The number that 8 bytes are.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests;
