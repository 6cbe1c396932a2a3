//! Rule tables, by the path of a file or by the name of one shipped in the program.

use crate::shell::Failure;
use exm_remy::{LoadError, TableFile};
use exm_sim::controllers::AnyController;
use exm_sim::scenario::suggest;
use std::path::Path;

/// The names and texts of the tables shipped in the program: `remyccs/NAME.json`.
const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// The names of the tables shipped in the program.
pub(crate) fn shipped_names() -> Vec<&'static str> {
    SHIPPED.iter().map(|&(name, _)| name).collect()
}

/// The table in the file `name` or, where there is no such file, the shipped one of that name.
pub(crate) fn load(name: &Path) -> Result<TableFile, Failure> {
    load_from(name, SHIPPED)
}

/// As [`load`], where `path` is where a file of the name would be.
pub(crate) fn load_at(name: &str, path: &Path) -> Result<TableFile, Failure> {
    match shipped(name, SHIPPED) {
        Some(text) if !path.exists() => parse(name, text),
        _ => load(path),
    }
}

/// The table that a scenario calls `name`, which is at `path` if it is a file's name.
pub(crate) fn for_controller(name: &str, path: &Path) -> Result<TableFile, String> {
    let is_word = !name.contains(['.', '/', '\\']);
    let names: Vec<&str> = AnyController::NAMES.iter().copied().chain(shipped_names()).collect();
    if is_word && !path.exists() && !names.contains(&name) {
        return Err(format!(
            "there is no controller \"{name}\": {} A rule table may also be given by its path, \
             such as \"general.dna\"",
            ended(suggest(name, &names))
        ));
    }
    load_at(name, path).map_err(Failure::into_text)
}

/// `sentence` with an end, if it has none.
fn ended(sentence: String) -> String {
    if sentence.ends_with(['?', '.']) { sentence } else { sentence + "." }
}

fn load_from(name: &Path, shipped_tables: &[(&str, &str)]) -> Result<TableFile, Failure> {
    let error = match TableFile::load(name) {
        Ok(file) => return Ok(file),
        Err(error) => error,
    };
    let LoadError::Read { source, .. } = &error else {
        let tip = "a table is a whole file in JSON as exm writes it, or a .dna file of Remy's";
        return Err(Failure::from(error).with_tip(tip));
    };
    if source.kind() != std::io::ErrorKind::NotFound {
        return Err(error.into());
    }
    let word = name.to_str().unwrap_or_default();
    match shipped(word, shipped_tables) {
        Some(text) => parse(word, text),
        None => Err(Failure::from(error).with_tip(remedy(word, shipped_tables))),
    }
}

fn shipped<'a>(name: &str, shipped_tables: &[(&str, &'a str)]) -> Option<&'a str> {
    shipped_tables.iter().find(|(known, _)| *known == name).map(|&(_, text)| text)
}

fn parse(name: &str, text: &str) -> Result<TableFile, Failure> {
    TableFile::from_json(text)
        .map_err(|error| Failure::new(format!("the shipped table {name} is damaged: {error}")))
}

/// What to give instead of `name`, which is neither a file nor shipped.
fn remedy(name: &str, shipped_tables: &[(&str, &str)]) -> String {
    let names: Vec<&str> = shipped_tables.iter().map(|&(name, _)| name).collect();
    if names.is_empty() {
        return "give the path of a table, .json or .dna (none are shipped with this build)".into();
    }
    format!(
        "give the path of a table, .json or .dna, or the name of one that is shipped: {}",
        suggest(name, &names)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_remy::{Action, Provenance, RuleTable, SignalSet};

    #[test]
    fn shipped_tables_are_sound() {
        for name in shipped_names() {
            let file = load_at(name, Path::new("no/such/file"));
            assert!(file.is_ok(), "{name}: {file:?}");
        }
    }

    #[test]
    fn names_resolve_where_there_is_no_such_file() {
        let table = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, Action::INITIAL);
        let file = TableFile { table, provenance: Provenance::default() };
        let text = file.to_json();
        let tables = [("general-delta0.1", text.as_str()), ("broken", "{")];
        let load = |name: &str| load_from(Path::new(name), &tables);
        assert_eq!(load("general-delta0.1").expect("is shipped"), file);
        let unknown = load("general-delta").unwrap_err().into_text();
        assert!(unknown.contains("did you mean \"general-delta0.1\"?"), "{unknown}");
        assert!(load("broken").unwrap_err().into_text().contains("is damaged: line 1"));
        // A file comes first.
        assert!(load("Cargo.toml").unwrap_err().into_text().contains("Cargo.toml is not a table"));
    }

    #[test]
    fn without_shipped_tables_a_path_is_asked_for() {
        let error = load_from(Path::new("general"), &[]).unwrap_err().into_text();
        assert!(error.starts_with("cannot read general: "), "{error}");
        assert!(error.ends_with("(none are shipped with this build)"), "{error}");
    }
}
