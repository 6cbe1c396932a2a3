//! [`write`]: results as files in a folder.

use crate::figures;
use crate::plan::Plan;
use crate::results::{self, Results};
use crate::sheet;
use crate::store::Rows;
use exm_store::{Format, write_atomically};
use std::io;
use std::path::{Path, PathBuf};

/// The pixels per unit of a figure: sharp in print and on high-resolution screens.
#[cfg(feature = "pictures")]
const PIXELS: f32 = 2.0;

/// The name of the experiment's own file among its results.
pub(crate) const EXPERIMENT: &str = "experiment.toml";

/// A file of results that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", path.display())]
pub struct FolderError {
    path: PathBuf,
    source: io::Error,
}

/// Summarises the runs `rows` of `plan`, which `command` reproduces, and writes all results into
/// `folder`: `results.json`, `results.csv` (flows), `links.csv`, both as Parquet too (feature `parquet`),
/// `experiment.toml` (the experiment's file), and figures: as SVG, in a narrow form for phones
/// (`.narrow.svg`), as their numbers (`.csv`) and, with the feature `pictures`, as PNG and PDF. Each file is written completely
/// or not at all.
///
/// # Errors
/// [`FolderError`] if a file cannot be written.
pub fn write(
    folder: &Path,
    plan: &Plan,
    rows: &Rows,
    command: String,
) -> Result<Results, FolderError> {
    let mut results = Results::new(plan, rows, command);
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        write_atomically(&path, bytes).map_err(|source| FolderError { path, source })
    };
    for figure in figures::draw(plan, rows, &results) {
        let figures::Files { svg, narrow, csv } = &figure.files;
        for (end, text) in [("svg", svg), ("narrow.svg", narrow), ("csv", csv)] {
            put(&format!("{}.{end}", figure.picture.file), text.as_bytes())?;
        }
        #[cfg(feature = "pictures")]
        {
            let failed = |end: &str, source| FolderError {
                path: folder.join(format!("{}.{end}", figure.picture.file)),
                source,
            };
            let png = exm_measure::png(svg, PIXELS)
                .map_err(|error| failed("png", io::Error::other(error)))?;
            put(&format!("{}.png", figure.picture.file), &png)?;
            let pdf =
                exm_measure::pdf(svg).map_err(|error| failed("pdf", io::Error::other(error)))?;
            put(&format!("{}.pdf", figure.picture.file), &pdf)?;
        }
        results.pictures.push(figure.picture);
    }
    put(EXPERIMENT, plan.experiment.text.text.as_bytes())?;
    let formats = [
        Format::Csv,
        #[cfg(feature = "parquet")]
        Format::Parquet,
    ];
    for format in formats {
        for (stem, sheet) in
            [("results", sheet::flows(plan, rows)), ("links", sheet::links(plan, rows))]
        {
            let name = format!("{stem}.{}", format.extension());
            let bytes = sheet
                .written(format, &results)
                .map_err(|source| FolderError { path: folder.join(&name), source })?;
            put(&name, &bytes)?;
        }
    }
    // Last, since its existence means that all others exist.
    put(results::FILE, results.to_json().as_bytes())?;
    Ok(results)
}
