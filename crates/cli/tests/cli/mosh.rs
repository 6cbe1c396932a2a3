//! `exm mosh`, `mosh-client` and `mosh-server` as processes: with each other, and with the real mosh.
//!
//! Skipped if pseudo-terminals or mosh are missing.

use crate::common::{Folder, assert_fails};
use exm_testing::{InTerminal, has, skip};
use std::process::Stdio;

/// `command` in a terminal.
fn in_terminal(command: &str) -> InTerminal {
    let variables = [("MOSH_PREDICTION_DISPLAY", "never"), ("MOSH_SERVER_NETWORK_TMOUT", "30")];
    InTerminal::run(command, &variables).expect("script is there")
}

/// Works in a shell that `command` opens, and ends it.
fn works(command: &str) {
    let mut terminal = in_terminal(command);
    terminal.until("ready$");
    terminal.type_keys(b"echo hel\"\"lo; stty size\r").expect("it takes keys");
    terminal.until("hello");
    terminal.until("24 80");
    terminal.type_keys(b"exit\r").expect("it takes keys");
    terminal.until("[mosh is exiting.]");
    assert_eq!(terminal.ended().0, Some(0), "{command}");
}

const EXM: &str = env!("CARGO_BIN_EXE_exm");

#[test]
fn a_shell_is_shown_until_it_ends() {
    if !has("script") {
        skip("script is missing");
        return;
    }
    works(&format!("{EXM} mosh --local -- env 'PS1=ready$ ' sh -i"));
}

#[test]
fn the_user_leaves_by_the_escape_key() {
    if !has("script") {
        skip("script is missing");
        return;
    }
    let mut terminal =
        in_terminal(&format!("{EXM} mosh --local --no-init -- env 'PS1=ready$ ' sh -i"));
    terminal.until("ready$");
    terminal.type_keys(b"\x1e.").expect("it takes keys");
    terminal.until("[mosh is exiting.]");
    assert_eq!(terminal.ended().0, Some(0));
}

/// Either side may be replaced by the original.
#[test]
fn the_original_is_at_the_other_end() {
    if !has("script") || !has("mosh") {
        skip("script or mosh is missing");
        return;
    }
    works(&format!("{EXM} mosh --local --server mosh-server -- env 'PS1=ready$ ' sh -i"));
    works(&format!(
        "mosh --local --server='{EXM} mosh-server' 127.0.0.1 -- env 'PS1=ready$ ' sh -i"
    ));
}

#[test]
fn what_is_wrong_is_said() {
    let folder = Folder::new("mosh");
    let fails = |words: &str, code: i32, parts: &[&str]| {
        assert_fails(&folder.run(words), code, parts);
    };
    fails("mosh", 2, &["HOST"]);
    fails("mosh-server old", 2, &["the only word is \"new\""]);
    fails("mosh --local --port x -- true", 2, &["'x' for '--port'"]);
    fails("mosh --local --server false -- true", 1, &["the server has not started", "--server"]);
    fails("mosh --ssh no-such-program host", 1, &["cannot run no-such-program"]);
    fails("mosh-client 127.0.0.1 60001", 2, &["MOSH_KEY"]);
    let client = folder.exm("mosh-client 127.0.0.1 60001").env("MOSH_KEY", "x").output();
    assert_fails(&client.expect("it runs"), 1, &["MOSH_KEY holds no key"]);
    let key = "AAECAwQFBgcICQoLDA0ODw";
    let client = folder.exm("mosh-client 127.0.0.1 60001").env("MOSH_KEY", key).output();
    assert_fails(&client.expect("it runs"), 1, &["a session is shown on a terminal"]);
    let server = folder.exm("mosh-server -i 203.0.113.1").env("LC_ALL", "C.UTF-8").output();
    assert_fails(&server.expect("it runs"), 1, &["UDP port 60001:60999 of 203.0.113.1"]);
    let server = folder.exm("mosh-server -- no-such-program").env("LC_ALL", "C.UTF-8").output();
    assert_fails(&server.expect("it runs"), 1, &["there is no program no-such-program"]);
    let mut server = folder.exm("mosh-server");
    server.env("LC_ALL", "C").stdin(Stdio::null());
    assert_fails(&server.output().expect("it runs"), 1, &["the locale is not UTF-8"]);
}
