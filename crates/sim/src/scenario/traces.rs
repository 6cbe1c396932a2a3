//! [`Traces`]: the traces that scenarios name.

use super::synthetic::{load_synthetic, seeded};
use exm_trace::{Synthetic, Trace};
use exm_units::Span;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The length of synthetic traces before they repeat.
const LENGTH: Span = Span::from_secs(600);

/// The traces read so far, shared by scenarios.
#[derive(Clone, Debug, Default)]
pub struct Traces(BTreeMap<PathBuf, Arc<Trace>>);

impl Traces {
    /// Lets scenarios name `trace` by `name`.
    pub fn insert(&mut self, name: &str, trace: Trace) {
        self.0.insert(PathBuf::from(name), Arc::new(trace));
    }

    /// The trace called `name`: a synthetic link, generated from the seed that may follow the name, or a
    /// file, its path relative to `dir`.
    ///
    /// # Errors
    /// What is wrong with the name or the file, and the alternatives.
    pub fn named(&mut self, name: &str, dir: &Path) -> Result<Arc<Trace>, String> {
        let path = dir.join(name);
        if let Some(known) = self.0.get(&path) {
            return Ok(Arc::clone(known));
        }
        let trace = Arc::new(read(name, dir)?);
        self.0.insert(path, Arc::clone(&trace));
        Ok(trace)
    }
}

fn read(name: &str, dir: &Path) -> Result<Trace, String> {
    let (link, seed) = seeded(name);
    let generated =
        |link: Synthetic| link.generate(seed, LENGTH).map_err(|error| error.to_string());
    match Synthetic::seeded(link, seed) {
        Some(link) => generated(link),
        None if link.ends_with(".toml") => {
            generated(load_synthetic(&dir.join(link)).map_err(|error| error.to_string())?)
        }
        None => Trace::load(&dir.join(name)).map_err(|error| {
            let names = Synthetic::names().collect::<Vec<_>>().join(", ");
            format!("{error}; or name a synthetic one: {names}")
        }),
    }
}
