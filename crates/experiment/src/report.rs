//! [`page`]: results of any number of experiments as one page.

use crate::results::Results;
use exm_measure::report::{Block, Figure, Page, Section};
use std::path::{Path, PathBuf};

/// Results and their figures.
#[derive(Clone, Debug)]
pub struct ReportEntry {
    /// The name of their folder, which distinguishes figures on a page.
    pub name: String,
    /// The results.
    pub results: Results,
    /// The text of each figure, in the order of [`Results::pictures`].
    pub svgs: Vec<String>,
}

/// A folder that cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ShowError {
    /// Its results are invalid.
    #[error(transparent)]
    Results(#[from] crate::ResultsError),
    /// A figure cannot be read.
    #[error("cannot read the picture {}: {source}", path.display())]
    Picture {
        /// The picture.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

impl ReportEntry {
    /// Loads the results in `folder` and their figures.
    ///
    /// # Errors
    /// [`ShowError`] if one of the files is missing or damaged.
    pub fn load(folder: &Path) -> Result<ReportEntry, ShowError> {
        let results = Results::load(folder)?;
        let svg = |picture: &crate::Picture| {
            let path = folder.join(format!("{}.svg", picture.file));
            std::fs::read_to_string(&path).map_err(|source| ShowError::Picture { path, source })
        };
        let svgs = results.pictures.iter().map(svg).collect::<Result<_, _>>()?;
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_else(|| results.experiment.clone());
        Ok(ReportEntry { name, results, svgs })
    }

    /// The file name of the figure of this number for a Markdown page, in a folder `beside` it.
    pub fn file(&self, beside: &str, picture: usize) -> String {
        let file = &self.results.pictures[picture].file;
        format!("{beside}/{}-{file}.svg", self.name)
    }
}

/// The results of all experiments on one page, in order. For Markdown, figures are linked in the
/// folder `beside` it.
pub fn page(all: &[ReportEntry], beside: &str) -> Page {
    let lead = "Each experiment is one command, which makes its numbers and pictures again, byte for \
                byte. Ratios are ours over the paper's. Intervals of ratios are by a bootstrap over \
                runs; each run of every scheme has the same traffic.";
    let one_title = || all.first().map(|shown| shown.results.headline());
    Page {
        title: if all.len() == 1 { one_title().unwrap_or_default() } else { "Results".to_owned() },
        lead: lead.to_owned(),
        provenance: vec![("program".to_owned(), format!("exm {}", env!("CARGO_PKG_VERSION")))],
        sections: all.iter().map(|shown| section(shown, beside)).collect(),
    }
}

fn section(shown: &ReportEntry, beside: &str) -> Section {
    let results = &shown.results;
    let mut blocks = vec![
        Block::Prose(format!("{}.", results.method())),
        Block::Command(results.command.clone()),
    ];
    for (index, (picture, svg)) in results.pictures.iter().zip(&shown.svgs).enumerate() {
        blocks.push(Block::Figure(Figure {
            svg: svg.clone(),
            caption: picture.title.clone(),
            file: shown.file(beside, index),
        }));
    }
    blocks.extend(results.tables().into_iter().map(Block::Table));
    blocks.extend(results.notes.iter().cloned().map(Block::Prose));
    let warnings = results.warnings.iter().map(|warning| format!("Warning: {warning}."));
    blocks.extend(warnings.map(Block::Prose));
    for skipped in &results.skipped {
        let text = format!("{} was left out: {}.", skipped.scheme, skipped.reason);
        blocks.push(Block::Prose(text));
    }
    blocks.push(Block::Prose(format!(
        "Seed {}, configuration `{}`, exm {}.",
        results.seed, results.hash, results.program
    )));
    Section { heading: results.headline(), blocks }
}
