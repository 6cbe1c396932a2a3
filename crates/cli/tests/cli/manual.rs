//! The manual: `exm help TOPIC`, and that every page is listed and every link leads somewhere.

use crate::common::{Folder, assert_fails};
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the pages.
pub(crate) fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
}

/// All files below `folder` whose names end in `.md`.
pub(crate) fn pages(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            pages(&path, all);
        } else if path.extension().is_some_and(|end| end == "md") {
            all.push(path);
        }
    }
}

/// The targets of all links and pictures of `text`, outside of code.
fn links(text: &str) -> Vec<String> {
    let mut in_code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if !in_code {
            let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
            found.extend(targets.map(str::to_owned));
        }
    }
    found
}

/// The anchor that a heading has on the site.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn has_anchor(page: &Path, wanted: &str) -> bool {
    let text = fs::read_to_string(page).expect("it is there");
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).any(|anchor| anchor == wanted)
}

/// What is wrong with the link to `target` on `page`, if anything.
fn broken(page: &Path, target: &str, root: &Path) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, wanted) = target.split_once('#').unwrap_or((target, ""));
    let folder = page.parent().expect("pages lie in folders");
    let file = if file.is_empty() { page.to_owned() } else { folder.join(file) };
    let Ok(file) = fs::canonicalize(&file) else {
        return Some(format!("{}: {target} does not exist", page.display()));
    };
    if !file.starts_with(root) {
        return Some(format!("{}: {target} lies outside of the manual", page.display()));
    }
    (!wanted.is_empty() && !has_anchor(&file, wanted))
        .then(|| format!("{}: {target} has no such heading", page.display()))
}

#[test]
fn every_link_of_the_manual_leads_somewhere() {
    let root = fs::canonicalize(docs()).expect("it is there");
    let mut all = Vec::new();
    pages(&root, &mut all);
    let mut count = 0;
    let mut problems = Vec::new();
    for page in &all {
        let text = fs::read_to_string(page).expect("it is there");
        for target in links(&text) {
            count += 1;
            problems.extend(broken(page, &target, &root));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(all.len() > 20 && count > 50, "{} pages, {count} links", all.len());
}

#[test]
fn every_link_of_the_documents_at_the_root_leads_somewhere() {
    let root = fs::canonicalize(docs().join("../../..")).expect("it is there");
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        let page = root.join(name);
        let text = fs::read_to_string(&page).expect("it is there");
        let problems: Vec<String> =
            links(&text).iter().filter_map(|target| broken(&page, target, &root)).collect();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
}

#[test]
fn every_page_is_listed_once() {
    let root = docs();
    let summary = fs::read_to_string(root.join("SUMMARY.md")).expect("it is there");
    let mut all = Vec::new();
    pages(&root, &mut all);
    for page in all {
        let path = page.strip_prefix(&root).expect("it lies in it").to_string_lossy().into_owned();
        let count = summary.matches(&format!("]({path})")).count();
        assert_eq!(count, usize::from(path != "SUMMARY.md"), "{path} in SUMMARY.md");
    }
}

#[test]
fn help_shows_pages_and_commands() {
    let folder = Folder::new("help-topics");
    let all = folder.text("help");
    assert!(all.starts_with("Transport protocols computed"), "{all}");
    assert!(all.contains("\nTutorials:\n") && all.contains("  scores "), "{all}");
    let page = folder.text("help scores");
    assert!(page.starts_with("Reading a score\n\n"), "{page}");
    assert!(!page.contains('\u{1b}') && !page.contains("]("), "{page}");
    assert_eq!(folder.text("help table diff"), folder.text("table diff --help"));
    assert_eq!(folder.text("help design"), folder.text("design --help"));
}

#[test]
fn pages_are_as_wide_as_the_terminal() {
    let folder = Folder::new("help-width");
    let widest = |columns: &str| {
        let output = folder.exm("help introduction").env("COLUMNS", columns).output();
        let text = String::from_utf8(output.expect("the program starts").stdout).expect("text");
        text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    };
    let widths = [("60", 50..=60), ("90", 80..=90), ("200", 90..=100)];
    for (columns, range) in widths {
        assert!(range.contains(&widest(columns)), "{} at {columns}", widest(columns));
    }
}

#[test]
fn an_unknown_topic_is_refused_with_the_nearest_name() {
    let folder = Folder::new("help-unknown");
    assert_fails(&folder.run("help scroes"), 2, &["\"scroes\": did you mean \"scores\"?"]);
    assert_fails(&folder.run("help desing"), 2, &["did you mean \"design\"?"]);
    assert_fails(&folder.run("help table dif"), 2, &["did you mean \"diff\"?"]);
    let parts = ["neither a topic nor a command \"zzzzzzzz\"", "tip: exm help lists them all"];
    assert_fails(&folder.run("help zzzzzzzz"), 2, &parts);
}
