//! A table and the model that it was designed for.

use crate::ranges::model_of;
use crate::shell::Failure;
use crate::{shipped, tables};
use exm_design::Model;
use exm_table::TableFile;
use std::path::Path;

/// A table, and the model whose surroundings it is tried on.
pub(super) struct Subject {
    pub(super) file: TableFile,
    pub(super) model: Model,
}

impl Subject {
    /// The table called `table`, and the model called `model` or else the one in the table's file.
    pub(super) fn load(table: &Path, model: Option<&Path>) -> Result<Subject, Failure> {
        let file = tables::load(table)?;
        let model = match model {
            Some(model) => shipped::model(model)?,
            None => model_of(&file).ok_or_else(|| {
                let problem =
                    format!("{} does not record what it was designed for", table.display());
                Failure::usage(problem).with_tip("name its model: --model")
            })?,
        };
        Ok(Subject { file, model })
    }
}
