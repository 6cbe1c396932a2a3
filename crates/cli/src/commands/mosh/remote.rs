//! The command that starts a server, for a shell.

use super::Args;
use super::client::colours;
use super::start::SSH_CONNECTION;
use crate::shell::Failure;
use exm_endpoint::PortRange;
use exm_mosh::Extensions;
use std::net::IpAddr;

/// Our server, where it is in the `PATH`.
const OURS: &str = "exm mosh-server";

/// At which of its addresses a server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bind {
    /// The one to which ssh connected.
    Ssh,
    /// All.
    Any,
    /// This one.
    Address(IpAddr),
}

impl Bind {
    pub(super) fn parse(text: &str) -> Result<Bind, String> {
        match text {
            "ssh" => Ok(Bind::Ssh),
            "any" => Ok(Bind::Any),
            _ => text
                .parse()
                .map(Bind::Address)
                .map_err(|_| "give ssh, any or an address of the server's machine".to_owned()),
        }
    }
}

/// What a server allows a client beyond mosh's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Allowed {
    /// TCP ports, in both directions
    Forward,
    /// The client's SSH agent
    Agent,
    /// Reading and writing files
    Files,
}

impl Allowed {
    /// Its name on the command line.
    fn name(self) -> &'static str {
        match self {
            Allowed::Forward => "forward",
            Allowed::Agent => "agent",
            Allowed::Files => "files",
        }
    }

    /// What a server grants that allows these.
    pub(super) fn extensions(all: &[Allowed]) -> Extensions {
        all.iter().fold(Extensions::HARMLESS, |granted, allowed| match allowed {
            Allowed::Forward => Extensions { tcp: true, listen: true, ..granted },
            Allowed::Agent => Extensions { agent: true, ..granted },
            Allowed::Files => Extensions { files: true, ..granted },
        })
    }
}

/// The command that starts a server on this machine, at the address `here`, or on the one that ssh connects to.
pub(super) fn server_command(args: &Args, here: Option<IpAddr>) -> Result<String, Failure> {
    let arguments = match args.attach {
        Some(Some(session)) => format!("attach {session}"),
        Some(None) => "attach".to_owned(),
        None => server_arguments(args, here)?,
    };
    if here.is_some() {
        return Ok(format!("{} {arguments}", local_server(args)?));
    }
    let start = match &args.server {
        Some(server) => format!("exec {server} {arguments}"),
        None if args.needs_ours() => format!(
            "if command -v exm >/dev/null; then exec {OURS} {arguments}; else echo exm is not in the PATH; exit 127; fi"
        ),
        None => format!(
            "if command -v exm >/dev/null; then exec {OURS} {arguments}; else exec mosh-server {arguments}; fi"
        ),
    };
    // The user's shell may be any, and only has to run sh.
    let script = format!("echo \"{SSH_CONNECTION}$SSH_CONNECTION\"; {start}");
    Ok(format!("exec sh -c {}", for_any_shell(&script)))
}

/// The command that lists the sessions on this machine, or on the one that ssh connects to.
pub(super) fn list_command(args: &Args) -> Result<String, Failure> {
    let ours = OURS.to_owned();
    let server = if args.local { local_server(args)? } else { args.server.clone().unwrap_or(ours) };
    Ok(format!("{server} list"))
}

/// The command for servers on this machine.
fn local_server(args: &Args) -> Result<String, Failure> {
    let program = std::env::current_exe()?;
    let ours = || format!("{} mosh-server", for_any_shell(&program.to_string_lossy()));
    Ok(args.server.clone().unwrap_or_else(ours))
}

fn server_arguments(args: &Args, here: Option<IpAddr>) -> Result<String, Failure> {
    let mut arguments = if super::transfer::is_one(args) {
        "files".to_owned()
    } else {
        format!("new -c {}", colours().max(8))
    };
    let allowed: Vec<_> = args.allowed().into_iter().map(Allowed::name).collect();
    if !allowed.is_empty() {
        arguments += &format!(" --allow {}", allowed.join(","));
    }
    match (here, args.bind_server) {
        (_, Some(Bind::Any)) => {}
        (_, Some(Bind::Address(address))) | (Some(address), _) => {
            arguments += &format!(" -i {address}");
        }
        (None, _) => arguments += " -s",
    }
    if let Some(port) = &args.port {
        port.parse::<PortRange>()
            .map_err(|error| Failure::invalid_value(port, "--port", &error.to_string()))?;
        arguments += &format!(" -p {port}");
    }
    for (name, value) in std::env::vars() {
        if name == "LANG" || name == "LANGUAGE" || name.starts_with("LC_") {
            arguments += &format!(" -l {}", for_any_shell(&format!("{name}={value}")));
        }
    }
    if !args.program().is_empty() && !super::transfer::is_one(args) {
        arguments += " --";
        for word in args.program() {
            let problem = || Failure::usage(format!("{} is not UTF-8", word.to_string_lossy()));
            arguments += &format!(" {}", for_any_shell(word.to_str().ok_or_else(problem)?));
        }
    }
    Ok(arguments)
}

/// `word` as any shell reads it, line breaks included, which what is quoted for one line writes as only newer shells read it.
pub(super) fn for_any_shell(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn words_survive_a_shell() {
        for word in ["plain", "two words", "it's", "two\nlines", "$HOME `x` \"y\" \\"] {
            let output = Command::new("sh")
                .args(["-c", &format!("printf %s {}", for_any_shell(word))])
                .output();
            assert_eq!(String::from_utf8(output.expect("sh").stdout).expect("text"), word);
        }
    }

    #[test]
    fn a_server_grants_what_it_allows() {
        assert_eq!(Allowed::extensions(&[]), Extensions::HARMLESS);
        let all = [Allowed::Forward, Allowed::Agent, Allowed::Files];
        let Extensions { history, tcp, listen, agent, files, .. } = Allowed::extensions(&all);
        assert!(history && tcp && listen && agent && files);
        for allowed in all {
            let value = clap::ValueEnum::to_possible_value(&allowed).expect("all are shown");
            assert_eq!(value.get_name(), allowed.name());
        }
    }

    #[test]
    fn a_server_is_bound_as_asked() {
        assert_eq!(Bind::parse("ssh"), Ok(Bind::Ssh));
        assert_eq!(Bind::parse("any"), Ok(Bind::Any));
        assert_eq!(Bind::parse("::1"), Ok(Bind::Address("::1".parse().unwrap())));
        assert!(Bind::parse("all").is_err());
    }
}
