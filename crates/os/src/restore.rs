//! [`Restore`]: restores the contents of files when this process ends, however it ends.

use crate::local::{RUNTIME_FOLDER as FOLDER, runtime_folder};
use crate::remedy::setting_remedy;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The kernel's network settings as files.
const SETTINGS: &str = "/proc/sys/net/";

/// Waits for the end of the input, which is the end of our process. The shell has its own process group, so that
/// signals to ours do not reach it. A line of input says that there is nothing to do.
const WAIT: &str = "trap '' INT TERM HUP; read -r _ && exit; ";
/// Restores the file $1, whose content we changed to $2, to the content saved in $3, unless another process holds
/// a lock on $3 or the file has been changed since. Our lock is on the standard output.
const RESTORE: &str = r#"flock -n -x 1 && [ /proc/self/fd/1 -ef "$3" ] && {
    [ "$(cat "$1")" = "$2" ] && cat "$3" > "$1"; rm -f "$3"; }"#;

/// A command that runs when this is dropped or the process ends, even by SIGKILL.
///
/// A shell waits for the end of this process. If that is killed as well, the command does not run.
#[derive(Debug)]
pub struct AtExit {
    shell: Child,
}

impl AtExit {
    /// Schedules `program` with `arguments`.
    ///
    /// # Errors
    /// There is no `/bin/sh`.
    pub fn run(program: &str, arguments: &[&str]) -> io::Result<AtExit> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("{WAIT} exec \"$@\""), "exm-at-exit", program]);
        AtExit::wait(command.args(arguments).stdout(Stdio::null()))
    }

    /// Does not run it any more.
    pub fn cancel(mut self) {
        if let Some(input) = &mut self.shell.stdin {
            // If the shell is gone, it does not run either.
            let _ = input.write_all(b"\n");
        }
    }

    fn wait(command: &mut Command) -> io::Result<AtExit> {
        command.stdin(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        Ok(AtExit { shell: command.spawn()? })
    }
}

impl Drop for AtExit {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // Its success cannot be reported any more.
        let _ = self.shell.wait();
    }
}

/// A changed system file whose old content is restored when this is dropped or the process ends, even by SIGKILL.
///
/// If several processes need the same kernel setting, the last of them to end restores it. A file that has been
/// changed by others since is left alone. The old content is kept in a file in `/run/exm`, on which each process
/// that needs the change holds a lock (`flock(2)`) through the shell that waits for its end; restoring needs
/// util-linux's `flock`. If both process and shell are killed, the next process that makes the same change finds
/// the old content and restores it.
#[derive(Debug)]
pub struct Restore {
    _at_exit: AtExit,
    file: PathBuf,
    content: String,
    saved: PathBuf,
}

/// Whether several processes may make the same change at the same time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    Shared,
    Exclusive,
}

impl Restore {
    /// Sets the sysctl `net.NAME` of the calling thread's network namespace, with a name such as
    /// `ipv4/tcp_ecn`, to `value` while this or another process needs it. `None` if it has that value
    /// already.
    ///
    /// # Errors
    /// There is no such setting, it cannot be set, or there is no `/bin/sh`; the error names the file.
    pub fn setting(name: &str, value: &str) -> io::Result<Option<Restore>> {
        Restore::hold(Path::new(&format!("{SETTINGS}{name}")), value, Sharing::Shared)
    }

    /// Writes `content` to `file`. The first line of `content` must be one that only this program
    /// writes.
    ///
    /// # Errors
    /// The file cannot be read or written, another process has changed it, or there is no `/bin/sh`; the error
    /// names the file.
    pub fn file(file: &Path, content: &str) -> io::Result<Restore> {
        // Where a symbolic link leads now is what must be restored, wherever it leads later.
        let target = fs::canonicalize(file).map_err(|error| named(file, &error))?;
        let restore = Restore::hold(&target, content, Sharing::Exclusive)?;
        restore.ok_or_else(|| named(file, &io::Error::from(io::ErrorKind::AlreadyExists)))
    }

    /// The changed file, to which no symbolic links lead any more.
    pub fn target(&self) -> &Path {
        &self.file
    }

