//! Lists the models and the rule tables of the folders `models`, `remyccs` and `remyccs/designs`, each as an expression
//! of names and texts that `src/shipped.rs` includes. Designs are many, and compressed.

use miniz_oxide::deflate::compress_to_vec;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Of compression, out of ten.
const LEVEL: u8 = 9;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = |name| PathBuf::from(env::var_os(name).expect("cargo gives a folder"));
    let (root, out) = (folder("CARGO_MANIFEST_DIR"), folder("OUT_DIR"));
    let texts = |path: &Path| format!("include_str!({path:?})");
    write(&out, "models", &list(&root.join("models"), ".toml", texts));
    write(&out, "remyccs", &list(&root.join("remyccs"), ".json", texts));
    let designs = list(&root.join("remyccs/designs"), ".json", |path| {
        let text = fs::read(path).expect("a design can be read");
        let packed = out.join(path.file_name().expect("it has one")).with_extension("packed");
        write_file(&packed, &compress_to_vec(&text, LEVEL));
        format!("include_bytes!({packed:?})")
    });
    write(&out, "designs", &designs);
    for folder in ["models", "remyccs"] {
        println!("cargo::rerun-if-changed={folder}");
    }
}

fn write(out: &Path, name: &str, list: &str) {
    write_file(&out.join(format!("{name}.rs")), list.as_bytes());
}

fn write_file(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("cargo's folder can be written");
}

/// The names, without `ending`, of the files in `folder` and what `include` makes of each path, in the order of names,
/// as an expression.
fn list(folder: &Path, ending: &str, include: impl Fn(&Path) -> String) -> String {
    let files = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let names = files.map(|file| file.expect("a folder can be read").file_name());
    let names = names.filter_map(|file| Some(file.to_str()?.strip_suffix(ending)?.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    let mut list = String::from("&[\n");
    for name in names {
        let what = include(&folder.join(format!("{name}{ending}")));
        writeln!(list, "({name:?}, {what}),").expect("a string takes it");
    }
    list + "]\n"
}
