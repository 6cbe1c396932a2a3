//! `exm mosh`: a shell on another machine, which roams; and its two ends.

pub(super) mod client;
mod family;
mod proxy;
mod remote;
pub(super) mod server;
mod sessions;
mod start;
mod transfer;

use crate::shell::{Failure, Printing};
use client::{display, show, user_terminal};
use exm_datagram::Key;
use exm_mosh::net::{Agent, Forward, Forwards, LocalForward, UserTerminal};
use exm_predict::Display;
use family::Family;
use remote::{Allowed, Bind};
use start::{AddressFrom, Started};
use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const EXAMPLES: &str = "\
It starts a server at the other machine by ssh, and then talks to it in encrypted datagrams over UDP, on a port from 60001 to 60999: the
session survives changes of the address, sleep, and long disconnection, and shows what is typed at once. At the other machine it takes
\"exm mosh-server\" if there is one, and mosh-server otherwise. Ctrl-^ and a full stop leave the session, Ctrl-^ and Ctrl-Z suspend it.

A session whose client was lost goes on at the other machine: --list shows such sessions, --attach takes one over.

Ports and the SSH agent are forwarded, and files transferred, only by \"exm mosh-server\", and only if asked for here. \"put FILE...
[USER@]HOST:[PATH]\" and \"get [USER@]HOST:PATH... [LOCAL]\" transfer files (to a machine with such a name: user@put), from the home
directory there unless PATH begins with \"/\". What was interrupted goes on with the same command: till then it is beside the
file, with .exm-part after its name.

A link to exm that is called mosh, mosh-client or mosh-server is that command.

Examples:
  exm mosh user@example.org
  exm mosh example.org -- tmux attach
  exm mosh --ssh 'ssh -p 2222' example.org
  exm mosh --attach example.org
  exm mosh -L 8080:localhost:80 example.org
  exm mosh -R 2222:localhost:22 example.org
  exm mosh -A example.org
  exm mosh put notes.txt photo.jpg user@example.org:Documents/
  exm mosh get example.org:notes.txt .
  exm mosh --local -- bash";

/// Work in a shell on another machine, over connections that roam and break
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The machine; with --local, an address of this one
    #[arg(value_name = "[USER@]HOST")]
    host: Option<String>,
    /// The program's words, if they come without "--"
    #[arg(value_name = "COMMAND", hide = true)]
    words: Vec<OsString>,
    /// The program, and its arguments [default: a login shell]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// Run the server on this machine, without ssh
    #[arg(long)]
    local: bool,
    /// The command that starts the server at the machine
    #[arg(long, value_name = "COMMAND")]
    server: Option<String>,
    /// The program that shows the session, instead of this one
    #[arg(long, value_name = "PATH")]
    client: Option<PathBuf>,
    /// The command that connects to the machine
    #[arg(long, value_name = "COMMAND", default_value = "ssh")]
    ssh: String,
    /// Take over a session that goes on at the machine; its client is sent away [default: the only one]
    #[arg(long, value_name = "SESSION", num_args = 0..=1, require_equals = true)]
    attach: Option<Option<u32>>,
    /// List the sessions that go on at the machine, and do nothing else
    #[arg(long, conflicts_with = "attach")]
    list: bool,
    /// Forward a TCP port of this machine: the other machine connects to HOST
    #[arg(
        short = 'L',
        value_name = "[BIND:]PORT:HOST:HOSTPORT",
        conflicts_with_all = ["client", "original"],
        help_heading = "Forwarding"
    )]
    local_forwards: Vec<Forward>,
    /// Forward a TCP port of the other machine: this machine connects to HOST
    #[arg(
        short = 'R',
        value_name = "[BIND:]PORT:HOST:HOSTPORT",
        conflicts_with_all = ["client", "original"],
        help_heading = "Forwarding"
    )]
    remote_forwards: Vec<Forward>,
    /// Let programs there use the SSH agent of this machine; you are asked each time
    #[arg(short = 'A', conflicts_with_all = ["client", "original"], help_heading = "Forwarding")]
    agent: bool,
    /// Let ssh allocate no terminal at the machine
    #[arg(long)]
    no_ssh_pty: bool,
    /// The server's UDP port, or the first free one of a range
    #[arg(short, long, value_name = "PORT[:LAST]", help_heading = "Server")]
    port: Option<String>,
    /// The server's address: ssh, the one that ssh connects to; any, so that the session roams between IPv4 and IPv6; or an address [default: ssh]
    #[arg(long, value_name = "ADDRESS", value_parser = Bind::parse, help_heading = "Server")]
    bind_server: Option<Bind>,
    /// Which of the machine's addresses are tried
    #[arg(
        long,
        value_enum,
        value_name = "FAMILY",
        default_value_t,
        hide_possible_values = true,
        help_heading = "Addresses"
    )]
    family: Family,
    /// IPv4 only: --family inet
    #[arg(short = '4', conflicts_with_all = ["v6", "family"], help_heading = "Addresses")]
    v4: bool,
    /// IPv6 only: --family inet6
    #[arg(short = '6', conflicts_with = "family", help_heading = "Addresses")]
    v6: bool,
    /// How the machine's address is found [default: proxy; remote if ssh connects through a proxy]
    #[arg(
        long,
        alias = "experimental-remote-ip",
        value_enum,
        value_name = "WHERE",
        help_heading = "Addresses"
    )]
    remote_ip: Option<AddressFrom>,
    /// When predictions are shown: adaptive, always, never or experimental
    #[arg(long, value_name = "WHEN", value_parser = prediction, help_heading = "Terminal")]
    predict: Option<Display>,
    /// Always show predictions
    #[arg(short = 'a', conflicts_with_all = ["never", "predict"], help_heading = "Terminal")]
    always: bool,
    /// Never show predictions
    #[arg(short = 'n', conflicts_with = "predict", help_heading = "Terminal")]
    never: bool,
    /// Predictions overwrite the text under the cursor
    #[arg(short = 'o', long, help_heading = "Terminal")]
    predict_overwrite: bool,
    /// Keep N lines that scroll off the screen [default: 10000]; Ctrl-^ and [ show them. Needs exm at the machine
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "10000", help_heading = "Terminal")]
    scrollback: Option<usize>,
    /// Do not use the terminal's alternate screen
    #[arg(long, help_heading = "Terminal")]
    no_init: bool,
    /// What programs may not change: titles of windows, or the clipboard
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',', help_heading = "Terminal")]
    deny: Vec<Denied>,
    /// Use nothing that Mosh's own programs do not know
    #[arg(long, conflicts_with = "scrollback", help_heading = "Terminal")]
    original: bool,
    /// Carry ssh's connection, and note its address
    #[arg(long, hide = true)]
    fake_proxy: bool,
    #[command(flatten)]
    printing: Printing,
}

