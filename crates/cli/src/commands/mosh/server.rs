//! `exm mosh-server`: runs a shell for a client that roams.

use super::remote::Allowed;
use super::sessions;
use crate::interrupt;
use crate::shell::{Failure, Printing, print, tell, warn};
use exm_datagram::Key;
use exm_endpoint::PortRange;
use exm_mosh::net::{Control, FILES_PATIENCE, Limits, Service};
use exm_os::{Signals, in_new_session, is_installed, keep_memory_private, release_code};
use exm_units::Span;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// The ports that mosh tries.
const PORTS: &str = "60001:60999";
/// The variable with the seconds after which a client that is not heard of is given up.
const TIMEOUT: &str = "MOSH_SERVER_NETWORK_TMOUT";
/// The variable with the seconds of a client's silence after which SIGUSR1 ends its session.
const SIGNAL_TIMEOUT: &str = "MOSH_SERVER_SIGNAL_TMOUT";
/// What this process is called in lists of processes, as mosh's is.
const NAME: &str = "mosh-server";
/// The messages of the day.
const MESSAGES: [&str; 2] = ["/run/motd.dynamic", "/etc/motd"];
/// Who has this file in their home directory does not want them.
const HUSH: &str = ".hushlogin";
/// More of them is not shown.
const MOST_MESSAGE: u64 = 1 << 16;

const EXAMPLES: &str = "\
It prints \"MOSH CONNECT PORT KEY\", and goes on in the background: with these a client connects, once. It ends with the
program, when the client leaves, or if none comes within a minute; with MOSH_SERVER_NETWORK_TMOUT, also after so many seconds without a
sign of the client. SIGUSR1 ends it, too; with MOSH_SERVER_SIGNAL_TMOUT, only if the client was silent for so many seconds. Clients of
Mosh 1.4 are served, too.

A session whose client was lost goes on: \"attach\" prints a new key for it. So does \"exm mosh --attach HOST\" by ssh.

Examples:
  exm mosh-server
  exm mosh-server list
  exm mosh-server --allow forward,agent
  exm mosh-server -p 60001 -- tmux attach";

/// Run a shell for a client that roams, in Mosh's protocol
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// new: a new session, the default; list: those of this user; attach: a new key for one of them, whose client is sent away; files: a
    /// session without a program, which reads and writes files
    #[arg(
        value_name = "WHAT",
        value_enum,
        default_value_t,
        hide_default_value = true,
        hide_possible_values = true
    )]
    verb: Verb,
    /// The number of the session to attach to [default: the only one, or the only one without a client]
    #[arg(value_name = "SESSION")]
    session: Option<u32>,
    /// Listen at the address to which the SSH connection came, of which the environment tells
    #[arg(short = 's')]
    of_ssh: bool,
    /// Listen at this address
    #[arg(
        short = 'i',
        long = "bind",
        value_name = "ADDRESS",
        conflicts_with = "of_ssh",
        help_heading = "Server"
    )]
    bind: Option<IpAddr>,
    /// The port, or the first free one of a range
    #[arg(short, long, value_name = "PORT[:LAST]", default_value = PORTS, help_heading = "Server")]
    port: PortRange,
    /// How many colours the client's terminal has
    #[arg(short, long, value_name = "N", default_value_t = 256)]
    colors: u32,
    /// A variable of the locale, used if this machine's locale is not UTF-8
    #[arg(short = 'l', value_name = "NAME=VALUE")]
    locale: Vec<String>,
    /// What the client may do beyond Mosh's protocol: forward (TCP ports), agent (offer its SSH agent), files (read and write them)
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        value_delimiter = ',',
        hide_possible_values = true
    )]
    allow: Vec<Allowed>,
    /// Stay in the foreground
    #[arg(long)]
    foreground: bool,
    /// Accepted for mosh's sake
    #[arg(short = 'v', hide = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Accepted for mosh's sake
    #[arg(short = '@', hide = true, value_name = "TEXT")]
    shown: Option<String>,
    /// The program, and its arguments [default: a login shell]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    #[command(flatten)]
    printing: Printing,
}

