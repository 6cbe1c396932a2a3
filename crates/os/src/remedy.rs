//! What to do where the system refuses devices, namespaces or privileges, above all in containers.

use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, capabilities};
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

/// The file by which TUN devices are created.
const TUN: &str = "/dev/net/tun";
/// What a container needs for TUN devices of its network.
const TUN_IN_CONTAINER: &str = "docker run --device /dev/net/tun --cap-add NET_ADMIN";
/// What a container needs for networks of its own.
const NAMESPACES_IN_CONTAINER: &str = "docker run --device /dev/net/tun --cap-add NET_ADMIN --cap-add SYS_ADMIN \
                                       --security-opt systempaths=unconfined --security-opt apparmor=unconfined";

/// Why a TUN device cannot be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TunFile {
    /// There is no `/dev/net/tun`.
    Missing,
    /// This user may not open it.
    Forbidden,
    /// The container may not use it.
    Withheld,
    /// The kernel has no driver for it.
    NoDriver,
    /// It can be opened.
    Usable,
}

impl TunFile {
    fn find() -> TunFile {
        match OpenOptions::new().read(true).write(true).open(TUN) {
            Ok(_) => TunFile::Usable,
            Err(error) => TunFile::of(&error),
        }
    }

    fn of(error: &io::Error) -> TunFile {
        match (error.kind(), error.raw_os_error()) {
            (ErrorKind::NotFound, _) => TunFile::Missing,
            // The device controller of a container's cgroup refuses with EPERM, the mode of the file with EACCES.
            (_, Some(libc::EPERM)) => TunFile::Withheld,
            (ErrorKind::PermissionDenied, _) => TunFile::Forbidden,
            _ => TunFile::NoDriver,
        }
    }
}

/// What to do about a TUN device that this process could not create: what is missing here, and how to get it.
pub fn tun_remedy() -> String {
    tun_text(TunFile::find(), has(CapabilitySet::NET_ADMIN), is_container())
}

fn tun_text(file: TunFile, has_rights: bool, is_container: bool) -> String {
    let given = format!("give the container the device: {TUN_IN_CONTAINER}");
    match file {
        TunFile::Missing if is_container => format!("there is no {TUN}: {given}"),
        TunFile::Missing => {
            format!(
                "there is no {TUN}: load its module (modprobe tun), or build it into the kernel (CONFIG_TUN)"
            )
        }
        TunFile::Withheld => format!("this container may not use {TUN}: {given}"),
        TunFile::Forbidden => {
            format!(
                "this user may not open {TUN}: run it as root, or let all users (chmod 0666 {TUN})"
            )
        }
        TunFile::NoDriver => format!("the kernel has no driver for {TUN}: load it (modprobe tun)"),
        TunFile::Usable if has_rights => {
            "the kernel refused it: see that no other device has its name".to_owned()
        }
        TunFile::Usable if is_container => {
            format!("CAP_NET_ADMIN is missing: {TUN_IN_CONTAINER}")
        }
        TunFile::Usable => "CAP_NET_ADMIN is missing: run it as root".to_owned(),
    }
}

/// The settings that keep users from creating namespaces: with their file, the value that forbids it, and what allows it.
const SETTINGS: [(&str, &str, &str); 3] = [
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    ("/proc/sys/user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=10000"),
];

/// What to do if this process can create neither namespaces nor a user namespace: what forbids it here, and how to
/// allow it.
pub fn namespace_remedy() -> String {
    let forbids = |(file, value): (&str, &str)| {
        fs::read_to_string(file).is_ok_and(|found| found.trim() == value)
    };
    let setting = SETTINGS.into_iter().find(|(file, value, _)| forbids((file, value)));
    namespace_text(setting.map(|(_, _, allow)| allow), is_root(), is_container())
}

