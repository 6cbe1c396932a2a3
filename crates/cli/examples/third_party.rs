//! Prints the licences of everything that the program `exm` is linked from: name, version and licence
//! of each crate, and the licence texts in it. The packages of `make dist` contain the output.
//!
//! `cargo run -p exm --example third_party TARGET`

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let target = env::args().nth(1).ok_or("give the target, such as x86_64-unknown-linux-musl")?;
    let metadata = metadata(&target)?;
    let used = used(&metadata);
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    println!("The program exm is linked from these crates, under these licences:\n");
    for package in list(&metadata["packages"]) {
        if !used.contains(text(&package["id"])) || package["source"].is_null() {
            continue;
        }
        let name = format!("{} {}", text(&package["name"]), text(&package["version"]));
        println!("  {name}: {}", text(&package["license"]));
        let folder = Path::new(text(&package["manifest_path"])).parent().ok_or("no folder")?;
        for file in licence_files(folder)? {
            let text = String::from_utf8_lossy(&fs::read(file)?).trim_end().to_owned();
            texts.entry(text).or_default().push(name.clone());
        }
    }
    for (text, names) in texts {
        println!("\n{}\n{}:\n\n{text}", "=".repeat(80), names.join(", "));
    }
    Ok(())
}

/// Cargo's metadata of the workspace and of its dependencies for `target`.
fn metadata(target: &str) -> Result<Value, Box<dyn Error>> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--format-version=1", "--locked", "--filter-platform", target];
    let output = Command::new(cargo).args(arguments).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The IDs of the packages that the program is linked from: its own, and all its dependencies except
/// those for building and testing.
fn used(metadata: &Value) -> BTreeSet<&str> {
    let packages = list(&metadata["packages"]);
    let program = packages.iter().find(|package| package["name"] == "exm");
    let mut open: Vec<&str> = program.map(|package| text(&package["id"])).into_iter().collect();
    let nodes: BTreeMap<&str, &Value> =
        list(&metadata["resolve"]["nodes"]).iter().map(|node| (text(&node["id"]), node)).collect();
    let mut used = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !used.insert(id) {
            continue;
        }
        let dependencies = nodes.get(id).map_or(&[][..], |node| list(&node["deps"]));
        let is_linked = |dependency: &&Value| {
            list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null())
        };
        open.extend(
            dependencies.iter().filter(is_linked).map(|dependency| text(&dependency["pkg"])),
        );
    }
    used
}

/// The files of `folder` that are named for licences and notices, sorted.
fn licence_files(folder: &Path) -> Result<Vec<PathBuf>, std::io::Error> {
    const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file() && NAMES.iter().any(|known| name.starts_with(known)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
