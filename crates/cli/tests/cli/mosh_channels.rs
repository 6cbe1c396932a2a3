//! What `exm mosh` carries besides a shell: TCP ports, the SSH agent, and files.
//!
//! Skipped if pseudo-terminals or OpenSSH are missing.

use crate::common::{Folder, assert_fails, error_of};
use exm_testing::{InTerminal, has, skip};
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

const EXM: &str = env!("CARGO_BIN_EXE_exm");

fn in_terminal(options: &str, variables: &[(&str, &str)]) -> InTerminal {
    let command =
        format!("{EXM} mosh --local --predict never {options} -- env 'PS1=ready$ ' sh -i");
    let limit = [("MOSH_SERVER_NETWORK_TMOUT", "30")];
    InTerminal::run(&command, &[&limit, variables].concat()).expect("script is there")
}

fn leave(mut terminal: InTerminal) {
    terminal.type_keys(b"\x1e.").expect("it takes keys");
    assert_eq!(terminal.ended().0, Some(0));
}

/// A port that is free.
fn port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Connects to `port` as soon as somebody listens there.
fn connect(port: u16) -> TcpStream {
    for _ in 0..400 {
        if let Ok(socket) = TcpStream::connect(("127.0.0.1", port)) {
            return socket;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("nobody listens");
}

#[test]
fn ports_are_forwarded_in_both_directions() {
    if !has("script") {
        skip("script is missing");
        return;
    }
    let target = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = target.local_addr().expect("an address").port();
    // It sends back what it was sent, once that has ended.
    let serving = thread::spawn(move || {
        for _ in 0..2 {
            let (mut socket, _) = target.accept().expect("a connection");
            let mut read = Vec::new();
            socket.read_to_end(&mut read).expect("it ends");
            socket.write_all(&read).expect("it is read");
        }
    });
    let (near, far) = (port(), port());
    let terminal =
        in_terminal(&format!("-L {near}:localhost:{to} -R 127.0.0.1:{far}:127.0.0.1:{to}"), &[]);
    terminal.until("ready$");
    for port in [near, far] {
        let mut socket = connect(port);
        let content: Vec<u8> = (0..300_000).map(|at| (at * 7 + at / 256) as u8).collect();
        socket.write_all(&content).expect("it is read");
        socket.shutdown(Shutdown::Write).expect("it is open");
        let mut read = Vec::new();
        socket.read_to_end(&mut read).expect("it ends");
        assert!(read == content, "{} bytes of {}", read.len(), content.len());
    }
    serving.join().expect("it has served both");
    leave(terminal);
}

#[test]
fn what_cannot_be_forwarded_is_said() {
    if !has("script") {
        skip("script is missing");
        return;
    }
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken_port = taken.local_addr().expect("an address").port();
    let folder = Folder::new("mosh-forward");
    let words = format!("mosh --local -L {taken_port}:localhost:1");
    assert_fails(&folder.run(&words), 1, &["cannot listen on TCP port", "give another"]);
    assert_fails(&folder.run("mosh --local -L 80:localhost"), 2, &["[BIND:]PORT:HOST:HOSTPORT"]);
    let output = folder.exm("mosh --local -A").env_remove("SSH_AUTH_SOCK").output();
    assert_fails(&output.expect("it runs"), 1, &["there is no SSH agent", "leave out -A"]);
    // The server's port is taken.
    let terminal = in_terminal(&format!("-R {taken_port}:localhost:1"), &[]);
    terminal.until("in use");
    leave(terminal);
    // A server that allows nothing.
    let folder = Folder::new("mosh-deaf");
    let server = folder.path("server");
    let script = format!(
        "#!/bin/sh\nwhile [ \"$1\" != --allow ]; do set -- \"$@\" \"$1\"; shift; done; shift 2\nexec {EXM} mosh-server \"$@\"\n"
    );
    fs::write(&server, script).expect("the folder is ours");
    fs::set_permissions(&server, Permissions::from_mode(0o755)).expect("it is ours");
    let command = format!(
        "{EXM} mosh --local --server {} -L {}:localhost:1 127.0.0.1",
        server.display(),
        port()
    );
    let variables = [("SHELL", "/bin/sh"), ("MOSH_SERVER_NETWORK_TMOUT", "30")];
    let terminal = InTerminal::run(&command, &variables).expect("script is there");
    terminal.until("does not allow");
    leave(terminal);
}

/// An SSH agent with a key.
struct Agent {
    process: Child,
    socket: PathBuf,
}

impl Agent {
    fn start(folder: &Folder) -> Agent {
        let (socket, key) = (folder.path("agent"), folder.path("key"));
        let mut process = Command::new("ssh-agent");
        process.arg("-D").arg("-a").arg(&socket);
        let process = process_of(&mut process).spawn().expect("it is there");
        let agent = Agent { process, socket };
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "a key of this test", "-f"]).arg(&key);
        assert!(process_of(&mut keygen).status().expect("it is there").success());
        let is_added = || {
            let mut add = Command::new("ssh-add");
            add.arg(&key).env("SSH_AUTH_SOCK", &agent.socket);
            process_of(&mut add).status().expect("it is there").success()
        };
        assert!((0..100).any(|_| is_added() || {
            thread::sleep(Duration::from_millis(50));
            false
        }));
        agent
    }
}

