//! Contenders by name.

use crate::options::short_name;
use crate::ranges;
use crate::shell::Failure;
use crate::tables;
use exm_design::DesignRanges;
use exm_design::score::{Contender, Scheme};
use exm_plugin::outside;
use exm_sim::controllers::AnyController;
use std::path::Path;

/// The contenders called `words`, each by its short name, or all by their full names if short names
/// coincide. The design ranges of tables are added to `ranges`.
pub(super) fn load(words: &[String], ranges: &mut DesignRanges) -> Result<Vec<Contender>, Failure> {
    let short: Vec<String> = words.iter().map(|word| short_name(word)).collect();
    let distinct = (1..short.len()).all(|i| !short[..i].contains(&short[i]));
    let names = if distinct { &short } else { words };
    let mut load = |(word, name): (&String, &String)| {
        let scheme =
            match AnyController::parse(word).map_err(|error| Failure::usage(error.to_string()))? {
                Some(controller) => Scheme::Controller(controller),
                None if outside::is_outside(word) => {
                    let controller = ranges::controller(ranges, word, Path::new(word));
                    Scheme::Controller(controller.map_err(Failure::usage)?)
                }
                None => {
                    let file = tables::load_contender(word)?;
                    ranges.note(name, &file);
                    Scheme::Table(file.table)
                }
            };
        Ok(Contender { name: name.clone(), scheme })
    };
    words.iter().zip(names).map(&mut load).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_if_that_is_unambiguous() {
        let load = |words: &[String]| load(words, &mut DesignRanges::default());
        let twice = ["aimd".to_owned(), "aimd".to_owned()];
        let names: Vec<String> = load(&twice).unwrap().into_iter().map(|c| c.name).collect();
        assert_eq!(names, twice);
        assert!(load(&["no/such.json".to_owned()]).is_err());
    }
}
