//! Starts a server, here or by ssh, and reads what it prints.

use super::Args;
use super::remote::{Bind, for_any_shell, list_command, server_command};
use crate::shell::{Failure, tell};
use crate::visible::visible;
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, SocketAddr};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};

/// What precedes the address that ssh connected to, in a line of its proxy.
pub(super) const IP: &str = "MOSH IP ";
/// What precedes the addresses of the SSH connection, as the machine sees them.
pub(super) const SSH_CONNECTION: &str = "MOSH SSH_CONNECTION ";
const CONNECT: &str = "MOSH CONNECT ";

/// How the address of a machine is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum AddressFrom {
    /// This machine resolves the name, for ssh and for the session
    Local,
    /// The machine says to which of its addresses ssh connected
    Remote,
    /// ssh connects through this program, which notes the address
    Proxy,
}

/// Where a server listens, and its key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Started {
    /// The address to connect to, and others of the same server.
    pub(super) servers: Vec<SocketAddr>,
    pub(super) key: String,
}

/// What a server and its surroundings printed.
#[derive(Debug, PartialEq, Eq)]
struct Printed {
    port: u16,
    key: String,
    /// The address that ssh or the machine named.
    address: Option<IpAddr>,
}

/// Starts a server on this machine, which listens at `address`.
pub(super) fn here(args: &Args, address: IpAddr) -> Result<Started, Failure> {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec {}", server_command(args, Some(address))?)]);
    let printed = run(&mut command, args)?;
    Ok(Started { servers: vec![SocketAddr::new(address, printed.port)], key: printed.key })
}

/// Lists the sessions on this machine, or on the one that is named.
pub(super) fn list(args: &Args) -> Result<ExitCode, Failure> {
    let mut command = match args.host.as_ref().filter(|_| !args.local) {
        None => {
            let mut command = Command::new("sh");
            command.arg("-c");
            command
        }
        Some(machine) => {
            let (program, options) = ssh_words(args)?;
            let mut command = Command::new(program);
            command.args(options).args(args.family().for_ssh()).args(["-n", "--", machine]);
            command
        }
    };
    let status = command.arg(list_command(args)?).status();
    let name = command.get_program().to_string_lossy();
    let status = status.map_err(|error| Failure::new(format!("cannot run {name}: {error}")))?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

/// The program that connects to machines, and the options that it is given.
fn ssh_words(args: &Args) -> Result<(&str, Vec<&str>), Failure> {
    let mut words = args.ssh.split_whitespace();
    let program = words.next().ok_or_else(|| Failure::usage("--ssh is empty"))?;
    Ok((program, words.collect()))
}

/// Starts a server on `machine`, a name or an address that may have a user's name before it.
pub(super) fn by_ssh(args: &Args, machine: &str) -> Result<Started, Failure> {
    let (program, options) = ssh_words(args)?;
    let method = match args.remote_ip {
        Some(method) => method,
        // ssh has a proxy of its own to get there: what it connects to is not the machine.
        None if has_proxy(program, &options, machine) => AddressFrom::Remote,
        None => AddressFrom::Proxy,
    };
    let mut command = Command::new(program);
    command.args(&options).arg("-n");
    if !args.no_ssh_pty {
        command.arg("-tt");
    }
    let (user, name) = machine.rsplit_once('@').map_or(("", machine), |(user, name)| (user, name));
    let mut address = None;
    match method {
        AddressFrom::Proxy => {
            let program = std::env::current_exe()?;
            let program = for_any_shell(&program.to_string_lossy());
            let family = args.family().name();
            let proxy =
                format!("ProxyCommand={program} mosh --family={family} --fake-proxy -- %h %p");
            command.args(["-S", "none", "-o", &proxy, "--", machine]);
        }
        AddressFrom::Remote => {
            command.args(args.family().for_ssh()).args(["--", machine]);
        }
        AddressFrom::Local => {
            let ip = args.family().resolve(name, 0)?[0].ip();
            address = Some(ip);
            let user = if user.is_empty() { String::new() } else { format!("{user}@") };
            command.args(["--", &format!("{user}{ip}")]);
        }
    }
    command.arg(server_command(args, None)?);
    let printed = run(&mut command, args)?;
    let address = address.or(printed.address).ok_or_else(|| {
        Failure::new("ssh did not say to which address it connected")
            .with_tip("give --remote-ip local, which resolves the name here, or --remote-ip remote")
    })?;
    let mut servers = vec![SocketAddr::new(address, printed.port)];
    if args.bind_server == Some(Bind::Any) {
        // A machine whose name is not known here has no others.
        let all = args.family().resolve(name, printed.port).unwrap_or_default();
        servers.extend(all.into_iter().filter(|other| other.ip() != address));
    }
    Ok(Started { servers, key: printed.key })
}

/// Whether ssh reaches `machine` by a proxy or a jump host of its configuration, or of its `options`.
fn has_proxy(program: &str, options: &[&str], machine: &str) -> bool {
    // Of another program it is not known what it does with the option.
    if program.rsplit('/').next() != Some("ssh") {
        return false;
    }
    let output = Command::new(program).args(options).args(["-G", "--", machine]).output();
    output.is_ok_and(|output| names_proxy(&String::from_utf8_lossy(&output.stdout)))
}

/// Whether ssh's configuration, as `ssh -G` prints it, names a proxy.
fn names_proxy(configuration: &str) -> bool {
    configuration
        .lines()
        .filter_map(|line| line.split_once(' '))
        .any(|(name, value)| matches!(name, "proxycommand" | "proxyjump") && value.trim() != "none")
}

/// Runs `command`, which starts a server, and returns what it printed. Lines that are not for this program are shown.
fn run(command: &mut Command, args: &Args) -> Result<Printed, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::inherit()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child =
        command.spawn().map_err(|error| Failure::new(format!("cannot run {name}: {error}")))?;
    let lines = Arc::new(Mutex::new(Vec::new()));
    let errors = child.stderr.take().expect("it is piped");
    let of_errors = Arc::clone(&lines);
    // A server that runs on in the background may keep it open: nobody waits for its end.
    std::thread::spawn(move || read(errors, &of_errors));
    read(child.stdout.take().expect("it is piped"), &lines);
    child.wait()?;
    let lines = lines.lock().map(|lines| printed(&lines)).unwrap_or_default();
    lines.ok_or_else(|| {
        Failure::new("the server has not started").with_tip(if args.needs_ours() {
            "see what it says above; what was asked for needs exm in the machine's PATH, or --server"
        } else {
            "see what it says above; the machine needs exm or mosh in its PATH, or --server"
        })
    })
}

