//! The effects of a skipped test, each observed in a separate process.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A test without its prerequisites when run by [`run`]; passes otherwise.
#[test]
fn lacking() {
    match std::env::var("LACKING").as_deref() {
        Ok("program") => exm_testing::skip("there is no nft"),
        Ok("data") => assert_eq!(exm_testing::reference("no/such.trace"), None),
        Ok("networks") => assert!(!exm_testing::can_make_networks(&["no-such-program"])),
        _ => {}
    }
}

/// Runs the test above as the harness does, with skips recorded in `file`, if given.
fn run(what: &str, file: Option<&Path>) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("it is running"));
    command.args(["--exact", "lacking"]).env("LACKING", what).env_remove(exm_testing::SKIPPED);
    if let Some(file) = file {
        command.env(exm_testing::SKIPPED, file);
    }
    command.output().expect("it starts")
}

fn file(name: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&file);
    file
}

#[test]
fn skips_are_appended_with_test_and_reason() {
    let file = file("skipped");
    for what in ["program", "data", "networks"] {
        assert!(run(what, Some(&file)).status.success(), "{what}");
    }
    let text = std::fs::read_to_string(&file).expect("it was written");
    let lines: Vec<&str> = text.lines().collect();
    let [program, data, networks] = lines[..] else { panic!("{text}") };
    assert_eq!(program, "crates/testing/tests/skips.rs lacking: there is no nft");
    assert!(
        data.ends_with("lacking: no no/such.trace in shared/data beside the repository"),
        "{data}"
    );
    assert!(networks.contains("lacking: without ") && networks.ends_with("no-such-program"));
}

#[test]
fn missing_data_fails_unless_skips_are_recorded() {
    let output = run("data", None);
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("no no/such.trace") && text.contains("EXM_SKIPPED="), "{text}");
    // A missing program is a property of the machine: the test is skipped, with a message past the
    // harness.
    let output = run("program", None);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("skipped: "));
}

#[test]
fn a_skip_that_cannot_be_recorded_fails() {
    assert!(!run("program", Some(Path::new("/no/such/folder/skipped"))).status.success());
}
