//! [`DnsOverride`]: the machine's resolvers while the tunnel exists.

use crate::error::TunnelError;
use exm_os::{AtExit, Restore, is_installed, nameservers};
use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The file in which programs find the resolvers.
pub(crate) const RESOLV_CONF: &str = "/etc/resolv.conf";
/// The first line of the file that we write.
const HEADER: &str = "# Written by exm tunnel, for as long as it runs.";
/// The address of systemd-resolved's stub resolver.
const RESOLVED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 53);

/// Overrides the machine's resolvers; they are restored when this is dropped or the process ends.
///
/// If systemd-resolved is in use, or resolvconf(8) writes the file, the resolvers are registered with it for
/// the tunnel's device. Otherwise the file is rewritten, again each time a DHCP client has rewritten it, and
/// in the end gets the content that others wrote last.
#[derive(Debug)]
pub(crate) enum DnsOverride {
    /// Registered for the device, with which systemd-resolved forgets them.
    Resolved,
    Resolvconf {
        _delete: AtExit,
    },
    File {
        restore: Restore,
        file: PathBuf,
        content: String,
    },
}

impl DnsOverride {
    /// Makes `servers` the resolvers, through the device called `device`; `file` is where programs find
    /// resolvers.
    ///
    /// # Errors
    /// The file cannot be written, or another tunnel has changed it.
    pub(crate) fn new(
        servers: &[IpAddr],
        device: &str,
        file: &Path,
    ) -> Result<Option<DnsOverride>, TunnelError> {
        if servers.is_empty() {
            return Ok(None);
        }
        if is_resolved(file) && configure_resolved(servers, device).is_ok() {
            return Ok(Some(DnsOverride::Resolved));
        }
        let failed = |source| TunnelError::Dns { servers: servers.to_vec(), source };
        if file == Path::new(RESOLV_CONF) && is_installed("resolvconf") {
            let _delete = configure_resolvconf(servers, device).map_err(failed)?;
            return Ok(Some(DnsOverride::Resolvconf { _delete }));
        }
        let content = format!("{HEADER}\n{}", content(servers));
        let restore = Restore::file(file, &content).map_err(failed)?;
        Ok(Some(DnsOverride::File { restore, file: file.to_owned(), content }))
    }

    /// Writes the file again if others have rewritten it. If it has become a link to another file, the former
    /// gets its content back.
    pub(crate) fn renew(&mut self) {
        let DnsOverride::File { restore, file, content } = self else { return };
        // A file that is just being replaced exists again the next time.
        match fs::canonicalize(&*file) {
            Ok(target) if target != restore.target() => {
                if let Ok(there) = Restore::file(file, content) {
                    *restore = there;
                }
            }
            Ok(_) => drop(restore.renew()),
            Err(_) => {}
        }
    }

    /// The file in which programs find the resolvers.
    pub(crate) fn file() -> PathBuf {
        PathBuf::from(RESOLV_CONF)
    }
}

fn content(servers: &[IpAddr]) -> String {
    servers.iter().map(|server| format!("nameserver {server}\n")).collect()
}

/// Whether `file` names systemd-resolved.
fn is_resolved(file: &Path) -> bool {
    nameservers(file).contains(&RESOLVED.into())
}

/// Registers `servers` for all domains with systemd-resolved.
fn configure_resolved(servers: &[IpAddr], device: &str) -> io::Result<()> {
    let servers = servers.iter().map(IpAddr::to_string).collect();
    for (verb, values) in [("dns", servers), ("domain", vec!["~.".to_owned()])] {
        let mut command = Command::new("resolvectl");
        command.arg(verb).arg(device).args(values);
        run(&mut command, "")?;
    }
    Ok(())
}

/// Registers `servers` with resolvconf, before all others (`-m 0`) and exclusively (`-x`), and unregisters
/// them at the end.
fn configure_resolvconf(servers: &[IpAddr], device: &str) -> io::Result<AtExit> {
    // Debian's resolvconf orders interfaces by name, and tunnels come early.
    let name = format!("tun.{device}");
    let delete = AtExit::run("resolvconf", &["-f", "-d", &name])?;
    let mut command = Command::new("resolvconf");
    command.args(["-a", &name, "-m", "0", "-x"]);
    run(&mut command, &content(servers))?;
    Ok(delete)
}

/// Runs `command` with `input`.
fn run(command: &mut Command, input: &str) -> io::Result<()> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let status = child.wait()?;
    let program = command.get_program().display();
    let failed = || io::Error::other(format!("{program} failed: {status}"));
    status.success().then_some(()).ok_or_else(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_that_a_link_led_to_gets_its_content_back() {
        if !exm_testing::is_root() {
            return exm_testing::skip("without root's rights");
        }
        let folder = std::env::temp_dir().join(format!("exm-dns-link-{}", std::process::id()));
        fs::create_dir(&folder).expect("a temporary folder");
        let [link, first, second] = ["link", "first", "second"].map(|name| folder.join(name));
        let point_to = |file: &Path| {
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(file, &link).expect("it can be linked");
        };
        let read = |file: &Path| fs::read_to_string(file).expect("it is there");
        fs::write(&first, "nameserver 192.0.2.1\n").expect("a temporary file");
        fs::write(&second, "nameserver 192.0.2.2\n").expect("a temporary file");
        point_to(&first);
        let servers = [IpAddr::from([9, 9, 9, 9])];
        let dns = DnsOverride::new(&servers, "exm0", &link).expect("it can be written");
        let mut dns = dns.expect("there is a resolver");
        assert!(read(&first).starts_with(HEADER));
        point_to(&second);
        dns.renew();
        assert!(read(&second).starts_with(HEADER));
        assert_eq!(read(&first), "nameserver 192.0.2.1\n");
        drop(dns);
        assert_eq!(read(&second), "nameserver 192.0.2.2\n");
        fs::remove_dir_all(&folder).expect("it is there");
    }

    #[test]
    fn the_file_names_the_resolvers_until_the_end() {
        if !exm_testing::is_root() {
            return exm_testing::skip("without root's rights");
        }
        let file = std::env::temp_dir().join(format!("exm-dns-{}", std::process::id()));
        let before = "search example.org\nnameserver 192.0.2.53\n";
        fs::write(&file, before).expect("a temporary file");
        let servers = [IpAddr::from([9, 9, 9, 9]), IpAddr::from([0x2620; 8])];
        assert!(DnsOverride::new(&[], "exm0", &file).expect("nothing to do").is_none());
        let dns = DnsOverride::new(&servers, "exm0", &file).expect("it can be written");
        let ours = fs::read_to_string(&file).expect("it is there");
        assert!(
            ours.ends_with(
                "nameserver 9.9.9.9\nnameserver 2620:2620:2620:2620:2620:2620:2620:2620\n"
            )
        );
        assert!(!is_resolved(&file));
        let second = DnsOverride::new(&servers, "exm1", &file).expect_err("there is one");
        assert!(second.to_string().contains("another exm"), "{second}");
        drop(dns);
        assert_eq!(fs::read_to_string(&file).expect("it is there"), before);
        fs::write(&file, "nameserver 127.0.0.53\noptions edns0\n").expect("a temporary file");
        assert!(is_resolved(&file));
        fs::remove_file(&file).expect("it is there");
        let error = DnsOverride::new(&servers, "exm0", &file).expect_err("it is not there");
        assert!(
            error.to_string().starts_with("the resolvers cannot be set to 9.9.9.9, 2620:"),
            "{error}"
        );
    }
}
