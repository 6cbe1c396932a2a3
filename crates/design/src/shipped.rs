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

macro_rules! texts {
    ($folder:literal, $ending:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../", $folder, "/", $name, $ending)))),*]
    };
}

/// The models: the name and the text of each, in the order of names.
pub const MODELS: &[(&str, &str)] = texts![
    "models", ".toml":
    "10x", "1x", "alone-delay", "alone-throughput", "coexist", "datacenter", "demo", "diversity",
    "general-delta0.1", "general-delta1", "general-delta10", "general16", "harder", "hosts-delta1", "knock-ack",
    "knock-none", "knock-pace", "knock-ratio", "knock-send", "knock-slow", "knock-window", "learn-1000x",
    "learn-100x", "learn-10x", "learn-2x", "only-ack", "only-ack-ratio", "only-ack-slow", "only-none",
    "only-ratio", "only-ratio-slow", "only-send", "only-send-ack", "only-send-ratio", "only-send-slow",
    "only-slow", "parking-one", "parking-two", "rtt-140-160", "rtt-145-155", "rtt-150", "rtt-50-250",
    "senders-10", "senders-100", "senders-2", "senders-20", "senders-50", "signals-lossy-loss", "signals-lossy-none", "signals-racks-ecn", "signals-racks-none",
    "signals-red-ecn", "signals-red-none", "tcp-10", "tcp-100", "tcp-25",
    "tcp-75", "tcp-aware", "tcp-naive", "together",
];

/// The rule tables, which this program designed: the name and the text of each, in the order of names.
pub const TABLES: &[(&str, &str)] = texts![
    "remyccs", ".json":
    "10x", "1x", "alone-delay", "alone-throughput", "coexist", "datacenter", "diversity.delay",
    "diversity.throughput", "general-delta0.1", "general-delta1", "general-delta10", "harder.15s",
    "harder.1min", "harder.4min", "harder.8min", "hosts-delta1", "knock-ack", "knock-none", "knock-pace", "knock-ratio",
    "knock-send", "knock-slow", "knock-window", "learn-1000x", "learn-1000x.16min", "learn-1000x.1min",
    "learn-1000x.4min", "learn-100x", "learn-10x", "learn-2x", "learn-2x.16min", "learn-2x.1min",
    "learn-2x.4min", "only-ack", "only-ack-ratio", "only-ack-slow", "only-none", "only-ratio",
    "only-ratio-slow", "only-send", "only-send-ack", "only-send-ratio", "only-send-slow", "only-slow",
    "parking-one", "parking-two", "rtt-140-160", "rtt-145-155", "rtt-150", "rtt-50-250", "senders-10",
    "senders-100", "senders-2", "senders-20", "senders-50", "signals-lossy-loss", "signals-lossy-none", "signals-racks-ecn", "signals-racks-none",
    "signals-red-ecn", "signals-red-none", "tcp-10", "tcp-100", "tcp-25", "tcp-75",
    "tcp-aware", "tcp-naive", "together",
];

/// The rule table called `name` in [`TABLES`], with its provenance; `None` if there is
/// none.
///
/// # Panics
/// Never: a test reads all of them.
pub fn table(name: &str) -> Option<TableFile> {
    let text = find(TABLES, name)?;
    Some(TableFile::from_json(text).expect("shipped tables are valid"))
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
    use std::path::Path;

    /// The names of the files in `folder` that end in `ending`, sorted.
    fn names(folder: &str, ending: &str) -> Vec<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let files = folder.read_dir().unwrap().map(|file| file.unwrap().file_name());
        let mut names: Vec<String> = files
            .filter_map(|file| file.to_str().unwrap().strip_suffix(ending).map(str::to_owned))
            .collect();
        names.sort();
        names
    }

    /// What is added to a folder must be added to its list, too.
    #[test]
    fn all_models_and_tables_of_the_folders_are_shipped() {
        let listed = |texts: &[(&str, &str)]| -> Vec<String> {
            texts.iter().map(|&(name, _)| name.to_owned()).collect()
        };
        assert_eq!(listed(MODELS), names("models", ".toml"));
        assert_eq!(listed(TABLES), names("remyccs", ".json"));
    }

    /// The model that the table `name` was designed for. One of several that were designed together has its
    /// own name after a dot.
    fn model_of(name: &str) -> Model {
        let several = || Model::shipped(name.rsplit_once('.')?.0);
        Model::shipped(name).or_else(several).unwrap()
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
        for (name, _) in TABLES {
            let table = table(name).unwrap();
            let designed = Model::parse(table.provenance.model.as_deref().unwrap(), name).unwrap();
            assert_eq!(designed.fingerprint(), model_of(name).fingerprint(), "{name}");
        }
        assert!(Model::shipped("demo").is_some() && table("demo").is_none());
    }
}
