//! Records the version that `exm --version` prints: with the commit, if this is a checkout of the repository. A
//! package, or a build without git, has the version alone. With the feature `ratatouille`, it makes the page that
//! `exm ratatouille` shows.

#[cfg(feature = "ratatouille")]
#[path = "build/module.rs"]
mod module;
#[cfg(feature = "ratatouille")]
#[path = "build/page.rs"]
mod page;

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
    // An empty one stands for none.
    let html = page().unwrap_or_else(|missing| {
        println!("cargo::rustc-env=EXM_NO_PAGE={}", missing.problem);
        println!("cargo::rustc-env=EXM_WAY_TO_PAGE={}", missing.way_out);
        String::new()
    });
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo gives a folder"));
    std::fs::write(out.join("ratatouille.html"), html).expect("the folder can be written");
}

/// Why there is no page, and what helps.
struct NoPage {
    problem: &'static str,
    way_out: &'static str,
}

#[cfg(not(feature = "ratatouille"))]
fn page() -> Result<String, NoPage> {
    let problem = "this exm was built without its feature ratatouille";
    Err(NoPage { problem, way_out: "build it with its default features" })
}

/// The page of `exm ratatouille`. A page or module with errors ends the build.
#[cfg(feature = "ratatouille")]
fn page() -> Result<String, NoPage> {
    println!("cargo::rerun-if-changed=build");
    let folder = |name| PathBuf::from(std::env::var_os(name).expect("cargo gives a folder"));
    let root = folder("CARGO_MANIFEST_DIR").join("../..");
    let Some(root) = root.canonicalize().ok().filter(|root| root.join("crates/web/page").is_dir())
    else {
        let problem = "this exm was built from its package, which lacks the page";
        return Err(NoPage { problem, way_out: "build it in the repository of Ex Machina" });
    };
    let shown = root.join("crates/web/page");
    println!("cargo::rerun-if-changed={}", shown.display());
    let module = module::build(&root, &folder("OUT_DIR")).unwrap_or_else(|error| fail(&error));
    let Some(module) = module else {
        let problem = "this exm was built without the compiler's target for WebAssembly";
        let way_out = "rustup target add wasm32-unknown-unknown, then build exm again";
        println!("cargo::warning=exm ratatouille will have no page: {way_out}");
        return Err(NoPage { problem, way_out });
    };
    Ok(page::assemble(&shown, &module).unwrap_or_else(|error| fail(&error)))
}

#[cfg(feature = "ratatouille")]
fn fail(error: &str) -> ! {
    for line in error.lines() {
        println!("cargo::error={line}");
    }
    std::process::exit(1)
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
