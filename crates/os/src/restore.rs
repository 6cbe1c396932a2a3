//! [`Restore`]: giving files their contents back when this process ends, however it ends.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What the shell does: waits for the end of its input, which is our end, and writes. Its session is
/// its own, so that what a terminal or a shell sends to all our processes does not reach it.
const SCRIPT: &str = "trap '' INT TERM HUP; read -r _; printf %s \"$2\" > \"$1\"";

/// A file of the system's that was changed, and has its old content again when this is dropped or
/// the process ends, by SIGKILL too.
///
/// It is a shell that waits for us to end. Who kills that as well keeps the change.
#[derive(Debug)]
pub struct Restore {
    shell: Child,
}

impl Restore {
    /// Writes `content` to `file` until this is dropped or the process ends.
    ///
    /// # Errors
    /// The file cannot be read or written, or there is no `/bin/sh`.
    pub fn after_writing(file: &Path, content: &str) -> io::Result<Restore> {
        let before = fs::read_to_string(file)?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "exm-restore"]).arg(file).arg(before);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.process_group(0);
        let restore = Restore { shell: command.spawn()? };
        fs::write(file, content)?;
        Ok(restore)
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // Whether it could write, nobody can be told any more.
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_content_comes_back() {
        let file = std::env::temp_dir().join(format!("exm-restore-{}", std::process::id()));
        let before = "nameserver 192.0.2.1\nsearch \"$(false)\" % \\n\n";
        fs::write(&file, before).unwrap();
        let restore = Restore::after_writing(&file, "else").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "else");
        drop(restore);
        assert_eq!(fs::read_to_string(&file).unwrap(), before);
        fs::remove_file(&file).unwrap();
    }
}
