//! The tutorials and the README: their commands are run as on the page, in an empty folder, and their output is
//! compared with the page.
//!
//! On a page, a block of code that begins with `toml,file=NAME` is a file, and one that begins with `console`
//! a session: a line that begins with `$ ` is a command of the shell (a backslash continues it), and what
//! follows is its output and its errors. A line `...` there stands for any lines, `[..]` for any text in a line. A block
//! that begins with `sh` has commands only, without `$ `. Words after the first, separated by commas or spaces, say more:
//! `needs=root`, `needs=pandas` and `needs=PROGRAM` skip the block where that is missing, `no-run` shows what no test can
//! do, such as a command that needs a second machine.
//!
//! With `TRYCMD=overwrite` the pages are rewritten with the actual output.

use crate::common::Folder;
use crate::manual::docs;
use crate::small_model;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A block of code of a page.
#[derive(Debug)]
struct Block<'a> {
    /// The words after the fence.
    info: &'a str,
    /// The number of its first line.
    line: usize,
    text: String,
}

impl Block<'_> {
    fn words(&self) -> impl Iterator<Item = &str> {
        self.info.split([',', ' ']).filter(|word| !word.is_empty())
    }

    /// Its first word.
    fn kind(&self) -> &str {
        self.words().next().unwrap_or_default()
    }

    fn value<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.words().filter_map(move |word| word.strip_prefix(key)?.strip_prefix('='))
    }
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut all: Vec<Block<'_>> = Vec::new();
    let mut inside = false;
    for (number, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), inside) {
            (Some(info), false) => {
                all.push(Block { info, line: number + 2, text: String::new() });
                inside = true;
            }
            (Some(_), true) => inside = false,
            (None, true) => {
                let block = all.last_mut().expect("one has begun");
                block.text += line;
                block.text.push('\n');
            }
            (None, false) => {}
        }
    }
    assert!(!inside, "a block of code does not end");
    all
}

/// A command of a session, and what the page shows of its output.
#[derive(Debug)]
struct Step {
    line: usize,
    command: String,
    shown: Vec<String>,
}

fn steps(block: &Block<'_>) -> Vec<Step> {
    let mut all: Vec<Step> = Vec::new();
    let mut goes_on = false;
    for (number, line) in block.text.lines().enumerate() {
        let line_number = block.line + number;
        let is_command = block.kind() == "sh" && !goes_on && !line.is_empty();
        if let Some(command) = line.strip_prefix("$ ").or(is_command.then_some(line)) {
            all.push(Step { line: line_number, command: command.to_owned(), shown: Vec::new() });
        } else {
            let step = all.last_mut().expect("a session begins with a command");
            if goes_on {
                step.command.push('\n');
                step.command += line;
            } else {
                step.shown.push(line.trim_end().to_owned());
                continue;
            }
        }
        let command = &all.last().expect("there is one").command;
        // A document within the command goes on to its end.
        let in_document = command.contains("<<'END'") && !command.ends_with("\nEND");
        goes_on = command.ends_with('\\') || in_document;
    }
    all
}

/// Whether `line` matches `pattern`, in which `[..]` stands for any text.
fn line_matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split("[..]");
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(place) = rest.find(part) else { return false };
        rest = &rest[place + part.len()..];
    }
    true
}

/// Whether `lines` are as the page shows them, with `...` for any lines.
fn matches(shown: &[&str], lines: &[&str]) -> bool {
    match shown.split_first() {
        None => lines.is_empty(),
        Some((&"...", rest)) => (0..=lines.len()).any(|count| matches(rest, &lines[count..])),
        Some((first, rest)) => lines
            .split_first()
            .is_some_and(|(line, lines)| line_matches(first, line) && matches(rest, lines)),
    }
}

