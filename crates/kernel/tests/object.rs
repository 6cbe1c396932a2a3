//! The prebuilt programs are those of the sources beside them.

use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf")
}

/// What `make kernel-object` recorded: the compiler, and a line for each source with its hash.
fn record() -> (String, Vec<(String, String)>) {
    let text = fs::read_to_string(folder().join("built")).expect("make kernel-object writes it");
    let mut lines = text.lines();
    let compiler = lines.next().expect("a compiler").to_owned();
    let words = lines.map(|line| line.split_once("  ").expect("a hash and a name"));
    (compiler, words.map(|(hash, name)| (name.to_owned(), hash.to_owned())).collect())
}

#[test]
fn the_objects_were_built_after_their_sources_changed() {
    let (_, sources) = record();
    let names: Vec<&str> = sources.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "alone.bpf.c",
        "kernel.h",
        "operations.h",
        "remy.bpf.c",
        "remy.h",
        "script.bpf.c",
        "table.h",
    ];
    assert_eq!(names, expected);
    for (name, hash) in &sources {
        let found = Sha256::digest(fs::read(folder().join(name)).expect("a source"));
        let found: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, *hash, "{name} has changed: make kernel-object");
    }
}

#[test]
fn the_same_compiler_builds_the_same_objects() {
    let (compiler, _) = record();
    let version = Command::new("clang").arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    if !version.is_ok_and(|text| text.lines().next() == Some(&compiler)) {
        return exm_testing::skip(format!(
            "no {compiler}: the programs for the kernel are not built anew"
        ));
    }
    let built = exm_testing::Folder::new("kernel-object");
    for program in ["alone", "remy", "script"] {
        let object = built.0.join(format!("{program}.bpf.o"));
        let made = Command::new("make")
            .arg("-C")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
            .args(["-s", "bpf-object"])
            .arg(format!("PROGRAM={program}"))
            .arg(format!("OBJECT={}", object.display()))
            .status()
            .expect("make");
        assert!(made.success());
        let committed = fs::read(folder().join(format!("{program}.bpf.o"))).expect("an object");
        assert!(fs::read(object).expect("an object") == committed, "{program}: make kernel-object");
    }
}
