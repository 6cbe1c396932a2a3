//! The models and the rule tables that come with the crate: its folders `models` and `remyccs`.
//!
//! ```
//! use exm_design::{Model, shipped};
//!
//! let model = Model::shipped("1x").unwrap();
//! let table = shipped::table("1x").unwrap();
//! let designed_for = Model::parse(table.provenance.model.as_deref().unwrap(), "1x").unwrap();
//! assert_eq!(designed_for.fingerprint(), model.fingerprint());
//! ```

use exm_table::TableFile;

/// The models: the name and the text of each, in the order of names.
pub const MODELS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/models.rs"));

/// The rule tables, which this program designed: the name and the text of each, in the order of names.
pub const TABLES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/remyccs.rs"));

/// The names and the compressed texts of all [`designs`].
const DESIGNS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/designs.rs"));

/// The rule table called `name` in [`TABLES`], with its provenance; `None` if there is
/// none.
///
/// # Panics
/// Never: a test reads all of them.
pub fn table(name: &str) -> Option<TableFile> {
    let text = find(TABLES, name)?;
    Some(TableFile::from_json(text).expect("shipped tables are valid"))
}

/// The names of all designs behind those of the [`TABLES`] that are the best of several: "learn-2x.seed3" is that of
/// seed 3. Experiments run them, so that their intervals include the luck of a design.
pub fn designs() -> impl Iterator<Item = &'static str> {
    DESIGNS.iter().map(|&(name, _)| name)
}

/// One of the [`designs`]; `None` if there is none of this name.
///
/// # Panics
/// Never: a test reads all of them.
pub fn design(name: &str) -> Option<TableFile> {
    let &(_, packed) = DESIGNS.iter().find(|(known, _)| *known == name)?;
    let text = miniz_oxide::inflate::decompress_to_vec(packed).expect("it was packed whole");
    let text = String::from_utf8(text).expect("a table is text");
    Some(TableFile::from_json(&text).expect("shipped designs are valid"))
}

/// The text of the model called `name` in [`MODELS`]; `None` if there is none.
pub fn model(name: &str) -> Option<&'static str> {
    find(MODELS, name)
}

fn find(texts: &'static [(&'static str, &'static str)], name: &str) -> Option<&'static str> {
    texts.iter().find(|(known, _)| *known == name).map(|&(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Model;
    use crate::check::check;
    use crate::stress::HELD_OUT_SEED;

    /// The model that the table `name` was designed for. One of several that were designed together has its
    /// own name after a dot, and a design its seed.
    fn model_of(name: &str) -> Model {
        let mut name = name;
        loop {
            match Model::shipped(name) {
                Some(model) => return model,
                None => name = name.rsplit_once('.').expect("a table has a model").0,
            }
        }
    }

    /// The file of a hardened table records how it behaves around its model.
    #[test]
    fn verdicts_are_of_the_rules_in_their_files() {
        let hardened: Vec<&str> = TABLES
            .iter()
            .map(|&(name, _)| name)
            .filter(|name| name.starts_with("general-") || name.starts_with("hosts-"))
            .collect();
        assert_eq!(hardened.len(), 4);
        let differing = hardened.into_iter().filter_map(|name| {
            let file = table(name).unwrap();
            let known = file.robustness().expect(name);
            let check = check(&model_of(name), 0, &file.table, HELD_OUT_SEED);
            let now = check.robustness(&file.table);
            let (known, now) = ((known.near, known.far), (now.near, now.far));
            (known != now).then(|| format!("{name}: {known:?} is now {now:?}"))
        });
        let differing: Vec<String> = differing.collect();
        assert!(differing.is_empty(), "{differing:#?}");
    }

    /// The file of each table has the model it was designed for, which is the shipped one of its name.
    #[test]
    fn tables_are_those_of_the_models_of_their_names() {
        let tables = TABLES.iter().map(|&(name, _)| (name, table(name)));
        for (name, table) in tables.chain(designs().map(|name| (name, design(name)))) {
            let table = table.unwrap();
            let designed = Model::parse(table.provenance.model.as_deref().unwrap(), name).unwrap();
            assert_eq!(designed.fingerprint(), model_of(name).fingerprint(), "{name}");
        }
        assert!(Model::shipped("demo").is_some() && table("demo").is_none());
    }
}
