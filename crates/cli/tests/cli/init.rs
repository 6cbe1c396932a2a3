//! `exm init`: what it writes can be used, and nothing is lost by it.

use crate::common::{Folder, assert_fails};
use std::fs;

#[test]
fn a_model_is_written_and_designed_for() {
    let folder = Folder::new("init");
    assert!(folder.text("init").contains("exm design model.toml"));
    let short = fs::read_to_string(folder.path("model.toml")).expect("it is written");
    let short = short.replace("#duration = \"100 s\"", "duration = \"2 s\"");
    folder.write("model.toml", short.replace("#specimens = 16", "specimens = 2"));
    let designed =
        folder.json("design model.toml -o cc.json --steps 1 --hardening 2 --specimens 0 -q --json");
    assert_eq!(designed["steps"], 1);
}

#[test]
fn a_shipped_model_or_scenario_is_written_as_it_is() {
    let folder = Folder::new("init-from");
    let model = exm_design::shipped::MODELS.iter().find(|(name, _)| *name == "coexist");
    folder.text("init mine.toml --from coexist");
    assert_eq!(fs::read_to_string(folder.path("mine.toml")).unwrap(), model.unwrap().1);
    assert_eq!(folder.text("init - --from coexist"), model.unwrap().1);
    assert!(folder.text("init --from parking-lot").contains("exm simulate scenario.toml"));
    folder.text("simulate scenario.toml --duration 2s");
    assert_fails(&folder.run("init x.toml --from demmo"), 2, &["did you mean \"demo\"?"]);
    assert!(!folder.path("x.toml").exists());
}

#[test]
fn no_file_is_overwritten_unless_asked() {
    let folder = Folder::new("init-force");
    folder.write("model.toml", "mine");
    assert_fails(&folder.run("init"), 1, &["model.toml", "--force"]);
    assert_eq!(fs::read_to_string(folder.path("model.toml")).unwrap(), "mine");
    folder.text("init --force");
    assert_ne!(fs::read_to_string(folder.path("model.toml")).unwrap(), "mine");
}
