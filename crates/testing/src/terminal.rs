//! [`InTerminal`]: a command in a terminal; and the real mosh, as a peer.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long [`InTerminal::until`] waits.
const PATIENCE: Duration = Duration::from_secs(20);
const STEP: Duration = Duration::from_millis(10);

/// A command in a terminal of 80 columns and 24 rows, which `script` provides. It is killed when this is dropped.
#[derive(Debug)]
pub struct InTerminal {
    child: Child,
    keyboard: ChildStdin,
    shown: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl InTerminal {
    /// Runs `command`, a line for the shell, with these `variables` besides a locale and the terminal's name.
    ///
    /// # Errors
    /// `script` cannot be run.
    pub fn run(command: &str, variables: &[(&str, &str)]) -> io::Result<InTerminal> {
        let mut script = Command::new("script");
        script.args(["-qefc", &format!("stty rows 24 cols 80; {command}"), "/dev/null"]);
        script.env("LC_ALL", "C.UTF-8").env("TERM", "xterm-256color");
        script.envs(variables.iter().copied());
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = script.spawn()?;
        let keyboard = child.stdin.take().expect("it is piped");
        let mut output = child.stdout.take().expect("it is piped");
        let shown = Arc::new(Mutex::new(Vec::new()));
        let reading = Arc::clone(&shown);
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count) = output.read(&mut buffer)
                && count > 0
            {
                reading.lock().expect("nobody panics").extend_from_slice(&buffer[..count]);
            }
        });
        Ok(InTerminal { child, keyboard, shown, reader: Some(reader) })
    }

    /// Runs `mosh-client` of the server with this key at `port` of this machine.
    ///
    /// # Errors
    /// `script` cannot be run.
    pub fn mosh_client(port: u16, key: &str) -> io::Result<InTerminal> {
        let variables = [
            ("MOSH_KEY", key),
            ("MOSH_PREDICTION_DISPLAY", "never"),
            ("MOSH_NO_TERM_INIT", "1"),
            ("MOSH_TITLE_NOPREFIX", "1"),
        ];
        InTerminal::run(&format!("exec mosh-client 127.0.0.1 {port}"), &variables)
    }

    /// Types `keys`.
    ///
    /// # Errors
    /// The command has ended.
    pub fn type_keys(&mut self, keys: &[u8]) -> io::Result<()> {
        self.keyboard.write_all(keys)?;
        self.keyboard.flush()
    }

    /// What it has written to the terminal so far.
    pub fn shown(&self) -> Vec<u8> {
        self.shown.lock().expect("nobody panics").clone()
    }

    /// Waits until it has written `text`.
    ///
    /// # Panics
    /// It has not after 20 s.
    #[track_caller]
    pub fn until(&self, text: &str) {
        let shown = || String::from_utf8_lossy(&self.shown()).into_owned();
        let steps = PATIENCE.as_millis() / STEP.as_millis();
        let appears = (0..steps).any(|_| {
            thread::sleep(STEP);
            shown().contains(text)
        });
        assert!(appears, "{text:?} does not appear: {:?}", shown());
    }

    /// Waits until it has ended: its exit code, and all that it has written.
    ///
    /// # Panics
    /// It cannot be waited for.
    pub fn ended(&mut self) -> (Option<i32>, Vec<u8>) {
        let code = self.child.wait().expect("it can be waited for").code();
        if let Some(reader) = self.reader.take() {
            reader.join().expect("it reads only");
        }
        (code, self.shown())
    }
}

impl Drop for InTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a `mosh-server` on this machine that runs `command`: its address and its key. None if it does not start.
pub fn mosh_server(command: &[&str]) -> Option<(SocketAddr, String)> {
    let mut server = Command::new("mosh-server");
    server.args(["new", "-i", "127.0.0.1", "-p", "61000:61999", "-c", "256", "--"]);
    // Where the tests run in the background, SIGINT is ignored, which programs inherit: Ctrl-C would stop nothing.
    server.args(["env", "--default-signal=INT"]).args(command);
    let output = server.env("LC_ALL", "C.UTF-8").env("MOSH_SERVER_NETWORK_TMOUT", "12").output();
    let text = String::from_utf8_lossy(&output.ok()?.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("MOSH CONNECT "))?;
    let (port, key) = line.split_once(' ')?;
    Some(((Ipv4Addr::LOCALHOST, port.parse().ok()?).into(), key.to_owned()))
}
