//! `exm mosh`, `mosh-client` and `mosh-server` as processes: with each other, and with the real mosh.
//!
//! Skipped if pseudo-terminals or mosh are missing.

use crate::common::{Folder, assert_fails};
use exm_testing::{InTerminal, has, skip};
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

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

/// The program by the names of mosh's, and mosh's own programs by its options.
#[test]
fn links_take_the_place_of_the_original() {
    if !has("script") || !has("mosh") {
        skip("script or mosh is missing");
        return;
    }
    let folder = Folder::new("mosh-links");
    let link = |name: &str| {
        let link = folder.path(name);
        symlink(EXM, &link).expect("the folder is ours");
        link.display().to_string()
    };
    let [mosh, client, server] = ["mosh", "mosh-client", "mosh-server"].map(link);
    let shell = "127.0.0.1 -- env 'PS1=ready$ ' sh -i";
    works(&format!("{mosh} --local {shell}"));
    works(&format!("{mosh} --local --client mosh-client --server mosh-server {shell}"));
    works(&format!("mosh --local --client {client} --server {server} {shell}"));
}

/// ssh and the machine behind it are stood in for by a shell.
#[test]
fn ssh_starts_the_server_where_it_connects_to() {
    if !has("script") {
        skip("script is missing");
        return;
    }
    let folder = Folder::new("mosh-ssh");
    let ssh = folder.path("connect");
    // It takes the last word, as ssh does, for the shell of a machine that was connected to at 127.0.0.1.
    let text = "#!/bin/sh\necho Welcome. >&2\nfor word in \"$@\"; do :; done\n\
        SSH_CONNECTION='127.0.0.1 9 127.0.0.1 22' exec sh -c \"$word\"\n";
    std::fs::write(&ssh, text).expect("the folder is ours");
    std::fs::set_permissions(&ssh, Permissions::from_mode(0o755)).expect("it is ours");
    let ssh = ssh.display();
    works(&format!(
        "{EXM} mosh --ssh {ssh} --server '{EXM} mosh-server' me@host env 'PS1=ready$ ' sh -- -i"
    ));
    let mut terminal = in_terminal(&format!(
        "{EXM} mosh --ssh {ssh} --server '{EXM} mosh-server' --remote-ip local me@127.0.0.1 -- sleep 9"
    ));
    terminal.until("Welcome.");
    terminal.until("\x1b[?1h");
    terminal.type_keys(b"\x1e.").expect("it takes keys");
    assert_eq!(terminal.ended().0, Some(0));
}

/// The word that the terminal shows after `text`.
fn word_after(terminal: &InTerminal, text: &str) -> String {
    let shown = String::from_utf8_lossy(&terminal.shown()).into_owned();
    let (_, after) = shown.rsplit_once(text).expect("it is shown");
    after.split(' ').next().expect("a word").to_owned()
}

#[test]
fn another_client_takes_a_session_over() {
    if !has("script") {
        skip("script is missing");
        return;
    }
    let mut first = in_terminal(&format!("{EXM} mosh --local -- env 'PS1=ready$ ' sh -i"));
    first.until("ready$");
    first.type_keys(b"note=kept; echo server $PPID is\"\" here\r").expect("it takes keys");
    first.until("is here");
    let server = word_after(&first, "\nserver ");
    let folder = Folder::new("mosh-sessions");
    let list = folder.run("mosh-server list --json");
    assert!(String::from_utf8_lossy(&list.stdout).contains(&format!("\"id\": {server}")));
    let mut second = in_terminal(&format!("{EXM} mosh --local --attach={server}"));
    first.until("[mosh is exiting.]");
    second.until("is here");
    second.type_keys(b"echo the note is $note; exit\r").expect("it takes keys");
    second.until("the note is kept");
    assert_eq!(second.ended().0, Some(0));
    assert_fails(&folder.run(&format!("mosh-server attach {server}")), 1, &["cannot attach"]);
}

/// Nothing that was set stays set, even if nobody is left to unset it.
#[test]
fn the_terminal_is_restored_if_the_client_is_killed() {
    if !has("script") {
        skip("script is missing");
        return;
    }
    let client = format!("echo client $$ is here; exec {EXM} mosh --local -- cat");
    let restored = "until stty -a | grep -q ' icanon'; do sleep 0.1; done";
    let mut terminal =
        in_terminal(&format!("sh -c '{client}'; {restored}; stty -a; read line; echo got $line"));
    terminal.until("is here");
    terminal.until("\x1b[?1h");
    let killed = Command::new("kill").args(["-9", &word_after(&terminal, "client ")]).status();
    assert!(killed.expect("kill is there").success());
    terminal.until("\x1b[?1049l");
    terminal.until(" icanon");
    terminal.until(" echo ");
    terminal.type_keys(b"it\r").expect("it takes keys");
    terminal.until("got it");
    terminal.ended();
}

#[test]
fn what_is_wrong_is_said() {
    let folder = Folder::new("mosh");
    let fails = |words: &str, code: i32, parts: &[&str]| {
        assert_fails(&folder.run(words), code, parts);
    };
    fails("mosh", 2, &["there is no machine to connect to", "--local"]);
    fails("mosh --local --family inet6 127.0.0.1", 1, &["127.0.0.1 has no IPv6 address"]);
    fails("mosh --bind-server all host", 2, &["give ssh, any or an address"]);
    for option in ["--attach", "--attach=7", "--list"] {
        for words in ["host date", "host -- date -u", "-- host date -u"] {
            let name = option.split('=').next().expect("a name");
            fails(&format!("mosh {option} {words}"), 2, &[name, "takes no command", "date"]);
        }
    }
    fails("mosh-server old", 2, &["'old'"]);
    fails("mosh-server new 7", 2, &["7 is not expected"]);
    fails("mosh-server attach 4194305", 1, &["cannot attach to session 4194305", "list"]);
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
