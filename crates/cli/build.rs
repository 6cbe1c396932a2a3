//! Gathers what of the repository is shipped in the program: the rule tables of the folder `remyccs`,
//! the experiments of the folder `experiments`, and the model of the demonstration. Where a folder is
//! missing, as in a package of this crate alone, nothing of it is shipped; without the model there is
//! nothing to build.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("shipped.rs"), shipped(&root.join("../../remyccs"), "json")?)?;
    fs::write(out.join("experiments.rs"), shipped(&root.join("../../experiments"), "toml")?)?;
    ship(&root.join("../../models/demo.toml"), &out.join("demo.toml"))
}

/// Copies `file`, which must be there, to `place`.
fn ship(file: &Path, place: &Path) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", file.display());
    let text = fs::read(file).map_err(|error| {
        let problem = format!(
            "cannot read {}, which the program ships: {error}; build it in the whole repository",
            file.display()
        );
        io::Error::new(error.kind(), problem)
    })?;
    fs::write(place, text)
}

/// The list of the files in `folder` whose names end in `extension`, as Rust.
fn shipped(folder: &Path, extension: &str) -> io::Result<String> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut list = String::from("&[\n");
    for file in files(folder, extension)? {
        let name = file.file_stem().and_then(|stem| stem.to_str()).expect("checked to be text");
        println!("cargo:rerun-if-changed={}", file.display());
        let path = fs::canonicalize(&file)?;
        writeln!(list, "    ({name:?}, include_str!({path:?})),").expect("memory takes it");
    }
    list.push_str("]\n");
    Ok(list)
}

/// The files in `folder`, by name; those whose names are no text cannot be asked for.
fn files(folder: &Path, extension: &str) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let files: io::Result<Vec<PathBuf>> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut files = files?;
    files.retain(|file| {
        file.to_str().is_some() && file.extension().is_some_and(|own| own == extension)
    });
    files.sort();
    Ok(files)
}
