//! What the program is made of may be given to others: the licences, sources and bans of `deny.toml`.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// An expression of licences, such as `(MIT OR Apache-2.0) AND Unicode-3.0` (SPDX 2.3, annex D), with the
/// slash of older crates for OR. OR binds weaker than AND.
struct Expression<'a> {
    words: Vec<&'a str>,
    allowed: &'a dyn Fn(&str) -> bool,
}

impl<'a> Expression<'a> {
    /// Whether the licences of `text` are met by allowed ones.
    fn is_met(text: &'a str, allowed: &'a dyn Fn(&str) -> bool) -> bool {
        let text = text.split_inclusive(['(', ')', '/', ' ']);
        let words = text.flat_map(|part| {
            let word = part.trim_end_matches(['(', ')', '/', ' ']);
            [word, part[word.len()..].trim()]
        });
        let words = words.filter(|word| !word.is_empty()).rev().collect();
        let mut expression = Expression { words, allowed };
        let met = expression.any();
        assert!(expression.words.is_empty(), "not understood: {:?}", expression.words);
        met
    }

    fn next_is(&mut self, words: &[&str]) -> bool {
        let is = self.words.last().is_some_and(|word| words.contains(word));
        if is {
            self.words.pop();
        }
        is
    }

    fn any(&mut self) -> bool {
        let mut met = self.all();
        while self.next_is(&["OR", "/"]) {
            met |= self.all();
        }
        met
    }

    fn all(&mut self) -> bool {
        let mut met = self.one();
        while self.next_is(&["AND"]) {
            met &= self.one();
        }
        met
    }

    fn one(&mut self) -> bool {
        if self.next_is(&["("]) {
            let met = self.any();
            assert!(self.next_is(&[")"]), "a bracket is not closed");
            return met;
        }
        let licence = self.words.pop().expect("a licence");
        // An exception permits more than the licence alone.
        if self.next_is(&["WITH"]) {
            self.words.pop();
        }
        (self.allowed)(licence)
    }
}

#[test]
fn expressions_are_understood() {
    let allowed = |name: &str| ["MIT", "Zlib", "Apache-2.0"].contains(&name);
    for met in ["MIT", "GPL-2.0 OR MIT", "GPL-2.0/MIT", "(GPL-2.0 OR MIT) AND Zlib"] {
        assert!(Expression::is_met(met, &allowed), "{met}");
    }
    assert!(Expression::is_met("Apache-2.0 WITH LLVM-exception OR GPL-2.0", &allowed));
    for not in ["GPL-2.0", "MIT AND GPL-2.0", "(MIT OR Zlib) AND GPL-2.0", "GPL-2.0 OR MIT AND BSD"]
    {
        assert!(!Expression::is_met(not, &allowed), "{not}");
    }
}

/// What cargo knows of the workspace and of all that it is built from on Linux.
fn metadata(root: &Path) -> Value {
    let cargo = std::env::var_os("CARGO").expect("cargo runs the test");
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--locked", "--all-features"]);
    command.args(["--filter-platform", "x86_64-unknown-linux-gnu"]).current_dir(root);
    let output = command.output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().expect("a list")
}

/// The names of the packages that depend on the one called `name`.
fn dependents<'a>(metadata: &'a Value, name: &str) -> Vec<&'a str> {
    let packages = list(metadata, "packages").iter();
    let names: BTreeMap<&str, &str> = packages
        .map(|package| (package["id"].as_str().unwrap(), package["name"].as_str().unwrap()))
        .collect();
    let is_named = |id: &Value| names[id.as_str().unwrap()] == name;
    let nodes = list(&metadata["resolve"], "nodes").iter();
    let depend = nodes.filter(|node| list(node, "dependencies").iter().any(is_named));
    depend.map(|node| names[node["id"].as_str().unwrap()]).collect()
}

#[test]
fn dependencies_are_as_deny_toml_permits() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("deny.toml")).expect("it is there");
    let deny: Value = toml::from_str(&text).expect("TOML");
    let allowed = |name: &str| list(&deny["licenses"], "allow").iter().any(|known| known == name);
    let metadata = metadata(&root);
    let packages = list(&metadata, "packages");
    assert!(packages.len() > 100, "only {} packages", packages.len());
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        let licence = package["license"].as_str().unwrap_or("none");
        assert!(Expression::is_met(licence, &allowed), "{name} is under {licence}");
        // What has no source is of the workspace.
        let source = package["source"].as_str().unwrap_or("registry+");
        assert!(source.starts_with("registry+"), "{name} comes from {source}");
    }
    for banned in list(&deny["bans"], "deny") {
        let name = banned["name"].as_str().expect("a name");
        let wrappers = banned["wrappers"].as_array().map_or(&[][..], Vec::as_slice);
        for dependent in dependents(&metadata, name) {
            let is_wrapper = wrappers.iter().any(|wrapper| wrapper == dependent);
            assert!(is_wrapper, "{name} is banned by deny.toml, and {dependent} depends on it");
        }
    }
}
