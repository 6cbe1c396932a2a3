//! What this host has: programs, resolvers, environment variables.

use crate::sys;
use std::ffi::OsString;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

/// Removes the variable `name` from the environment, so that no program started from now on inherits it,
/// and returns its value. The value is erased in the initial environment, too, which the kernel keeps showing to this
/// user and root (`/proc/PID/environ`, proc(5)).
///
/// It must be called while this process has a single thread; otherwise the variable stays.
pub fn take_variable(name: &str) -> Option<OsString> {
    sys::take_variable(name)
}

/// Whether the `PATH` has a program called `name`.
pub fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// The resolvers that `file` names in the format of resolv.conf(5), in order; none if it cannot be read.
pub fn nameservers(file: &Path) -> Vec<IpAddr> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let addresses = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some("nameserver")).then(|| words.next()?.parse().ok()).flatten()
    });
    addresses.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nameservers_are_read_in_order() {
        let file = std::env::temp_dir().join(format!("exm-resolv-{}", std::process::id()));
        let text = "# nameserver 1.1.1.1\nsearch example.org\nnameserver 192.0.2.53\n\
                    nameserver\t2001:db8::53 # second\nnameserver nonsense\n";
        fs::write(&file, text).unwrap();
        let found: Vec<String> = nameservers(&file).iter().map(IpAddr::to_string).collect();
        fs::remove_file(&file).unwrap();
        assert_eq!(found, ["192.0.2.53", "2001:db8::53"]);
        assert!(nameservers(&file).is_empty());
        assert!(is_installed("sh") && !is_installed("exm-no-such-program"));
    }
}
