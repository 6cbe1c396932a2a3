//! `exm contest`: from its setup to its final, and interruptions.

use crate::common::{Folder, assert_fails};
use std::fs;
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
