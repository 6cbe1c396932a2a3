//! Paths in the documents exist.

use std::path::Path;

#[test]
fn every_path_that_the_architecture_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).expect("it is there");
    let table = text.split("## Where to look").nth(1).expect("it has the table");
    let paths: Vec<&str> =
        table.split('`').skip(1).step_by(2).filter(|word| word.contains('/')).collect();
    assert!(paths.len() > 10, "the table was not understood: {paths:?}");
    for path in paths {
        assert!(root.join(path).exists(), "ARCHITECTURE.md names {path}, which does not exist");
    }
}

/// Whether `word` may be a path of the repository: not a pattern or a command.
fn is_path(word: &str) -> bool {
    ["crates/", "fuzz/", "docs/", "models/", "remyccs/", "scenarios/", "experiments/"]
        .iter()
        .any(|folder| word.starts_with(folder))
        && !word.contains([' ', '*', '{', '<'])
}

#[test]
fn every_path_that_the_documents_name_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    crate::manual::pages(&crate::manual::docs(), &mut all);
    let mut count = 0;
    for page in all {
        let text = std::fs::read_to_string(&page).expect("it is there");
        for path in text.split('`').skip(1).step_by(2).filter(|word| is_path(word)) {
            let exists = root.join(path).exists();
            assert!(exists, "{} names {path}, which does not exist", page.display());
            count += 1;
        }
    }
    assert!(count > 20, "only {count} paths were found");
}
