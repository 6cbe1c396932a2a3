//! The experiments embedded in the crate, from its folder `experiments`.

use crate::experiment::Experiment;
use std::path::Path;

macro_rules! texts {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../experiments/", $name, ".toml")))),*]
    };
}

/// The embedded experiments: the name and the text of each, in order of name.
pub const SHIPPED: &[(&str, &str)] = texts![
    "competing-compound",
    "competing-cubic",
    "convergence",
    "datacenter",
    "incast",
    "live-cubic",
    "live-long",
    "live-lte",
    "live-turns",
    "one-for-all",
    "optimising-harder",
    "price-of-tcp",
    "sigcomm-11",
    "sigcomm-14-8",
    "sigcomm-14-9a",
    "sigcomm-14-9b",
    "sigcomm-14-rtt",
    "sigcomm-14-senders",
    "sprout-foresight",
    "sprout-links",
    "thesis-1-2",
    "thesis-2-1",
    "thesis-2-10",
    "thesis-2-11",
    "thesis-2-9",
    "thesis-2-loss",
    "thesis-3-10",
    "thesis-3-11",
    "thesis-3-3",
    "thesis-3-4",
    "thesis-3-5",
    "thesis-3-6",
    "thesis-3-7",
    "thesis-3-8",
    "thesis-3-9",
    "thesis-4-1",
    "thesis-4-1-budget",
    "thesis-4-3",
    "thesis-4-4",
    "today",
    "today-call",
    "today-cellular",
    "today-designed",
    "today-flows",
    "today-l4s",
    "today-neighbour",
    "video-agility",
    "worth-of-marks",
    "worth-of-signals",
];

impl Experiment {
    /// The experiment called `name` in [`SHIPPED`]; none if there is no such experiment. Files that it
    /// names, such as published tables, are relative to `folder`.
    ///
    /// ```
    /// # use std::path::Path;
    /// let incast = exm_experiment::Experiment::shipped("incast", Path::new("experiments")).unwrap();
    /// assert!(incast.schemes.len() > 1);
    /// ```
    ///
    /// # Panics
    /// Never: a test parses all of them.
    pub fn shipped(name: &str, folder: &Path) -> Option<Experiment> {
        let (_, text) = SHIPPED.iter().find(|(known, _)| *known == name)?;
        let experiment = Experiment::parse(text, &format!("{name}.toml"), folder);
        Some(experiment.expect("shipped experiments are valid"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An experiment added to the folder must also be added to the list.
    #[test]
    fn all_experiments_of_the_folder_are_shipped() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
        let files = folder.read_dir().unwrap().map(|file| file.unwrap().file_name());
        let mut names: Vec<String> = files
            .filter_map(|file| file.to_str().unwrap().strip_suffix(".toml").map(str::to_owned))
            .collect();
        names.sort();
        assert_eq!(SHIPPED.iter().map(|&(name, _)| name).collect::<Vec<_>>(), names);
        for name in names {
            assert!(Experiment::shipped(&name, &folder).unwrap().source.is_some(), "{name}");
        }
    }
}
