//! [`Running`]: a program at work; and whether it can be, where it makes networks.

use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Whether what makes networks can be tested here.
pub(crate) fn may_make_networks() -> bool {
    let may = exm_os::Rights::are_there() && Path::new("/dev/net/tun").exists();
    if !may {
        eprintln!("skipped: it takes root's rights and /dev/net/tun");
    }
    may
}

/// A program at work, ended when dropped.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Running {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running(piped.spawn().expect("the program starts"))
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
