//! The scenarios embedded in the crate, from its folder `scenarios`.

use super::Scenario;
use std::path::Path;

macro_rules! texts {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../scenarios/", $name, ".toml")))),*]
    };
}

/// The embedded scenarios: the name and the text of each, in order of name.
pub const SHIPPED: &[(&str, &str)] = texts![
    "5g",
    "adsl",
    "call",
    "cellular",
    "datacenter",
    "dumbbell",
    "l4s",
    "leo",
    "mixed",
    "parking-lot",
    "policer",
    "wifi"
];

impl Scenario {
    /// The scenario called `name` in [`SHIPPED`]; none if there is no such scenario.
    ///
    /// ```
    /// let scenario = exm_sim::scenario::Scenario::shipped("parking-lot").unwrap();
    /// assert_eq!(scenario.links.len(), 2);
    /// ```
    ///
    /// # Panics
    /// Never: a test parses all of them.
    pub fn shipped(name: &str) -> Option<Scenario> {
        let (_, text) = SHIPPED.iter().find(|(known, _)| *known == name)?;
        Some(Scenario::parse(text, name, Path::new("")).expect("shipped scenarios are valid"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scenario added to the folder must also be added to the list.
    #[test]
    fn all_scenarios_of_the_folder_are_shipped() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        let mut files: Vec<_> =
            folder.read_dir().unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        let names: Vec<_> =
            files.iter().map(|file| file.file_stem().unwrap().to_str().unwrap()).collect();
        assert_eq!(SHIPPED.iter().map(|&(name, _)| name).collect::<Vec<_>>(), names);
        for (name, text) in SHIPPED {
            assert_eq!(
                *text,
                std::fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap()
            );
            assert!(Scenario::shipped(name).unwrap().title.is_some(), "{name}");
        }
    }
}
