//! [`AgentSocket`]: where programs at a server find the client's SSH agent.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A Unix socket that only its user reaches. It is removed when this is dropped.
#[derive(Debug)]
pub(super) struct AgentSocket {
    listener: UnixListener,
    folder: PathBuf,
    path: PathBuf,
}

impl AgentSocket {
    /// # Errors
    /// There cannot be a folder for it.
    pub(super) fn listen() -> io::Result<AgentSocket> {
        let random = getrandom::u64().map_err(io::Error::other)?;
        let folder = std::env::temp_dir().join(format!("exm-agent-{random:016x}"));
        // It must not exist: then nobody else has made it.
        DirBuilder::new().mode(0o700).create(&folder)?;
        let path = folder.join(format!("agent.{}", std::process::id()));
        let bound = UnixListener::bind(&path).and_then(|listener| {
            fs::set_permissions(&path, Permissions::from_mode(0o600))?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        match bound {
            Ok(listener) => Ok(AgentSocket { listener, folder, path }),
            Err(error) => {
                let _ = fs::remove_dir_all(&folder);
                Err(error)
            }
        }
    }

    /// What programs find in `SSH_AUTH_SOCK`.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A connection that waits.
    pub(super) fn accept(&self) -> Option<UnixStream> {
        self.listener.accept().ok().map(|(socket, _)| socket)
    }
}

impl AsFd for AgentSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for AgentSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_dir(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn only_its_user_reaches_it_and_nothing_is_left() {
        let socket = AgentSocket::listen().expect("a socket");
        let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o777;
        let (path, folder) = (socket.path().to_owned(), socket.folder.clone());
        assert_eq!((mode(&path), mode(&folder)), (0o600, 0o700));
        assert!(socket.accept().is_none());
        let _connection = UnixStream::connect(&path).expect("it listens");
        assert!(socket.accept().is_some());
        drop(socket);
        assert!(!folder.exists());
    }
}