fn process_of(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn the_agent_is_used_only_after_a_yes() {
    if !has("script") || !has("ssh-agent") {
        skip("script or OpenSSH is missing");
        return;
    }
    let folder = Folder::new("mosh-agent");
    let agent = Agent::start(&folder);
    let socket = agent.socket.display().to_string();
    let mut terminal = in_terminal("-A", &[("SSH_AUTH_SOCK", &socket)]);
    terminal.until("ready$");
    let ask = b"ssh-add -l; echo answ\"\"er $?; stat -c %a\"\" $SSH_AUTH_SOCK\r";
    terminal.type_keys(ask).expect("it takes keys");
    terminal.until("asks for your SSH agent");
    terminal.type_keys(b"\x1en").expect("it takes keys");
    terminal.until("answer 1");
    terminal.until("600");
    terminal.type_keys(b"clear; ssh-add -l; echo oth\"\"er $?\r").expect("it takes keys");
    // It is asked anew.
    let count = |terminal: &InTerminal| {
        String::from_utf8_lossy(&terminal.shown()).matches("asks for").count()
    };
    let is_asked = (0..400).any(|_| {
        thread::sleep(Duration::from_millis(50));
        count(&terminal) > 1
    });
    assert!(is_asked);
    terminal.type_keys(b"\x1ey").expect("it takes keys");
    terminal.until("a key of this test");
    terminal.until("other 0");
    leave(terminal);
}

/// The program in a folder that is the home directory.
fn at_home(folder: &Folder, words: &str) -> Command {
    let mut command = folder.exm(words);
    command.env("HOME", &folder.0).env("LC_ALL", "C.UTF-8");
    command
}

fn run(folder: &Folder, words: &str) -> Output {
    at_home(folder, words).output().expect("it runs")
}

fn succeeds(folder: &Folder, words: &str) -> String {
    let output = run(folder, words);
    assert!(output.status.success(), "{words}: {}", error_of(&output));
    String::from_utf8(output.stdout).expect("text")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn files_are_put_and_got() {
    let folder = Folder::new("mosh-files");
    let content: Vec<u8> = (0..1_000_000_u32).map(|at| (at * 7 + at / 256) as u8).collect();
    folder.write("one", &content);
    folder.write("two", "second");
    fs::set_permissions(folder.path("one"), Permissions::from_mode(0o750)).expect("it is ours");
    fs::create_dir(folder.path("directory")).expect("the folder is ours");
    let printed = succeeds(&folder, "mosh --local put one :copy");
    assert!(printed.starts_with("one -> :copy: 1.0 MB in "), "{printed}");
    assert_eq!(fs::read(folder.path("copy")).expect("it is there"), content);
    assert_eq!(mode(&folder.path("copy")), 0o750);
    // A directory takes files under their names, one or several.
    succeeds(&folder, "mosh --local put one :directory");
    succeeds(&folder, "mosh --local put one two :directory/");
    assert_eq!(fs::read(folder.path("directory/two")).expect("it is there"), b"second");
    assert_fails(&run(&folder, "mosh --local get :one missing/"), 1, &["missing/one"]);
    fs::create_dir(folder.path("got")).expect("the folder is ours");
    let json = succeeds(&folder, "mosh --local --json get :directory/one :two got");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["files"][1]["to"], "got/two", "{json}");
    assert_eq!(fs::read(folder.path("got/one")).expect("it is there"), content);
}

#[test]
fn a_transfer_goes_on_where_it_was() {
    let folder = Folder::new("mosh-resume");
    let content: Vec<u8> = (0..40_000_000_u32).map(|at| (at * 7 + at / 256) as u8).collect();
    folder.write("big", &content);
    let part = folder.path("copy.exm-part");
    let mut first = at_home(&folder, "mosh --local put big :copy");
    let first = first.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let length = || fs::metadata(&part).map_or(0, |part| part.len());
    assert!((0..2000).any(|_| {
        thread::sleep(Duration::from_millis(5));
        length() > 100_000
    }));
    let interrupt = Command::new("kill").args(["-INT", &first.id().to_string()]).status();
    assert!(interrupt.expect("kill is there").success());
    let output = first.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", error_of(&output));
    assert!(error_of(&output).contains("goes on where it was"), "{}", error_of(&output));
    assert!(!folder.path("copy").exists() && length() > 100_000);
    let json = succeeds(&folder, "mosh --local --json put big :copy");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert!(json["files"][0]["resumed"].as_u64().expect("a number") > 100_000, "{json}");
    assert_eq!(json["files"][0]["bytes"], 40_000_000);
    assert!(fs::read(folder.path("copy")).expect("it is there") == content);
    assert!(!part.exists());
}

#[test]
fn what_cannot_be_transferred_is_said() {
    let folder = Folder::new("mosh-no-files");
    folder.write("file", "x");
    fs::create_dir(folder.path("directory")).expect("the folder is ours");
    let fails = |words: &str, code: i32, parts: &[&str]| {
        assert_fails(&run(&folder, words), code, parts);
    };
    fails("mosh --local put directory :x", 1, &["directory: it is a directory, and only files"]);
    fails("mosh --local get :directory x", 1, &["directory at the server: it is a directory"]);
    fails("mosh --local get :missing x", 1, &["missing at the server: no such file"]);
    fails("mosh --local put missing :x", 1, &["missing: No such file"]);
    fails("mosh --local put file :missing/x", 1, &["at the server: no such file or directory"]);
    fails("mosh --local put file host:x", 2, &["there is no machine before the colon"]);
    fails("mosh put file :x", 2, &["there is no machine before the colon", "--local"]);
    fails("mosh put file other", 2, &["other is not a file on another machine"]);
    fails("mosh get a:x b:x .", 2, &["on different machines"]);
    fails("mosh --list put file host:", 2, &["put and get transfer files"]);
    let words = "mosh --ssh no-such-program put file host:";
    fails(words, 1, &["cannot run no-such-program"]);
    fails("mosh --local --server false put file :x", 1, &["has not started", "needs exm"]);
    assert!(!folder.path("x").exists() && !folder.path("x.exm-part").exists());
}
