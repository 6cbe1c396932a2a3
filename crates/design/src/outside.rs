//! Controllers from outside as cross traffic: a program that can load them says how.

use exm_sim::controllers::AnyController;
use std::path::Path;
use std::sync::OnceLock;

/// Loads the controller of a name in a model, which is also given as a path from the model's folder: none if it is
/// no name of a controller from outside, or what is wrong with it.
pub type OutsideLoader = fn(&str, &Path) -> Option<Result<AnyController, String>>;

static LOADER: OnceLock<OutsideLoader> = OnceLock::new();

/// Lets all models that this process reads from now on name controllers from outside, which `loader` loads. The first
/// one counts. Models are read in many places, among them from files of tables and checkpoints, so the loader belongs to
/// the process.
pub fn use_outside_loader(loader: OutsideLoader) {
    let _ = LOADER.set(loader);
}

/// The controller from outside called `name` in a model in the folder `dir`; none if it is no such name.
pub(crate) fn load(name: &str, dir: &Path) -> Option<Result<AnyController, String>> {
    LOADER.get().and_then(|load| load(name, &dir.join(name)))
}