/// What programs of a session may be denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Denied {
    /// The window's title
    Titles,
    /// The clipboard
    Clipboard,
}

fn prediction(text: &str) -> Result<Display, String> {
    display(text).ok_or_else(|| "give adaptive, always, never or experimental".to_owned())
}

impl Args {
    pub(crate) fn run(mut self) -> Result<ExitCode, Failure> {
        self.sort_words();
        if self.fake_proxy {
            return self.proxy();
        }
        if let Some(plan) = transfer::plan(&self)? {
            return transfer::run(&self, &plan);
        }
        self.check_command()?;
        let mut terminal = user_terminal()?;
        self.choose(&mut terminal);
        if self.list {
            return start::list(&self);
        }
        terminal.forwards = self.forwards()?;
        let started = match (&self.host, self.local) {
            (host, true) => start::here(&self, self.local_address(host.as_deref())?)?,
            (Some(host), false) => start::by_ssh(&self, host)?,
            (None, false) => {
                return Err(Failure::usage("there is no machine to connect to")
                    .with_tip("give its name, or --local for a server on this machine"));
            }
        };
        if let Some(client) = &self.client {
            return self.run_client(client, &terminal, &started);
        }
        let key: Key = started.key.parse().map_err(|_| Failure::new("the server's key is none"))?;
        show(&started.servers, &key, &terminal)
    }

    /// Brings the words in their places: mosh allows the machine after "--", and the program without.
    fn sort_words(&mut self) {
        self.words.append(&mut self.command);
        let is_host = |word: &OsString| {
            let is_address = |text: &str| text.parse::<IpAddr>().is_ok();
            !self.local || word.to_str().is_some_and(is_address)
        };
        if self.host.is_none() && self.words.first().is_some_and(is_host) {
            self.host = Some(self.words.remove(0).to_string_lossy().into_owned());
        }
    }

    /// The program, and its arguments; empty for a login shell.
    fn program(&self) -> &[OsString] {
        &self.words
    }

    /// Refuses a command where no program is started.
    fn check_command(&self) -> Result<(), Failure> {
        let (option, reason) = match (&self.attach, self.list) {
            (Some(_), _) => ("--attach", "the session's program runs already"),
            (None, true) => ("--list", "it only lists sessions"),
            (None, false) => return Ok(()),
        };
        match self.program().first() {
            None => Ok(()),
            Some(word) => {
                let word = word.to_string_lossy();
                Err(Failure::usage(format!(
                    "{option} takes no command, such as {word:?}: {reason}"
                ))
                .with_tip("leave out what follows the machine's name"))
            }
        }
    }