    fn hold(file: &Path, content: &str, sharing: Sharing) -> io::Result<Option<Restore>> {
        let failed = |error: io::Error| named(file, &error);
        let saved = saved(file, content).map_err(failed)?;
        loop {
            let (lock, is_first) = lock(&saved, sharing).map_err(failed)?;
            let before = fs::read_to_string(file).map_err(failed)?;
            if is_first && !is_known(&lock, &before, content)? {
                if sharing == Sharing::Shared && before.trim_end() == content {
                    fs::remove_file(&saved).map_err(failed)?;
                    return Ok(None);
                }
                save(&lock, &before).map_err(failed)?;
            }
            if sharing == Sharing::Shared {
                lock.lock_shared().map_err(failed)?;
            }
            // The previous holder may have removed it meanwhile.
            if !is_at(&lock, &saved) {
                continue;
            }
            let mut command = Command::new("/bin/sh");
            command.args(["-c", &format!("{WAIT} {RESTORE}"), "exm-restore"]);
            command.arg(file).arg(content.trim_end()).arg(&saved).stdout(lock);
            let _at_exit = AtExit::wait(&mut command).map_err(failed)?;
            let restore =
                Restore { _at_exit, file: file.to_owned(), content: content.to_owned(), saved };
            if before.trim_end() != content.trim_end() {
                fs::write(file, content).map_err(failed)?;
            }
            return Ok(Some(restore));
        }
    }

    /// If others have rewritten the file, writes our content again, and restores theirs at the end. Returns
    /// whether that was so.
    ///
    /// # Errors
    /// The file cannot be read or written; the error names it.
    pub fn renew(&self) -> io::Result<bool> {
        let failed = |error: io::Error| named(&self.file, &error);
        let found = fs::read_to_string(&self.file).map_err(failed)?;
        if found.trim_end() == self.content.trim_end() {
            return Ok(false);
        }
        let kept = OpenOptions::new().write(true).open(&self.saved).map_err(failed)?;
        save(&kept, &found).map_err(failed)?;
        fs::write(&self.file, &self.content).map_err(failed)?;
        Ok(true)
    }
}

/// An exclusive lock called `name`, held until this is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Acquires it; `None` if another process holds it.
    ///
    /// # Errors
    /// The lock file cannot be opened; the error names it.
    pub(crate) fn acquire(name: &str) -> io::Result<Option<Lock>> {
        let path = PathBuf::from(format!("{FOLDER}/{}-{name}", namespace("net")?));
        let failed = |error: io::Error| named(&path, &error);
        loop {
            let file = runtime_folder().and_then(|_| open(&path)).map_err(failed)?;
            match file.try_lock() {
                // The previous holder may have removed it meanwhile.
                Ok(()) if is_at(&file, &path) => return Ok(Some(Lock { file, path })),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }

    /// What a holder has written to the file.
    ///
    /// # Errors
    /// It cannot be read; the error names it.
    pub(crate) fn read(&self) -> io::Result<String> {
        fs::read_to_string(&self.path).map_err(|error| named(&self.path, &error))
    }

    /// Writes `content` to the file, which then remains after this is dropped, unless it is empty.
    ///
    /// # Errors
    /// It cannot be written; the error names it.
    pub(crate) fn write(&self, content: &str) -> io::Result<()> {
        fs::write(&self.path, content).map_err(|error| named(&self.path, &error))
    }
}

impl Drop for Lock {
    /// Closing the file would not be enough: a program that another thread is starting has a copy of the
    /// descriptor for a moment, and with it the lock.
    fn drop(&mut self) {
        if self.file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            let _ = fs::remove_file(&self.path);
        }
        let _ = self.file.unlock();
    }
}

fn named(file: &Path, error: &io::Error) -> io::Error {
    let problem = match error.kind() {
        io::ErrorKind::AlreadyExists => "another exm on this machine has changed it".to_owned(),
        _ => format!("{error}{}", setting_remedy(error)),
    };
    io::Error::new(error.kind(), format!("{} cannot be changed: {problem}", file.display()))
}

/// Where the old content of `file` is kept. Settings belong to a network namespace, other files to a mount
/// namespace. Slashes become exclamation marks, as in sysfs. The name for a setting includes the new value, as
/// processes that want different values share nothing.
fn saved(file: &Path, content: &str) -> io::Result<PathBuf> {
    runtime_folder()?;
    let name = file.display().to_string().replace('/', "!");
    Ok(match file.starts_with(SETTINGS) {
        true => format!("{FOLDER}/{}-{name}={content}", namespace("net")?).into(),
        false => format!("{FOLDER}/{}-{name}", namespace("mnt")?).into(),
    })
}

/// Identifies the calling thread's namespace of the type `kind`.
fn namespace(kind: &str) -> io::Result<String> {
    let inode = fs::metadata(format!("/proc/thread-self/ns/{kind}"))?.ino();
    Ok(format!("{kind}-{inode}"))
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Opens and locks the file at `path`. Returns whether no other process holds a lock on it.
fn lock(path: &Path, sharing: Sharing) -> io::Result<(File, bool)> {
    loop {
        let file = open(path)?;
        let is_first = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) if sharing == Sharing::Shared => {
                file.lock_shared()?;
                false
            }
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::from(io::ErrorKind::AlreadyExists));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        };
        if is_at(&file, path) {
            return Ok((file, is_first));
        }
    }
}

