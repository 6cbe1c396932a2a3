//! [`Receiver`]: the end of a transfer that writes the file.

use super::{CHUNK, Collector, HASH, IS_DIRECTORY, Step, finished, number, put, text};
use crate::channels::{ChannelId, Channels};
use rustix::fs::{Mode, OFlags, open};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What the name of an unfinished file ends with.
const PART: &str = ".exm-part";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The sender says what it sends.
    Head,
    /// So many bytes of an earlier attempt have yet to be hashed.
    Hashing(u64),
    /// The sender says where it begins.
    Asked,
    Content,
    Hash,
    /// The file has its name, of which the sender has yet to be notified.
    Stored,
}

/// The end of a transfer that writes the file.
#[derive(Debug)]
pub(in crate::net) struct Receiver {
    path: PathBuf,
    part_path: PathBuf,
    part: File,
    state: State,
    collector: Collector,
    size: u64,
    permissions: u32,
    /// How much there was of an earlier attempt.
    known: u64,
    start: u64,
    /// How much was written or is known.
    position: u64,
    hash: Sha256,
}

/// Where a file is written that is to be at `path`.
pub(super) fn part_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(PART);
    name.into()
}

impl Receiver {
    /// # Errors
    /// The file cannot be written there, or something is there that is no file, or another transfer writes it.
    pub(in crate::net) fn open(path: PathBuf) -> io::Result<Receiver> {
        match fs::metadata(&path) {
            Ok(found) if found.is_dir() => return Err(io::Error::other(IS_DIRECTORY)),
            Ok(found) if !found.is_file() => {
                return Err(io::Error::other("something is there that is not a regular file"));
            }
            _ if path.file_name().is_none()
                || path.as_os_str().as_encoded_bytes().ends_with(b"/") =>
            {
                return Err(io::Error::other("there is no such directory"));
            }
            _ => {}
        }
        let part_path = part_path(&path);
        // Nobody else reads it before it has its permissions, and nobody leads it elsewhere.
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let part = File::from(open(&part_path, flags, Mode::RUSR | Mode::WUSR)?);
        if !part.metadata()?.is_file() {
            return Err(io::Error::other("its part is not a regular file"));
        }
        part.try_lock().map_err(|_| io::Error::other("another transfer writes it"))?;
        Ok(Receiver {
            path,
            part_path,
            part,
            state: State::Head,
            collector: Collector::default(),
            size: 0,
            permissions: 0,
            known: 0,
            start: 0,
            position: 0,
            hash: Sha256::new(),
        })
    }

    /// The size of the file, once it is known.
    pub(in crate::net) fn size(&self) -> Option<u64> {
        (self.state != State::Head).then_some(self.size)
    }

    /// Where it began, and how far it is.
    pub(in crate::net) fn progress(&self) -> (u64, u64) {
        (self.start, self.position)
    }

    pub(super) fn step(&mut self, channels: &mut Channels, id: ChannelId) -> Result<Step, String> {
        self.try_step(channels, id).map_err(|error| text(&error))
    }

    fn try_step(&mut self, channels: &mut Channels, id: ChannelId) -> io::Result<Step> {
        match self.state {
            State::Head => {
                let Some(head) = self.collector.take::<12>(channels, id) else {
                    return Ok(Step::Waiting);
                };
                self.size = number(&head);
                self.permissions = number(&head[8..]) as u32 & 0o777;
                let length = self.part.metadata()?.len();
                self.known = if length <= self.size { length } else { 0 };
                self.state = State::Hashing(self.known);
            }
            State::Hashing(0) => {
                let mut message = self.known.to_be_bytes().to_vec();
                message.extend(finished(self.hash.clone()));
                if !put(channels, id, &message) {
                    return Ok(Step::Waiting);
                }
                self.state = State::Asked;
            }
            State::Hashing(left) => {
                let mut bytes = vec![0; left.min(CHUNK as u64) as usize];
                self.part.read_exact(&mut bytes)?;
                self.hash.update(&bytes);
                self.state = State::Hashing(left - bytes.len() as u64);
            }
            State::Asked => {
                let Some(start) = self.collector.take::<8>(channels, id) else {
                    return Ok(Step::Waiting);
                };
                self.begin(number(&start))?;
            }
            State::Content if self.position == self.size => self.state = State::Hash,
            State::Content => {
                let left = usize::try_from(self.size - self.position).unwrap_or(usize::MAX);
                let bytes = channels.read(id, left.min(CHUNK));
                if bytes.is_empty() {
                    return Ok(Step::Waiting);
                }
                self.part.write_all(&bytes)?;
                self.hash.update(&bytes);
                self.position += bytes.len() as u64;
            }
            State::Hash => {
                let Some(hash) = self.collector.take::<HASH>(channels, id) else {
                    return Ok(Step::Waiting);
                };
                self.store(hash)?;
                self.state = State::Stored;
            }
            State::Stored => {
                if !put(channels, id, &[1]) {
                    return Ok(Step::Waiting);
                }
                channels.end(id);
                return Ok(Step::Finished);
            }
        }
        Ok(Step::Busy)
    }

    /// The content begins at `start`.
    fn begin(&mut self, start: u64) -> io::Result<()> {
        if start != self.known && start != 0 {
            return Err(io::Error::other("the other end begins elsewhere than it may"));
        }
        if start != self.known {
            self.hash = Sha256::new();
        }
        self.part.set_len(start)?;
        self.part.seek(SeekFrom::Start(start))?;
        (self.start, self.position) = (start, start);
        self.state = State::Content;
        Ok(())
    }

    /// Gives the file its name, if its hash is this one.
    fn store(&mut self, hash: [u8; HASH]) -> io::Result<()> {
        if finished(self.hash.clone()) != hash {
            self.part.set_len(0)?;
            return Err(io::Error::other("what has arrived is not what was sent"));
        }
        self.part.set_permissions(Permissions::from_mode(self.permissions))?;
        self.part.sync_all()?;
        // A directory that was made meanwhile is not replaced: the system refuses that.
        fs::rename(&self.part_path, &self.path)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let is_empty = self.part.metadata().is_ok_and(|part| part.len() == 0);
        if self.state != State::Stored && is_empty {
            let _ = fs::remove_file(&self.part_path);
        }
    }
}
