//! Lists the rule tables of the repository's folder `remyccs`, which are shipped in the program.
//! Where the folder is missing, as in a package of this crate alone, none are.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let folder = root.join("../../remyccs");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut list = String::from("&[\n");
    for file in tables(&folder)? {
        let name = file.file_stem().and_then(|stem| stem.to_str()).expect("checked to be text");
        println!("cargo:rerun-if-changed={}", file.display());
        let path = fs::canonicalize(&file)?;
        writeln!(list, "    ({name:?}, include_str!({path:?})),").expect("memory takes it");
    }
    list.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("shipped.rs"), list)
}

/// The tables in `folder`, by name; those whose names are no text cannot be asked for.
fn tables(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let files: io::Result<Vec<PathBuf>> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut files = files?;
    files.retain(|file| {
        file.to_str().is_some() && file.extension().is_some_and(|extension| extension == "json")
    });
    files.sort();
    Ok(files)
}
