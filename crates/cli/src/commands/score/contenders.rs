//! Contenders by what the user calls them.

use crate::shell::Failure;
use crate::tables;
use exm_design::score::{Contender, Scheme};
use exm_sim::controllers::AnyController;
use std::path::Path;

/// The contenders called `words`, each by its short name, or all by their words where short names
/// are the same.
pub(super) fn load(words: &[String]) -> Result<Vec<Contender>, Failure> {
    let short: Vec<String> = words.iter().map(|word| short_name(word)).collect();
    let distinct = (1..short.len()).all(|i| !short[..i].contains(&short[i]));
    let names = if distinct { &short } else { words };
    let load = |(word, name): (&String, &String)| {
        Ok(Contender { name: name.clone(), scheme: scheme(word)? })
    };
    words.iter().zip(names).map(load).collect()
}

fn scheme(word: &str) -> Result<Scheme, Failure> {
    match AnyController::named(word) {
        Some(controller) => Ok(Scheme::Controller(controller)),
        None => Ok(Scheme::Table(tables::load(Path::new(word))?.table)),
    }
}

/// The name of a file without folder and ending.
fn short_name(word: &str) -> String {
    let path = Path::new(word);
    let is_file = path.extension().is_some_and(|end| end == "json" || end == "dna");
    let name = if is_file { path.file_stem() } else { path.file_name() };
    name.and_then(|name| name.to_str()).unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_where_that_tells_them_apart() {
        assert_eq!(short_name("some/where/RemyCC-delta0.1.dna"), "RemyCC-delta0.1");
        assert_eq!(short_name("general-delta0.1"), "general-delta0.1");
        let twice = ["aimd".to_owned(), "aimd".to_owned()];
        let names: Vec<String> = load(&twice).unwrap().into_iter().map(|c| c.name).collect();
        assert_eq!(names, twice);
        assert!(load(&["no/such.json".to_owned()]).is_err());
    }
}
