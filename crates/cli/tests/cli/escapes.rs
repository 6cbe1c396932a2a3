//! Text written by others cannot control the terminal.

use crate::common::Folder;
use std::process::Output;

/// Clears the screen, sets the title of the window, turns the direction of writing; as it is shown.
const HOSTILE: &str = "x\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}\u{7f}";
const SHOWN: &str = r"x\x1b[2J\x1b]0;owned\x07\x9b31m\u{202e}\x7f";

/// Runs the program as on a terminal with colours: otherwise escapes are removed for another reason.
fn run(folder: &Folder, words: &[&str]) -> Output {
    let mut command = folder.exm(words[0]);
    command.args(&words[1..]).env("CLICOLOR_FORCE", "1").env_remove("NO_COLOR");
    command.output().expect("the program starts")
}

/// The `bytes` that were printed, without the styles that clap and the program give their own words.
fn unstyled(bytes: &[u8]) -> String {
    let mut text = String::from_utf8(bytes.to_vec()).expect("text");
    for style in ["0", "1", "4", "31", "32", "33"] {
        text = text.replace(&format!("\u{1b}[{style}m"), "");
    }
    text
}

/// Asserts that nothing in `text` steers a terminal, and that it shows what would have.
fn assert_shown(text: &str, shown: &str) {
    let steers = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!text.contains(steers), "{text:?}");
    assert!(text.contains(shown), "{text}");
}

#[test]
fn names_of_files_and_options_are_shown() {
    let folder = Folder::new("escapes-names");
    let file = format!("{HOSTILE}.json");
    folder.write(&file, "{");
    let network = ["--link", "5Mbps", "--rtt", "50ms", "--cc"];
    let simulate = [&["simulate"], &network[..], &[&file]].concat();
    let option = format!("--{HOSTILE}");
    for words in [
        &["table", "show", &file][..],
        &["table", "show", HOSTILE],
        &["trace", "info", &file],
        &["simulate", HOSTILE],
        &["design", HOSTILE, "-o", "t.json", "--steps", "1"],
        &["experiment", "run", HOSTILE],
        &simulate,
        // Told by clap.
        &["simulate", "--rtt", HOSTILE],
        &["trace", "generate", "lte", &option],
        &[HOSTILE],
    ] {
        let output = run(&folder, words);
        assert!(!output.status.success() && output.stdout.is_empty(), "{words:?}");
        let styled = String::from_utf8_lossy(&output.stderr);
        assert!(styled.starts_with("\u{1b}[1m\u{1b}[31merror:\u{1b}[0m "), "{styled:?}");
        assert_shown(&unstyled(&output.stderr), SHOWN);
    }
}

#[test]
fn what_files_say_is_shown() {
    let folder = Folder::new("escapes-files");
    // The formats forbid most control characters, and have escapes for them.
    let toml = r"x\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e\u007f";
    folder.write("key.toml", format!("\"{toml}\" = 1\n"));
    folder.write("value.toml", format!("[network]\nrate = \"{toml}\"\n"));
    folder.write("excerpt.toml", format!("title = {HOSTILE}\n"));
    folder.write(
        "key.json",
        format!("{{\"format\": \"exmachina-remycc\", \"version\": 1, \"{toml}\": 1}}"),
    );
    for (words, code, shown) in [
        (&["simulate", "key.toml"][..], 2, SHOWN),
        (&["score", "aimd", "--model", "value.toml"], 2, r"\x1b[2J"),
        (&["simulate", "excerpt.toml"], 2, r"\x1b[2J"),
        (&["experiment", "run", "excerpt.toml"], 2, r"\x1b[2J"),
        (&["table", "show", "key.json"], 1, r"\x1b[2J"),
    ] {
        let output = run(&folder, words);
        assert_eq!(output.status.code(), Some(code), "{words:?}");
        assert_shown(&unstyled(&output.stderr), shown);
    }
}

#[test]
fn titles_and_json_are_shown() {
    let folder = Folder::new("escapes-titles");
    let title = r"x\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e\u007f";
    folder.write(
        "two.toml",
        format!(
            "title = \"{title}\"\nduration = \"2 s\"\n[dumbbell]\nrate = \"5 Mbps\"\n\
             rtt = \"50 ms\"\nbuffer = \"50 packets\"\nsenders = 1\ncontroller = \"scheme\"\n\
             traffic = {{ on = \"always\" }}\n[experiment]\n\
             [[experiment.scheme]]\nname = \"aimd\"\ncontroller = \"aimd\"\n"
        ),
    );
    let words = ["experiment", "run", "two.toml", "--runs", "1"];
    let output = run(&folder, &words);
    assert!(output.status.success(), "{}", unstyled(&output.stderr));
    assert_shown(&unstyled(&output.stdout), SHOWN);
    let output = run(&folder, &["experiment", "show", "results/two", "--json"]);
    let json = String::from_utf8(output.stdout).unwrap();
    assert_shown(&json, r"x\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e\u007f");
    let read: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(read["results"]["title"], HOSTILE);
}
