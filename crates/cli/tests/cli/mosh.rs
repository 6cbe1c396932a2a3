//! `exm mosh`, `mosh-client` and `mosh-server` as processes: with each other, and with the real mosh.
//!
//! Skipped if pseudo-terminals or mosh are missing.

use crate::common::{Folder, assert_fails};
use exm_testing::{has, skip};
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A command in a terminal of 80 columns and 24 rows; it is killed when this is dropped.
struct InTerminal {
    child: Child,
    keyboard: ChildStdin,
    shown: Arc<Mutex<String>>,
}

impl InTerminal {
    fn run(command: &str) -> InTerminal {
        let mut script = Command::new("script");
        script.args(["-qefc", &format!("stty rows 24 cols 80; {command}"), "/dev/null"]);
        script.env("LC_ALL", "C.UTF-8").env("TERM", "xterm-256color");
        script.env("MOSH_PREDICTION_DISPLAY", "never").env("MOSH_SERVER_NETWORK_TMOUT", "30");
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = script.spawn().expect("script is there");
        let keyboard = child.stdin.take().expect("it is piped");
        let mut output = child.stdout.take().expect("it is piped");
        let shown = Arc::new(Mutex::new(String::new()));
        let reading = Arc::clone(&shown);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count) = output.read(&mut buffer)
                && count > 0
            {
                let text = String::from_utf8_lossy(&buffer[..count]);
                reading.lock().expect("nobody panics").push_str(&text);
            }
        });
        InTerminal { child, keyboard, shown }
    }

    fn until(&self, text: &str) {
        let shown = || self.shown.lock().expect("nobody panics").clone();
        let appears = (0..2000).any(|_| {
            thread::sleep(Duration::from_millis(10));
            shown().contains(text)
        });
        assert!(appears, "{text:?} does not appear: {:?}", shown());
    }

    fn type_keys(&mut self, keys: &[u8]) {
        self.keyboard.write_all(keys).expect("it takes keys");
    }

    fn code(&mut self) -> Option<i32> {
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for InTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Works in a shell that `command` opens, and ends it.
fn works(command: &str) {
    let mut terminal = InTerminal::run(command);
    terminal.until("ready$");
    terminal.type_keys(b"echo hel\"\"lo; stty size\r");
    terminal.until("hello");
    terminal.until("24 80");
    terminal.type_keys(b"exit\r");
    terminal.until("[mosh is exiting.]");
    assert_eq!(terminal.code(), Some(0), "{command}");
}

const EXM: &str = env!("CARGO_BIN_EXE_exm");

#[test]
fn a_shell_is_shown_until_it_ends() {
    if !has("script") {
        skip("script is missing");
        return;
    }
    works(&format!("{EXM} mosh --local -- env 'PS1=ready$ ' sh -i"));
}

#[test]
fn the_user_leaves_by_the_escape_key() {
    if !has("script") {
        skip("script is missing");
        return;
    }
    let mut terminal =
        InTerminal::run(&format!("{EXM} mosh --local --no-init -- env 'PS1=ready$ ' sh -i"));
    terminal.until("ready$");
    terminal.type_keys(b"\x1e.");
    terminal.until("[mosh is exiting.]");
    assert_eq!(terminal.code(), Some(0));
}

/// Either side may be replaced by the original.
#[test]
fn the_original_is_at_the_other_end() {
    if !has("script") || !has("mosh") {
        skip("script or mosh is missing");
        return;
    }
    works(&format!("{EXM} mosh --local --server mosh-server -- env 'PS1=ready$ ' sh -i"));
    works(&format!(
        "mosh --local --server='{EXM} mosh-server' 127.0.0.1 -- env 'PS1=ready$ ' sh -i"
    ));
}

#[test]
fn what_is_wrong_is_said() {
    let folder = Folder::new("mosh");
    let fails = |words: &str, code: i32, parts: &[&str]| {
        assert_fails(&folder.run(words), code, parts);
    };
    fails("mosh", 2, &["HOST"]);
    fails("mosh-server old", 2, &["the only word is \"new\""]);
    fails("mosh --local --port x -- true", 2, &["'x' for '--port'"]);
    fails("mosh --local --server false -- true", 1, &["the server has not started", "--server"]);
    fails("mosh --ssh no-such-program host", 1, &["cannot run no-such-program"]);
    fails("mosh-client 127.0.0.1 60001", 2, &["MOSH_KEY"]);
    let client = folder.exm("mosh-client 127.0.0.1 60001").env("MOSH_KEY", "x").output();
    assert_fails(&client.expect("it runs"), 1, &["MOSH_KEY holds no key"]);
    let key = "AAECAwQFBgcICQoLDA0ODw";
    let client = folder.exm("mosh-client 127.0.0.1 60001").env("MOSH_KEY", key).output();
    assert_fails(&client.expect("it runs"), 1, &["a session is shown on a terminal"]);
    let mut server = folder.exm("mosh-server");
    server.env("LC_ALL", "C").stdin(Stdio::null());
    assert_fails(&server.output().expect("it runs"), 1, &["the locale is not UTF-8"]);
}
