//! [`page`]: results of any number of experiments as one page.

use crate::folder::EXPERIMENT;
use crate::results::Results;
use exm_measure::report::{Block, Download, Figure, Page, Section};
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
    /// The narrow form of each figure; `None` in results of versions that did not draw it.
    pub narrow: Vec<Option<String>>,
    /// The numbers of each figure as CSV; `None` in results of versions that did not write them.
    pub data: Vec<Option<String>>,
    /// The experiment's file; `None` in results of versions that did not store it.
    pub file_text: Option<String>,
}

/// The largest file of numbers that is embedded in a page, in bytes: more makes a page that cannot be mailed.
const MOST_DATA: usize = 1_000_000;

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
        let beside = |end: &str| {
            let read = |picture: &crate::Picture| {
                std::fs::read_to_string(folder.join(format!("{}.{end}", picture.file))).ok()
            };
            results.pictures.iter().map(read).collect::<Vec<Option<String>>>()
        };
        let (narrow, data) = (beside("narrow.svg"), beside("csv"));
        let file_text = std::fs::read_to_string(folder.join(EXPERIMENT)).ok();
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_else(|| results.experiment.clone());
        Ok(ReportEntry { name, results, svgs, narrow, data, file_text })
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
        sections: all.iter().map(|shown| section(shown, beside)).chain([citation(all)]).collect(),
    }
}

/// How to cite the program and these results.
fn citation(all: &[ReportEntry]) -> Section {
    let mut versions: Vec<&str> = all.iter().map(|shown| shown.results.program.as_str()).collect();
    versions.sort_unstable();
    versions.dedup();
    let made = all.iter().map(|shown| {
        let Results { experiment, seed, hash, .. } = &shown.results;
        format!("{experiment} (seed {seed}, configuration {hash})")
    });
    let made: Vec<String> = made.collect();
    let mut sources: Vec<&str> =
        all.iter().filter_map(|shown| shown.results.source.as_deref()).collect();
    sources.dedup();
    let text = "Name the version, the experiment, its seed and the hash of its configuration: together \
                they determine every number. If you compare with a publication, cite it too.";
    let mut blocks = vec![
        Block::Prose(text.to_owned()),
        Block::Verbatim(format!(
            "@software{{exmachina,\n  title   = {{Ex Machina}},\n  author  = {{{{The Ex Machina \
             authors}}}},\n  version = {{{}}},\n  note    = {{{}}},\n}}",
            versions.join(", "),
            made.join(",\n             ")
        )),
    ];
    if !sources.is_empty() {
        blocks.push(Block::Prose(format!("Publications: {}.", sources.join("; "))));
    }
    Section { heading: "How to cite".to_owned(), blocks }
}

fn section(shown: &ReportEntry, beside: &str) -> Section {
    let results = &shown.results;
    let mut blocks: Vec<Block> = results.finding().map(Block::Finding).into_iter().collect();
    blocks.extend([
        Block::Prose(format!("{}.", results.method())),
        Block::Facts(facts(results)),
        Block::Command(results.command.clone()),
    ]);
    for (index, (picture, svg)) in results.pictures.iter().zip(&shown.svgs).enumerate() {
        blocks.push(Block::Figure(Figure {
            svg: svg.clone(),
            caption: picture.title.clone(),
            narrow: shown.narrow[index].clone(),
            file: shown.file(beside, index),
            downloads: downloads(shown, index),
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
    Section { heading: results.headline(), blocks }
}

/// Where results come from. They store no date: the same command gives the same bytes on any day.
fn facts(results: &Results) -> Vec<(String, String)> {
    let Results { experiment, seed, hash, program, .. } = results;
    let seed = seed.to_string();
    let facts = [
        ("experiment", experiment),
        ("seed", &seed),
        ("configuration", hash),
        ("computed by", &format!("exm {program}")),
    ];
    facts.map(|(name, value)| (name.to_owned(), value.clone())).into()
}

/// The files offered below a figure: its numbers, itself, and the experiment.
fn downloads(shown: &ReportEntry, index: usize) -> Vec<Download> {
    let stem = format!("{}-{}", shown.name, shown.results.pictures[index].file);
    let file = |label: &str, file: String, media_type, content: &String| Download {
        label: label.to_owned(),
        file,
        media_type,
        content: content.clone(),
    };
    let data = shown.data[index].as_ref().filter(|data| data.len() <= MOST_DATA);
    let data = data.map(|data| file("data (CSV)", format!("{stem}.csv"), "text/csv", data));
    let svg = file("figure (SVG)", format!("{stem}.svg"), "image/svg+xml", &shown.svgs[index]);
    let text = shown.file_text.as_ref().map(|text| {
        file("experiment (TOML)", format!("{}.toml", shown.results.experiment), "text/plain", text)
    });
    data.into_iter().chain([svg]).chain(text).collect()
}
