//! The files of a design, and that none of them is another's.

use super::args::DesignArgs;
use super::log::is_log;
use crate::outputs::check_output;
use crate::shell::Failure;
use exm_design::{Designer, Model};
use exm_store::remove_regular;
use exm_table::TableFile;
use exm_table::dna::check_signals;
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Where a design is kept while it goes on.
pub(crate) struct Files {
    /// Its whole state.
    pub(crate) checkpoint: PathBuf,
    /// What each step did.
    pub(crate) log: PathBuf,
}

impl DesignArgs {
    pub(super) fn files(&self) -> Files {
        let beside = |end: &str| {
            let mut name = self.output.clone().into_os_string();
            name.push(end);
            PathBuf::from(name)
        };
        Files {
            checkpoint: self.checkpoint.clone().unwrap_or_else(|| beside(".checkpoint")),
            log: self.log.clone().unwrap_or_else(|| beside(".log.jsonl")),
        }
    }

    /// Where the tables that `model` designs are written: with the name of each, where there are several.
    pub(super) fn outputs(&self, model: &Model) -> Vec<PathBuf> {
        let [_, _, ..] = model.tables() else { return vec![self.output.clone()] };
        let named = |name: &String| {
            let word = |c: char| if c.is_alphanumeric() || c == '-' { c } else { '_' };
            let name: String = name.chars().map(word).collect();
            with_word(&self.output, &name)
        };
        model.tables().iter().map(named).collect()
    }

    /// The options of one of several designs, called `word`, as if it were given alone: with files of its own.
    pub(super) fn of_one(&self, word: &str) -> DesignArgs {
        let output = with_word(&self.output, word);
        DesignArgs {
            output,
            seeds: None,
            delta: Vec::new(),
            plot: None,
            page: None,
            ..self.clone()
        }
    }

    /// Refuses a name without a known format, and files that may not be written, before the work and
    /// before any of them is touched. What exists is overwritten by --force, and by --resume what
    /// `resumed`, the design to be continued, wrote itself.
    pub(super) fn check_files(
        &self,
        files: &Files,
        model: &Model,
        resumed: Option<&Designer>,
    ) -> Result<(), Failure> {
        self.check_format(Some(model))?;
        let is_resumed = resumed.is_some();
        let tables = self.outputs(model);
        let mut outputs = vec![(files.checkpoint.as_path(), is_resumed)];
        outputs.extend(owned(&tables, resumed));
        outputs.push((&files.log, is_resumed && is_log(&files.log)));
        outputs.extend(self.pages(is_resumed));
        self.check_all(&outputs, is_resumed)
    }

    /// The same of what several designs write besides the files of each: the best of their tables, of `model`
    /// where that is kept, the picture and the page.
    pub(super) fn check_common(
        &self,
        model: Option<&Model>,
        resumed: Option<&Designer>,
    ) -> Result<(), Failure> {
        self.check_format(model)?;
        let tables = model.map_or(Vec::new(), |model| self.outputs(model));
        let mut outputs = owned(&tables, resumed);
        outputs.extend(self.pages(resumed.is_some()));
        self.check_all(&outputs, resumed.is_some())
    }

    /// Refuses a name that is of no format, or of one that cannot hold tables of `model`.
    fn check_format(&self, model: Option<&Model>) -> Result<(), Failure> {
        let refused = |problem: &str| {
            let value = self.output.display().to_string();
            Err(Failure::invalid_value(&value, "--out", problem))
        };
        match self.output.extension().and_then(|end| end.to_str()) {
            Some("json") => Ok(()),
            Some("dna") => match model.map(|model| check_signals(model.design().signals)) {
                Some(Err(error)) => refused(&format!("{error}: end its name in .json")),
                _ => Ok(()),
            },
            _ => refused("end its name in .json, or in .dna for Remy's own format"),
        }
    }

    /// The picture and the page. The command that is resumed would have written them: they may be overwritten.
    fn pages(&self, is_resumed: bool) -> impl Iterator<Item = (&Path, bool)> {
        let pages = [&self.plot, &self.page].into_iter().flatten();
        pages.map(move |path| (path.as_path(), is_resumed))
    }

    /// Refuses `outputs` that may not be written, each with whether it is the design's own.
    fn check_all(&self, outputs: &[(&Path, bool)], is_resumed: bool) -> Result<(), Failure> {
        let mut others: Vec<&Path> = vec![&self.model];
        others.extend(self.start.as_deref());
        for &(path, is_own) in outputs {
            let checked = check_output(path, &others, self.force || is_own);
            if is_resumed {
                checked.map_err(|failure| {
                    failure.with_tip(
                        "it is not of this design: move it away, or give other files by --output, \
                     --checkpoint and --log",
                    )
                })?;
            } else {
                checked?;
            }
            others.push(path);
        }
        outputs.iter().try_for_each(|(path, _)| check_writable(path))
    }
}

/// "cc.json" with the word "seed1" is "cc.seed1.json".
fn with_word(path: &Path, word: &str) -> PathBuf {
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or("json");
    path.with_extension(format!("{word}.{end}"))
}

/// The files of tables, each with whether `designer` may have written it.
fn owned<'a>(tables: &'a [PathBuf], designer: Option<&Designer>) -> Vec<(&'a Path, bool)> {
    let is_own = |path: &PathBuf| designer.is_some_and(|designer| is_table_of(designer, path));
    tables.iter().map(|path| (path.as_path(), is_own(path))).collect()
}

/// Whether the file at `path` holds a table that `designer` may have written.
fn is_table_of(designer: &Designer, path: &Path) -> bool {
    TableFile::load(path).is_ok_and(|file| match file.provenance.model {
        Some(model) => model == designer.model().text(),
        // Remy's own format does not record it.
        None => file.provenance.remy_file.is_some(),
    })
}

/// Makes sure that the system lets `path` be written.
fn check_writable(path: &Path) -> Result<(), Failure> {
    let failure = |error| Failure::new(format!("cannot write {}: {error}", path.display()));
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(_) => fs::remove_file(path).map_err(failure),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            // A pipe without a reader would wait for one.
            if !path.is_file() {
                return Ok(());
            }
            OpenOptions::new().write(true).open(path).map(drop).map_err(failure)
        }
        Err(error) => Err(failure(error)),
    }
}

/// Removes the checkpoint of a finished design.
pub(super) fn remove(checkpoint: &Path) -> Result<(), Failure> {
    remove_regular(checkpoint).map_err(|error| {
        let path = checkpoint.display();
        Failure::new(format!("the design is finished, but {path} cannot be removed: {error}"))
    })
}