    fn family(&self) -> Family {
        match (self.v4, self.v6) {
            (true, _) => Family::Inet,
            (_, true) => Family::Inet6,
            _ => self.family,
        }
    }

    /// Connects for ssh to the name and port in the words.
    fn proxy(&self) -> Result<ExitCode, Failure> {
        let port = self.words.first().and_then(|word| word.to_str()?.parse().ok());
        match (&self.host, port) {
            (Some(name), Some(port)) => proxy::run(self.family(), name, port),
            _ => Err(Failure::usage("--fake-proxy is for ssh, which gives a name and a port")),
        }
    }

    /// Sets what the options choose.
    fn choose(&self, terminal: &mut UserTerminal) {
        let (display, overwrites) = &mut terminal.predictions;
        *display = match (self.always, self.never) {
            (true, _) => Display::Always,
            (_, true) => Display::Never,
            _ => self.predict.unwrap_or(*display),
        };
        *overwrites |= self.predict_overwrite;
        terminal.alternate_screen &= !self.no_init;
        terminal.scrollback = self.scrollback;
        terminal.styles &= !self.original;
        terminal.clipboard &= !self.deny.contains(&Denied::Clipboard);
        if self.deny.contains(&Denied::Titles) {
            terminal.titles = None;
        }
    }

    /// What is forwarded. Its ports are listened on from now on.
    fn forwards(&self) -> Result<Forwards, Failure> {
        let listen = |forward: &Forward| {
            LocalForward::listen(forward.clone()).map_err(|error| {
                Failure::new(format!("cannot listen on TCP port {}: {error}", forward.port))
                    .with_tip("give another port or address with -L")
            })
        };
        let local = self.local_forwards.iter().map(listen).collect::<Result<_, _>>()?;
        let server = self.host.as_deref().unwrap_or("localhost").to_owned();
        let agent = match std::env::var_os("SSH_AUTH_SOCK") {
            Some(socket) if self.agent => Some(Agent { socket: socket.into(), server }),
            None if self.agent => {
                return Err(Failure::new("there is no SSH agent: SSH_AUTH_SOCK is not set")
                    .with_tip("start one with \"eval $(ssh-agent)\", or leave out -A"));
            }
            _ => None,
        };
        Ok(Forwards { local, remote: self.remote_forwards.clone(), agent })
    }

    /// What the server has to allow beyond mosh's protocol.
    fn allowed(&self) -> Vec<Allowed> {
        let forwards = !self.local_forwards.is_empty() || !self.remote_forwards.is_empty();
        let wanted = [(forwards, Allowed::Forward), (self.agent, Allowed::Agent)];
        wanted.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, what)| what).collect()
    }

    /// Whether only this program's server will do.
    fn needs_ours(&self) -> bool {
        self.attach.is_some() || !self.allowed().is_empty() || transfer::is_one(self)
    }

    /// This machine's address called `host`.
    fn local_address(&self, host: Option<&str>) -> Result<IpAddr, Failure> {
        match (host, self.family()) {
            (Some(host), family) => Ok(family.resolve(host, 0)?[0].ip()),
            (None, Family::Inet6 | Family::PreferInet6) => Ok(Ipv6Addr::LOCALHOST.into()),
            (None, _) => Ok(Ipv4Addr::LOCALHOST.into()),
        }
    }

    /// Replaces this process by another `client`, as mosh starts its own.
    fn run_client(
        &self,
        client: &Path,
        terminal: &UserTerminal,
        started: &Started,
    ) -> Result<ExitCode, Failure> {
        let mut command = Command::new(client);
        let mut words = vec![OsString::from("-#")];
        words.extend(std::env::args_os().skip(1));
        words.push("|".into());
        // Only for whoever lists processes.
        command.arg(words.join(OsStr::new(" ")));
        let server = started.servers[0];
        command.arg(server.ip().to_string()).arg(server.port().to_string());
        command.env(client::KEY, &started.key);
        command.env(client::PREDICTIONS, client::display_name(terminal.predictions.0));
        if terminal.predictions.1 {
            command.env(client::OVERWRITE, "yes");
        }
        if !terminal.alternate_screen {
            command.env(client::NO_INIT, "1");
        }
        let error = command.exec();
        Err(Failure::new(format!("cannot run {}: {error}", client.display())))
    }
}
