//! `exm init`: a model to start from.

use crate::complete;
use crate::outputs::{check_only_output, is_stdout, write_output};
use crate::shell::{self, Failure};
use exm_design::shipped::MODELS;
use exm_grammar::suggest;
use exm_sim::scenario::SHIPPED as SCENARIOS;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The default model.
const MODEL: &str = include_str!("model.toml");
/// The default file names, of a model and of a scenario.
const FILES: [&str; 2] = ["model.toml", "scenario.toml"];

const EXAMPLES: &str = "\
Examples:
  exm init
  exm init mine.toml --from general-delta1
  exm init --from parking-lot
  exm init - --from datacenter";

/// Write a model to start from: the assumed networks, and the objective of their senders
///
/// Its comments explain each key and its default. Edit it, and give it to exm design.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file to write, - for standard output [default: model.toml, or scenario.toml]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Start from this shipped model or scenario instead
    #[arg(long, value_name = "NAME", add = complete::templates())]
    from: Option<String>,
    /// Overwrite the file
    #[arg(long)]
    force: bool,
}

/// The written file.
#[derive(Clone, Copy)]
struct Template {
    text: &'static str,
    is_model: bool,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let template = self.template()?;
        let usual = Path::new(FILES[usize::from(!template.is_model)]);
        let file = self.file.as_deref().unwrap_or(usual);
        check_only_output(file, &[], self.force)?;
        write_output(file, template.text.as_bytes())?;
        if !is_stdout(file) {
            let name = shell::quoted(&file.to_string_lossy());
            let next = if template.is_model {
                format!("exm design {name} -o cc.json --cpu 10min")
            } else {
                format!("exm simulate {name}")
            };
            shell::print(&format!("wrote {name}; after changing it: {next}\n"))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn template(&self) -> Result<Template, Failure> {
        let Some(name) = &self.from else { return Ok(Template { text: MODEL, is_model: true }) };
        let find = |texts: &[(&str, &'static str)]| {
            texts.iter().find(|(known, _)| known == name).map(|&(_, text)| text)
        };
        if let Some(text) = find(MODELS) {
            return Ok(Template { text, is_model: true });
        }
        if let Some(text) = find(SCENARIOS) {
            return Ok(Template { text, is_model: false });
        }
        let names: Vec<&str> = MODELS.iter().chain(SCENARIOS).map(|&(name, _)| name).collect();
        let problem = format!("there is no model or scenario \"{name}\"");
        Err(Failure::usage(format!("{problem}: {}", suggest(name, &names))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_design::Model;

    /// Commented-out keys show the defaults.
    #[test]
    fn the_model_shows_the_defaults() {
        let model = Model::parse(MODEL, "init").unwrap();
        let keys = |line: &&str| line.starts_with('#') && line.contains(" = ");
        let shown: Vec<&str> = MODEL.lines().filter(keys).collect();
        assert!(shown.len() > 10, "{shown:?}");
        let all: String = MODEL
            .lines()
            .map(|line| if keys(&line) { &line[1..] } else { line })
            .flat_map(|line| [line, "\n"])
            .collect();
        let explicit = Model::parse(&all, "init").unwrap();
        assert_eq!(explicit.fingerprint(), model.fingerprint());
    }

    /// Each key that a model prints, which are all keys, is in the template.
    #[test]
    fn the_model_shows_all_keys() {
        let printed = Model::parse(MODEL, "init").unwrap().to_string();
        for line in printed.lines().filter(|line| line.contains(" = ")) {
            let key = line.split(" = ").next().unwrap();
            let has = |line: &str| line.trim_start_matches('#').starts_with(&format!("{key} = "));
            assert!(MODEL.lines().any(has), "it lacks {key}");
        }
    }
}
