//! Helpers for the tests of the workspace: [`skip`] records that a test did not run, [`reference()`] finds
//! the data that lies beside the repository, a [`Folder`] is removed when its test ends, and a command runs [in a
//! terminal](InTerminal).
//!
//! The test harness hides the output of passing tests, and a test that returns early passes. To distinguish
//! skipped tests from passed ones, each skip is appended to the file named by the environment variable
//! `EXM_SKIPPED`; `make test` sets it, and prints the file at its end.

mod terminal;

pub use terminal::{InTerminal, mosh_server};

use std::fmt::Display;
use std::fs::{self, DirEntry, OpenOptions};
use std::io::{self, Write};
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The environment variable with the absolute path of the file of skipped tests.
pub const SKIPPED: &str = "EXM_SKIPPED";

/// Records that the calling test does not run, or not completely, for this `reason`: on standard error,
/// which the harness does not capture, and in the file named by [`SKIPPED`]. The caller then returns.
///
/// # Panics
/// If the file cannot be written: a skip must not go unnoticed.
#[track_caller]
pub fn skip(reason: impl Display) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let line = format!("{} {test}: {reason}\n", Location::caller().file());
    // Unlike eprintln, this is not captured by the harness.
    let _ = io::stderr().write_all(format!("skipped: {line}").as_bytes());
    if let Some(file) = std::env::var_os(SKIPPED) {
        // One write of one line: other tests append to the same file at the same time.
        let mut options = OpenOptions::new();
        let written = options
            .create(true)
            .append(true)
            .open(&file)
            .and_then(|mut file| file.write_all(line.as_bytes()));
        if let Err(error) = written {
            panic!("cannot record a skipped test in {}: {error}", Path::new(&file).display());
        }
    }
}

/// A folder of its own for a test, removed when dropped.
#[derive(Debug)]
pub struct Folder(pub PathBuf);

impl Folder {
    /// A new, empty one, with `name` in its path.
    ///
    /// # Panics
    /// If it cannot be created.
    pub fn new(name: &str) -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("exm-{name}-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }

    /// The names of its files, in order.
    ///
    /// # Panics
    /// If it cannot be read.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("the test's folder");
        let name = |entry: io::Result<DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<String> =
            entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The file or folder `path` of the reference data, which lies in `shared/data` beside the repository and is
/// not part of it. If it is absent, the skip is recorded and the result is none.
///
/// # Panics
/// If it is absent and skips are not recorded: a test without its data must not pass silently.
#[track_caller]
pub fn reference(path: impl AsRef<Path>) -> Option<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = path.as_ref();
    let file = data.join(path);
    if file.exists() {
        return Some(file);
    }
    let missing = format!("no {} in shared/data beside the repository", path.display());
    if std::env::var_os(SKIPPED).is_none() {
        panic!(
            "there is {missing}; to skip what needs it, name a file to record skipped tests in: \
             {SKIPPED}=/tmp/skipped (make test does)"
        );
    }
    skip(missing);
    None
}

/// Whether this process may create networks: it needs the [capabilities](is_root), `/dev/net/tun`, and these
/// `programs` in its path. If it may not, the skip is recorded with what is missing.
#[track_caller]
pub fn can_make_networks(programs: &[&str]) -> bool {
    let mut missing = Vec::new();
    if !is_root() {
        missing.push("root's rights");
    }
    if !Path::new("/dev/net/tun").exists() {
        missing.push("/dev/net/tun");
    }
    missing.extend(programs.iter().filter(|program| !has(program)));
    if !missing.is_empty() {
        skip(format!("without {}", missing.join(", ")));
    }
    missing.is_empty()
}

/// Whether this process may administer networks and create namespaces: the capabilities CAP_NET_ADMIN and
/// CAP_SYS_ADMIN, which a container may withhold from root.
pub fn is_root() -> bool {
    const WANTED: u64 = 1 << 12 | 1 << 21;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    bits.is_some_and(|bits| bits & WANTED == WANTED)
}

/// Whether the shell finds `program`.
pub fn has(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", "command -v \"$1\"", "sh", program]).output();
    found.is_ok_and(|output| output.status.success())
}
