//! Builds the WebAssembly module of the page, by a cargo within the one that builds the command.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "wasm32-unknown-unknown";
/// Its profile, of the workspace's Cargo.toml: for a program that is built for its users, and for one that is not.
const PROFILE: &str = "web";
const DEVELOPERS_PROFILE: &str = "web-dev";
/// Settings of the environment that the build of the module has in common with that of the command. Others, such as
/// flags of the compiler and wrappers of it, are about the command alone.
const COMMON: [&str; 10] = [
    "CARGO_HOME",
    "CARGO_BUILD_JOBS",
    "CARGO_HTTP_",
    "CARGO_MAKEFLAGS",
    "CARGO_NET_",
    "CARGO_REGISTRIES_",
    "CARGO_REGISTRY_",
    "CARGO_SOURCE_",
    "CARGO_TERM_",
    "RUSTUP_",
];

/// The compiler that builds the command.
struct Compiler {
    path: OsString,
    sysroot: PathBuf,
}

impl Compiler {
    fn new() -> Result<Compiler, String> {
        let path = std::env::var_os("RUSTC").unwrap_or("rustc".into());
        let mut compiler = Compiler { path, sysroot: PathBuf::new() };
        compiler.sysroot = PathBuf::from(compiler.says(&["--print", "sysroot"])?);
        Ok(compiler)
    }

    fn says(&self, arguments: &[&str]) -> Result<String, String> {
        let output = Command::new(&self.path).args(arguments).output();
        let output = output.map_err(|error| format!("cannot run {:?}: {error}", self.path))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn libraries(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib")
    }

    /// Whether it has the standard library of the module's target.
    fn has_target(&self) -> bool {
        self.libraries().join(TARGET).join("lib").is_dir()
    }

    /// Flags by which the module contains no path of this machine, so that it is the same wherever it is built.
    fn flags(&self, root: &Path) -> Result<OsString, String> {
        let version = self.says(&["-vV"])?;
        let commit = version.lines().find_map(|line| line.strip_prefix("commit-hash: "));
        let home = cargo_home();
        // The last of those that fit is applied.
        let paths = [
            (home.as_deref(), "cargo".to_owned()),
            (Some(root), ".".to_owned()),
            (Some(&self.sysroot), "rust".to_owned()),
            // With the sources of the standard library, paths of it are as without.
            (
                Some(&self.libraries().join("src/rust")),
                format!("/rustc/{}", commit.unwrap_or_default()),
            ),
        ];
        let mut flags = OsString::new();
        for (path, name) in paths.iter().filter_map(|(path, name)| Some(((*path)?, name))) {
            if !flags.is_empty() {
                flags.push("\u{1f}");
            }
            flags.push("--remap-path-prefix=");
            flags.push(path);
            flags.push("=");
            flags.push(name);
        }
        Ok(flags)
    }
}

/// Where cargo keeps what it has downloaded.
fn cargo_home() -> Option<PathBuf> {
    let given = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    given.or_else(|| Some(std::env::home_dir()?.join(".cargo")))
}

/// The module of the workspace in `root`, built below the folder that the command is built in, of which `out` is a part.
/// `None` if the compiler lacks the target. Cargo is told what the module is built from.
///
/// # Errors
/// If it does not build: what cargo printed.
pub(crate) fn build(root: &Path, out: &Path) -> Result<Option<Vec<u8>>, String> {
    let compiler = Compiler::new()?;
    if !compiler.has_target() {
        // It is rewritten when a target is added; cargo takes a missing file for one that always changes.
        let list = compiler.libraries().join("components");
        let changed = if list.exists() { list } else { compiler.libraries() };
        println!("cargo::rerun-if-changed={}", changed.display());
        return Ok(None);
    }
    // Its own folder, since cargo locks that of the command.
    let is_target = |folder: &&Path| folder.join("CACHEDIR.TAG").exists();
    let target = out.ancestors().skip(1).find(is_target).unwrap_or(out).join(PROFILE);
    let is_for_users = std::env::var("PROFILE").as_deref() == Ok("release");
    let profile = if is_for_users { PROFILE } else { DEVELOPERS_PROFILE };
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_common = COMMON.iter().any(|common| text.starts_with(common));
        if (text.starts_with("CARGO") || text.starts_with("RUST")) && !is_common {
            cargo.env_remove(&name);
        }
    }
    // As a library for other crates as well, which it also is, it would not be optimised as a whole.
    cargo
        .args(["rustc", "--package", "exm-web", "--lib", "--crate-type", "cdylib", "--locked"])
        .args(["--target", TARGET, "--profile", profile, "--target-dir"])
        .arg(&target)
        .env("RUSTC", &compiler.path)
        .env("CARGO_ENCODED_RUSTFLAGS", compiler.flags(root)?)
        .current_dir(root);
    let output = cargo.output().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the module of exm ratatouille does not build:\n{text}"));
    }
    let built = target.join(TARGET).join(profile);
    let read = |name: &str| {
        let path = built.join(name);
        std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
    };
    for path in sources(&String::from_utf8_lossy(&read("exm_web.d")?)) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    for name in ["Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", root.join(name).display());
    }
    read("exm_web.wasm").map(Some)
}

/// What the module is built from by cargo's list of that, `exm_web.d`; and the manifests of the crates of those files.
fn sources(list: &str) -> BTreeSet<PathBuf> {
    let files = list.lines().next().and_then(|line| line.split_once(": "));
    let files = files.map_or("", |(_, files)| files).replace("\\ ", "\0");
    let files: Vec<PathBuf> =
        files.split(' ').map(|file| PathBuf::from(file.replace('\0', " "))).collect();
    let manifest = |file: &PathBuf| {
        let all = file.ancestors().skip(1).map(|folder| folder.join("Cargo.toml"));
        all.into_iter().find(|manifest| manifest.exists())
    };
    let manifests: BTreeSet<PathBuf> = files.iter().filter_map(manifest).collect();
    manifests.into_iter().chain(files).filter(|path| path.is_absolute()).collect()
}
