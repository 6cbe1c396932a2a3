//! [`Pty`]: a program in a pseudo-terminal; [`RawTerminal`]: this process's own terminal, key by key.

use crate::{AtExit, sys};
use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};
use rustix::io::Errno;
use rustix::process::{Signal, ioctl_tiocsctty, kill_current_process_group, setsid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    InputModes, OptionalActions, Termios, Winsize, tcgetattr, tcgetwinsize, tcsetattr,
    tcsetwinsize, ttyname,
};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, Command, ExitStatus, Stdio};

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    /// Columns.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

impl TerminalSize {
    fn winsize(self) -> Winsize {
        Winsize { ws_row: self.rows, ws_col: self.columns, ws_xpixel: 0, ws_ypixel: 0 }
    }

    /// The size of the terminal `file`; none if it is not one, or does not know.
    pub fn of(file: impl AsFd) -> Option<TerminalSize> {
        let Winsize { ws_row: rows, ws_col: columns, .. } = tcgetwinsize(file).ok()?;
        (rows > 0 && columns > 0).then_some(TerminalSize { columns, rows })
    }
}

/// A program in a pseudo-terminal, whose keyboard and screen this process is. The program is hung up when this is dropped.
#[derive(Debug)]
pub struct Pty {
    main: OwnedFd,
    child: Child,
}

impl Pty {
    /// Runs `command` in a new pseudo-terminal of this size, in a session of its own. The terminal's input is UTF-8 (`IUTF8`).
    ///
    /// # Errors
    /// There are no more pseudo-terminals, or the program cannot be executed.
    pub fn spawn(mut command: Command, size: TerminalSize) -> io::Result<Pty> {
        let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&main)?;
        unlockpt(&main)?;
        let name = ptsname(&main, Vec::new())?;
        let terminal = open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
        let mut attributes = tcgetattr(&terminal)?;
        attributes.input_modes |= InputModes::IUTF8;
        tcsetattr(&terminal, OptionalActions::Now, &attributes)?;
        tcsetwinsize(&main, size.winsize())?;
        fcntl_setfl(&main, fcntl_getfl(&main)? | OFlags::NONBLOCK)?;
        command
            .stdin(Stdio::from(terminal.try_clone()?))
            .stdout(Stdio::from(terminal.try_clone()?))
            .stderr(Stdio::from(terminal.try_clone()?));
        sys::before_exec(&mut command, move || {
            setsid()?;
            Ok(ioctl_tiocsctty(&terminal)?)
        });
        Ok(Pty { main, child: command.spawn()? })
    }

    /// The program's PID.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Reads output into `buffer`: how much, or none if there is none now. Zero once no process has the terminal open.
    ///
    /// # Errors
    /// The system call failed.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::io::read(&self.main, buffer) {
            Ok(count) => Ok(Some(count)),
            // What Linux says once the other side is closed.
            Err(Errno::IO) => Ok(Some(0)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Types `bytes`, as far as the terminal takes them now: how many.
    ///
    /// # Errors
    /// No process has the terminal open any more.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match rustix::io::write(&self.main, bytes) {
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            written => Ok(written?),
        }
    }

    /// Changes the size, and tells the program.
    ///
    /// # Errors
    /// The system call failed.
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        Ok(tcsetwinsize(&self.main, size.winsize())?)
    }

    /// The program's exit status, if it has ended.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }
}

impl AsFd for Pty {
    /// Readable when there is output, or no process has the terminal open.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.main.as_fd()
    }
}

/// Has `command` run in a session of its own: it has no terminal, and outlives the one of this process.
pub fn in_new_session(command: &mut Command) {
    sys::before_exec(command, || {
        setsid()?;
        Ok(())
    });
}

/// Restores the terminal $1 to the mode $2, and writes $3 to it, from the background.
const RESCUE: &str = r#"trap '' TTOU; stty "$2" < "$1"; printf %s "$3" > "$1""#;

/// The terminal of this process in raw mode: each key arrives at once, and nothing is echoed. Its mode is restored when this is dropped.
#[derive(Debug)]
pub struct RawTerminal {
    terminal: OwnedFd,
    before: Termios,
    rescue: Option<AtExit>,
}

impl RawTerminal {
    /// Puts the terminal `file` in raw mode.
    ///
    /// # Errors
    /// It is not a terminal.
    pub fn new(file: BorrowedFd<'_>) -> io::Result<RawTerminal> {
        let terminal = file.try_clone_to_owned()?;
        let before = tcgetattr(&terminal)?;
        let raw = RawTerminal { terminal, before, rescue: None };
        raw.resume()?;
        Ok(raw)
    }

