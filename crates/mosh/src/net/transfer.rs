//! [`FileSession`]: a client that transfers files, without a terminal.

use super::NetError;
use super::files::{IS_DIRECTORY, Receiver, Sender, Step, Transfer};
use super::link::ClientLink;
use crate::channels::{ChannelId, Event, OpenError, Opening, Reason};
use crate::{ClientSettings, Extensions};
use exm_datagram::Key;
use exm_os::{Signal, Signals, Waiter};
use exm_predict::Display;
use exm_terminal::Size;
use exm_units::{Instant, Span};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::PathBuf;

/// How long a server that has never answered is waited for.
const PATIENCE: Span = Span::from_secs(15);
/// A server that is silent for so long has ended: it waits no longer for its client.
pub const FILES_PATIENCE: Span = Span::from_secs(3600);
/// A server that knows files says so this long after it was first heard of.
const GRANTING: Span = Span::from_secs(5);
/// How long the end of the session takes at most.
const FAREWELL: Span = Span::from_secs(2);
/// How often progress is reported if nothing happens.
const REPORTS: Span = Span::from_millis(500);

/// Why a file was not transferred.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The file of this machine cannot be read or written.
    #[error("{}: {source}", path.display())]
    Local {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The path at the server names a directory: a path below it may do.
    #[error("{path} at the server: {IS_DIRECTORY}")]
    Directory {
        /// The path.
        path: String,
    },
    /// The other end cannot go on.
    #[error("{path} at the server: {reason}")]
    Remote {
        /// The path.
        path: String,
        /// What it says.
        reason: Reason,
    },
    /// This end cannot go on.
    #[error("{path}: {problem}")]
    Failed {
        /// The file of this machine.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// The server transfers no files.
    #[error("the server transfers no files")]
    NotGranted,
    /// A signal came.
    #[error("interrupted")]
    Interrupted(Signal),
    /// The session cannot go on.
    #[error(transparent)]
    Net(#[from] NetError),
}

/// A file to transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransferJob {
    /// To the server.
    Put {
        /// The file of this machine.
        file: PathBuf,
        /// The path at the server, from the home directory.
        path: Vec<u8>,
    },
    /// From the server.
    Get {
        /// The path at the server, from the home directory.
        path: Vec<u8>,
        /// The file of this machine.
        file: PathBuf,
    },
}

impl TransferJob {
    fn remote(&self) -> String {
        let (TransferJob::Put { path, .. } | TransferJob::Get { path, .. }) = self;
        String::from_utf8_lossy(path).into_owned()
    }

    fn local(&self) -> &PathBuf {
        let (TransferJob::Put { file, .. } | TransferJob::Get { file, .. }) = self;
        file
    }
}

/// How far a transfer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferProgress {
    /// The size of the file in bytes, once it is known.
    pub size: Option<u64>,
    /// How many bytes an earlier attempt has left.
    pub resumed: u64,
    /// How many bytes are there, or on their way, with those.
    pub done: u64,
    /// For how long nothing has come from the server.
    pub silence: Span,
}

/// A session that transfers files, one after the other.
pub struct FileSession {
    link: ClientLink,
    waiter: Waiter,
    connected_at: Option<Instant>,
}

impl FileSession {
    /// One with the server that has `key` at one of these addresses.
    ///
    /// # Errors
    /// There is no address, or no socket can be opened.
    pub fn open(servers: &[SocketAddr], key: &Key) -> Result<FileSession, NetError> {
        let extensions = Extensions { files: true, ..Extensions::default() };
        let settings = ClientSettings::from((Display::Never, false));
        let settings = ClientSettings { extensions, ..settings };
        let link = ClientLink::open(servers, key, Size::new(80, 24), settings)?;
        let waiter = Waiter::new(link.clock, Span::ZERO);
        Ok(FileSession { link, waiter, connected_at: None })
    }

    /// Transfers a file, and reports how far it is.
    ///
    /// # Errors
    /// Either end cannot read or write the file, a signal came, or the session cannot go on. What was transferred of it stays, and another
    /// attempt goes on there.
    pub fn transfer(
        &mut self,
        job: &TransferJob,
        signals: &Signals,
        report: &mut dyn FnMut(TransferProgress),
    ) -> Result<TransferProgress, TransferError> {
        let local = |source| TransferError::Local { path: job.local().clone(), source };
        let (mut transfer, opening) = match job {
            TransferJob::Put { file, path } => {
                let sender = Sender::open(file).map_err(local)?;
                let opening = Opening::Store { path: path.clone(), mode: 0o600, offset: 0 };
                (Transfer::Sending(sender), opening)
            }
            TransferJob::Get { path, file } => {
                let receiver = Receiver::open(file.clone()).map_err(local)?;
                let opening = Opening::Fetch { path: path.clone(), offset: 0 };
                (Transfer::Receiving(receiver), opening)
            }
        };
        let id = self.begin(&opening, signals)?;
        let (mut is_accepted, mut is_finished) = (false, false);
        loop {
            self.receive();
            let mut step = Step::Waiting;
            if is_accepted && !is_finished {
                step = transfer.advance(self.link.client.channels(), id).map_err(|problem| {
                    self.link.client.channels().close(id, Reason::Failed(problem.clone()));
                    let path = job.local().display().to_string();
                    TransferError::Failed { path, problem }
                })?;
                is_finished = step == Step::Finished;
            }
            match self.event(id, job)? {
                Some(News::Accepted) => (is_accepted, step) = (true, Step::Busy),
                Some(News::Closed) if is_finished => return Ok(self.progress(&transfer)),
                Some(News::Closed) => {
                    let reason = Reason::Failed("it has ended too early".to_owned());
                    return Err(TransferError::Remote { path: job.remote(), reason });
                }
                None => {}
            }
            report(self.progress(&transfer));
            self.wait(signals, step == Step::Busy)?;
        }
    }