fn namespace_text(allow: Option<&str>, is_root: bool, is_container: bool) -> String {
    let allowed =
        allow.map_or(String::new(), |allow| format!(", or let users create them ({allow})"));
    match (is_container, is_root, allow) {
        (true, ..) => format!("a container needs more rights for it: {NAMESPACES_IN_CONTAINER}"),
        (false, true, _) => {
            "CAP_SYS_ADMIN and CAP_NET_ADMIN are missing: run it with root's full rights".to_owned()
        }
        (false, false, Some(_)) => format!("run it as root{allowed}"),
        // An older kernel, or a filter of system calls.
        (false, false, None) => {
            "run it as root: this system does not let users create them (CONFIG_USER_NS, or a \
                                 filter of system calls)"
                .to_owned()
        }
    }
}

/// What to do if this process may not administer the machine's network.
pub fn network_remedy() -> String {
    network_text(is_root(), is_container())
}

fn network_text(is_root: bool, is_container: bool) -> String {
    match (is_root, is_container) {
        (true, true) => format!("CAP_NET_ADMIN is missing: {TUN_IN_CONTAINER}"),
        (false, true) => format!(
            "run it as root, by sudo for instance; in a container it also needs CAP_NET_ADMIN: {TUN_IN_CONTAINER}"
        ),
        (true, false) => "CAP_NET_ADMIN is missing: run it with root's full rights".to_owned(),
        (false, false) => "run it as root, by sudo for instance".to_owned(),
    }
}

/// What to do if a kernel setting cannot be written because of `error`, if that is known, after a semicolon.
pub(crate) fn setting_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::ReadOnlyFilesystem => {
            "; a container has no other access to it by default: docker run --security-opt systempaths=unconfined"
        }
        _ => "",
    }
}

/// Whether this thread has `capability`.
fn has(capability: CapabilitySet) -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(capability))
}

fn is_root() -> bool {
    geteuid().is_root()
}

/// Whether this process runs in a container of Docker, Podman, Kubernetes or systemd-nspawn.
fn is_container() -> bool {
    let files = ["/.dockerenv", "/run/.containerenv", "/run/systemd/container"];
    files.iter().any(|file| Path::new(file).exists())
        || std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_for_a_device_is_named() {
        for (file, has_rights, is_container, words) in [
            (TunFile::Missing, true, true, "--device /dev/net/tun"),
            (TunFile::Missing, true, false, "modprobe tun"),
            (TunFile::Withheld, true, true, "--device /dev/net/tun"),
            (TunFile::Forbidden, false, false, "chmod 0666 /dev/net/tun"),
            (TunFile::NoDriver, true, false, "modprobe tun"),
            (TunFile::Usable, false, true, "--cap-add NET_ADMIN"),
            (TunFile::Usable, false, false, "run it as root"),
        ] {
            let text = tun_text(file, has_rights, is_container);
            assert!(text.contains(words), "{file:?}: {text}");
        }
        let of = |errno| TunFile::of(&io::Error::from_raw_os_error(errno));
        assert_eq!(of(libc::ENOENT), TunFile::Missing);
        assert_eq!(of(libc::EPERM), TunFile::Withheld);
        assert_eq!(of(libc::EACCES), TunFile::Forbidden);
        assert_eq!(of(libc::ENODEV), TunFile::NoDriver);
    }

    #[test]
    fn what_forbids_namespaces_is_named() {
        let text = namespace_text(None, true, true);
        assert!(text.contains("--cap-add SYS_ADMIN"), "{text}");
        for (_, _, allow) in SETTINGS {
            let text = namespace_text(Some(allow), false, false);
            assert!(text.starts_with("run it as root, or ") && text.contains(allow), "{text}");
        }
        assert!(namespace_text(None, false, false).contains("CONFIG_USER_NS"));
        assert!(namespace_text(None, true, false).contains("CAP_SYS_ADMIN"));
        assert!(network_text(true, true).contains("--cap-add NET_ADMIN"));
        assert!(network_text(false, false).contains("sudo"));
    }
}
