//! [`Control`]: where other processes of a user reach a session; [`Sessions`]: those sessions.
//!
//! Each session listens at a Unix socket in a folder that only its user may enter. A request is a line, its answer a line of JSON.

use exm_datagram::Key;
use rustix::process::getuid;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the other process is waited for: it writes and reads at once.
const PATIENCE: Duration = Duration::from_millis(200);
/// No request and no answer is longer.
const LONGEST_LINE: u64 = 1 << 16;

const ATTACH: &str = "attach";
const DESCRIBE: &str = "describe";

/// What other processes ask of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// A key for a new client.
    Attach,
    /// What it is.
    Describe,
}

/// A session of this user, as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The PID of its server.
    pub id: u32,
    /// The program in its terminal.
    pub program: String,
    /// Its age in seconds.
    pub age: u64,
    /// Where its client is, or was last; none if none has come yet.
    pub client: Option<IpAddr>,
    /// For how many seconds nothing has come from the client.
    pub silence: Option<u64>,
}

/// What a new client needs to take a session over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attachment {
    /// The session's UDP port.
    pub port: u16,
    /// The new key, as text.
    pub key: String,
}

/// The end of a session that other processes of its user reach: it makes the session one of their [`Sessions`], of which a process can
/// have one. It is removed when this is dropped.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
}

impl Control {
    /// Listens for this process's session.
    ///
    /// # Errors
    /// The folder of the sockets cannot be created, or others may enter it.
    pub fn listen() -> io::Result<Control> {
        let path = folder()?.join(std::process::id().to_string());
        // Of a process that had this number before.
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        Ok(Control { listener, path })
    }

    /// A request that waits, and where its answer goes.
    pub(super) fn request(&self) -> Option<(Request, UnixStream)> {
        let (stream, _) = self.listener.accept().ok()?;
        stream.set_nonblocking(false).ok()?;
        let request = match line(&stream).ok()?.as_str() {
            ATTACH => Request::Attach,
            DESCRIBE => Request::Describe,
            _ => return None,
        };
        Some((request, stream))
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Answers a request. If the other process is gone, there is nobody to tell.
pub(super) fn answer(mut stream: &UnixStream, answer: &impl Serialize) {
    if let Ok(mut text) = serde_json::to_vec(answer) {
        text.push(b'\n');
        let _ = stream.set_write_timeout(Some(PATIENCE));
        let _ = stream.write_all(&text);
    }
}

/// The sessions of this process's user on this machine.
#[derive(Clone, Debug)]
pub struct Sessions {
    folder: PathBuf,
}

impl Sessions {
    /// Those of this process's user.
    ///
    /// # Errors
    /// The folder with their sockets cannot be created, or others may enter it.
    pub fn of_user() -> io::Result<Sessions> {
        Ok(Sessions { folder: folder()? })
    }

    /// All of them, the oldest first.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn all(&self) -> io::Result<Vec<Session>> {
        let mut sessions = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            match ask(&path, DESCRIBE) {
                Ok(text) => sessions.extend(serde_json::from_str::<Session>(&text)),
                // Its process was killed.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    let _ = fs::remove_file(&path);
                }
                Err(_) => {}
            }
        }
        sessions.sort_by_key(|session| (std::cmp::Reverse(session.age), session.id));
        Ok(sessions)
    }

    /// Asks the session `id` for a key for a new client. The client that it has is sent away.
    ///
    /// # Errors
    /// There is no such session, or it does not answer.
    pub fn attach(&self, id: u32) -> io::Result<Attachment> {
        let text = ask(&self.folder.join(id.to_string()), ATTACH)?;
        let attachment: Attachment = serde_json::from_str(&text)?;
        let key: Result<Key, _> = attachment.key.parse();
        key.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(attachment)
    }
}

/// Sends `request` to the socket `path`, and returns the answer.
fn ask(path: &Path, request: &str) -> io::Result<String> {
    let stream = UnixStream::connect(path)?;
    // Its session may be busy.
    stream.set_read_timeout(Some(10 * PATIENCE))?;
    (&stream).write_all(format!("{request}\n").as_bytes())?;
    let mut text = String::new();
    BufReader::new(stream.take(LONGEST_LINE)).read_line(&mut text)?;
    Ok(text)
}

/// The line that `stream` sends.
fn line(stream: &UnixStream) -> io::Result<String> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut text = String::new();
    BufReader::new(stream.take(LONGEST_LINE)).read_line(&mut text)?;
    Ok(text.trim_end().to_owned())
}

/// The folder of this user's sockets. It is not in the one that a login has, which is removed when the user logs out.
fn folder() -> io::Result<PathBuf> {
    let user = getuid().as_raw();
    let path = PathBuf::from(format!("/tmp/exm-mosh-{user}"));
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let metadata = fs::symlink_metadata(&path)?;
    if !metadata.is_dir() || metadata.uid() != user || metadata.mode() & 0o077 != 0 {
        let problem = format!("{} is not a folder that only you may enter", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_session_is_found_and_asked() {
        let control = Control::listen().expect("a socket");
        let session = Session {
            id: std::process::id(),
            program: "sh".to_owned(),
            age: 3,
            client: Some([127, 0, 0, 1].into()),
            silence: Some(1),
        };
        let key = Key::generate().expect("randomness");
        let sessions = Sessions::of_user().expect("a folder");
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut left = 2;
                while left > 0 {
                    let Some((request, stream)) = control.request() else {
                        thread::sleep(Duration::from_millis(1));
                        continue;
                    };
                    left -= 1;
                    match request {
                        Request::Describe => answer(&stream, &session),
                        Request::Attach => {
                            let key = key.to_text().as_str().to_owned();
                            answer(&stream, &Attachment { port: 60001, key });
                        }
                    }
                }
            });
            let all = sessions.all().expect("the folder is there");
            assert!(all.contains(&session), "{all:?}");
            let attachment = sessions.attach(session.id).expect("it answers");
            assert_eq!((attachment.port, attachment.key.as_str()), (60001, key.to_text().as_str()));
        });
        drop(control);
        assert!(sessions.attach(session.id).is_err());
    }
}
