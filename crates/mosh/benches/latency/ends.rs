//! [`Ends`]: a client in a terminal and its server, as processes, with a [`Relay`] between them. Shared by the benchmark and by the
//! tests of the program.

use crate::relay::{Link, Relay};
use crate::view::View;
use exm_terminal::{Cell, Position, Screen};
use exm_units::{Instant, Span};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How long anything is waited for.
const PATIENCE: Span = Span::from_secs(60);

/// Whose client and server.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    client_is_ours: bool,
    server_is_ours: bool,
    exm: PathBuf,
    /// The locale of both ends.
    pub(crate) locale: String,
    /// After how many seconds of a client's silence the server ends.
    pub(crate) timeout: u64,
}

impl Pair {
    /// The pair called `name`, with our ends in the program `exm`.
    pub(crate) fn of(name: &str, exm: &Path) -> Option<Pair> {
        let (name, client_is_ours, server_is_ours) = match name {
            "original" => ("original", false, false),
            "ours" => ("ours", true, true),
            "our-client" => ("our-client", true, false),
            "our-server" => ("our-server", false, true),
            _ => return None,
        };
        let (exm, locale, timeout) = (exm.to_owned(), "C.UTF-8".to_owned(), 60);
        Some(Pair { name, client_is_ours, server_is_ours, exm, locale, timeout })
    }

    fn program(&self, is_ours: bool, name: &str) -> Command {
        let mut command = if is_ours {
            let mut command = Command::new(&self.exm);
            command.arg(name);
            command
        } else {
            Command::new(name)
        };
        command.env("LC_ALL", &self.locale).env("TERM", "xterm-256color");
        command
    }
}

/// A session, and what its user would see.
pub(crate) struct Ends {
    pub(crate) relay: Relay,
    client: View,
    server: u32,
}

impl Ends {
    /// Starts a server that runs `script` in a shell, and a client of it that shows predictions as `display` says.
    pub(crate) fn start(pair: &Pair, link: Link, display: &str, script: &str) -> io::Result<Ends> {
        let (address, key, server) = start_server(pair, script)?;
        let relay = Relay::new(address, link)?;
        let mut command = pair.program(pair.client_is_ours, "mosh-client");
        command.arg(relay.address().ip().to_string()).arg(relay.address().port().to_string());
        command.env("MOSH_KEY", key).env("MOSH_PREDICTION_DISPLAY", display);
        command.env("MOSH_NO_TERM_INIT", "1").env("MOSH_TITLE_NOPREFIX", "1");
        Ok(Ends { relay, client: View::start(command)?, server })
    }

    pub(crate) fn now(&self) -> Instant {
        self.client.now()
    }

    pub(crate) fn screen(&self) -> &Screen {
        self.client.screen()
    }

    /// The character at `row` and `column` of what the user sees.
    pub(crate) fn character(&self, (row, column): (usize, usize)) -> char {
        self.screen().cell(Position { row, column }).map_or('\0', Cell::character)
    }

    /// Shows what the client writes until then, or once it has written something.
    pub(crate) fn step(&mut self, until: Instant) -> io::Result<()> {
        self.client.step(until)
    }

    /// Shows what the client writes for `span`.
    pub(crate) fn rest(&mut self, span: Span) -> io::Result<()> {
        let until = self.now() + span;
        while self.now() < until {
            self.step(until)?;
        }
        Ok(())
    }

    /// Waits until the screen is as wanted: how long it took.
    pub(crate) fn until(&mut self, wanted: impl Fn(&Screen) -> bool) -> io::Result<Span> {
        let begin = self.now();
        while !wanted(self.screen()) {
            if self.now() > begin + PATIENCE {
                let rows = self.screen().rows().map(|row| row.text().trim_end().to_owned());
                let text: Vec<String> = rows.filter(|row| !row.is_empty()).collect();
                let is_alive = Path::new(&format!("/proc/{}", self.server)).exists();
                let server = if is_alive { "runs" } else { "has ended" };
                let problem = format!("it does not appear, and the server {server}: {text:?}");
                return Err(io::Error::other(problem));
            }
            self.step(self.now() + Span::from_millis(100))?;
        }
        Ok(self.now().saturating_since(begin))
    }

    /// Types `keys` as fast as the client's terminal takes them.
    pub(crate) fn type_keys(&mut self, keys: &[u8]) -> io::Result<()> {
        self.client.type_keys(keys)
    }

    /// Changes the size of the user's window.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) -> io::Result<()> {
        self.client.resize(columns, rows)
    }

    /// The resident memory of the server and the client in MB, and the anonymous part of each.
    pub(crate) fn memory(&self) -> [(f64, f64); 2] {
        [self.server, self.client.id()].map(|process| {
            let status = std::fs::read_to_string(format!("/proc/{process}/status"));
            let status = status.unwrap_or_default();
            let of = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                let number = line.and_then(|line| line.split_whitespace().next());
                number.and_then(|number| number.parse().ok()).unwrap_or(0.0) * 1024.0 / 1e6
            };
            (of("VmRSS:"), of("RssAnon:"))
        })
    }

    /// The processor time of the server.
    pub(crate) fn server_time(&self) -> Span {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.server));
        let stat = stat.unwrap_or_default();
        // What follows the name, which may contain anything.
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: u64 =
            fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        // Linux has 100 a second on all architectures that it reports them for.
        Span::from_millis(ticks * 10)
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.server.to_string()).stderr(Stdio::null()).status();
    }
}

/// Starts a server: its address, key and PID.
fn start_server(pair: &Pair, script: &str) -> io::Result<(SocketAddr, String, u32)> {
    let mut command = pair.program(pair.server_is_ours, "mosh-server");
    command.args(["new", "-i", "127.0.0.1", "-p", "61000:62999", "-c", "256", "--"]);
    // What runs in the background of a script ignores Ctrl-C, and so would all that it starts.
    command.args(["env", "--default-signal", "sh", "-c", script]).stdin(Stdio::null());
    command.env("MOSH_SERVER_NETWORK_TMOUT", pair.timeout.to_string()).env("PS1", "ready$ ");
    let output = command.output()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let after = |mark: &str| text.split(mark).nth(1).map(str::trim_start);
    let connect = after("MOSH CONNECT ").and_then(|rest| {
        let mut words = rest.split_whitespace();
        Some((words.next()?.parse::<u16>().ok()?, words.next()?.to_owned()))
    });
    let process = after("pid = ").and_then(|rest| rest.split(']').next()?.parse().ok());
    match (connect, process) {
        (Some((port, key)), Some(process)) => {
            Ok(((Ipv4Addr::LOCALHOST, port).into(), key, process))
        }
        _ => Err(io::Error::other(format!("the server does not start: {text}"))),
    }
}
