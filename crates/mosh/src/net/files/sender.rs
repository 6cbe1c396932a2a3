//! [`Sender`]: the end of a transfer that has the file.

use super::{CHUNK, Collector, HASH, Step, finished, number, put, text};
use crate::channels::{ChannelId, Channels};
use rustix::fs::{Mode, OFlags, open};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Permissions that are transferred: none that give a program rights of its owner.
const PERMISSIONS: u32 = 0o777;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The size and permissions have yet to be sent.
    Head,
    /// The receiver says what it has.
    Asked,
    /// So many of those bytes have yet to be hashed.
    Checking(u64),
    Start,
    Content,
    Hash,
    /// The receiver says that it is complete.
    Sent,
}

/// The end of a transfer that has the file.
#[derive(Debug)]
pub(in crate::net) struct Sender {
    file: File,
    size: u64,
    permissions: u32,
    state: State,
    collector: Collector,
    /// What the receiver has: how much, and its hash.
    known: (u64, [u8; HASH]),
    /// Where it began.
    start: u64,
    /// How much was sent or is known.
    position: u64,
    hash: Sha256,
}

impl Sender {
    /// # Errors
    /// The file cannot be read, or is none.
    pub(in crate::net) fn open(path: &Path) -> io::Result<Sender> {
        // A pipe that nobody writes to would keep the session waiting.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = File::from(open(path, flags, Mode::empty())?);
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::other("it is a directory, and only files are transferred"));
        }
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok(Sender {
            file,
            size: metadata.len(),
            permissions: metadata.mode() & PERMISSIONS,
            state: State::Head,
            collector: Collector::default(),
            known: (0, [0; HASH]),
            start: 0,
            position: 0,
            hash: Sha256::new(),
        })
    }

    /// The size of the file.
    pub(in crate::net) fn size(&self) -> u64 {
        self.size
    }

    /// Where it began, and how far it is.
    pub(in crate::net) fn progress(&self) -> (u64, u64) {
        let has_begun = matches!(self.state, State::Content | State::Hash | State::Sent);
        if has_begun { (self.start, self.position) } else { (0, 0) }
    }

    pub(super) fn step(&mut self, channels: &mut Channels, id: ChannelId) -> Result<Step, String> {
        match self.state {
            State::Head => {
                let mut head = self.size.to_be_bytes().to_vec();
                head.extend(self.permissions.to_be_bytes());
                if !put(channels, id, &head) {
                    return Ok(Step::Waiting);
                }
                self.state = State::Asked;
            }
            State::Asked => {
                let Some(message) = self.collector.take::<{ 8 + HASH }>(channels, id) else {
                    return Ok(Step::Waiting);
                };
                let mut hash = [0; HASH];
                hash.copy_from_slice(&message[8..]);
                self.known = (number(&message), hash);
                if self.known.0 > self.size {
                    return Err("the other end has more than the whole file".to_owned());
                }
                self.state = State::Checking(self.known.0);
            }
            State::Checking(0) => {
                if finished(self.hash.clone()) == self.known.1 {
                    self.start = self.known.0;
                } else {
                    self.hash = Sha256::new();
                    self.file.seek(SeekFrom::Start(0)).map_err(|error| text(&error))?;
                }
                self.position = self.start;
                self.state = State::Start;
            }
            State::Checking(left) => {
                let most = left.min(CHUNK as u64) as usize;
                self.state = State::Checking(left - self.read(most)?.len() as u64);
            }
            State::Start => {
                if !put(channels, id, &self.start.to_be_bytes()) {
                    return Ok(Step::Waiting);
                }
                self.state = State::Content;
            }
            State::Content => return self.send(channels, id),
            State::Hash => {
                if !put(channels, id, &finished(self.hash.clone())) {
                    return Ok(Step::Waiting);
                }
                channels.end(id);
                self.state = State::Sent;
            }
            State::Sent => {
                let is_complete = self.collector.take::<1>(channels, id).is_some();
                return Ok(if is_complete { Step::Finished } else { Step::Waiting });
            }
        }
        Ok(Step::Busy)
    }

    fn send(&mut self, channels: &mut Channels, id: ChannelId) -> Result<Step, String> {
        let left = self.size - self.position;
        if left == 0 {
            self.state = State::Hash;
            return Ok(Step::Busy);
        }
        let most = (channels.writable(id).min(CHUNK) as u64).min(left) as usize;
        if most == 0 {
            return Ok(Step::Waiting);
        }
        let bytes = self.read(most)?;
        self.position += channels.write(id, &bytes) as u64;
        Ok(Step::Busy)
    }

    /// The next bytes of the file, at least one.
    fn read(&mut self, most: usize) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; most];
        let count = self.file.read(&mut bytes).map_err(|error| text(&error))?;
        if count == 0 {
            return Err("the file was cut while it was sent".to_owned());
        }
        bytes.truncate(count);
        self.hash.update(&bytes);
        Ok(bytes)
    }
}
