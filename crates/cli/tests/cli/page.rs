//! `exm design --live` and `--page`: pages about designs.

use crate::common::{Folder, assert_fails};
use crate::running::Running;
use crate::small_model::folder;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// The answer of the server at `address` to a request for its page that calls it `host`.
fn answer(address: &str, host: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    answer
}

fn page(folder: &Folder, name: &str) -> String {
    std::fs::read_to_string(folder.path(name)).expect(name)
}

#[test]
fn a_design_is_seen_while_it_runs_by_this_machine_alone() {
    let folder = folder("live");
    let words = "design model.toml -o cc.json --cpu 10min --live --quiet";
    let mut running = Running::start(&mut folder.exm(words));
    let mut line = String::new();
    let stderr = running.0.stderr.take().expect("it is piped");
    BufReader::new(stderr).read_line(&mut line).expect("text");
    let address = line.trim_end_matches("/\n").rsplit('/').next().expect("an address").to_owned();
    assert!(address.starts_with("127.0.0.1:"), "{line}");
    let shown = answer(&address, &address);
    assert!(shown.starts_with("HTTP/1.1 200") && shown.contains("fetch(\"/\""), "{shown}");
    assert!(shown.contains("default-src 'none'"), "{shown}");
    assert!(answer(&address, "example.com").starts_with("HTTP/1.1 403"));
    let taken =
        format!("design model.toml -o x.json --live={}", address.rsplit(':').next().unwrap());
    let output = folder.run(&taken);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot serve a page on port"));
}

#[test]
fn a_page_of_several_seeds_shows_scores_rules_and_the_worst_networks() {
    let folder = folder("page");
    let design = "design model.toml -o cc.json --steps 3 --specimens 8 --hardening 1 --quiet";
    for words in ["--page model.toml", "--seeds 2 --page model.toml"] {
        assert_fails(&folder.run(&format!("{design} {words}")), 1, &["model.toml"]);
    }
    folder.text(&format!("{design} --seeds 2 --page cc.html"));
    let html = page(&folder, "cc.html");
    for text in
        ["Score against CPU time", "What fires", "Where it does worst", "Designs", "cc.seed2"]
    {
        assert!(html.contains(text), "{text}");
    }
    assert!(
        !html.contains("fetch(") && html.matches("<figure").count() == 2,
        "one file, which is finished"
    );
}
