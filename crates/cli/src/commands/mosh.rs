//! `exm mosh`: a shell on another machine, which roams.

use super::mosh_client::{colours, display, show, user_terminal};
use crate::sessions::addresses;
use crate::shell::{Failure, tell};
use exm_datagram::Key;
use exm_predict::Display;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, SocketAddr};
use std::process::{Command, ExitCode, Stdio};

const EXAMPLES: &str = "\
It starts a server at the other machine by ssh, and then talks to it in encrypted datagrams over UDP, on a port from 60001 to 60999: the
session survives changes of the address, sleep, and long disconnection, and shows what is typed at once. At the other machine it takes
\"exm mosh-server\" if there is one, and mosh-server otherwise. Ctrl-^ and a full stop leave the session.

Examples:
  exm mosh user@example.org
  exm mosh example.org -- tmux attach
  exm mosh --ssh 'ssh -p 2222' example.org
  exm mosh --local -- bash";

/// Work in a shell on another machine, over connections that roam and break
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The machine; with --local, an address of this one
    #[arg(value_name = "[USER@]HOST", required_unless_present = "local")]
    host: Option<String>,
    /// Run the server on this machine, without ssh
    #[arg(long)]
    local: bool,
    /// The command that starts the server at the machine
    #[arg(long, value_name = "COMMAND")]
    server: Option<String>,
    /// The command that connects to the machine
    #[arg(long, value_name = "COMMAND", default_value = "ssh")]
    ssh: String,
    /// The server's UDP port, or the first free one of a range
    #[arg(short, long, value_name = "PORT[:LAST]", help_heading = "Server")]
    port: Option<String>,
    /// When predictions are shown: adaptive, always, never or experimental
    #[arg(long, value_name = "WHEN", value_parser = prediction)]
    predict: Option<Display>,
    /// Keep N lines that scroll off the screen [10000]; Ctrl-^ and [ show them. Needs exm at the machine
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "10000")]
    scrollback: Option<usize>,
    /// Do not use the terminal's alternate screen
    #[arg(long)]
    no_init: bool,
    /// The program, and its arguments [default: a login shell]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

fn prediction(text: &str) -> Result<Display, String> {
    display(text).ok_or_else(|| "give adaptive, always, never or experimental".to_owned())
}