/// What `block` needs and this machine lacks, if anything.
fn missing<'a>(block: &'a Block<'a>) -> Option<&'a str> {
    block.value("needs").find(|need| match *need {
        "root" => !exm_testing::is_root() || !Path::new("/dev/net/tun").exists(),
        "pandas" => !succeeds("python3", "import pandas, pyarrow, matplotlib"),
        program => !succeeds("sh", &format!("command -v {program}")),
    })
}

/// Whether `program` runs the `script` and ends well.
fn succeeds(program: &str, script: &str) -> bool {
    let mut command = Command::new(program);
    let command = command.args(["-c", script]).stdin(Stdio::null());
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// What stands between the outputs of two commands, with the first one's exit code.
const MARK: &str = "\u{1}code ";

/// Runs the session `block` in `folder`, all its commands by one shell; what each printed.
fn run(page: &str, folder: &Folder, block: &Block<'_>, steps: &[Step]) -> Vec<String> {
    let mut script = "exec 2>&1\n".to_owned();
    for step in steps {
        script += &format!("{}\nprintf '\\n{MARK}%d\\n' $?\n", step.command);
    }
    let program = Path::new(env!("CARGO_BIN_EXE_exm")).parent().expect("it lies in a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(&folder.0)
        .env("PATH", format!("{}:{path}", program.display()))
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .output()
        .expect("there is a shell");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mark = format!("\n{MARK}");
    let mut parts = text.split(&mark);
    let mut printed = parts.next().unwrap_or_default().to_owned();
    let mut all = Vec::new();
    for step in steps {
        let place = format!("{page}:{}: {}", step.line, step.command);
        let rest = parts.next().unwrap_or_else(|| panic!("{place} did not end\n{printed}"));
        let (code, after) = rest.split_once('\n').unwrap_or((rest, ""));
        assert_eq!(code, "0", "the exit code of {place}\n{printed}");
        all.push(printed);
        printed = after.to_owned();
    }
    assert_eq!(all.len(), steps.len(), "{page}:{}", block.line);
    all
}

/// Compares what a step printed with what the page shows; what the page should show, where it differs.
fn checked(page: &str, step: &Step, printed: &str) -> Option<Vec<String>> {
    let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
    let lines = trimmed(&lines);
    let shown: Vec<&str> = step.shown.iter().map(String::as_str).collect();
    let shown = trimmed(&shown);
    if shown.is_empty() || matches(shown, lines) {
        return None;
    }
    let is_renewed = std::env::var("TRYCMD").as_deref() == Ok("overwrite");
    let (place, shown_text) = (format!("{page}:{}: {}", step.line, step.command), shown.join("\n"));
    assert!(is_renewed, "{place}\n--- the page shows\n{shown_text}\n--- it printed\n{printed}");
    let (count, end) = match shown.split_last() {
        Some((&"...", before)) => (before.len(), Some("...")),
        _ => (lines.len(), None),
    };
    let renewed =
        lines.iter().take(count).enumerate().map(|(place, line)| match shown.get(place) {
            Some(pattern) if line_matches(pattern, line) => *pattern,
            _ => line,
        });
    Some(renewed.chain(end).map(str::to_owned).collect())
}

/// `lines` without empty ones at their end.
fn trimmed<'a, 'b>(lines: &'a [&'b str]) -> &'a [&'b str] {
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    &lines[..end]
}

/// Runs the tutorial `name` from its first block to its last.
fn follow(name: &str) {
    follow_page(&docs().join(format!("tutorials/{name}.md")), &Folder::new(name), &[]);
}

