//! Models and scenarios, by the path of a file or the name of one shipped in the program.

use crate::shell::Failure;
use exm_design::{Model, shipped};
use exm_grammar::suggest;
use exm_sim::scenario::{self, Scenario};
use std::ffi::OsStr;
use std::path::Path;

/// The names of the models shipped in the program.
pub(crate) fn model_names() -> Vec<&'static str> {
    names(shipped::MODELS)
}

/// The names of the scenarios shipped in the program.
pub(crate) fn scenario_names() -> Vec<&'static str> {
    names(scenario::SHIPPED)
}

fn names(texts: &[(&'static str, &'static str)]) -> Vec<&'static str> {
    texts.iter().map(|&(name, _)| name).collect()
}

/// The model in the file `name` or, where there is no such file, the shipped one of that name.
pub(crate) fn model(name: &Path) -> Result<Model, Failure> {
    match shipped_name(name, "model", &model_names())? {
        Some(name) => Ok(Model::shipped(name).expect("its name is listed")),
        None => Ok(Model::load(name)?),
    }
}

/// The scenario in the file `name` or, where there is no such file, the shipped one of that name.
pub(crate) fn scenario(name: &Path) -> Result<Scenario, Failure> {
    match shipped_name(name, "scenario", &scenario_names())? {
        Some(name) => Ok(Scenario::shipped(name).expect("its name is listed")),
        None => Ok(Scenario::load(name)?),
    }
}

/// The name of a shipped `what`, one of `shipped`, if `name` is one and not a file's; none if it is to be
/// read as a file.
fn shipped_name<'a>(
    name: &'a Path,
    what: &str,
    shipped: &[&str],
) -> Result<Option<&'a str>, Failure> {
    if is_file_name(name) {
        return Ok(None);
    }
    match name.to_str() {
        Some(name) if shipped.contains(&name) => Ok(Some(name)),
        _ => {
            let name = name.display();
            let suggestion = suggest(&name.to_string(), shipped);
            let problem = format!("there is no {what} \"{name}\": {suggestion}");
            let tip =
                format!("a {what} may also be given by the path of its file, such as my.toml");
            Err(Failure::usage(problem).with_tip(tip))
        }
    }
}

/// Whether `name` is that of a file: one exists, it has a folder, or it has an extension. A version is not
/// an extension: "general-delta0.1".
pub(crate) fn is_file_name(name: &Path) -> bool {
    let is_ending = |end: &OsStr| !end.to_string_lossy().starts_with(char::is_numeric);
    let has_folder = name.to_string_lossy().contains(['/', '\\']);
    name.is_file() || has_folder || name.extension().is_some_and(is_ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_files_are_distinguished() {
        assert!(model(Path::new("general-delta0.1")).is_ok());
        assert!(scenario(Path::new("parking-lot")).is_ok());
        let error = model(Path::new("general-delta0.2")).unwrap_err().into_text();
        let expected = "there is no model \"general-delta0.2\": did you mean \"general-delta0.1\"?";
        assert_eq!(error, expected);
        let error = scenario(Path::new("dumbel")).unwrap_err().into_text();
        assert_eq!(error, "there is no scenario \"dumbel\": did you mean \"dumbbell\"?");
        for name in ["dumbbell.toml", "scenarios/dumbbell"] {
            let error = scenario(Path::new(name)).unwrap_err().into_text();
            assert!(error.contains("cannot be read: No such file"), "{error}");
        }
        // A file comes first.
        let error = model(Path::new("Cargo.toml")).unwrap_err().into_text();
        assert!(error.starts_with("Cargo.toml"), "{error}");
    }
}
