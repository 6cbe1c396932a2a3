//! `exm saturate` as a process, over an emulated link. Skipped if this process may not create
//! networks.

use crate::common::{Folder, assert_envelope, assert_fails, error_of};
use crate::running::Running;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const KEY: &str = "AAECAwQFBgcICQoLDA0ODw";

/// The rates are those of the link or somewhat less, since ACKs wait behind the data here.
#[test]
fn a_link_is_recorded() {
    let Some(folder) = Folder::with_networks("saturate") else { return };
    folder.write("key", KEY);
    let exm = env!("CARGO_BIN_EXE_exm");
    let serve = format!("{exm} saturate serve --key-file key");
    let record = format!(
        "{exm} saturate record $EXM_PEER --key-file key --device exm0 --duration 4s -o walk --json"
    );
    let mut command = folder.exm("cellsim --up 6Mbps --down 8Mbps --outside namespace --quiet");
    let output = command.args(["--peer", &serve, "--", "sh", "-c", &record]).output().unwrap();
    assert!(output.status.success(), "{}", error_of(&output));
    let text = String::from_utf8(output.stdout).expect("text");
    let server = serde_json::from_str::<Value>(&text).expect("JSON")["command"].clone();
    let server = server.as_str().and_then(|command| command.split(' ').nth(3)).expect("an address");
    let command = record.replace(exm, "exm").replace("$EXM_PEER", server);
    let result = assert_envelope(&text, &command, &["down", "up"]);
    for (way, rate) in [("down", 8.0), ("up", 6.0)] {
        let number = |key: &str| result[way][key].as_f64().expect(key);
        assert!(number("mbps") > 0.2 * rate && number("mbps") < 1.05 * rate, "{result}");
        let trace = folder.json(&format!("trace info --json walk.{way}"));
        assert_eq!(
            trace["traces"][0]["opportunities"].as_f64(),
            Some(number("opportunities")),
            "{trace}"
        );
    }
    let table = std::fs::read_to_string(folder.path("walk.csv")).expect("it is there");
    assert!(table.starts_with("# exm saturate record ") && table.contains("\n0,down,"), "{table}");
}

#[test]
fn errors_are_reported_before_anything_is_sent() {
    let folder = Folder::new("saturate-errors");
    folder.write("key", KEY);
    folder.write("walk.up", "");
    let fails = |words: &str, code: i32, parts: &[&str]| {
        let words = format!("saturate record 127.0.0.1:9 --key-file key --device lo {words}");
        assert_fails(&folder.run(&words), code, parts);
    };
    fails("-o walk", 1, &["walk.up exists already", "--force"]);
    fails("-o none/walk", 1, &["cannot write none/walk.csv: there is no folder none"]);
    fails("-o new --size 9", 2, &["'9' for '--size'", "50 to 8952"]);
    fails("-o new --control no-such", 2, &["the device no-such: No such device", "ip link"]);
}

/// Passes datagrams between a client and `server`, but none of data, whose first byte is 1.
fn relay(socket: &UdpSocket, server: SocketAddr, is_over: &AtomicBool) {
    socket.set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout");
    let (mut client, mut buffer) = (None, [0; 2000]);
    while !is_over.load(Ordering::Relaxed) {
        let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
        let to = if from == server { client } else { Some(server) };
        if let (Some(to), true) = (to, buffer[0] != 1) {
            socket.send_to(&buffer[..length], to).expect("it is sent");
            client = if from == server { client } else { Some(from) };
        }
    }
}

#[test]
fn an_empty_recording_is_an_error() {
    let folder = Folder::new("saturate-empty");
    folder.write("key", KEY);
    let words = "saturate serve --bind 127.0.0.1 --port 62000:62999 --key-file key";
    let mut server = Running::start(&mut folder.exm(words));
    let mut stderr = BufReader::new(server.0.stderr.take().expect("it is piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("the port is printed");
    let port: u16 = line.trim().rsplit(' ').next().and_then(|p| p.parse().ok()).expect("a port");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let place = socket.local_addr().expect("it is bound");
    let is_over = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| relay(&socket, ([127, 0, 0, 1], port).into(), &is_over));
        let words = format!(
            "saturate record {place} --key-file key --device 127.0.0.2 --control 127.0.0.1 --for \
             500ms -o walk --quiet"
        );
        let output = folder.run(&words);
        is_over.store(true, Ordering::Relaxed);
        output
    });
    assert_fails(&output, 1, &["no packet was recorded in walk.down and walk.up", "firewalls"]);
}
