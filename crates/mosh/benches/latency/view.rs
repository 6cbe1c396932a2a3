//! [`View`]: a program in a terminal, and what the terminal shows. Shared by the benchmark and by the tests of the program.

use exm_os::{Clock, Pty, TerminalSize, Waiter};
use exm_terminal::{Screen, Size, Terminal};
use exm_units::{Instant, Span};
use std::io;
use std::os::fd::AsFd;
use std::process::Command;

pub(crate) const COLUMNS: u16 = 80;
const ROWS: u16 = 24;

/// A program in a terminal of 80 columns and 24 rows, which answers what the program asks it.
pub(crate) struct View {
    clock: Clock,
    waiter: Waiter,
    pty: Pty,
    terminal: Terminal,
}

impl View {
    /// Starts `command`.
    pub(crate) fn start(command: Command) -> io::Result<View> {
        let pty = Pty::spawn(command, TerminalSize { columns: COLUMNS, rows: ROWS })?;
        let clock = Clock::start();
        let waiter = Waiter::new(clock, Span::from_micros(50));
        let terminal = Terminal::new(Size::new(COLUMNS.into(), ROWS.into()));
        Ok(View { clock, waiter, pty, terminal })
    }

    /// Starts a shell that runs `script`, without a session.
    pub(crate) fn of_script(script: &str, locale: &str) -> io::Result<View> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command.env("LC_ALL", locale).env("TERM", "xterm-256color").env("PS1", "ready$ ");
        command.env("NCURSES_NO_UTF8_ACS", "1");
        View::start(command)
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    pub(crate) fn screen(&self) -> &Screen {
        self.terminal.screen()
    }

    /// The PID of the program.
    pub(crate) fn id(&self) -> u32 {
        self.pty.id()
    }

    /// Shows what the program writes until then, or once it has written something.
    pub(crate) fn step(&mut self, until: Instant) -> io::Result<()> {
        self.waiter.wait([self.pty.as_fd()], until)?;
        self.show()
    }

    /// Shows what the program has written.
    pub(crate) fn show(&mut self) -> io::Result<()> {
        let mut buffer = [0; 1 << 16];
        match self.pty.read(&mut buffer)? {
            Some(0) => Err(io::Error::other("the program has ended")),
            Some(count) => {
                self.terminal.advance(&buffer[..count]);
                let answers = self.terminal.take_answers();
                self.type_keys(&answers)
            }
            None => Ok(()),
        }
    }

    /// Types `keys` as fast as the program's terminal takes them.
    pub(crate) fn type_keys(&mut self, mut keys: &[u8]) -> io::Result<()> {
        while !keys.is_empty() {
            let taken = self.pty.write(keys)?;
            keys = &keys[taken..];
            if !keys.is_empty() {
                self.step(self.now() + Span::from_millis(10))?;
            }
        }
        Ok(())
    }

    /// Changes the size of the terminal.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) -> io::Result<()> {
        self.terminal.resize(Size::new(columns.into(), rows.into()));
        self.pty.resize(TerminalSize { columns, rows })
    }
}