/// What a server printed.
#[derive(Debug, PartialEq, Eq)]
struct Connect {
    port: u16,
    key: String,
    /// The address to which the SSH connection came.
    address: Option<IpAddr>,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let mut terminal = user_terminal()?;
        if let Some(display) = self.predict {
            terminal.predictions.0 = display;
        }
        terminal.alternate_screen &= !self.no_init;
        terminal.scrollback = self.scrollback;
        let connect = self.start_server()?;
        let key: Key = connect.key.parse().map_err(|_| Failure::new("the server's key is none"))?;
        let server = match (&self.host, connect.address) {
            (_, Some(address)) => SocketAddr::new(address, connect.port),
            (Some(host), None) => {
                let name = host.rsplit('@').next().unwrap_or_default();
                addresses(&format!("{name}:{}", connect.port))?[0]
            }
            (None, None) => SocketAddr::new([127, 0, 0, 1].into(), connect.port),
        };
        show(server, &key, &terminal)
    }

    /// Starts the server, and returns what it prints.
    fn start_server(&self) -> Result<Connect, Failure> {
        let mut command = match self.host.as_ref().filter(|_| !self.local) {
            None => {
                let mut command = Command::new("sh");
                command.args(["-c", &self.remote()?]);
                command
            }
            Some(host) => {
                let mut words = self.ssh.split_whitespace();
                let program = words.next().ok_or_else(|| Failure::usage("--ssh is empty"))?;
                let mut command = Command::new(program);
                command.args(words).args(["-n", "--", host, &self.remote()?]);
                command
            }
        };
        command.stdin(Stdio::inherit()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child =
            command.spawn().map_err(|error| Failure::new(format!("cannot run {name}: {error}")))?;
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let lines: Vec<String> = output.lines().map_while(Result::ok).collect();
        child.wait()?;
        let connect = connect(&lines);
        connect.ok_or_else(|| {
            lines.iter().for_each(|line| tell(&format!("{line}\n")));
            Failure::new("the server has not started").with_tip(
                "see what it says above; the machine needs exm or mosh in its PATH, or --server",
            )
        })
    }

    /// The command that starts the server, for a shell.
    fn remote(&self) -> Result<String, Failure> {
        let mut arguments = format!("new -c {}", colours().max(8));
        match &self.host {
            Some(host) if self.local => arguments += &format!(" -i {}", for_any_shell(host)),
            Some(_) => arguments += " -s",
            None => {}
        }
        if let Some(port) = &self.port {
            port.parse::<exm_endpoint::PortRange>()
                .map_err(|error| Failure::invalid_value(port, "--port", &error.to_string()))?;
            arguments += &format!(" -p {port}");
        }
        for name in ["LANG", "LC_CTYPE", "LC_ALL"] {
            if let Ok(value) = std::env::var(name) {
                arguments += &format!(" -l {}", for_any_shell(&format!("{name}={value}")));
            }
        }
        if !self.command.is_empty() {
            arguments += " --";
            for word in &self.command {
                let word = word.to_str().ok_or_else(|| {
                    Failure::usage(format!("{} is not UTF-8", word.to_string_lossy()))
                })?;
                arguments += &format!(" {}", for_any_shell(word));
            }
        }
        let start = match &self.server {
            Some(server) => format!("exec {server} {arguments}"),
            None if self.local => {
                let program = std::env::current_exe()?;
                format!(
                    "exec {} mosh-server {arguments}",
                    for_any_shell(&program.to_string_lossy())
                )
            }
            None => format!(
                "if command -v exm >/dev/null; then exec exm mosh-server {arguments}; else exec mosh-server {arguments}; fi"
            ),
        };
        Ok(format!("echo \"MOSH SSH_CONNECTION $SSH_CONNECTION\"; {start}"))
    }
}

/// `word` as any shell reads it, line breaks included, which what is quoted for one line writes as only newer shells read it.
fn for_any_shell(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// What the server says in `lines`.
fn connect(lines: &[String]) -> Option<Connect> {
    let after = |words: &str| lines.iter().find_map(|line| line.trim().strip_prefix(words));
    let (port, key) = after("MOSH CONNECT ")?.split_once(' ')?;
    let ssh = after("MOSH SSH_CONNECTION ");
    let address = ssh.and_then(|ssh| ssh.split(' ').nth(2)?.parse().ok());
    Some(Connect { port: port.parse().ok()?, key: key.to_owned(), address })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_print_is_read() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<String>>();
        let text =
            "motd\nMOSH SSH_CONNECTION 192.0.2.9 5022 192.0.2.1 22\n\nMOSH CONNECT 60001 abc\r\n";
        let address = Some([192, 0, 2, 1].into());
        let expected = Connect { port: 60001, key: "abc".to_owned(), address };
        assert_eq!(connect(&lines(text)), Some(expected));
        let expected = Connect { port: 7, key: "x".to_owned(), address: None };
        assert_eq!(connect(&lines("MOSH SSH_CONNECTION \nMOSH CONNECT 7 x")), Some(expected));
        assert_eq!(connect(&lines("sh: mosh-server: not found")), None);
    }

    #[test]
    fn words_survive_a_shell() {
        for word in ["plain", "two words", "it's", "two\nlines", "$HOME `x` \"y\" \\"] {
            let output = Command::new("sh")
                .args(["-c", &format!("printf %s {}", for_any_shell(word))])
                .output();
            assert_eq!(String::from_utf8(output.expect("sh").stdout).expect("text"), word);
        }
    }
}
