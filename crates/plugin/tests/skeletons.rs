//! Every skeleton builds with what its README names, passes its tests, and decides as the same controller in the
//! library: the papers' AIMD.

use exm_cc::{Aimd, Controller, Decision};
use exm_plugin::skeletons::Language;
use exm_plugin::{Limits, Module, Program, check, script};
use exm_sim::controllers::AnyController;
use exm_testing::Folder;
use std::process::Command;

#[allow(unreachable_pub, reason = "elsewhere it is a crate of its own")]
#[path = "../skeletons/rust/src/lib.rs"]
mod mine;

/// The skeleton of `language`, written to a folder of its own.
fn written(language: Language) -> Folder {
    let folder = Folder::new(&format!("skeleton-{}", language.name()));
    for (path, text) in language.skeleton("mine").expect("a name") {
        let file = folder.0.join(path);
        std::fs::create_dir_all(file.parent().expect("it is in a folder")).unwrap();
        std::fs::write(file, text).unwrap();
    }
    folder
}

/// Runs `command` in `folder`.
fn run(folder: &Folder, command: &str) {
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(&folder.0)
        .env("CARGO_TARGET_DIR", folder.0.join("target"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    let more = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{command}: {text}{more}");
}

/// Whether `command` can be run; skips the test otherwise.
fn can(command: &str) -> bool {
    let status = Command::new("sh").args(["-c", &format!("{command} >/dev/null 2>&1")]).status();
    let can = status.is_ok_and(|status| status.success());
    if !can {
        exm_testing::skip(format!("`{command}` does not run here"));
    }
    can
}

fn decisions(controller: &mut impl Controller, seed: u64) -> Vec<Decision> {
    script::play(controller, &script::random(2000, seed))
}

/// Builds the module in `folder`, as a contest does, and compares its decisions.
fn assert_module(folder: &Folder, language: Language) {
    assert_eq!(Language::of_folder(&folder.0), Some(language));
    let (command, module) = language.build("mine").expect("it becomes a module");
    run(folder, &command);
    let wasm = std::fs::read(folder.0.join(module)).unwrap();
    let module = Module::compile("mine.wasm", &wasm, &Limits::STRANGER).unwrap();
    assert_eq!(module.parameters(), ["increase"]);
    for seed in 1..=10 {
        let expected = decisions(&mut Aimd::new(), seed);
        assert_eq!(decisions(&mut module.controller(), seed), expected, "seed {seed}");
    }
    assert_eq!(check(&module.controller(), true), []);
}

#[test]
fn rust() {
    let target = "wasm32-unknown-unknown";
    let has = format!("test -d \"$(rustc --print target-libdir --target {target})\"");
    if !can(&has) {
        return;
    }
    let folder = written(Language::Rust);
    run(&folder, "cargo test --quiet --offline");
    assert_module(&folder, Language::Rust);
}

#[test]
fn rust_natively_by_the_same_source() {
    for seed in 1..=10 {
        let expected = decisions(&mut Aimd::new(), seed);
        let mut mine = AnyController::own(mine::Mine::default());
        assert_eq!(decisions(&mut mine, seed), expected, "seed {seed}");
    }
}

#[test]
fn c() {
    if !can("which make cc clang wasm-ld") {
        return;
    }
    let folder = written(Language::C);
    run(&folder, "make test");
    assert_module(&folder, Language::C);
}

#[test]
fn assemblyscript() {
    let folder = written(Language::AssemblyScript);
    let install = format!(
        "cd {} && timeout 120 npm install --silent --no-audit --no-fund",
        folder.0.display()
    );
    if !can(&install) {
        return;
    }
    run(&folder, "npm test");
    assert_module(&folder, Language::AssemblyScript);
}

#[test]
fn zig() {
    if !can("zig version || python3 -m ziglang version") {
        return;
    }
    let folder = written(Language::Zig);
    let zig = "$(command -v zig || echo python3 -m ziglang)";
    run(&folder, &format!("{zig} test mine.zig"));
    assert_module(&folder, Language::Zig);
}

#[test]
fn python() {
    if !can("python3 --version") {
        return;
    }
    let folder = written(Language::Python);
    run(&folder, "python3 -m unittest");
    let command = format!("python3 {}", folder.0.join("mine.py").display());
    let program = Program::new(&command).unwrap();
    for seed in 1..=2 {
        let expected = decisions(&mut Aimd::new(), seed);
        assert_eq!(decisions(&mut program.controller(), seed), expected, "seed {seed}");
    }
    assert_eq!(check(&program.controller(), false), []);
}
