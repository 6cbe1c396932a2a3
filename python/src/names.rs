//! Scenarios, models, tables and controllers by name or file, as on the command line.

use crate::controller::{PythonController, Stop};
use crate::error::error;
use crate::policy::Policy;
use crate::table::Table;
use exm_grammar::suggest;
use exm_plugin::{Outside, outside};
use exmachina::design::{DesignRanges, Model, shipped};
use exmachina::experiment::queues;
use exmachina::remy::RemyCc;
use exmachina::sim::builtin::{self, Builtin};
use exmachina::sim::controllers::AnyController;
use exmachina::sim::network::Network;
use exmachina::sim::scenario::{SHIPPED, Scenario};
use exmachina::table::TableFile;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The controllers that a caller gave by name: those written in Python, and tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    known: BTreeMap<String, AnyController>,
    /// Whether one of them is written in Python.
    pub(crate) calls_python: bool,
    /// Those from outside that were loaded.
    loaded: Arc<Mutex<Vec<Outside>>>,
    /// What to warn about.
    noted: Arc<Mutex<Noted>>,
}

/// What warnings are made of.
#[derive(Debug, Default)]
struct Noted {
    /// The design ranges of tables.
    ranges: DesignRanges,
    /// Controllers from outside that are not sandboxed.
    unsandboxed: Vec<String>,
}

impl Given {
    /// Those in a dict of names and tables, classes or objects, whose exceptions go to `stop`.
    pub(crate) fn new(
        controllers: Option<&Bound<'_, PyDict>>,
        stop: &Arc<Stop>,
    ) -> PyResult<Given> {
        let mut given = Given::default();
        for (name, value) in controllers.into_iter().flatten() {
            let name: String = name.extract()?;
            let controller = if let Ok(table) = value.cast::<Table>() {
                given.remy(&name, &table.get().file)
            } else if let Ok(policy) = value.cast::<Policy>() {
                AnyController::own(policy.get().policy.controller())
            } else {
                given.calls_python = true;
                AnyController::own(PythonController::new(&value, stop)?)
            };
            given.known.insert(name, controller);
        }
        Ok(given)
    }

    /// Loads the controller called `name`, which is at `path` if it is the name of a file and no built-in one.
    pub(crate) fn load(&self, name: &str, path: &Path) -> Result<AnyController, String> {
        if let Some(known) = self.known.get(name) {
            return Ok(known.clone());
        }
        if let Some(outside) = Outside::load(name, path) {
            let outside = outside?;
            if !outside.is_sandboxed() {
                self.noted().unsandboxed.push(name.to_owned());
            }
            let controller = outside.controller().into();
            self.loaded().push(outside);
            return Ok(controller);
        }
        Ok(self.remy(name, &table(name, path)?))
    }

    /// The RemyCC of the table called `name`, whose design range is noted.
    fn remy(&self, name: &str, file: &TableFile) -> AnyController {
        self.note(name, file);
        RemyCc::new(&file.table).into()
    }

    /// Notes the design range of the table called `name`.
    pub(crate) fn note(&self, name: &str, file: &TableFile) {
        self.noted().ranges.note(name, file);
    }

    /// What to warn about in results on these networks, each of which is that of a scenario.
    pub(crate) fn warnings<'a>(
        &self,
        networks: impl IntoIterator<Item = (&'a Scenario, &'a Network)> + Clone,
    ) -> Vec<String> {
        let ranges = self.noted().ranges.warnings(networks.clone());
        [self.unsandboxed(), ranges, queues::warnings(networks)].concat()
    }

    /// What to warn about in scores on the networks of `model`.
    pub(crate) fn warnings_on(&self, model: &Model) -> Vec<String> {
        let ranges = self.noted().ranges.warnings_on(model);
        [self.unsandboxed(), ranges].concat()
    }

    /// A warning for each controller that is not sandboxed.
    pub(crate) fn unsandboxed(&self) -> Vec<String> {
        self.noted().unsandboxed.iter().map(|name| outside::unsandboxed(name)).collect()
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The controller that `text` describes: a built-in one with parameters, or as [`Given::load`] has it.
    pub(crate) fn controller(&self, text: &str) -> PyResult<AnyController> {
        match AnyController::parse(text).map_err(error)? {
            Some(controller) => Ok(controller),
            None => self.load(text, Path::new(text)).map_err(error),
        }
    }

    fn loaded(&self) -> MutexGuard<'_, Vec<Outside>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses results in which a controller from outside failed.
    pub(crate) fn check(&self) -> PyResult<()> {
        match self.loaded().iter().filter_map(Outside::failure).min() {
            Some(failure) => Err(error(failure)),
            None => Ok(()),
        }
    }

    /// Whether `text` names a controller, not a table.
    pub(crate) fn is_controller(&self, text: &str) -> bool {
        let is_own = |known: &AnyController| !matches!(known, AnyController::Remy(_));
        Builtin::name_in(text).is_some()
            || outside::is_outside(text)
            || self.known.get(text).is_some_and(is_own)
    }
}

/// Whether `name` is that of a file: one exists, it has a folder, or it has an extension. A version is not an
/// extension: "general-delta0.1".
fn is_file_name(name: &Path) -> bool {
    let is_ending = |end: &OsStr| !end.to_string_lossy().starts_with(char::is_numeric);
    let has_folder = name.to_string_lossy().contains(['/', '\\']);
    name.is_file() || has_folder || name.extension().is_some_and(is_ending)
}

/// The table called `name`, which is at `path` if it is the name of a file.
pub(crate) fn table(name: &str, path: &Path) -> Result<TableFile, String> {
    if !path.exists() {
        if let Some(file) = shipped::table(name) {
            return Ok(file);
        }
        if !is_file_name(Path::new(name)) {
            if Builtin::name_in(name).is_some() {
                return Err(format!(
                    "{name} is a transport of its own, and cannot take a controller's place here"
                ));
            }
            let tables: Vec<&str> = shipped::TABLES.iter().map(|&(name, _)| name).collect();
            return Err(builtin::unknown(name, &tables));
        }
    }
    TableFile::load(path).map_err(|problem| problem.to_string())
}

/// The text of the shipped `what` called `name`; none if it is to be read as a file.
fn shipped_text(
    name: &str,
    what: &str,
    texts: &[(&'static str, &'static str)],
) -> PyResult<Option<&'static str>> {
    if is_file_name(Path::new(name)) {
        return Ok(None);
    }
    match texts.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => Ok(Some(text)),
        None => {
            let names: Vec<&str> = texts.iter().map(|&(name, _)| name).collect();
            Err(error(format!("there is no {what} \"{name}\": {}", suggest(name, &names))))
        }
    }
}

/// The model in the file `name` or, where there is no such file, the shipped one of that name.
pub(crate) fn model(name: &str) -> PyResult<Model> {
    match shipped_text(name, "model", shipped::MODELS)? {
        Some(text) => Model::parse(text, name).map_err(error),
        None => Model::load(Path::new(name)).map_err(error),
    }
}

/// The text of the shipped scenario called `name`; none if it is to be read as a file.
pub(crate) fn scenario(name: &str) -> PyResult<Option<&'static str>> {
    shipped_text(name, "scenario", SHIPPED)
}