/// Whether `file` is what is found at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Whether `kept` has the old content already: left by a process that was killed with its shell, while
/// the file still has what that wrote.
fn is_known(kept: &File, before: &str, content: &str) -> io::Result<bool> {
    let is_ours = before.lines().next() == content.lines().next();
    Ok(is_ours && kept.metadata()?.len() > 0)
}

/// Makes `content` the only contents of `kept`. It is read only by a shell, after this process has ended.
fn save(mut kept: &File, content: &str) -> io::Result<()> {
    kept.write_all(content.as_bytes())?;
    kept.set_len(content.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the tests can run here.
    #[track_caller]
    fn possible() -> bool {
        let possible = exm_testing::is_root();
        if !possible {
            exm_testing::skip("without root privileges");
        }
        possible
    }

    fn file(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("exm-restore-{name}-{}", std::process::id()))
    }

    fn read(file: &Path) -> String {
        fs::read_to_string(file).unwrap()
    }

    const BEFORE: &str = "nameserver 192.0.2.1\nsearch \"$(false)\" % \\n\n";

    #[test]
    fn the_old_content_comes_back() {
        if !possible() {
            return;
        }
        let file = file("back");
        fs::write(&file, BEFORE).unwrap();
        let restore = Restore::file(&file, "ours\n").unwrap();
        assert_eq!(read(&file), "ours\n");
        let busy = Restore::file(&file, "ours\n").unwrap_err();
        assert!(busy.to_string().contains("another exm on this machine"), "{busy}");
        drop(restore);
        assert_eq!(read(&file), BEFORE);
        fs::remove_file(&file).unwrap();
        assert!(Restore::file(&file, "ours\n").is_err(), "it does not exist");
    }

    #[test]
    fn changes_by_others_stay() {
        if !possible() {
            return;
        }
        let file = file("else");
        fs::write(&file, BEFORE).unwrap();
        let restore = Restore::file(&file, "ours\n").unwrap();
        assert!(!restore.renew().unwrap());
        fs::write(&file, "another network's\n").unwrap();
        assert!(restore.renew().unwrap());
        assert_eq!(read(&file), "ours\n");
        drop(restore);
        assert_eq!(read(&file), "another network's\n", "not that of the first network");
        let restore = Restore::file(&file, "ours\n").unwrap();
        fs::write(&file, "a third's\n").unwrap();
        drop(restore);
        assert_eq!(read(&file), "a third's\n");
        fs::remove_file(&file).unwrap();
    }

    #[test]
    fn the_last_holder_restores() {
        if !possible() {
            return;
        }
        let file = file("several");
        fs::write(&file, "0").unwrap();
        let hold = || Restore::hold(&file, "1", Sharing::Shared).unwrap();
        let holders: Vec<_> = (0..3).map(|_| hold().expect("it is changed")).collect();
        for holder in holders {
            assert_eq!(read(&file), "1");
            drop(holder);
        }
        assert_eq!(read(&file), "0");
        // A setting that already has the value needs no restoring.
        fs::write(&file, "1").unwrap();
        assert!(hold().is_none());
        assert_eq!(read(&file), "1");
        fs::remove_file(&file).unwrap();
    }

    #[test]
    fn the_saved_content_outlives_even_the_shell() {
        if !possible() {
            return;
        }
        let file = file("killed");
        fs::write(&file, "0").unwrap();
        let hold = || Restore::hold(&file, "1", Sharing::Shared).unwrap();
        let mut killed = hold().expect("it is changed");
        killed._at_exit.shell.kill().unwrap();
        drop(killed);
        assert_eq!(read(&file), "1", "no process was left to restore it");
        drop(hold().expect("it was changed by us"));
        assert_eq!(read(&file), "0");
        fs::remove_file(&file).unwrap();
    }

    #[test]
    fn a_lock_ends_even_if_a_starting_program_has_a_copy() {
        if !possible() {
            return;
        }
        let lock = Lock::acquire("copied").unwrap().expect("it is unlocked");
        assert!(Lock::acquire("copied").unwrap().is_none());
        let copy = lock.file.try_clone().unwrap();
        drop(lock);
        assert!(Lock::acquire("copied").unwrap().is_some(), "{copy:?} is not a lock");
    }
}
