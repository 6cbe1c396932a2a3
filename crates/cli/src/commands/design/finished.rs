//! [`Finished`]: a design whose budget is spent.

use super::finishing::Phases;
use super::log::HeldOutLine;
use super::{End, Files, Run};
use crate::interrupt;
use crate::shell::Failure;
use exm_design::Designer;
use exm_design::score::Scores;
use exm_remy::RuleTable;
use exm_table::TableFile;
use std::path::PathBuf;

/// A design whose budget is spent.
pub(super) struct Finished {
    pub(super) run: Run,
    pub(super) files: Files,
    /// Its tables, and where they are written.
    pub(super) made: Vec<TableFile>,
    pub(super) outputs: Vec<PathBuf>,
    pub(super) end: End,
    /// On how many held-out networks it is scored.
    pub(super) specimens: usize,
    pub(super) phases: Phases,
}

impl Finished {
    pub(super) fn designer(&self) -> &Designer {
        self.run.designer()
    }

    /// Its tables.
    pub(super) fn tables(&self) -> Vec<RuleTable> {
        self.made.iter().map(|file| file.table.clone()).collect()
    }

    /// The rules of all its tables.
    pub(super) fn rules(&self) -> usize {
        self.made.iter().map(|file| file.table.rules().len()).sum()
    }

    /// Writes into its files how the contender of this `index`, which its tables are, was scored.
    pub(super) fn keep_score(&mut self, scores: &Scores, index: usize) -> Result<(), Failure> {
        for file in &mut self.made {
            file.provenance.held_out_score = Some(scores.record(index));
        }
        save_all(&self.made, &self.outputs)?;
        self.run.log_held_out(&HeldOutLine::of(scores, index))
    }
}

/// Writes each of `files` to the path in its place.
pub(super) fn save_all(files: &[TableFile], paths: &[PathBuf]) -> Result<(), Failure> {
    let save = |(file, path): (&TableFile, &PathBuf)| {
        interrupt::shielded(|| file.save(path)).map_err(|error| {
            let tip =
                "the checkpoint holds the whole design: the same command with --resume writes it";
            Failure::from(error).with_tip(tip)
        })
    };
    files.iter().zip(paths).try_for_each(save)
}