    /// The same. If this process is killed, even by SIGKILL, the mode is restored as well, and `farewell` is written to the
    /// terminal, which undoes what else was set. That takes `sh` and `stty`; without them it is not done.
    ///
    /// # Errors
    /// It is not a terminal.
    pub fn guarded(file: BorrowedFd<'_>, farewell: &str) -> io::Result<RawTerminal> {
        // Of the mode before.
        let rescue = rescue(file, farewell);
        let mut raw = RawTerminal::new(file)?;
        raw.rescue = rescue;
        Ok(raw)
    }

    /// Its size; none if it does not know.
    pub fn size(&self) -> Option<TerminalSize> {
        TerminalSize::of(&self.terminal)
    }

    /// Restores its mode, until [`RawTerminal::resume`].
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn pause(&self) -> io::Result<()> {
        Ok(tcsetattr(&self.terminal, OptionalActions::Now, &self.before)?)
    }

    /// Puts it in raw mode again.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn resume(&self) -> io::Result<()> {
        let mut raw = self.before.clone();
        raw.make_raw();
        // A remote shell sends UTF-8.
        raw.input_modes |= InputModes::IUTF8;
        Ok(tcsetattr(&self.terminal, OptionalActions::Now, &raw)?)
    }

    /// Restores its mode, and stops this process, and those of its job, as Ctrl-Z does. Returns in raw mode once the user goes on.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn suspend(&self) -> io::Result<()> {
        self.pause()?;
        // Where no shell waits for it, nothing stops.
        let _ = kill_current_process_group(Signal::TSTP);
        self.resume()
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        let _ = self.pause();
        if let Some(rescue) = self.rescue.take() {
            rescue.cancel();
        }
    }
}

/// What restores the terminal `file` after this process, if it can.
fn rescue(file: BorrowedFd<'_>, farewell: &str) -> Option<AtExit> {
    let name = ttyname(file, Vec::new()).ok()?.into_string().ok()?;
    let stdin = Stdio::from(file.try_clone_to_owned().ok()?);
    let mode = Command::new("stty").arg("-g").stdin(stdin).output().ok()?;
    let mode = String::from_utf8(mode.stdout).ok()?;
    let arguments = ["-c", RESCUE, "exm-rescue", &name, mode.trim(), farewell];
    AtExit::run("/bin/sh", &arguments).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clock, Waiter};
    use exm_units::Span;

    /// Reads until the program has ended and everything is read.
    fn output(pty: &Pty, mut typed: &[u8]) -> String {
        let clock = Clock::start();
        let waiter = Waiter::new(clock, Span::ZERO);
        let (mut output, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            typed = &typed[pty.write(typed).unwrap_or(typed.len())..];
            match pty.read(&mut buffer).expect("it can be read") {
                Some(0) => return String::from_utf8(output).expect("text"),
                Some(count) => output.extend_from_slice(&buffer[..count]),
                None => {
                    let soon = clock.now() + Span::from_secs(10);
                    waiter.wait([pty.as_fd()], soon).expect("it can wait");
                    assert!(clock.now() < soon, "{}", String::from_utf8_lossy(&output));
                }
            }
        }
    }

    #[test]
    fn a_program_has_a_terminal_of_its_own() {
        let mut command = Command::new("sh");
        command.args(["-c", "stty size; tty | cut -c 1-9; read line; echo got $line; exit 3"]);
        let size = TerminalSize { columns: 91, rows: 17 };
        let mut pty = Pty::spawn(command, size).expect("a pseudo-terminal");
        let text = output(&pty, b"hi\r");
        for part in ["17 91", "/dev/pts/", "got hi"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let status = (0..1000).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            pty.ended().expect("it can be waited for")
        });
        assert_eq!(status.and_then(|status| status.code()), Some(3));
    }

    #[test]
    fn raw_mode_ends_with_its_value() {
        let pty = Pty::spawn(Command::new("true"), TerminalSize { columns: 80, rows: 24 });
        let pty = pty.expect("a pseudo-terminal");
        let echoes = || {
            let modes = tcgetattr(&pty.main).expect("a terminal").local_modes;
            modes.contains(rustix::termios::LocalModes::ECHO)
        };
        assert!(echoes());
        let raw = RawTerminal::new(pty.as_fd()).expect("a terminal");
        assert!(!echoes());
        raw.pause().expect("a terminal");
        assert!(echoes());
        raw.resume().expect("a terminal");
        assert!(!echoes());
        drop(raw);
        assert!(echoes());
    }
}