/// What the command does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Verb {
    #[default]
    New,
    List,
    Attach,
    Files,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        match (self.verb, self.session) {
            (Verb::List, None) => sessions::list(self.printing),
            (Verb::Attach, session) => sessions::attach(session),
            (_, Some(session)) => Err(Failure::usage(format!("{session} is not expected"))
                .with_tip("a session's number comes after \"attach\", a program after \"--\"")),
            (Verb::New | Verb::Files, None) if self.foreground => self.serve(),
            (Verb::New | Verb::Files, None) => detach(self.verb == Verb::New),
        }
    }

    fn serve(&self) -> Result<ExitCode, Failure> {
        keep_memory_private();
        // As scripts that clean up look for it; where it cannot be said it stays "exm".
        let _ = fs::write("/proc/self/comm", NAME);
        let signals = Signals::catch()?;
        interrupt::hand_over();
        let serves_files = self.verb == Verb::Files;
        let mut limits = limits()?;
        let program = if serves_files {
            // Nobody attaches to it, so it does not wait for ever.
            limits.next.get_or_insert(FILES_PATIENCE);
            None
        } else {
            Some(self.program()?)
        };
        let key = Key::generate()?;
        let bind = if self.of_ssh { address_of_ssh() } else { self.bind };
        let service = Service::open(key.clone(), bind, self.port).map_err(|error| {
            Failure::from(error).with_tip("give other ports with --port, or another address")
        })?;
        let port = service.address()?.port();
        let control = if serves_files { None } else { control() };
        print(&format!("\nMOSH CONNECT {port} {}\n", key.to_text().as_str()))?;
        let Some(program) = program else {
            let files = service.granting(Allowed::extensions(&[Allowed::Files]));
            files.run_channels(limits, &signals)?;
            return Ok(ExitCode::SUCCESS);
        };
        let greeting = if self.command.is_empty() { message_of_the_day() } else { Vec::new() };
        let service = service.granting(Allowed::extensions(&self.allow)).greet(greeting);
        let service = service.reachable(control);
        release_code();
        service.run(program, limits, &signals)?;
        Ok(ExitCode::SUCCESS)
    }

    /// The program in the client's terminal.
    fn program(&self) -> Result<Command, Failure> {
        let mut command = match self.command.split_first() {
            Some((program, arguments)) => {
                let name = program.to_string_lossy();
                // A relative path counts from the home directory, where the program is run.
                let is_relative = name.contains('/') && !name.starts_with('/');
                if !is_relative && !is_installed(&name) {
                    return Err(Failure::new(format!("there is no program {name}"))
                        .with_tip("give one of this machine's PATH, or its path"));
                }
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
            None => login_shell(),
        };
        if !is_utf8(|name| std::env::var(name).ok()) {
            let given = |name: &str| {
                let mut pairs = self.locale.iter().filter_map(|pair| pair.split_once('='));
                pairs.find(|(given, _)| *given == name).map(|(_, value)| value.to_owned())
            };
            if !is_utf8(given) {
                return Err(Failure::new("the locale is not UTF-8, and a mobile shell needs one")
                    .with_tip("set LC_ALL to one that \"locale -a\" lists, such as C.UTF-8"));
            }
            let pairs = self.locale.iter().filter_map(|pair| pair.split_once('='));
            command.envs(pairs);
        }
        let terminal = if self.colors >= 256 { "xterm-256color" } else { "xterm" };
        command.env("TERM", terminal).env("NCURSES_NO_UTF8_ACS", "1").env_remove("STY");
        if let Some(home) = std::env::var_os("HOME").filter(|home| Path::new(home).is_dir()) {
            command.current_dir(home);
        }
        Ok(command)
    }
}

/// Where other clients of this user reach the session. Without it the session works; only no other client can take it over.
fn control() -> Option<Control> {
    Control::listen()
        .inspect_err(|error| {
            warn(&format!("no other client will be able to attach to this session: {error}"));
        })
        .ok()
}

/// The user's shell, as a login shell.
fn login_shell() -> Command {
    let shell = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned());
    let name = shell.rsplit('/').next().unwrap_or_default();
    let mut command = Command::new(&shell);
    command.arg0(format!("-{name}"));
    command
}

/// Whether the locale of these variables is UTF-8: the first that is set decides.
fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let mut set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable);
    let locale = set.find(|value| !value.is_empty()).unwrap_or_default().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// Where the SSH connection of this process came to, if it is of one.
fn address_of_ssh() -> Option<IpAddr> {
    let connection = std::env::var("SSH_CONNECTION").ok()?;
    connection.split(' ').nth(2)?.parse().ok()
}

/// What the machine's administrators tell those who log in, for a terminal.
fn message_of_the_day() -> Vec<u8> {
    let home = std::env::var_os("HOME").unwrap_or_default();
    if Path::new(&home).join(HUSH).exists() {
        return Vec::new();
    }
    let mut messages = Vec::new();
    for file in MESSAGES.iter().filter_map(|path| File::open(path).ok()) {
        // One that cannot be read is not shown.
        let _ = file.take(MOST_MESSAGE).read_to_end(&mut messages);
    }
    let lines = messages.split(|&byte| byte == b'\n');
    lines.collect::<Vec<_>>().join(&b"\r\n"[..])
}

fn limits() -> Result<Limits, Failure> {
    Ok(Limits { next: seconds(TIMEOUT)?, signalled: seconds(SIGNAL_TIMEOUT)?, ..Limits::default() })
}

/// The seconds in the variable `name`; none if it is zero, or not set.
fn seconds(name: &str) -> Result<Option<Span>, Failure> {
    let Ok(text) = std::env::var(name) else { return Ok(None) };
    let seconds: u64 = text.parse().map_err(|_| {
        Failure::usage(format!("{name} is {text:?}: give whole seconds, or unset it"))
    })?;
    Ok((seconds > 0).then(|| Span::from_secs(seconds.min(u64::from(u32::MAX)))))
}

/// Runs this command in the background, and prints what it prints first; its number only if somebody may want it.
fn detach(is_named: bool) -> Result<ExitCode, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["mosh-server", "--foreground"]);
    let words = std::env::args_os().skip(1);
    command.args(words.skip_while(|word| word == "mosh-server"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    in_new_session(&mut command);
    let mut child = command.spawn()?;
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let connect = lines.find_map(|line| line.ok().filter(|line| line.starts_with("MOSH CONNECT")));
    let Some(connect) = connect else {
        let mut error = String::new();
        child.stderr.take().expect("it is piped").read_to_string(&mut error)?;
        tell(&error);
        let code = child.wait()?.code().and_then(|code| u8::try_from(code).ok());
        return Ok(ExitCode::from(code.unwrap_or(1)));
    };
    print(&format!("\n{connect}\n"))?;
    if is_named {
        tell(&format!("\n[mosh-server detached, pid = {}]\n", child.id()));
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_of_the_locale_decides() {
        let of = |pairs: &[(&str, &str)]| {
            is_utf8(|name| {
                let pair = pairs.iter().find(|(known, _)| *known == name);
                pair.map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(of(&[("LC_ALL", "C.UTF-8"), ("LANG", "C")]));
        assert!(!of(&[("LC_ALL", "C"), ("LANG", "de_DE.utf8")]));
        assert!(of(&[("LC_ALL", ""), ("LANG", "de_DE.utf8")]));
        assert!(!of(&[]));
    }
}
