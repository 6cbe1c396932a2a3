//! Every help page, word for word, at 80 and at 100 columns.

use crate::common::Folder;

/// Appends the help page of `words` and those of all commands below it, at `width` columns.
fn pages(folder: &Folder, words: &str, width: &str, all: &mut String) {
    let arguments = format!("{words} --help");
    let mut command = folder.exm(arguments.trim_start());
    let output = command.env("COLUMNS", width).output().expect("the program starts");
    let page = String::from_utf8(output.stdout).expect("text");
    *all += &format!("======== exm{words} --help\n{page}\n");
    let commands = page.lines().skip_while(|line| *line != "Commands:").skip(1);
    for line in commands.take_while(|line| !line.is_empty()) {
        let name = line.strip_prefix("  ").and_then(|line| line.split(' ').next());
        if let Some(name) = name.filter(|name| !name.is_empty() && *name != "help") {
            pages(folder, &format!("{words} {name}"), width, all);
        }
    }
}

/// With `TRYCMD=overwrite` the files are written anew.
#[test]
#[cfg(target_os = "linux")]
fn pages_are_as_the_snapshots_have_them() {
    let folder = Folder::new("help");
    for width in ["80", "100"] {
        let mut all = String::new();
        pages(&folder, "", width, &mut all);
        let all: String = all.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
        let file = format!("{}/tests/help/{width}.txt", env!("CARGO_MANIFEST_DIR"));
        if std::env::var("TRYCMD").as_deref() == Ok("overwrite") {
            std::fs::write(&file, &all).expect("it can be written");
        }
        let known = std::fs::read_to_string(&file).unwrap_or_default();
        let differs = known.lines().zip(all.lines()).find(|(known, now)| known != now);
        assert!(
            known == all,
            "help pages at {width} columns differ, first at {differs:?}; if they should, \
             TRYCMD=overwrite cargo test -p exm --test cli help writes {file} anew"
        );
    }
}