/// Adds the lines of `file` that are for this program to `known`, and shows the others as they come.
fn read(file: impl Read, known: &Mutex<Vec<String>>) {
    for line in BufReader::new(file).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if [IP, SSH_CONNECTION, CONNECT].iter().any(|words| line.starts_with(words)) {
            if let Ok(mut known) = known.lock() {
                known.push(line.to_owned());
            }
        } else if !line.is_empty() {
            tell(&format!("{}\n", visible(line)));
        }
    }
}

/// What is said in `lines`.
fn printed(lines: &[String]) -> Option<Printed> {
    let after = |words: &str| lines.iter().find_map(|line| line.strip_prefix(words));
    let (port, key) = after(CONNECT)?.split_once(' ')?;
    let proxied = after(IP).and_then(|address| address.parse().ok());
    let remote = || after(SSH_CONNECTION)?.split(' ').nth(2)?.parse().ok();
    Some(Printed {
        port: port.parse().ok()?,
        key: key.to_owned(),
        address: proxied.or_else(remote),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_print_is_read() {
        let parse = |text: &str| {
            let lines = Mutex::new(Vec::new());
            read(text.as_bytes(), &lines);
            printed(&lines.into_inner().expect("not poisoned"))
        };
        let address = |text: &str| Some(text.parse().expect("an address"));
        let printed = |port, address| Some(Printed { port, key: "abc".to_owned(), address });
        let ssh = "MOSH SSH_CONNECTION 192.0.2.9 5022 192.0.2.1 22\n";
        let connect = "\nMOSH CONNECT 60001 abc\r\n";
        assert_eq!(parse(&format!("{ssh}{connect}")), printed(60001, address("192.0.2.1")));
        let text = format!("MOSH IP 2001:db8::1\r\n{ssh}{connect}");
        assert_eq!(parse(&text), printed(60001, address("2001:db8::1")));
        assert_eq!(parse("MOSH SSH_CONNECTION \nMOSH CONNECT 7 abc"), printed(7, None));
        assert_eq!(parse("sh: mosh-server: not found"), None);
        assert_eq!(parse("MOSH CONNECT 70000 abc"), None);
    }

    #[test]
    fn proxies_of_ssh_are_seen() {
        assert!(names_proxy("user me\nproxyjump bastion\n"));
        assert!(names_proxy("proxycommand nc %h %p\n"));
        assert!(!names_proxy("user me\nproxycommand none\nproxyusefdpass no\n"));
        assert!(!names_proxy(""));
    }
}
