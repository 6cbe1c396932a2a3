//! [`Round`]: candidates that a search evaluates together, on this machine or on others.

use crate::evaluate::{Candidate, Prepared, means, pair_score};
use crate::model::Model;
use crate::specimen::Specimen;
use exm_grammar::FileError;
use exm_remy::RuleTable;
use exm_table::{JsonError, TableFile};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::path::PathBuf;

/// Which specimens of a model. They follow from these numbers alone, so that any machine can draw them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// The random seed.
    pub seed: u64,
    /// The block of specimens: a generation of a search, or one that no search draws.
    pub number: u64,
    /// How many.
    pub count: usize,
    /// Whether they are half as long as the model's.
    pub is_halved: bool,
}

impl Block {
    /// The specimens.
    pub fn specimens(&self, model: &Model) -> Vec<Specimen> {
        let mut specimens = model.specimens(self.seed, self.number, self.count);
        if self.is_halved {
            for specimen in &mut specimens {
                let duration = specimen.network.duration_mut();
                *duration = *duration / 2;
            }
        }
        specimens
    }
}

/// Candidates that a search evaluates together. Its pairs of a candidate and a specimen are numbered: those of the
/// first candidate come first. They are independent of each other, so that any of them can be simulated anywhere.
#[derive(Clone, Copy, Debug)]
pub struct Round<'a> {
    /// The model of the design.
    pub model: &'a Model,
    /// Which specimens all candidates run on.
    pub block: Block,
    /// These specimens.
    pub specimens: &'a [Specimen],
    /// Candidates: a table for each that the model designs.
    pub candidates: &'a [Vec<RuleTable>],
}

/// What evaluates the candidates of a search.
pub trait Evaluate {
    /// Why it can fail.
    type Error;

    /// The score of each pair of `round`, in their order.
    ///
    /// # Errors
    /// Where the pairs could not be simulated. The step of the search then fails.
    fn scores(&self, round: &Round<'_>) -> Result<Vec<f64>, Self::Error>;
}

/// Evaluates candidates on the threads of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Local;

impl Evaluate for Local {
    type Error = Infallible;

    fn scores(&self, round: &Round<'_>) -> Result<Vec<f64>, Infallible> {
        let prepared = round.candidates.par_iter().map(|tables| Prepared::all(round.model, tables));
        let prepared: Vec<Candidate> = prepared.collect();
        // All pairs at once: candidates are few and specimens unlike in cost, but all of them fill any
        // number of cores.
        let count = round.specimens.len();
        let score =
            |i: usize| pair_score(round.model, &round.specimens[i % count], &prepared[i / count]);
        Ok((0..round.pairs()).into_par_iter().map(score).collect())
    }
}

impl Round<'_> {
    /// How many pairs there are.
    pub fn pairs(&self) -> usize {
        self.candidates.len() * self.specimens.len()
    }

    /// The mean score of each candidate. Scores are added in their order, wherever they come from.
    pub(crate) fn mean_scores<E: Evaluate>(&self, evaluator: &E) -> Result<Vec<f64>, E::Error> {
        let scores = evaluator.scores(self)?;
        Ok(means(&scores, self.specimens.len()))
    }

    /// The round as text, for [`SharedRound::read`] on another machine.
    pub fn to_text(&self) -> String {
        let json = |table: &RuleTable| {
            TableFile { table: table.clone(), provenance: Default::default() }.to_json()
        };
        let shared = RoundText {
            model: self.model.text().to_owned(),
            dir: self.model.dir().to_owned(),
            model_hash: self.model.fingerprint(),
            block: self.block,
            candidates: self
                .candidates
                .iter()
                .map(|tables| tables.iter().map(json).collect())
                .collect(),
        };
        serde_json::to_string(&shared).expect("a round has no key that is not text")
    }
}

/// A round as text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoundText {
    model: String,
    /// Where the files that the model names are.
    dir: PathBuf,
    /// The model, including the contents of these files.
    model_hash: u64,
    block: Block,
    /// Tables as JSON, each read only where it is needed.
    candidates: Vec<Vec<String>>,
}

/// Why a round cannot be evaluated.
#[derive(Debug, thiserror::Error)]
pub enum RoundError {
    /// It is not the text of a round.
    #[error("it is not a round of a design: {0}")]
    Syntax(#[from] serde_json::Error),
    /// Its model cannot be read here.
    #[error("its model cannot be read: {0}")]
    Model(#[from] FileError),
    /// One of its tables is invalid.
    #[error("one of its tables is broken: {0}")]
    Table(#[from] JsonError),
    /// A file that its model names has other contents here.
    #[error("a trace or another file that its model names has other contents on this machine")]
    OtherFiles,
    /// It has fewer pairs.
    #[error("it has {pairs} pairs of a candidate and a specimen, and pair {last} is asked for")]
    Pairs {
        /// How many it has.
        pairs: usize,
        /// The last one asked for.
        last: usize,
    },
}

/// A round that came as text, perhaps from another machine.
pub struct SharedRound {
    model: Model,
    specimens: Vec<Specimen>,
    candidates: Vec<Vec<String>>,
}

impl SharedRound {
    /// Reads what [`Round::to_text`] wrote.
    ///
    /// # Errors
    /// [`RoundError`], also if a file that the model names is missing here or has other contents.
    pub fn read(text: &str) -> Result<SharedRound, RoundError> {
        let shared: RoundText = serde_json::from_str(text)?;
        let model = Model::parse_in(&shared.model, "the round's model", &shared.dir)?;
        if model.fingerprint() != shared.model_hash {
            return Err(RoundError::OtherFiles);
        }
        let specimens = shared.block.specimens(&model);
        Ok(SharedRound { model, specimens, candidates: shared.candidates })
    }

    /// The scores of pairs `first` to `last`, exclusive, in their order, computed on this thread.
    ///
    /// # Errors
    /// [`RoundError`] if there are fewer pairs, or a table is broken.
    pub fn scores(&self, first: usize, last: usize) -> Result<Vec<f64>, RoundError> {
        let count = self.specimens.len();
        let pairs = self.candidates.len() * count;
        if last > pairs {
            return Err(RoundError::Pairs { pairs, last });
        }
        let mut scores = Vec::with_capacity(last.saturating_sub(first));
        let mut pair = first;
        while pair < last {
            let candidate = self.candidate(pair / count)?;
            let end = last.min((pair / count + 1) * count);
            let specimens = &self.specimens[pair % count..][..end - pair];
            scores.extend(specimens.iter().map(|one| pair_score(&self.model, one, &candidate)));
            pair = end;
        }
        Ok(scores)
    }

    fn candidate(&self, index: usize) -> Result<Candidate, RoundError> {
        let read = |text: &String| Ok(TableFile::from_json(text)?.table);
        let tables =
            self.candidates[index].iter().map(read).collect::<Result<Vec<_>, RoundError>>();
        Ok(Prepared::all(&self.model, &tables?))
    }
}
