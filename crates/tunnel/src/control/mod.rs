//! [`Control`]: a Unix socket at which a running tunnel says what it does.

mod connection;
mod metrics;
mod reader;
mod request;

use crate::status::Status;
use connection::{Connection, Progress};
use exm_os::{AnyOf, is_served};
use exm_units::{Instant, Span};
use request::{Refusal, Target};
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The most connections at the same time; further ones are told to try again.
const MAX_CONNECTIONS: usize = 4;
/// The most connections that are accepted in one round.
const MAX_ACCEPTS: usize = 8;
/// A connection is closed after this long, whatever is missing.
const PATIENCE: Span = Span::from_secs(2);
/// Replies are this old at most, so that however often they are asked for, they take little of the processor.
const MAX_AGE: Span = Span::from_millis(50);
/// Sockets that are younger than this are not taken for those of killed processes.
const LEAST_AGE: Duration = Duration::from_secs(60);
/// Who may connect: the owner.
const MODE: u32 = 0o600;

/// A Unix socket at which a running tunnel says what it does, by HTTP/1.0: `GET /metrics` in the text format of
/// Prometheus, `GET /status` as JSON ([`Status`]).
///
/// It belongs to the event loop of the tunnel: poll its file, and call [`Control::service`] when that is readable or
/// the time is [`Control::next_wake`]. It never blocks, and starts no threads. A request, its time, and the number of
/// connections are bounded, and replies are made at most every 50 ms, so that no reader can hold up the tunnel.
///
/// The socket is removed when this is dropped. That of a process that was killed remains until another one is opened in
/// the same folder.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    folder: PathBuf,
    path: PathBuf,
    /// Where the file system has the socket, so that no other one is removed.
    place: (u64, u64),
    /// Readable if there is something to do.
    ready: AnyOf,
    connections: Vec<Connection>,
    /// The last replies.
    metrics: Option<(Instant, Arc<[u8]>)>,
    status: Option<(Instant, Arc<[u8]>)>,
}

impl Control {
    /// Listens in `folder`, which only root should be able to enter; see [`exm_os::runtime_folder`]. The socket is
    /// `starting-PID.sock` until [`Control::set_device`] renames it.
    ///
    /// # Errors
    /// The socket cannot be created; the error names it.
    pub fn open(folder: &Path) -> io::Result<Control> {
        let path = folder.join(format!("starting-{}.sock", std::process::id()));
        let open = || {
            // One of a process that was killed, and had the same ID.
            if path.exists() && !is_served(&path)? {
                fs::remove_file(&path)?;
            }
            let listener = UnixListener::bind(&path)?;
            fs::set_permissions(&path, Permissions::from_mode(MODE))?;
            listener.set_nonblocking(true)?;
            let metadata = fs::metadata(&path)?;
            let ready = AnyOf::new(&[listener.as_fd()])?;
            remove_stale(folder);
            Ok((listener, (metadata.dev(), metadata.ino()), ready))
        };
        let (listener, place, ready) = open().map_err(|error| named(&path, &error))?;
        let (folder, connections) = (folder.to_owned(), Vec::new());
        Ok(Control {
            listener,
            folder,
            path,
            place,
            ready,
            connections,
            metrics: None,
            status: None,
        })
    }

    /// Names the socket for the network device of the tunnel, `tunnel-DEVICE.sock`. If another process listens there,
    /// in another network namespace with the same device, it becomes `tunnel-DEVICE-PID.sock`.
    ///
    /// # Errors
    /// It cannot be renamed.
    pub fn set_device(&mut self, device: &str) -> io::Result<()> {
        let mut path = self.folder.join(format!("tunnel-{device}.sock"));
        if path.exists() && is_served(&path)? {
            path = self.folder.join(format!("tunnel-{device}-{}.sock", std::process::id()));
        }
        // This replaces one that nobody listens at.
        fs::rename(&self.path, &path).map_err(|error| named(&path, &error))?;
        self.path = path;
        Ok(())
    }

    /// The path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Accepts connections, reads requests, and writes the replies that `status` makes. Never blocks.
    pub fn service(&mut self, now: Instant, mut status: impl FnMut() -> Status) {
        self.accept(now);
        let mut connections = std::mem::take(&mut self.connections);
        connections.retain_mut(|connection| {
            if now >= connection.deadline() {
                return false;
            }
            let progress = connection.proceed(|target| self.reply(now, target, &mut status));
            match progress {
                Progress::Reads => true,
                // Without the notice it would be closed at its deadline.
                Progress::Writes => self.ready.await_room(connection.as_fd()).is_ok(),
                Progress::Done => false,
            }
        });
        self.connections = connections;
    }

    /// When to call [`Control::service`] even if its file is not readable by then.
    pub fn next_wake(&self) -> Instant {
        self.connections.iter().map(Connection::deadline).min().unwrap_or(Instant::MAX)
    }

    fn accept(&mut self, now: Instant) {
        for _ in 0..MAX_ACCEPTS {
            let Ok((mut stream, _)) = self.listener.accept() else { return };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if self.connections.len() < MAX_CONNECTIONS && self.ready.add(stream.as_fd()).is_ok() {
                self.connections.push(Connection::new(stream, now.saturating_add(PATIENCE)));
            } else {
                // It fits into the buffer of a new connection.
                let _ = stream.write(&refused(Refusal::Busy));
            }
        }
    }

    /// The reply to `target`.
    fn reply(
        &mut self,
        now: Instant,
        target: Result<Target, Refusal>,
        status: &mut impl FnMut() -> Status,
    ) -> Arc<[u8]> {
        let (kept, make): (_, fn(&Status) -> Vec<u8>) = match target {
            Err(refusal) => return refused(refusal).into(),
            Ok(Target::Metrics) => (&mut self.metrics, metrics_reply),
            Ok(Target::Status) => (&mut self.status, status_reply),
        };
        if let Some((made_at, reply)) = kept
            && now.saturating_since(*made_at) < MAX_AGE
        {
            return Arc::clone(reply);
        }
        let reply: Arc<[u8]> = make(&status()).into();
        *kept = Some((now, Arc::clone(&reply)));
        reply
    }
}

impl AsFd for Control {
    /// A file that is readable when [`Control::service`] has something to do. It stays the same.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == self.place);
        if is_ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes the sockets in `folder` of processes that were killed, as far as possible: they are ignored anyway.
fn remove_stale(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_socket = path.extension().is_some_and(|extension| extension == "sock");
        // A new socket is not served at once.
        let age = entry.metadata().and_then(|metadata| metadata.modified()).map(|at| at.elapsed());
        let is_old = matches!(age, Ok(Ok(age)) if age >= LEAST_AGE);
        if is_socket && is_old && is_served(&path).is_ok_and(|served| !served) {
            let _ = fs::remove_file(path);
        }
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the socket {} cannot be made: {error}", path.display()))
}

fn metrics_reply(status: &Status) -> Vec<u8> {
    response("200 OK", metrics::CONTENT_TYPE, metrics::metrics(status).as_bytes())
}

fn status_reply(status: &Status) -> Vec<u8> {
    // A status consists of what JSON has.
    let mut body = serde_json::to_vec(status).unwrap_or_default();
    body.push(b'\n');
    response("200 OK", "application/json", &body)
}

fn refused(refusal: Refusal) -> Vec<u8> {
    response(refusal.line(), "text/plain; charset=utf-8", refusal.advice().as_bytes())
}

fn response(line: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.0 {line}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

#[cfg(test)]
mod tests;
