//! `exm contest`: from its setup to its final, and interruptions.

use crate::common::{Folder, assert_fails};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

const NEW: &str = "contest new course --duration 10s --warm-up 2s";

/// A folder with a short contest.
fn begun(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.text("trace generate umts --duration 10s --fine -o final.down");
    folder.text("trace generate umts --duration 10s --fine --seed 2 -o final.up");
    folder.text(&format!("{NEW} --hidden final.down final.up"));
    folder
}

#[test]
fn a_contest_runs_from_setup_to_final() {
    let folder = begun("contest");
    folder.write("mine.txt", "cubic beta=0.5");
    folder.write("yours.txt", "vegas");
    folder.text("contest submit mine.txt --as ada --contest course");
    folder.text("contest submit mine.txt --as ada --contest course");
    folder.text("contest submit yours.txt --as bob --contest course --final");
    let board = folder.json("contest board --contest course --plot figure.svg --json");
    assert_eq!(board["points"].as_array().map(Vec::len), Some(2));
    assert_eq!(board["rows"][0]["name"], "omniscient");
    assert!(fs::read_to_string(folder.path("figure.svg")).unwrap().contains("video-call"));
    let text = folder.text("contest board --contest course --threads 1");
    assert!(text.contains("(sprout-ewma)") && text.contains("\nada "), "{text}");
    let result = folder.json("contest final --pair final.down final.up --contest course --json");
    assert_eq!(result["rows"].as_array().map(Vec::len), Some(10));
    let swapped = folder.run("contest final --pair final.up final.down --contest course");
    assert_fails(&swapped, 1, &["is not the trace that the contest's rules name"]);
}

/// Whenever a submission is killed, the store can be read, and the next command scores what was left.
#[test]
fn the_store_survives_kills() {
    let folder = begun("contest-kills");
    for number in 0..12u64 {
        folder.write("mine.txt", format!("cubic beta=0.{}", 10 + number));
        let mut child =
            folder.exm("contest submit mine.txt --as ada --contest course").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(number * number * 2));
        child.kill().ok();
        child.wait().unwrap();
    }
    folder.text("contest submit mine.txt --as ada --contest course");
    let board = folder.json("contest board --contest course --json");
    let attempts = fs::read_dir(folder.path("course/attempts")).unwrap();
    let attempts = attempts
        .filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "json"));
    assert_eq!(board["points"].as_array().map(Vec::len), Some(attempts.count()));
}

#[test]
fn bad_input_is_one_clear_error() {
    let folder = begun("contest-errors");
    folder.write("mine.txt", "cubic");
    folder.write("wrong.txt", "cubci");
    let fails = |words: &str, code: i32, part: &str| {
        assert_fails(&folder.run(words), code, &[part]);
    };
    fails(NEW, 1, "is not empty");
    fails("contest submit wrong.txt --as ada --contest course", 2, "did you mean \"cubic\"?");
    fails(
        "contest submit mine.txt --as ../ada --contest course",
        2,
        "cannot be a participant's name",
    );
    fails("contest submit mine.txt --as cubic --contest course", 2, "is a baseline");
    fails("contest submit none.txt --as ada --contest course", 2, "none.txt");
    fails("contest board", 2, "holds no contest");
    let rules = fs::read_to_string(folder.path("course/contest.toml")).unwrap();
    folder.write("course/contest.toml", rules.replace("warm_up", "warm"));
    fails("contest board --contest course", 2, "course/contest.toml:");
}

#[test]
fn robots_compete_and_go_on_after_an_interruption() {
    let folder = Folder::new("contest-robots");
    let robots = "contest robots --entrants 30 --duration 4s --warm-up 1s -o out --threads";
    let found = folder.json(&format!("{robots} 2 --json"));
    assert_eq!(found["entrants"], 30);
    assert!(found["frontier_training"].as_u64().expect("a number") > 1);
    assert!(found["sprout"][1]["power"].as_f64().expect("a number") > 0.0);
    let text = fs::read_to_string(folder.path("out/findings.txt")).unwrap();
    // As if it had been killed in the middle of a line.
    let log = fs::read_to_string(folder.path("out/training.jsonl")).unwrap();
    fs::write(folder.path("out/training.jsonl"), &log[..log.len() / 2]).unwrap();
    folder.text(&format!("{robots} 1"));
    assert_eq!(fs::read_to_string(folder.path("out/findings.txt")).unwrap(), text);
    assert!(fs::read_to_string(folder.path("out/unseen.svg")).unwrap().contains("sprout"));
    let other = folder.run("contest robots --entrants 30 --duration 5s --warm-up 1s -o out");
    assert_fails(&other, 1, &["scores of another pair, setting or version"]);
}

#[test]
fn a_participant_submits_over_http() {
    let folder = begun("contest-http");
    let token = folder.text("contest invite ada --contest course");
    let mut server = folder.exm("contest board --contest course --serve 0");
    let mut server = server.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    let port: u16 = line.split(['/', ':']).find_map(|word| word.parse().ok()).expect(&line);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let body = "cubic beta=0.5";
    let request = format!(
        "POST /submit?file=mine.txt HTTP/1.1\r\nHost: localhost:{port}\r\nAuthorization: Bearer {}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        token.trim(),
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(reply.starts_with("HTTP/1.1 201"), "{reply}");
    assert!(folder.text("contest board --contest course").contains("\nada "));
}

#[test]
fn a_source_is_built_and_submitted() {
    let folder = begun("contest-source");
    folder.text("controller new mine --lang rust");
    let has = "test -d \"$(rustc --print target-libdir --target wasm32-unknown-unknown)\"";
    if !Command::new("sh").args(["-c", has]).status().unwrap().success() {
        exm_testing::skip("there is no target wasm32-unknown-unknown");
        return;
    }
    folder.text("contest submit mine --as ada --contest course");
    assert!(folder.text("contest board --contest course").contains("\nada "));
    fs::create_dir(folder.path("empty")).unwrap();
    let empty = folder.run("contest submit empty --as ada --contest course");
    assert_fails(&empty, 2, &["empty holds no source of a controller"]);
    folder.write("mine/src/lib.rs", "this is no Rust");
    let broken = folder.run("contest submit mine --as ada --contest course");
    assert_eq!(broken.status.code(), Some(1));
}
