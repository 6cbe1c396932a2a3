//! [`Running`]: a running program.

use std::process::{Child, Command, Stdio};

/// A running program, killed when dropped.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Running {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running(piped.spawn().expect("the program starts"))
    }

    /// A program with the pipes that `command` asks for.
    pub(crate) fn spawn(command: &mut Command) -> std::io::Result<Running> {
        command.spawn().map(Running)
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        let killed = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(killed.expect("there is kill").success());
    }

    pub(crate) fn code(&mut self) -> Option<i32> {
        self.0.wait().expect("it ends").code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
