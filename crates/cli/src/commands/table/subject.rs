//! A table and the model that it was designed for.

use crate::shell::Failure;
use crate::{shipped, tables};
use exm_design::Model;
use exm_design::model_of;
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

    /// Which of the tables that the model designs it is: the one called `name`, or the only one.
    pub(super) fn index(&self, name: Option<&str>) -> Result<usize, Failure> {
        let names = self.model.tables();
        let Some(name) = name else {
            return match names {
                [_] => Ok(0),
                _ => Err(several("its model designs several tables".to_owned(), names)),
            };
        };
        let index = names.iter().position(|one| one == name);
        index.ok_or_else(|| several(format!("its model designs no table called \"{name}\""), names))
    }
}

fn several(problem: String, names: &[String]) -> Failure {
    Failure::usage(problem).with_tip(format!("name one of them: --as {}", names.join(" or --as ")))
}
