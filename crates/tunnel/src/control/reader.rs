//! Reads the status of running tunnels from their control sockets.

use crate::status::Status;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A tunnel whose process is stopped does not reply.
const PATIENCE: Duration = Duration::from_secs(2);
/// A longer reply is not a status.
const LONGEST: u64 = 64 << 20;

impl Status {
    /// The status of the tunnels whose sockets are in `folder`, in the order of the sockets' names; see
    /// [`Control`](crate::Control). Sockets at which nobody listens are passed over.
    ///
    /// # Errors
    /// The folder cannot be read, or a tunnel does not reply as one, each with the path.
    pub fn read_all(folder: &Path) -> io::Result<Vec<Status>> {
        let failed = |path: &Path, error: &io::Error| {
            io::Error::new(error.kind(), format!("{} cannot be read: {error}", path.display()))
        };
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| failed(folder, &error))?,
        };
        let paths = entries.map(|entry| Ok(entry?.path()));
        let paths = paths.collect::<io::Result<Vec<_>>>();
        let mut paths = paths.map_err(|error| failed(folder, &error))?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "sock"));
        paths.sort();
        let mut all = Vec::new();
        for path in paths {
            match Status::read(&path) {
                Ok(status) => all.push(status),
                // It was killed, or has just ended or got its device.
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(failed(&path, &error)),
            }
        }
        Ok(all)
    }

    /// The status of the tunnel with the socket `path`.
    ///
    /// # Errors
    /// There is none, this process may not connect to it, or it does not reply with a status within 2 s.
    pub fn read(path: &Path) -> io::Result<Status> {
        let mut stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /status HTTP/1.0\r\n\r\n")?;
        let mut reply = Vec::new();
        let read = stream.take(LONGEST).read_to_end(&mut reply);
        read.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => {
                io::Error::new(io::ErrorKind::TimedOut, "the tunnel does not reply within 2 s")
            }
            _ => error,
        })?;
        let end = reply.windows(4).position(|window| window == b"\r\n\r\n");
        let (head, body) = reply.split_at(end.map_or(reply.len(), |end| end + 4));
        if !head.starts_with(b"HTTP/1.0 200 ") {
            let line = head.split(|&byte| byte == b'\r').next().unwrap_or_default();
            let line = String::from_utf8_lossy(line).into_owned();
            return Err(io::Error::other(format!("the tunnel replies \"{line}\"")));
        }
        serde_json::from_slice(body).map_err(|error| {
            let problem = format!("it is not the status of this version of exm: {error}");
            io::Error::new(io::ErrorKind::InvalidData, problem)
        })
    }
}

/// Whether `error` says that there is no tunnel.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::NotFound
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
    )
}
