//! [`Designer`]: a design that can be stopped, saved and resumed at any step.

use crate::model::Model;
use crate::round::{Evaluate, Local};
use crate::search::{DOMAIN, Evolution, PaperSearch, Progress, SavedEvolution, SavedPaperSearch};
use exm_grammar::FileError;
use exm_remy::{RuleTable, SignalsInUse};
use exm_table::{JsonError, TableFile};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// Which search to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchKind {
    /// All rules evolve together, and the table doubles at each stage: the default.
    Evolve,
    /// One rule at a time, as the papers describe it.
    Paper,
}

impl SearchKind {
    /// Its name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            SearchKind::Evolve => "evolve",
            SearchKind::Paper => "paper",
        }
    }
}

impl fmt::Display for SearchKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SearchKind {
    type Err = String;
    fn from_str(name: &str) -> Result<SearchKind, String> {
        [SearchKind::Evolve, SearchKind::Paper]
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| format!("\"{name}\" is not a search; there are evolve and paper"))
    }
}

/// A design in progress. The same model, seed, search and start give the same tables, step by
/// step, on any number of threads, however often it was stopped in between.
#[derive(Clone, Debug)]
pub struct Designer {
    model: Model,
    seed: u64,
    steps: u64,
    cpu_seconds: f64,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Evolve(Box<Evolution>),
    Paper(Box<PaperSearch>),
}

/// The contents of a checkpoint file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Checkpoint {
    format: String,
    version: u32,
    seed: u64,
    steps: u64,
    cpu_seconds: f64,
    model: String,
    /// The model, including the contents of files that it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model_hash: Option<u64>,
    tables: Vec<serde_json::Value>,
    search: SavedState,
}

/// What every version of the file begins with.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
    /// The state of the search, under its name.
    #[serde(default)]
    search: BTreeMap<String, IgnoredAny>,
}

