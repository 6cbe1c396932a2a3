//! The tables of an experiment that record their designs.

use super::rewrite;
use crate::shell::{Failure, note};
use crate::{experiments, tables};
use exm_design::Model;
use exm_experiment::{Experiment, SHIPPED};
use exm_plugin::outside;
use exm_sim::builtin::Builtin;
use exm_table::TableFile;
use std::path::Path;
use toml_edit::DocumentMut;

/// An experiment, and the tables that it names.
pub(super) struct Named {
    pub(super) experiment: Experiment,
    pub(super) document: DocumentMut,
    /// Those that record their designs; one at least.
    pub(super) recorded: Vec<Recorded>,
    /// The others.
    pub(super) kept: Vec<String>,
}

impl Named {
    /// The experiment called `name`, shipped or a file.
    pub(super) fn load(name: &str) -> Result<Named, Failure> {
        let experiment = experiments::load(name)?;
        let document = rewrite::parse(&source(name)?, name)?;
        let (mut recorded, mut kept) = (Vec::new(), Vec::new());
        for (controller, file) in tables_of(&experiment, &rewrite::controllers(&document))? {
            match exm_design::model_of(&file) {
                Some(model) => recorded.push(Recorded { controller, file, model }),
                None => {
                    note(&format!("{controller} records no model, and is left as it is"));
                    kept.push(controller);
                }
            }
        }
        if recorded.is_empty() {
            let problem = format!("{name} runs no table that records its model");
            return Err(
                Failure::usage(problem).with_tip("exm experiment list prints those that do")
            );
        }
        Ok(Named { experiment, document, recorded, kept })
    }
}

/// A table that the experiment names, and that records its design.
pub(super) struct Recorded {
    pub(super) controller: String,
    pub(super) file: TableFile,
    pub(super) model: Model,
}

impl Recorded {
    /// The name of its design without the seed, and the name of the table if the model designs several: "learn-2x" and
    /// none of "tables/learn-2x.seed3.json", "diversity" and "delay" of "diversity.seed2.delay".
    pub(super) fn names(&self) -> (String, Option<String>) {
        let stem = stem(&self.controller);
        let is_seed =
            |part: &&str| part.strip_prefix("seed").is_some_and(|n| n.parse::<u64>().is_ok());
        let parts: Vec<&str> = stem.split('.').collect();
        let (last, rest) = parts.split_last().expect("a split has a part");
        let own = self.model.tables().iter().find(|table| table.as_str() == *last);
        let own = own.filter(|_| self.model.tables().len() > 1 && !rest.is_empty());
        let base = if own.is_some() { rest } else { &parts[..] };
        let base: Vec<&str> = base.iter().copied().filter(|part| !is_seed(part)).collect();
        (base.join("."), own.cloned())
    }

    pub(super) fn seed(&self) -> u64 {
        self.file.provenance.seed.unwrap_or(1)
    }
}

/// The tables among `controllers` that are at hand.
fn tables_of(
    experiment: &Experiment,
    controllers: &[String],
) -> Result<Vec<(String, TableFile)>, Failure> {
    let mut found = Vec::new();
    for name in controllers {
        if Builtin::name_in(name).is_some() || outside::is_outside(name) {
            continue;
        }
        let is_file = [".json", ".dna"].iter().any(|ending| name.ends_with(ending));
        let mut schemes = experiment.schemes.iter();
        let is_optional =
            schemes.any(|scheme| scheme.is_optional && scheme.controllers.contains(name));
        match tables::for_controller(name, &experiment.folder().join(name)) {
            Ok(file) => found.push((name.clone(), file)),
            // It is another kind of transport, or may be missing.
            Err(_) if !is_file || is_optional => {}
            Err(problem) => return Err(Failure::new(problem)),
        }
    }
    Ok(found)
}

/// "learn-2x" of "tables/learn-2x.json".
fn stem(controller: &str) -> String {
    let name = Path::new(controller).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| controller.to_owned());
    let endings = [".json", ".dna"];
    let stem = endings.iter().find_map(|ending| name.strip_suffix(ending));
    stem.map_or_else(|| name.clone(), str::to_owned)
}

/// The text of the experiment called `name`.
fn source(name: &str) -> Result<String, Failure> {
    if let Some((_, text)) = SHIPPED.iter().find(|(known, _)| *known == name) {
        return Ok((*text).to_owned());
    }
    std::fs::read_to_string(name)
        .map_err(|error| Failure::new(format!("{name} cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_called_by_the_name_of_its_file() {
        assert_eq!(stem("tables/learn-2x.json"), "learn-2x");
        assert_eq!(stem("diversity.delay"), "diversity.delay");
    }

    #[test]
    fn designs_are_called_without_their_seeds() {
        let names = |controller: &str, model: &str| {
            let file = exm_design::shipped::table("1x").unwrap();
            let (controller, model) = (controller.to_owned(), Model::shipped(model).unwrap());
            Recorded { controller, file, model }.names()
        };
        assert_eq!(
            names("a/learn-1000x.16min.json", "learn-1000x"),
            ("learn-1000x.16min".into(), None)
        );
        assert_eq!(names("learn-2x.seed12", "learn-2x"), ("learn-2x".into(), None));
        let delay = Some("delay".to_owned());
        assert_eq!(names("diversity.delay", "diversity"), ("diversity".into(), delay.clone()));
        assert_eq!(names("diversity.seed2.delay.json", "diversity"), ("diversity".into(), delay));
    }
}
