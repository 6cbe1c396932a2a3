//! The page of `exm ratatouille` in a real browser: the tests of `crates/web/browser`.

use crate::browser::browser;
use exm_testing::{has, skip};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The tests' folder.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/browser")
}

/// The native program whose answers the browser's are compared with; it is built with the workspace's tests.
fn answers() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_exm")).with_file_name("examples").join("answers")
}

#[test]
fn the_page_works_in_a_browser() {
    let Some(chromium) = browser() else {
        return skip("no Chromium or Chrome to open the page in");
    };
    let missing = [
        (!has("node"), "Node.js"),
        (!folder().join("node_modules").is_dir(), "what `make browser` installs"),
        (!answers().is_file(), "the example `answers`, which tests of the whole workspace build"),
    ];
    if let Some((_, what)) = missing.iter().find(|(is_missing, _)| *is_missing) {
        return skip(format!("the page in a browser: without {what}"));
    }
    let output = Command::new("node")
        .args(["--test", "--test-reporter=spec"])
        .current_dir(folder())
        .env("EXM", env!("CARGO_BIN_EXE_exm"))
        .env("ANSWERS", answers())
        .env("CHROMIUM", chromium)
        .output()
        .expect("node runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
}
