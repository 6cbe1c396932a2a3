//! [`LoginRecord`]: the entry in utmp(5) that programs such as `who` show.

use crate::Pty;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The record of a session in a pseudo-terminal.
///
/// Users may not write to utmp: the small program `utempter` of libutempter does, for the owner of a terminal. Where it is
/// missing there are no records.
#[derive(Debug)]
pub struct LoginRecord {
    helper: PathBuf,
    /// Whether there is a record.
    is_written: bool,
}

impl LoginRecord {
    /// A record for later, if this machine has the program.
    pub fn find() -> Option<LoginRecord> {
        let arch = std::env::consts::ARCH;
        let folders = ["/usr/libexec", "/usr/lib", &format!("/usr/lib/{arch}-linux-gnu")]
            .map(|folder| Path::new(folder).join("utempter/utempter"));
        let helper = folders.into_iter().find(|helper| helper.is_file())?;
        Some(LoginRecord { helper, is_written: false })
    }

    /// Writes that the user of `terminal` is at `place`, of at most 256 bytes. It starts a program, so it is for changes.
    pub fn say(&mut self, terminal: &Pty, place: &str) {
        self.run(terminal, &["add", place]);
        self.is_written = true;
    }

    /// Removes the record of `terminal`.
    pub fn remove(&mut self, terminal: &Pty) {
        if std::mem::take(&mut self.is_written) {
            self.run(terminal, &["del"]);
        }
    }

    /// The helper knows the terminal by its standard input.
    fn run(&self, terminal: &Pty, arguments: &[&str]) {
        let Ok(file) = terminal.as_fd().try_clone_to_owned() else { return };
        let mut command = Command::new(&self.helper);
        command.args(arguments).stdin(Stdio::from(file));
        // A record that cannot be written is no reason to end the session.
        let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}
