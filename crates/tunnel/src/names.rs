//! [`Names`]: whom the machine asks for names while there is a tunnel.

use crate::error::TunnelError;
use exm_os::Restore;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where programs look whom to ask.
pub(crate) const RESOLV_CONF: &str = "/etc/resolv.conf";
/// Where systemd-resolved answers, and so what it has written to the file.
const RESOLVED: &str = "127.0.0.53";

/// Whom the machine asks for names; its own resolvers again when this is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Names {
    _file: Option<Restore>,
}

impl Names {
    /// Has the machine ask `servers`, by the device called `device` where systemd-resolved does the
    /// asking, who forgets about it with the device; otherwise `file` says so for a while.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn ask(
        servers: &[IpAddr],
        device: &str,
        file: &Path,
    ) -> Result<Option<Names>, TunnelError> {
        if servers.is_empty() {
            return Ok(None);
        }
        let by_resolved = is_resolved(file) && tell_resolved(servers, device).is_ok();
        if by_resolved {
            return Ok(Some(Names { _file: None }));
        }
        let restore = Restore::after_writing(file, &content(servers));
        let failed = |source| TunnelError::Names { servers: servers.to_vec(), source };
        Ok(Some(Names { _file: Some(restore.map_err(failed)?) }))
    }

    /// Where programs look whom to ask.
    pub(crate) fn file() -> PathBuf {
        PathBuf::from(RESOLV_CONF)
    }
}

fn content(servers: &[IpAddr]) -> String {
    let lines = servers.iter().map(|server| format!("nameserver {server}\n"));
    lines.fold("# As long as exm tunnel runs.\n".to_owned(), |text, line| text + &line)
}

/// Whether `file` says that systemd-resolved is asked.
fn is_resolved(file: &Path) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut servers = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver"));
    servers.any(|server| server.trim() == RESOLVED)
}

/// Names of all domains are asked of `servers`.
fn tell_resolved(servers: &[IpAddr], device: &str) -> io::Result<()> {
    let servers = servers.iter().map(IpAddr::to_string).collect();
    for (verb, values) in [("dns", servers), ("domain", vec!["~.".to_owned()])] {
        let mut command = Command::new("resolvectl");
        command.arg(verb).arg(device).args(values);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if !command.status()?.success() {
            return Err(io::Error::other("resolvectl failed"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_whom_to_ask_for_a_while() {
        let file = std::env::temp_dir().join(format!("exm-names-{}", std::process::id()));
        let before = "search example.org\nnameserver 192.0.2.53\n";
        fs::write(&file, before).expect("a temporary file");
        let servers = [IpAddr::from([9, 9, 9, 9]), IpAddr::from([0x2620; 8])];
        assert!(Names::ask(&[], "exm0", &file).expect("nothing to do").is_none());
        let names = Names::ask(&servers, "exm0", &file).expect("it can be written");
        let meanwhile = fs::read_to_string(&file).expect("it is there");
        assert!(
            meanwhile.ends_with(
                "nameserver 9.9.9.9\nnameserver 2620:2620:2620:2620:2620:2620:2620:2620\n"
            )
        );
        assert!(!is_resolved(&file));
        drop(names);
        assert_eq!(fs::read_to_string(&file).expect("it is there"), before);
        fs::write(&file, "nameserver 127.0.0.53\noptions edns0\n").expect("a temporary file");
        assert!(is_resolved(&file));
        fs::remove_file(&file).expect("it is there");
        let error = Names::ask(&servers, "exm0", &file).expect_err("it is not there");
        assert!(
            error.to_string().starts_with("names cannot be asked of 9.9.9.9, 2620:"),
            "{error}"
        );
    }
}
