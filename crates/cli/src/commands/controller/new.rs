//! `exm controller new`: a controller to start from.

use crate::shell::{self, Failure};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use exm_plugin::skeletons::Language;
use exm_store::write_atomically;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Each skeleton has a README with the commands that build and test it, a test, and the papers' AIMD to be
changed into your own. rust, c, assemblyscript and zig become WebAssembly modules; python is a program
that is asked over pipes, which is slower, and not sandboxed.

Examples:
  exm controller new mine --lang rust
  exm controller new experiments/delay_based --lang c";

/// Write the skeleton of a controller in a language, with a test and a README
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder to write; its name is the controller's
    #[arg(value_name = "NAME")]
    folder: PathBuf,
    /// The language
    #[arg(long = "lang", value_name = "LANGUAGE", value_parser = languages())]
    language: Language,
}

fn languages() -> impl TypedValueParser<Value = Language> {
    PossibleValuesParser::new(Language::ALL.map(Language::name)).map(|name| {
        let named = |language: &Language| language.name() == name;
        Language::ALL.into_iter().find(named).expect("clap has checked it")
    })
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let name = self.folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let files = self
            .language
            .skeleton(&name)
            .map_err(|error| Failure::invalid_value(&name, "<NAME>", &error.to_string()))?;
        if std::fs::read_dir(&self.folder).is_ok_and(|mut entries| entries.next().is_some())
            || self.folder.is_file()
        {
            let problem = format!("{} is there already", self.folder.display());
            return Err(Failure::new(problem).with_tip("give the name of a new folder"));
        }
        for (path, text) in files {
            write(&self.folder.join(path), &text)?;
        }
        let folder = shell::quoted(&self.folder.to_string_lossy());
        shell::print(&format!(
            "wrote {folder}: {folder}/README.md has the commands that build and test it\n"
        ))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let parent = path.parent().expect("it is in the folder");
    std::fs::create_dir_all(parent)
        .and_then(|()| write_atomically(path, text.as_bytes()))
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}
