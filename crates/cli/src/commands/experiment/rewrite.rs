//! The controllers in the text of an experiment, found and replaced; all else stays as it is, comments included.

use crate::shell::Failure;
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
        let names = match value {
            Value::Array(list) => {
                list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            other => other.as_str().map(str::to_owned).into_iter().collect::<Vec<_>>(),
        };
        for name in names {
            if name != SCHEME && !found.contains(&name) {
                found.push(name);
            }
        }
    });
    found
}

/// Has schemes run all of the `designs` of their tables, and other flows the best.
pub(super) fn replace(document: &mut DocumentMut, designs: &[Designs]) {
    let of = |name: Option<&str>| designs.iter().find(|one| Some(one.controller.as_str()) == name);
    let replace_by_best = |value: &mut Value| {
        if let Some(one) = of(value.as_str()) {
            set(value, one.of[0].clone().into());
        }
    };
    let schemes = document.get_mut("experiment").and_then(|table| table.get_mut("scheme"));
    for scheme in
        schemes.and_then(Item::as_array_of_tables_mut).into_iter().flat_map(|all| all.iter_mut())
    {
        if let Some(value) = scheme.get_mut(KEY).and_then(Item::as_value_mut) {
            let names: Vec<String> = match &*value {
                Value::Array(list) => {
                    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
                }
                other => other.as_str().map(str::to_owned).into_iter().collect(),
            };
            let mut all: Vec<String> = Vec::new();
            for name in names {
                let kept = || vec![name.clone()];
                let designs = of(Some(&name)).map_or_else(kept, |one| one.several().to_vec());
                all.extend(
                    designs.into_iter().filter(|design| !all.contains(design)).collect::<Vec<_>>(),
                );
            }
            match &all[..] {
                [one] => set(value, one.clone().into()),
                _ => set(value, Value::Array(Array::from_iter(all))),
            }
        }
    }
    visit(document.as_table_mut(), &mut { replace_by_best });
}

impl Designs {
    /// Each of several, or the only one.
    fn several(&self) -> &[String] {
        if self.of.len() > 1 { &self.of[1..] } else { &self.of }
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
