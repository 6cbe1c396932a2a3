//! The controllers in the text of an experiment, found and replaced; all else stays as it is, comments included.

use crate::shell::Failure;
use std::collections::BTreeSet;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

/// The key of files that names tables, and the end of paths to it.
const KEY: &str = "controller";
/// What stands there for the scheme's.
const SCHEME: &str = "scheme";

/// The designs of a table.
pub(super) struct Designs {
    /// The name of the table in the experiment.
    pub(super) controller: String,
    /// The table that takes its place: first the best, then each, if there are several.
    pub(super) of: Vec<String>,
}

/// The experiment of the file called `name`, which has this `text`.
pub(super) fn parse(text: &str, name: &str) -> Result<DocumentMut, Failure> {
    text.parse().map_err(|error| Failure::new(format!("{name} is not TOML: {error}")))
}

/// The controllers that `document` names, each once, without the one that stands for the scheme's.
pub(super) fn controllers(document: &DocumentMut) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut document = document.clone();
    visit(document.as_table_mut(), &mut |value| {
        for name in names(value) {
            if name != SCHEME && !found.contains(&name) {
                found.push(name);
            }
        }
    });
    found
}

/// Has schemes run all of the `designs` of their tables, and other flows the best.
pub(super) fn replace(document: &mut DocumentMut, designs: &[Designs]) {
    let of = |name: &str| designs.iter().find(|one| one.controller == name);
    let schemes = document.get_mut("experiment").and_then(|table| table.get_mut("scheme"));
    let schemes = schemes.and_then(Item::as_array_of_tables_mut).into_iter();
    for scheme in schemes.flat_map(|all| all.iter_mut()) {
        let Some(value) = scheme.get_mut(KEY).and_then(Item::as_value_mut) else { continue };
        let several = |name: String| of(&name).map_or_else(|| vec![name.clone()], Designs::several);
        let mut all: Vec<String> = names(value).into_iter().flat_map(several).collect();
        // Each table of a list of designs stands for the same new ones.
        let mut seen = BTreeSet::new();
        all.retain(|name| seen.insert(name.clone()));
        match &all[..] {
            [one] => set(value, one.clone().into()),
            _ => set(value, Value::Array(Array::from_iter(all))),
        }
    }
    visit(document.as_table_mut(), &mut |value| {
        if let Some(one) = value.as_str().and_then(of) {
            set(value, one.of[0].clone().into());
        }
    });
}

/// The names in `value`: one, or a list.
fn names(value: &Value) -> Vec<String> {
    let list: Vec<&Value> =
        value.as_array().map_or_else(|| vec![value], |all| all.iter().collect());
    list.into_iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

impl Designs {
    /// Each of several, or the only one.
    fn several(&self) -> Vec<String> {
        if self.of.len() > 1 { self.of[1..].to_vec() } else { self.of.clone() }
    }
}

/// Replaces `value`, and keeps the spaces and comments around it.
fn set(value: &mut Value, by: Value) {
    let decor = value.decor().clone();
    *value = by;
    *value.decor_mut() = decor;
}

/// Calls `see` with the value of each key that names a controller.
fn visit(table: &mut dyn TableLike, see: &mut dyn FnMut(&mut Value)) {
    for (key, item) in table.iter_mut() {
        let is_controller = key.get() == KEY || key.get().ends_with(&format!(".{KEY}"));
        match item {
            Item::Value(Value::InlineTable(inner)) => visit(inner, see),
            Item::Value(value) if is_controller => see(value),
            Item::Value(Value::Array(list)) => {
                list.iter_mut()
                    .filter_map(Value::as_inline_table_mut)
                    .for_each(|one| visit(one, see));
            }
            Item::Table(inner) => visit(inner, see),
            Item::ArrayOfTables(all) => all.iter_mut().for_each(|one: &mut Table| visit(one, see)),
            Item::Value(_) | Item::None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
controller = \"scheme\" # of each
[[flow]]
controller = \"a\"
[[experiment.variant]]
set = { \"flow.x.controller\" = \"a\", rate = 1 }
[[experiment.scheme]]
name = \"one\"
controller = \"a\" # designed
[[experiment.scheme]]
name = \"two\"
controller = [\"b.seed1\", \"b.seed2\"]
[[experiment.scheme]]
name = \"three\"
controller = \"cubic\"
";

    #[test]
    fn controllers_are_found_however_their_key_is_written() {
        let document = parse(TEXT, "x").unwrap();
        assert_eq!(controllers(&document), ["a", "b.seed1", "b.seed2", "cubic"]);
    }

    #[test]
    fn schemes_run_all_designs_and_other_flows_the_best() {
        let mut document = parse(TEXT, "x").unwrap();
        let designs = |controller: &str, of: &[&str]| Designs {
            controller: controller.to_owned(),
            of: of.iter().map(|&name| name.to_owned()).collect(),
        };
        let several = ["b.json", "b.seed1.json", "b.seed2.json", "b.seed3.json"];
        replace(
            &mut document,
            &[
                designs("a", &["a.json", "a.seed1.json", "a.seed2.json"]),
                designs("b.seed1", &several),
                designs("b.seed2", &several),
            ],
        );
        let expected = TEXT
            .replace("controller = \"a\" #", "controller = [\"a.seed1.json\", \"a.seed2.json\"] #")
            .replace("= \"a\"", "= \"a.json\"")
            .replace(
                "[\"b.seed1\", \"b.seed2\"]",
                "[\"b.seed1.json\", \"b.seed2.json\", \"b.seed3.json\"]",
            );
        assert_eq!(document.to_string(), expected);
    }
}
