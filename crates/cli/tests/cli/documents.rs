//! The documents tell the truth about the tree.

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