/// Runs the page at `path` in `folder`, from its first block to its last, with each of `shorter` in the place of what takes long.
fn follow_page(path: &Path, folder: &Folder, shorter: &[(&str, &str)]) {
    let page = path.file_name().expect("a file").to_string_lossy();
    let text = fs::read_to_string(path).expect("it is there");
    for (long, _) in shorter {
        assert!(text.contains(long), "{page} has no {long}");
    }
    let mut renewed: Vec<(usize, usize, Vec<String>)> = Vec::new();
    let mut count = 0;
    for block in &blocks(&text) {
        if let Some(file) = block.value("file").next() {
            folder.write(file, &block.text);
            continue;
        }
        let kind = block.kind();
        assert!(
            ["", "text", "toml", "rust", "python", "console", "sh"].contains(&kind),
            "{page}:{}: nothing runs {kind}",
            block.line
        );
        if !["console", "sh"].contains(&kind) || block.words().any(|word| word == "no-run") {
            continue;
        }
        if let Some(need) = missing(block) {
            exm_testing::skip(format!("{page}:{}: it needs {need}", block.line));
            continue;
        }
        count += 1;
        let mut steps = steps(block);
        for step in &mut steps {
            for (long, short) in shorter {
                step.command = step.command.replace(long, short);
            }
        }
        for (step, printed) in steps.iter().zip(run(&page, folder, block, &steps)) {
            if let Some(lines) = checked(&page, step, &printed) {
                let first = step.line - 1 + step.command.lines().count();
                renewed.push((first, step.shown.len(), lines));
            }
        }
    }
    assert!(count > 0, "{page} has no command that could be run");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (first, length, new) in renewed.iter().rev() {
        lines.splice(*first..first + length, new.iter().cloned());
    }
    if !renewed.is_empty() {
        fs::write(path, lines.join("\n") + "\n").expect("it can be written");
    }
}

/// Each command is run as written, but designs are for a small model, and everything takes less time.
#[test]
fn the_readme() {
    let shorter = [
        ("exm design general-delta1", "exm design model.toml --quiet"),
        ("--cpu 8min", "--steps 3 --specimens 16 --hardening 1"),
        ("--seeds 5", "--seeds 2"),
        ("--around 4", "--around 4 --tries 16"),
        ("aimd --model general-delta1", "aimd --model general-delta1 --specimens 16"),
        ("--runs 16", "--runs 2"),
        ("--off \"exp 0.5 s\"", "--off \"exp 0.5 s\" --runs 2"),
        ("--out results/small-buffer", "--out results/small-buffer --runs 2"),
        ("--quick", "--quick --duration 10s"),
        // The Internet may be out of reach.
        ("ping -c 10 1.1.1.1", "sh -c 'ping -c 2 $EXM_PEER'"),
    ];
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    follow_page(&readme, &small_model::folder("readme"), &shorter);
}

#[test]
fn your_network_in_15_minutes() {
    follow("your-network");
}

#[test]
fn designing_the_search_several_seeds_the_frontier() {
    follow("designing");
}

#[test]
fn reading_a_score() {
    follow("scores");
}

#[test]
fn design_knock_out_a_signal_publish_a_figure() {
    follow("knock-out");
}

#[test]
fn a_class_on_congestion_control() {
    follow("class");
}

#[test]
fn i_have_a_bad_link() {
    follow("bad-link");
}

#[test]
fn what_is_shown_is_compared() {
    let lines = |text: &'static str| text.lines().collect::<Vec<_>>();
    assert!(matches(&lines("a\n...\nd"), &["a", "b", "c", "d"]));
    assert!(matches(&lines("a [..] ms\n..."), &["a 5 ms"]));
    assert!(!matches(&lines("a [..] ms"), &["a 5 s"]));
    assert!(!matches(&lines("a\n..."), &["b"]));
    assert!(!matches(&lines("a"), &["a", "b"]));
    let page = "```console,needs=root\n$ one \\\n  two\nshown\n$ three\n```\n";
    let block = &blocks(page)[0];
    assert_eq!(block.value("needs").collect::<Vec<_>>(), ["root"]);
    let all = steps(block);
    let commands: Vec<&str> = all.iter().map(|step| step.command.as_str()).collect();
    assert_eq!(commands, ["one \\\n  two", "three"]);
    assert_eq!((all[0].line, all[0].shown.as_slice()), (2, &["shown".to_owned()][..]));
}
