//! `exm kernel` as processes: tables in the kernel of this machine. Skipped where the kernel runs no tables.

use crate::common::{Folder, assert_envelope, assert_fails, error_of};
use crate::running::Running;
use exm_kernel::Algorithm;
use exm_remy::fixed::FixedTable;
use exm_remy::{Action, RuleTable, SignalSet};
use rustix::net::sockopt::set_tcp_congestion;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

const KEY: &str = "AAECAwQFBgcICQoLDA0ODw";

/// A folder, if the kernel runs tables.
#[track_caller]
fn with_kernel(name: &str) -> Option<Folder> {
    let action = Action { multiple: 1.0, increment: 1, intersend_ms: 1.0 };
    let table = RuleTable::single(SignalSet::FIRST_FOUR, 16_384.0, action);
    let table = FixedTable::new(&table, 100).expect("four signals");
    match Algorithm::load(&kernel_name("probe"), &table, "a test") {
        Ok(_) => Some(Folder::new(&format!("kernel-{name}"))),
        Err(error) if error.is_of_the_machine() => {
            exm_testing::skip(error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A name that no other process uses.
fn kernel_name(name: &str) -> String {
    format!("{name}{}", std::process::id())
}

/// The command that loads `coexist` under `name`, once it is loaded.
fn loading(folder: &Folder, name: &str) -> Running {
    let words = format!("kernel load coexist --name {name}");
    let mut running = Running::start(&mut folder.exm(&words));
    let mut line = String::new();
    let stdout = running.0.stdout.as_mut().expect("it is piped");
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    assert!(line.starts_with(&format!("{name}: coexist, ")), "{line}");
    running
}

/// A connection over loopback, the first end of which sends by `name`.
fn connect(name: &str) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let sender = TcpStream::connect(listener.local_addr().expect("it is bound")).expect("loopback");
    let (receiver, _) = listener.accept().expect("loopback");
    set_tcp_congestion(&sender, name).expect("it is loaded");
    (sender, receiver)
}

fn transfer((sender, receiver): &mut (TcpStream, TcpStream)) {
    const COUNT: usize = 300_000;
    std::thread::scope(|scope| {
        scope.spawn(move || sender.write_all(&[7; COUNT]).expect("it is sent"));
        receiver.read_exact(&mut [0; COUNT]).expect("it arrives");
    });
}

/// What `list` or `show` says of `name`.
fn entry(folder: &Folder, words: &str, name: &str) -> Option<Value> {
    let result = folder.json(&format!("kernel {words} --json"));
    let key = if words == "list" { "loaded" } else { "connections" };
    let entries = result[key].as_array().expect("a list");
    entries.iter().find(|entry| entry["name"] == *name).cloned()
}

#[test]
fn a_connection_outlives_the_command_that_loaded_its_table() {
    let Some(folder) = with_kernel("killed") else { return };
    let name = kernel_name("k");
    let mut loader = loading(&folder, &name);
    let mut ends = connect(&name);
    transfer(&mut ends);
    let listed = entry(&folder, "list", &name).expect("it is loaded");
    assert_eq!((&listed["table"], &listed["connections"]), (&"coexist".into(), &1.into()));
    assert_eq!(listed["pinned"], false);
    let shown = entry(&folder, &format!("show {name}"), &name).expect("a connection");
    assert!(shown["window"].as_u64() > Some(0) && shown["acks"].as_u64() > Some(0), "{shown}");
    let replaced = folder.text(&format!("kernel replace {name} general-delta1"));
    assert_eq!(replaced, format!("{name}: general-delta1 instead of coexist\n"));
    loader.0.kill().expect("it runs");
    loader.code();
    transfer(&mut ends);
    assert_eq!(entry(&folder, "list", &name), None);
    assert!(set_tcp_congestion(&ends.1, &name).is_err());
}

#[test]
fn a_pinned_table_stays_until_it_is_unloaded() {
    let Some(folder) = with_kernel("pinned") else { return };
    let name = kernel_name("p");
    let load = format!("kernel load coexist --name {name} --pin --json");
    let result = assert_envelope(&folder.text(&load), &format!("exm {load}"), &["rules", "pinned"]);
    assert_eq!(result["name"], *name);
    let again = folder.run(&load);
    let unloaded = folder.text(&format!("kernel unload {name}"));
    assert_fails(&again, 2, &["has a congestion control called", "unload that one"]);
    assert_eq!(unloaded, format!("{name} is unloaded\n"));
    assert_eq!(entry(&folder, "list", &name), None);
}

/// Names of congestion controls have letters, digits and underscores only.
#[test]
fn a_table_without_a_name_is_loaded_under_its_own() {
    let Some(folder) = with_kernel("named") else { return };
    folder.text("table convert coexist a-table.v2.json");
    let result = folder.json("kernel load a-table.v2.json --pin --json");
    let unload = folder.exm("kernel unload").arg("a_table_v2").output().expect("it starts");
    assert!(unload.status.success(), "{}", error_of(&unload));
    assert_eq!(result["name"], "a_table_v2");
}

/// The loader ends with the code of a program that the signal ended.
#[test]
fn an_interrupted_loader_unloads() {
    let Some(folder) = with_kernel("interrupted") else { return };
    let name = kernel_name("i");
    let mut loader = loading(&folder, &name);
    loader.signal("INT");
    assert_eq!(loader.code(), Some(130));
    assert_eq!(entry(&folder, "list", &name), None);
}

#[test]
fn a_table_that_another_command_unloads_ends_its_loader() {
    let Some(folder) = with_kernel("elsewhere") else { return };
    let name = kernel_name("e");
    let mut loader = loading(&folder, &name);
    folder.text(&format!("kernel unload {name}"));
    assert_eq!(loader.code(), Some(0));
}

#[test]
fn what_the_kernel_cannot_take_is_one_error() {
    let folder = Folder::new("kernel-errors");
    let fails = |words: &str, code, parts: &[&str]| assert_fails(&folder.run(words), code, parts);
    fails("kernel load no-such.json", 2, &["no-such.json"]);
    folder.write("ours.json", "not a table");
    fails("kernel load ours.json", 1, &["ours.json is not a table"]);
    if with_kernel("names").is_some() {
        fails("kernel load coexist --name a_b", 2, &["'a b' is no name for a congestion control"]);
        fails("kernel unload no-such", 2, &["no RemyCC called 'no-such'", "exm kernel list"]);
        fails("kernel show no-such", 2, &["no RemyCC called 'no-such'"]);
        fails("kernel replace no-such coexist", 2, &["no RemyCC called 'no-such'"]);
    }
}

#[test]
fn a_table_is_compiled_by_the_name_of_its_output() {
    let folder = Folder::new("kernel-compile");
    let header = folder.text("table compile coexist -o -");
    assert!(header.contains("remycc_on_ack("), "{header}");
    folder.text("table compile coexist -o remy1.h");
    let written = std::fs::read_to_string(folder.path("remy1.h")).expect("it is there");
    assert!(written.contains("remy1_on_ack("), "{written}");
    folder.text("table compile coexist -o remy1.bpf.o");
    let object = std::fs::read(folder.path("remy1.bpf.o")).expect("it is there");
    assert!(object.starts_with(b"\x7fELF"));
    let again = folder.run("table compile coexist -o remy1.h");
    assert_fails(&again, 1, &["remy1.h exists already", "--force"]);
    let unknown = folder.run("table compile coexist -o remy1.js");
    assert_fails(&unknown, 2, &["'remy1.js' for '--out'", ".c, .h or .o"]);
}

/// Cubic fills the queue; the table, which was designed for RTTs of 100 ms and more, does not.
#[test]
fn controls_take_turns_on_a_path() {
    let Some(folder) = with_kernel("try") else { return };
    if !exm_testing::can_make_networks(&[]) {
        return;
    }
    folder.write("key", KEY);
    let exm = env!("CARGO_BIN_EXE_exm");
    let listen = format!("{exm} kernel try --listen --key-file key");
    let send = format!(
        "{exm} kernel try $EXM_PEER general-delta1 --with cubic --rounds 2 --duration 8s --key-file key \
         --plot path.svg --json"
    );
    let link = "cellsim --up 6Mbps --down 8Mbps --delay 10ms --outside namespace --quiet";
    let mut command = folder.exm(link);
    let output = command.args(["--peer", &listen, "--", "sh", "-c", &send]).output().unwrap();
    assert!(output.status.success(), "{}", error_of(&output));
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let controls = result["controls"].as_array().expect("a list");
    let names: Vec<&Value> = controls.iter().map(|control| &control["name"]).collect();
    assert_eq!(names, ["cubic", "general-delta1"]);
    let mean = |which: usize, key: &str| controls[which][key]["mean"].as_f64().expect(key);
    for (which, least) in [(0, 4.0), (1, 0.5)] {
        assert_eq!(controls[which]["turns"].as_array().map(Vec::len), Some(2), "{result}");
        assert!((least..6.1).contains(&mean(which, "goodput")), "{result}");
    }
    assert!(mean(1, "rtt") < mean(0, "rtt"), "{result}");
    assert!(std::fs::read_to_string(folder.path("path.svg")).is_ok_and(|svg| svg.contains("<svg")));
}

#[test]
fn a_path_is_tried_only_with_a_listener_a_key_and_time() {
    let folder = Folder::new("kernel-try-errors");
    folder.write("key", KEY);
    folder.write("other", "Dw8PDw8PDw8PDw8PDw8PDw");
    let fails = |words: &str, code, parts: &[&str]| {
        assert_fails(&folder.run(&format!("kernel try {words}")), code, parts);
    };
    fails("127.0.0.1:9 --key-file key --with reno", 1, &["127.0.0.1:9", "--listen"]);
    fails(
        "127.0.0.1:9 --key-file key --duration 1s",
        2,
        &["'1 s' for '--duration'", "fewer rounds"],
    );
    fails(
        "127.0.0.1:9 --key-file key --with no-such",
        1,
        &["no-such", "tcp_available_congestion_control"],
    );
    fails("127.0.0.1:9 --key-file key --plot path.gif", 2, &["'path.gif' for '--plot'"]);
    fails("127.0.0.1 --listen --key-file key", 2, &["--listen"]);
    let words = "kernel try --listen --bind 127.0.0.1 --port 0 --key-file other";
    let mut listener = Running::start(&mut folder.exm(words));
    let mut stderr = BufReader::new(listener.0.stderr.take().expect("it is piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("the port is printed");
    let port = line.trim().rsplit(' ').next().expect("a port");
    fails(&format!("127.0.0.1:{port} --key-file key --with reno"), 1, &["the same key"]);
    listener.signal("TERM");
    assert_eq!(listener.code(), Some(143));
}
