//! Records the version that `exm --version` prints: with the commit, if this is a checkout of the repository. A
//! package, or a build without git, has the version alone.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let version = match commit() {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    };
    println!("cargo::rustc-env=EXM_VERSION={version}");
}

/// The commit of the checkout that this package is a part of. The build is repeated when it changes, and the same
/// commit always gives the same text.
fn commit() -> Option<String> {
    let root =
        Path::new(&std::env::var_os("CARGO_MANIFEST_DIR")?).join("../..").canonicalize().ok()?;
    // A package may be unpacked within a repository of something else.
    let top = PathBuf::from(git(&root, &["rev-parse", "--show-toplevel"])?);
    if top.canonicalize().ok()? != root {
        return None;
    }
    for name in ["HEAD", "logs/HEAD"] {
        let file = root.join(git(&root, &["rev-parse", "--git-path", name])?);
        // Cargo takes a missing file for one that always changes.
        if file.exists() {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
    git(&root, &["rev-parse", "--short=10", "HEAD"])
}

/// What git prints in `folder`, if it succeeds.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
