//! Experiments, by the path of a file or by the name of one shipped in the program.

use crate::ranges;
use crate::shell::Failure;
use exm_design::DesignRanges;
use exm_experiment::queues;
use exm_experiment::{Experiment, Options, Plan, PlanError, SHIPPED};
use exm_grammar::suggest;
use exm_sim::controllers::AnyController;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folder in which files named by shipped experiments are searched.
const FOLDER: &str = "experiments";

/// The names of the experiments shipped in the program.
pub(crate) fn shipped_names() -> Vec<&'static str> {
    SHIPPED.iter().map(|&(name, _)| name).collect()
}

/// The experiment in the file `name` or, where there is no such file, the shipped one of that name.
pub(crate) fn load(name: &str) -> Result<Experiment, Failure> {
    let path = Path::new(name);
    if path.is_file() || path.extension().is_some_and(|extension| extension == "toml") {
        return Ok(Experiment::load(path)?);
    }
    match Experiment::shipped(name, Path::new(FOLDER)) {
        Some(experiment) => Ok(experiment),
        None => Err(Failure::usage(format!(
            "there is no experiment \"{name}\": {}",
            suggest(name, &shipped_names())
        ))
        .with_tip("give the path of a file, or a name that exm experiment list prints")),
    }
}

/// The plan of `experiment`. Each table is loaded once, however many networks use it, and its design
/// range is compared with the networks: the plan has the warnings.
pub(crate) fn plan(experiment: Experiment, options: &Options) -> Result<Plan, PlanError> {
    let mut ranges = DesignRanges::default();
    let mut known: BTreeMap<PathBuf, Result<AnyController, String>> = BTreeMap::new();
    let mut plan = Plan::new(experiment, options, &mut |name, path| {
        known
            .entry(path.to_owned())
            .or_insert_with(|| ranges::controller(&mut ranges, name, path))
            .clone()
    })?;
    let networks = || plan.cases.iter().map(|c| (&c.scenario, &c.network));
    let warnings = [ranges.warnings(networks()), queues::warnings(networks())].concat();
    plan.warnings.extend(warnings);
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_experiments_are_sound() {
        assert!(!shipped_names().is_empty());
        for name in shipped_names() {
            let experiment = load(name).unwrap_or_else(|error| panic!("{}", error.into_text()));
            assert!(experiment.title.is_some() && experiment.source.is_some(), "{name}");
            let planned = plan(experiment, &Options::default());
            assert!(planned.is_ok(), "{name}: {}", planned.unwrap_err());
        }
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_one_suggested() {
        let error = load("thesis-3-44").unwrap_err().into_text();
        assert!(error.contains("did you mean \"thesis-3-4\"?"), "{error}");
        assert!(load("no/such.toml").unwrap_err().into_text().contains("cannot be read"));
    }
}
