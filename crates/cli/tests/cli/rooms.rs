//! The arrows between crates in ARCHITECTURE.md are the dependencies that cargo knows.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a crate depends on, by the names of the folders in `crates/`, and whether only through a feature.
type Rooms = BTreeMap<String, BTreeMap<String, bool>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The crates in `crates/` and their dependencies on each other, without those of tests.
fn real() -> Rooms {
    let cargo = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    let metadata: Value = serde_json::from_slice(&cargo.stdout).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("a list");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let folder = |package: &Value| {
        let manifest = PathBuf::from(text(&package["manifest_path"]));
        let folder = manifest.parent().expect("a folder");
        let is_room =
            folder.parent().and_then(Path::file_name).is_some_and(|name| name == "crates");
        is_room.then(|| folder.file_name().expect("a name").to_string_lossy().into_owned())
    };
    let names: BTreeMap<String, String> =
        packages.iter().filter_map(|p| Some((text(&p["name"]), folder(p)?))).collect();
    let mut rooms = Rooms::new();
    for package in packages {
        let Some(room) = folder(package) else { continue };
        let arrows = rooms.entry(room).or_default();
        let dependencies = package["dependencies"].as_array().expect("a list");
        for dependency in dependencies.iter().filter(|dependency| dependency["kind"].is_null()) {
            if let Some(name) = names.get(dependency["name"].as_str().expect("a text")) {
                let is_optional = dependency["optional"] == true;
                let known = arrows.entry(name.clone()).or_insert(true);
                *known &= is_optional;
            }
        }
    }
    rooms
}

/// The crates and arrows of the drawing; those that only a feature brings are in parentheses. `all` stands
/// for every crate drawn above.
fn drawn() -> Rooms {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("it is there");
    let rooms = text.split("## Rooms").nth(1).and_then(|text| text.split("```").nth(1));
    let mut entries: Vec<String> = Vec::new();
    for line in rooms.expect("the drawing").lines().filter(|line| !line.is_empty()) {
        match (line.starts_with(' '), entries.last_mut()) {
            (true, Some(last)) => last.push_str(line),
            _ => entries.push(line.to_owned()),
        }
    }
    let mut rooms = Rooms::new();
    for entry in &entries {
        let Some(rest) = entry.strip_prefix("crates/") else { continue };
        let name = rest.split_whitespace().next().expect("a name").to_owned();
        let mut arrows = BTreeMap::new();
        match rest.split_once("->") {
            None => assert!(rest.ends_with("no dependencies"), "no arrows: {entry}"),
            Some((_, targets)) if targets.trim() == "all" => {
                arrows.extend(rooms.keys().map(|room| (room.clone(), false)));
            }
            Some((_, targets)) => {
                let (firm, optional) = targets.split_once('(').unwrap_or((targets, ""));
                let optional = optional.trim_end().trim_end_matches(')');
                arrows.extend(firm.split_whitespace().map(|target| (target.to_owned(), false)));
                arrows.extend(optional.split_whitespace().map(|target| (target.to_owned(), true)));
            }
        }
        assert!(rooms.insert(name, arrows).is_none(), "drawn twice: {entry}");
    }
    rooms
}

/// All crates reachable from `room` by arrows, including those of features if `optional` is set.
fn reachable(rooms: &Rooms, room: &str, optional: bool) -> BTreeSet<String> {
    let (mut found, mut next) = (BTreeSet::new(), vec![room.to_owned()]);
    while let Some(room) = next.pop() {
        for (target, is_optional) in rooms.get(&room).into_iter().flatten() {
            if (optional || !is_optional) && found.insert(target.clone()) {
                next.push(target.clone());
            }
        }
    }
    found
}

#[test]
fn the_rooms_are_the_crates() {
    let names = |rooms: Rooms| rooms.into_keys().collect::<Vec<_>>();
    assert_eq!(names(drawn()), names(real()), "drawn, and in crates/");
}

#[test]
fn every_arrow_drawn_is_a_dependency() {
    let real = real();
    for (room, arrows) in drawn().into_iter().filter(|(room, _)| room != "cli") {
        for (target, is_optional) in arrows {
            let known = real[&room].get(&target);
            assert_eq!(known, Some(&is_optional), "{room} -> {target}: in parentheses if optional");
        }
    }
}

/// An arrow that follows from others need not be drawn.
#[test]
fn every_dependency_follows_from_the_arrows_drawn() {
    let drawn = drawn();
    for (room, arrows) in real() {
        for (target, is_optional) in arrows {
            let follows = reachable(&drawn, &room, is_optional).contains(&target);
            assert!(follows, "ARCHITECTURE.md does not draw {room} -> {target}");
        }
    }
}

#[test]
fn arrows_run_one_way() {
    let drawn = drawn();
    for room in drawn.keys() {
        assert!(!reachable(&drawn, room, true).contains(room), "{room} depends on itself");
    }
}
