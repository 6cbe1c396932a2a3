//! Controllers from outside the program: WebAssembly modules, and programs over pipes. Each is loaded once, and what
//! comes of a simulation in which one failed is neither printed nor stored.

use crate::shell::{self, Failure};
use exm_plugin::{Outside, outside};
use exm_sim::controllers::AnyController;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Those that were loaded, by their paths with parameters.
static LOADED: Mutex<Vec<(PathBuf, Outside)>> = Mutex::new(Vec::new());

/// The controller called `name`, which is at `path` if it is the name of a file; none if it is no controller from
/// outside.
pub(crate) fn controller(name: &str, path: &Path) -> Option<Result<AnyController, String>> {
    if !outside::is_outside(name) {
        return None;
    }
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, known)) = loaded.iter().find(|(known, _)| known == path) {
        return Some(Ok(known.controller().into()));
    }
    let found = match Outside::load(name, path)? {
        Ok(found) => found,
        Err(problem) => return Some(Err(problem)),
    };
    if !found.is_sandboxed() {
        shell::note(&outside::unsandboxed(name));
    }
    let controller = found.controller().into();
    loaded.push((path.to_owned(), found));
    Some(Ok(controller))
}

/// The failure of the earliest controller that failed, if one did.
pub(crate) fn check() -> Result<(), Failure> {
    let loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    match loaded.iter().filter_map(|(_, known)| known.failure()).min() {
        None => Ok(()),
        Some(failure) => {
            let tip =
                "exm controller check tries it with event scripts and says what is wrong with it";
            Err(Failure::new(failure.to_string()).with_tip(tip))
        }
    }
}
