//! What people read in a terminal: tables that fit its width, colours, lists of what is shipped, and errors with a
//! way out.

use crate::common::{Folder, assert_fails};
use std::process::Output;

fn at_width(folder: &Folder, words: &str, width: &str) -> String {
    let output = folder.exm(words).env("COLUMNS", width).output().expect("the program starts");
    assert!(output.status.success(), "{words}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn tables_fit_the_terminal_and_lose_nothing() {
    let folder = Folder::new("width");
    let simulate = "simulate dumbbell --runs 2 --duration 2s";
    let score = "score 1x aimd --model 1x --specimens 2";
    let compare =
        "compare --cc cubic,vegas --link 5Mbps --rtt 50ms --loss 1% --runs 2 --duration 1s";
    for words in [simulate, score, compare, "table list", "experiment list", "list models"] {
        let (narrow, wide) = (at_width(&folder, words, "80"), at_width(&folder, words, "400"));
        for line in narrow.lines() {
            assert!(line.chars().count() <= 80, "{words}: {line}");
        }
        for word in wide.split_whitespace() {
            assert!(narrow.contains(word), "{words}: {word} is missing");
        }
    }
    // A pipe has no width.
    let piped = folder.exm(simulate).env_remove("COLUMNS").output().expect("the program starts");
    let piped = String::from_utf8(piped.stdout).expect("text");
    assert!(piped.lines().all(|line| line.chars().count() <= 100), "{piped}");
}

#[test]
fn identical_runs_are_called_identical() {
    let folder = Folder::new("identical");
    let link = "--link 5Mbps --rtt 50ms --duration 1s --runs 3";
    let text = folder.text(&format!("simulate {link} --cc cubic"));
    assert!(text.contains("All 3 runs gave identical results") && !text.contains('±'), "{text}");
    let text = folder.text(&format!("compare {link} --cc cubic,vegas"));
    assert!(text.contains("runs of each scheme are identical") && !text.contains('±'), "{text}");
    let text = folder.text(&format!("simulate {link} --cc cubic --loss 2%"));
    assert!(text.contains('±') && !text.contains("identical"), "{text}");
}

#[test]
fn better_and_worse_have_colours_where_they_are_wanted() {
    let folder = Folder::new("colours");
    let words = "score 1x aimd --model 1x --specimens 20";
    let run = |variable: &str| {
        let mut command = folder.exm(words);
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env(variable, "1");
        let output: Output = command.output().expect("the program starts");
        String::from_utf8(output.stdout).expect("text")
    };
    assert!(run("CLICOLOR_FORCE").contains("\u{1b}[3"), "{}", run("CLICOLOR_FORCE"));
    assert!(!run("NO_COLOR").contains('\u{1b}'));
}

#[test]
fn everything_shipped_is_listed() {
    let folder = Folder::new("list");
    let overview = folder.text("list");
    for kind in ["models", "scenarios", "controllers", "queues", "tables", "experiments"] {
        assert!(overview.contains(&format!("exm list {kind}")), "{overview}");
        assert!(folder.json(&format!("list {kind} --json"))[kind].is_array(), "{kind}");
        assert!(folder.json("list --json")[kind].is_array(), "{kind}");
    }
    assert_eq!(folder.text("list tables"), folder.text("table list"));
    assert_eq!(folder.text("list experiments"), folder.text("experiment list"));
    let controllers = folder.text("list controllers");
    assert!(controllers.contains("cubic-hystart++") && controllers.contains("RFC 9438"));
}

#[test]
fn errors_show_the_way_out() {
    let folder = Folder::new("way-out");
    for (words, part) in [
        ("simulate", "exm simulate dumbbell"),
        ("experiment run", "exm experiment run thesis-3-4 --quick"),
        ("design", "exm design demo -o cc.json"),
        ("simulate --link 5Mbps --rtt 50ms --cc aimd --senders -3", "for '--senders <N>'"),
        (
            "simulate --link 5Mbps --rtt 50ms --cc aimd --senders -3",
            "a whole number without a sign",
        ),
        ("compare --cc cubic --link 0Mbps --rtt 50ms", "for '--link': a rate of zero"),
        ("score cc.json --model 1x", "exm design demo -o cc.json"),
    ] {
        let output = folder.run(words);
        assert_fails(&output, 2, &[part]);
        assert!(!String::from_utf8_lossy(&output.stderr).contains("invalid digit"), "{words}");
    }
}

#[test]
fn a_report_finds_the_results_in_a_folder_of_folders() {
    let folder = Folder::new("results");
    let compare = "compare --cc cubic --link 5Mbps --rtt 50ms --duration 1s --runs 1";
    for name in ["b", "a"] {
        folder.text(&format!("{compare} -o results/{name}"));
    }
    folder.text("report results -o all.html");
    folder.text("report results/a results/b -o both.html");
    let read = |name: &str| std::fs::read_to_string(folder.path(name)).expect("a page");
    assert_eq!(read("all.html"), read("both.html"));
}

#[test]
fn rules_are_sentences_with_units() {
    let folder = Folder::new("sentences");
    let text = folder.text("table show 1x");
    for part in [
        "send_ewma ms",
        "window :=",
        "·window + ",
        "ms between packets",
        "latest RTT / minimum RTT",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = folder.text("table show general-delta1");
    assert!(text.contains("a flow starts with at most"), "{text}");
}

#[test]
fn the_version_names_the_commit_of_a_checkout() {
    let folder = Folder::new("version");
    let text = folder.text("--version");
    let words: Vec<&str> = text.split_whitespace().collect();
    assert_eq!(words[..2], ["exm", env!("CARGO_PKG_VERSION")]);
    if let [_, _, commit] = words[..] {
        let commit = commit.trim_matches(['(', ')']);
        assert!(commit.len() >= 7 && commit.chars().all(|c| c.is_ascii_hexdigit()), "{text}");
    }
}