    /// Opens a channel, once the server has granted files.
    fn begin(&mut self, opening: &Opening, signals: &Signals) -> Result<ChannelId, TransferError> {
        loop {
            self.receive();
            match (self.link.client.channels().granted(), self.connected_at) {
                (Some(_), _) => {
                    let opened = self.link.client.channels().open(opening.clone());
                    return opened.map_err(|error| match error {
                        OpenError::NotGranted | OpenError::TooMany => TransferError::NotGranted,
                    });
                }
                (None, Some(at)) if self.link.known.saturating_since(at) >= GRANTING => {
                    return Err(TransferError::NotGranted);
                }
                _ => self.wait(signals, false)?,
            }
        }
    }

    /// The next thing that has happened on the channel `id`.
    fn event(&mut self, id: ChannelId, job: &TransferJob) -> Result<Option<News>, TransferError> {
        let (path, channels) = (job.remote(), self.link.client.channels());
        while let Some(event) = channels.next_event() {
            match event {
                Event::Accepted(of) if of == id => return Ok(Some(News::Accepted)),
                Event::Closed(of, Reason::Finished) if of == id => return Ok(Some(News::Closed)),
                Event::Closed(of, reason) | Event::Refused(of, reason) if of == id => {
                    return Err(match reason {
                        Reason::Failed(text) if text == IS_DIRECTORY => {
                            TransferError::Directory { path }
                        }
                        reason => TransferError::Remote { path, reason },
                    });
                }
                Event::Opened(of, _) => channels.refuse(of, Reason::Unsupported),
                _ => {}
            }
        }
        if channels.has_failed() {
            let reason = Reason::Failed("it has given up".to_owned());
            return Err(TransferError::Remote { path, reason });
        }
        Ok(None)
    }

    fn progress(&self, transfer: &Transfer) -> TransferProgress {
        let (size, (resumed, done)) = match transfer {
            Transfer::Sending(sender) => (Some(sender.size()), sender.progress()),
            Transfer::Receiving(receiver) => (receiver.size(), receiver.progress()),
        };
        TransferProgress { size, resumed, done, silence: self.link.client.silence(self.link.known) }
    }

    fn receive(&mut self) {
        self.link.receive();
        if self.link.client.is_connected() {
            self.connected_at.get_or_insert(self.link.known);
        }
    }

    /// Sends what is due, and waits for something to do, unless this end `is_busy`.
    fn wait(&mut self, signals: &Signals, is_busy: bool) -> Result<(), TransferError> {
        self.link.transmit();
        if let Some(signal) = signals.take() {
            return Err(TransferError::Interrupted(signal));
        }
        let now = self.link.known;
        let (silence, is_connected) =
            (self.link.client.silence(now), self.link.client.is_connected());
        let patience = if is_connected { FILES_PATIENCE } else { PATIENCE };
        if silence > patience || self.link.client.is_over(now) {
            return Err(NetError::Unanswered { server: self.link.servers.current() }.into());
        }
        let wake = self.link.client.next_wake(now).min(self.link.sockets.next_hop());
        let wake = if is_busy { now } else { wake.min(now.saturating_add(REPORTS)) };
        let waited = self.waiter.wait([self.link.sockets.as_fd(), signals.as_fd()], wake);
        waited.map(drop).map_err(|error| NetError::Wait(error).into())
    }

    /// Ends the session: the server is notified. One that cannot be reached ends by itself after a while.
    pub fn end(mut self) {
        let until = self.link.clock.now().saturating_add(FAREWELL);
        self.link.client.shutdown(self.link.clock.now());
        loop {
            self.receive();
            self.link.transmit();
            if self.link.client.is_over(self.link.known) || self.link.known >= until {
                return;
            }
            let wake = self.link.client.next_wake(self.link.known).min(until);
            if self.waiter.wait([self.link.sockets.as_fd()], wake).is_err() {
                return;
            }
        }
    }
}

/// What has happened on the channel of a file.
enum News {
    Accepted,
    Closed,
}
