//! The folder for what lives as long as a process, and Unix sockets in it.

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::geteuid;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

/// Where running processes keep what others may need; it does not survive a reboot.
pub(crate) const RUNTIME_FOLDER: &str = "/run/exm";
/// Only its owner may look into it.
const MODE: u32 = 0o700;

/// The folder `/run/exm`, which is created if it is missing: running processes keep there what other processes of root
/// may need. Only its owner, this process's user, may enter it.
///
/// # Errors
/// It cannot be created, or belongs to another user; the error names it.
pub fn runtime_folder() -> io::Result<&'static Path> {
    let folder = Path::new(RUNTIME_FOLDER);
    private_folder(folder).map_err(|error| {
        io::Error::new(error.kind(), format!("the folder {RUNTIME_FOLDER} cannot be used: {error}"))
    })?;
    Ok(folder)
}

/// Creates `folder` if it is missing, and sees that only this process's user may enter it.
fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(MODE).create(folder)?;
    // Not what a symbolic link leads to.
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() || found.uid() != geteuid().as_raw() {
        let problem = "it belongs to another user: remove it";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
    }
    // A service manager may have created it for all to see.
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(folder, Permissions::from_mode(MODE))?;
    }
    Ok(())
}

/// Whether a process listens at the Unix socket `path`. A process that was killed leaves its socket behind, at which
/// nobody listens. Never blocks.
///
/// # Errors
/// The path is too long, there is no such file, or this process may not open it.
pub fn is_served(path: &Path) -> io::Result<bool> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match connect(&socket, &SocketAddrUnix::new(path)?) {
        // With AGAIN, more connections wait than it has room for.
        Ok(()) | Err(Errno::AGAIN) => Ok(true),
        Err(Errno::CONNREFUSED) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_socket_is_served_until_its_listener_is_gone() {
        let folder = exm_testing::Folder::new("os-local-socket");
        let path = folder.0.join("a.sock");
        assert_eq!(is_served(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        let listener = UnixListener::bind(&path).unwrap();
        assert!(is_served(&path).unwrap());
        drop(listener);
        assert!(!is_served(&path).unwrap());
    }

    #[test]
    fn only_its_owner_enters_a_private_folder() {
        let folder = exm_testing::Folder::new("os-local");
        let path = folder.0.join("run");
        private_folder(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        private_folder(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        let link = folder.0.join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(private_folder(&link).is_err());
    }
}