impl Head {
    fn can_be_resumed(&self) -> bool {
        let as_before = self.version == 2 && self.search.contains_key("paper");
        self.format == FORMAT && (self.version == VERSION || as_before)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedState {
    Evolve(SavedEvolution),
    Paper(SavedPaperSearch),
}

const FORMAT: &str = "exmachina-design";
/// In version 2 each generation of the default search had all of the model's specimens; its checkpoints of the papers'
/// search are those of version 3.
const VERSION: u32 = 3;

/// Why a checkpoint cannot be resumed.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// It is not JSON, or not a checkpoint.
    #[error("it is not a checkpoint of a design: {0}")]
    Syntax(#[from] serde_json::Error),
    /// It is of another program or version.
    #[error(
        "it is \"{format}\" of version {version}, not \"{FORMAT}\" of version {VERSION}: \
         use the program that wrote it, or start the design anew"
    )]
    Version {
        /// The format that the file names.
        format: String,
        /// And of which version.
        version: u32,
    },
    /// Its model is invalid.
    #[error("its model is broken: {0}")]
    Model(#[from] FileError),
    /// One of its tables is invalid.
    #[error("one of its tables is broken: {0}")]
    Table(#[from] JsonError),
    /// Its model designs several tables, and its search one.
    #[error(transparent)]
    Search(#[from] SeveralTables),
    /// A file that its model names, such as a trace, has changed.
    #[error("a trace or another file that its model names has changed since")]
    FilesChanged,
    /// Its parts are inconsistent.
    #[error("its parts do not fit together: it was changed by hand or by another program")]
    Mismatch,
}

/// The papers' search designs one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the model designs {tables} tables together, and the papers' search designs one")]
pub struct SeveralTables {
    /// How many the model designs.
    pub tables: usize,
}

/// Why a design cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The search does not support the model.
    #[error(transparent)]
    Search(#[from] SeveralTables),
    /// The initial table has rules that depend on signals which the model excludes.
    #[error(transparent)]
    Signals(#[from] SignalsInUse),
}

impl Designer {
    /// A new design for `model`.
    ///
    /// # Errors
    /// [`SeveralTables`] if the model designs several and the search is the papers'.
    pub fn new(model: Model, search: SearchKind, seed: u64) -> Result<Designer, SeveralTables> {
        Designer::begin(model, search, seed, None)
    }

    /// A design for `model` that starts from `table`, reduced or extended to the signals that the model
    /// allows. If the model designs several tables, all start
    /// from it.
    ///
    /// # Errors
    /// [`StartError`] if rules of the table depend on other signals, or the search does not support the
    /// model.
    pub fn starting_from(
        table: &RuleTable,
        model: Model,
        search: SearchKind,
        seed: u64,
    ) -> Result<Designer, StartError> {
        let start = table.with_signals(model.design().signals, DOMAIN)?;
        Ok(Designer::begin(model, search, seed, Some(start))?)
    }

    fn begin(
        model: Model,
        search: SearchKind,
        seed: u64,
        start: Option<RuleTable>,
    ) -> Result<Designer, SeveralTables> {
        let tables = model.tables().len();
        let state = match search {
            SearchKind::Evolve => {
                let start = start.map(|table| vec![table; tables]);
                State::Evolve(Box::new(Evolution::new(&model, seed, start)))
            }
            SearchKind::Paper if tables > 1 => return Err(SeveralTables { tables }),
            SearchKind::Paper => State::Paper(Box::new(PaperSearch::new(&model, start))),
        };
        Ok(Designer { model, seed, steps: 0, cpu_seconds: 0.0, state })
    }

    /// Takes one step of the search.
    pub fn step(&mut self) -> Progress {
        let Ok(progress) = self.step_by(&Local);
        progress
    }

    /// Takes one step of the search, whose candidates `evaluator` evaluates, perhaps on other machines. The result is
    /// that of [`Designer::step`].
    ///
    /// # Errors
    /// Those of `evaluator`. The step is then incomplete: go on with a clone from before it, or from a checkpoint.
    pub fn step_by<E: Evaluate>(&mut self, evaluator: &E) -> Result<Progress, E::Error> {
        let progress = match &mut self.state {
            State::Evolve(search) => search.step(&self.model, self.seed, evaluator)?,
            State::Paper(search) => search.step(&self.model, self.seed, evaluator)?,
        };
        self.steps += 1;
        Ok(progress)
    }

    /// The tables as they are now, in the order of [`Model::tables`]: one, unless the model designs
    /// several.
    pub fn current(&self) -> Vec<RuleTable> {
        match &self.state {
            State::Evolve(search) => search.current(),
            State::Paper(search) => vec![search.current().clone()],
        }
    }

    /// The tables to keep if the design ends now: the current ones, unless earlier ones have a better evaluated
    /// score.
    pub fn finish(&self) -> Vec<RuleTable> {
        match &self.state {
            State::Evolve(search) => search.finish(&self.model, self.seed),
            State::Paper(search) => vec![search.current().clone()],
        }
    }

    /// How many stages of the default search have ended since the one that ended with the best table so far; 0 for the papers'
    /// search.
    pub fn stages_without_gain(&self) -> u32 {
        match &self.state {
            State::Evolve(search) => search.stages_without_gain(),
            State::Paper(_) => 0,
        }
    }

    /// The model of the design.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The search in use.
    pub fn search(&self) -> SearchKind {
        match &self.state {
            State::Evolve(_) => SearchKind::Evolve,
            State::Paper(_) => SearchKind::Paper,
        }
    }

    /// The random seed of the search.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Steps taken.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The processor time spent so far, as the host reports it, also before the last checkpoint.
    pub fn cpu_seconds(&self) -> f64 {
        self.cpu_seconds
    }

    /// Records that the host has spent `seconds` of processor time on the design so far.
    pub fn set_cpu_seconds(&mut self, seconds: f64) {
        self.cpu_seconds = seconds;
    }

    /// The whole state as text, from which [`Designer::resume`] continues as if the design had never stopped.
    pub fn checkpoint(&self) -> String {
        let (tables, search) = match &self.state {
            State::Evolve(search) => {
                let (tables, saved) = search.save();
                (tables, SavedState::Evolve(saved))
            }
            State::Paper(search) => {
                let (tables, saved) = search.save();
                (tables, SavedState::Paper(saved))
            }
        };
        let checkpoint = Checkpoint {
            format: FORMAT.to_owned(),
            version: VERSION,
            seed: self.seed,
            steps: self.steps,
            cpu_seconds: self.cpu_seconds,
            model: self.model.text().to_owned(),
            model_hash: Some(self.model.fingerprint()),
            tables: tables.into_iter().map(to_value).collect(),
            search,
        };
        serde_json::to_string(&checkpoint).expect("a checkpoint has no key that is not text")
    }

    /// Whether `text` is a checkpoint of any version, which may be overwritten.
    pub fn is_checkpoint(text: &str) -> bool {
        serde_json::from_str::<Head>(text).is_ok_and(|head| head.format == FORMAT)
    }

    /// Continues from a checkpoint.
    ///
    /// # Errors
    /// [`CheckpointError`] if the text is not a checkpoint of this program's version.
    pub fn resume(text: &str) -> Result<Designer, CheckpointError> {
        Designer::resume_in(text, Path::new(""))
    }

    /// As [`Designer::resume`], with relative paths in the model resolved against `dir`.
    ///
    /// # Errors
    /// [`CheckpointError`], also if a file that the model names has changed.
    pub fn resume_in(text: &str, dir: &Path) -> Result<Designer, CheckpointError> {
        let head: Head = serde_json::from_str(text)?;
        if !head.can_be_resumed() {
            let Head { format, version, .. } = head;
            return Err(CheckpointError::Version { format, version });
        }
        let saved: Checkpoint = serde_json::from_str(text)?;
        let model = Model::parse_in(&saved.model, "the checkpoint's model", dir)?;
        if saved.model_hash.is_some_and(|hash| hash != model.fingerprint()) {
            return Err(CheckpointError::FilesChanged);
        }
        let tables = saved.tables.iter().map(|value| TableFile::from_json(&value.to_string()));
        let tables =
            tables.map(|file| Ok(file?.table)).collect::<Result<Vec<RuleTable>, JsonError>>()?;
        let state = match saved.search {
            SavedState::Evolve(state) => Evolution::restore(&model, &tables, state)
                .map(|search| State::Evolve(Box::new(search))),
            SavedState::Paper(_) if model.tables().len() > 1 => {
                return Err(SeveralTables { tables: model.tables().len() }.into());
            }
            SavedState::Paper(state) => {
                PaperSearch::restore(tables, state).map(|search| State::Paper(Box::new(search)))
            }
        };
        let state = state.ok_or(CheckpointError::Mismatch)?;
        let Checkpoint { seed, steps, cpu_seconds, .. } = saved;
        Ok(Designer { model, seed, steps, cpu_seconds, state })
    }
}

fn to_value(table: RuleTable) -> serde_json::Value {
    let text = TableFile { table, provenance: Default::default() }.to_json();
    serde_json::from_str(&text).expect("what was written as JSON is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::{self, Prepared};

    const MODEL: &str = r#"
        [network]
        rate = "10 Mbps"
        rtt = "50 ms"
        senders = 2
        [traffic]
        on = "exp 1 s"
        off = "exp 1 s"
        [design]
        duration = "4 s"
        specimens = 2
    "#;

    fn designer(search: SearchKind) -> Designer {
        Designer::new(Model::parse(MODEL, "test").unwrap(), search, 3).unwrap()
    }

    #[test]
    fn a_resumed_design_goes_on_as_if_it_had_not_stopped() {
        for search in [SearchKind::Evolve, SearchKind::Paper] {
            let mut whole = designer(search);
            for step in 0..50 {
                let mut resumed = Designer::resume(&whole.checkpoint()).unwrap();
                assert_eq!(resumed.step(), whole.step(), "{search} after {step} steps");
                assert_eq!(resumed.checkpoint(), whole.checkpoint());
            }
            assert_eq!(whole.steps(), 50);
        }
    }

    #[test]
    fn searching_helps() {
        for search in [SearchKind::Evolve, SearchKind::Paper] {
            let designer = designer(search);
            // The same specimens for both tables, and none that the search draws.
            let specimens = designer.model().specimens(3, 1 << 50, 16);
            let score = |tables: Vec<RuleTable>| {
                let candidate = vec![Prepared::new(&tables[0])];
                evaluate::mean_scores(designer.model(), &specimens, &[candidate])[0]
            };
            let first = score(designer.current());
            let mut last = designer.clone();
            (0..40).for_each(|_| drop(last.step()));
            let gain = score(last.finish()) - first;
            assert!(gain > 0.1, "{search}: {gain}");
        }
    }

    #[test]
    fn stages_are_counted_from_the_best() {
        let mut designer = designer(SearchKind::Evolve);
        let (mut best, mut since) = (f64::NEG_INFINITY, 0);
        let mut without_gain = 0;
        for _ in 0..400 {
            let Some(judged) = designer.step().judged else { continue };
            since = if judged > best { 0 } else { since + 1 };
            best = best.max(judged);
            assert_eq!(designer.stages_without_gain(), since);
            without_gain = without_gain.max(since);
        }
        assert!(without_gain > 0, "a small model is soon exhausted");
        let resumed = Designer::resume(&designer.checkpoint()).unwrap();
        assert_eq!(resumed.stages_without_gain(), since);
    }

    #[test]
    fn what_is_no_checkpoint_is_refused() {
        let good = designer(SearchKind::Evolve).checkpoint();
        let error = |text: &str| Designer::resume(text).unwrap_err().to_string();
        assert!(error("").starts_with("it is not a checkpoint"));
        assert!(error(&good[..good.len() / 2]).starts_with("it is not a checkpoint"));
        let version = |text: &str, number: u32| {
            text.replace("\"version\":3,\"seed\"", &format!("\"version\":{number},\"seed\""))
        };
        for other in [2, 4] {
            let error = error(&version(&good, other));
            assert!(error.contains(&format!("of version {other}, not")), "{error}");
        }
        let papers = designer(SearchKind::Paper).checkpoint();
        assert_eq!(Designer::resume(&version(&papers, 2)).unwrap().checkpoint(), papers);
        let cut = good.replace("\"generation\":0", "\"generation\":99");
        assert_eq!(error(&cut), CheckpointError::Mismatch.to_string());
    }
}
