//! `exm simulate --pcap`, `--qlog`, `--mahimahi-log` and `exm trace import` from outside.

use crate::common::{Folder, assert_fails};

const SIMULATE: &str = "simulate --link 10Mbps --rtt 50ms --senders 2 --cc cubic,reno \
                        --buffer 50packets --on always --duration 5s";

#[test]
fn a_simulation_is_captured_and_the_capture_becomes_a_trace() {
    let folder = Folder::new("captures");
    let plain = folder.text(SIMULATE);
    let captured = folder.text(&format!("{SIMULATE} --pcap a.pcapng"));
    assert_eq!(plain, captured, "the capture changes nothing");
    folder.text(&format!("{SIMULATE} --pcap b.pcapng --threads 1"));
    let read = |name: &str| std::fs::read(folder.path(name)).expect(name);
    assert!(read("a.pcapng").len() > 100_000);
    assert!(read("a.pcapng") == read("b.pcapng"), "the same bytes");

    // What the first sender sent: at most the rate of the link, less the second's part and plus a queue.
    let made = folder.json("trace import a.pcapng --from 10.0.0.1 -o a.trace --json");
    let rate = made["mean_mbps"].as_f64().expect("a rate");
    assert!((1.0..10.0).contains(&rate), "{made}");
    assert!(made["left_out"].as_u64() > Some(1000), "{made}");
    assert_eq!(made["sources"].as_array().map(Vec::len), Some(1), "{made}");
    let info = folder.json("trace info a.trace --json");
    assert!(info["traces"][0].is_object(), "{info}");
    let output = folder.run("trace import a.pcapng -o all.trace");
    let warning = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && warning.contains("--from"), "{warning}");
}

#[test]
fn what_cannot_be_captured_or_imported_is_said() {
    let folder = Folder::new("captures-errors");
    folder.write("old.pcapng", "old");
    let capture = |rest: &str| folder.run(&format!("{SIMULATE} --pcap old.pcapng{rest}"));
    assert_fails(&capture(""), 1, &["old.pcapng exists already", "--force"]);
    assert_fails(&capture(" --runs 2"), 2, &["--pcap", "--runs"]);
    assert_fails(&capture(" --sweep link.rate=1Mbps,2Mbps"), 2, &["--pcap", "--sweep"]);
    assert!(capture(" --force").status.success());
    let file = std::fs::read(folder.path("old.pcapng")).expect("a capture");
    folder.write("cut.pcapng", &file[..file.len() - 3]);
    let import = |file: &str| folder.run(&format!("trace import {file} -o new.trace"));
    assert_fails(&import("cut.pcapng"), 1, &["cut.pcapng, byte ", "ends within", "editcap"]);
    folder.write("text.pcap", "no capture");
    assert_fails(&import("text.pcap"), 1, &["text.pcap, byte 0: this is no capture", "tcpdump"]);
    assert_fails(&import("old.pcapng --from 10.9.9.9"), 1, &["none of its", "name others"]);
    assert_fails(&import("old.pcapng --from nobody"), 2, &["--from"]);
    assert!(!folder.path("new.trace").exists());
}

#[test]
fn senders_are_logged_for_viewers() {
    let folder = Folder::new("qlogs");
    let plain = folder.text(SIMULATE);
    let all = "--qlog a.sqlog --pcap a.pcapng --mahimahi-log bottleneck=a.log --series out";
    assert_eq!(plain, folder.text(&format!("{SIMULATE} {all}")), "logs change nothing");
    folder.text(&format!("{SIMULATE} --qlog b.sqlog --threads 1 --mahimahi-log b.log"));
    let read = |name: &str| std::fs::read(folder.path(name)).expect(name);
    for (one, other) in [("a-0.sqlog", "b-0.sqlog"), ("a-1.sqlog", "b-1.sqlog"), ("a.log", "b.log")]
    {
        assert!(read(one).len() > 50_000 && read(one) == read(other), "the same bytes");
    }
    let header = |name: &str| {
        let text = String::from_utf8(read(name)).expect("a text");
        let first = text.split('\x1e').nth(1).expect("a header").to_owned();
        serde_json::from_str::<serde_json::Value>(&first).expect("JSON")
    };
    assert_eq!(header("a-1.sqlog")["file_schema"], "urn:ietf:params:qlog:file:sequential");
    let alone = "simulate --link 10Mbps --rtt 50ms --cc cubic --on always --duration 1s";
    folder.text(&format!("{alone} --qlog one.sqlog --qlog-form 0.3"));
    assert_eq!(header("one.sqlog")["qlog_version"], "0.3");
}

#[test]
fn what_cannot_be_logged_is_said() {
    let folder = Folder::new("qlogs-errors");
    folder.write("a-1.sqlog", "old");
    let simulate = |rest: &str| folder.run(&format!("{SIMULATE} {rest}"));
    assert_fails(&simulate("--qlog a.sqlog"), 1, &["a-1.sqlog exists already", "--force"]);
    assert!(!folder.path("a-0.sqlog").exists());
    assert_fails(&simulate("--qlog b.sqlog --runs 2"), 2, &["--qlog", "--runs"]);
    assert_fails(
        &simulate("--qlog b.sqlog --sweep link.rate=1Mbps,2Mbps"),
        2,
        &["--qlog", "--sweep"],
    );
    assert_fails(&simulate("--qlog b.sqlog --mahimahi-log b-0.sqlog"), 1, &["b-0.sqlog"]);
    assert_fails(&simulate("--qlog-form 0.3"), 2, &["--qlog"]);
    let message = ["up", "--mahimahi-log", "there is no such link", "bottleneck"];
    assert_fails(&simulate("--mahimahi-log up=b.log"), 2, &message);
}
