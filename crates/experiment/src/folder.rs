//! [`write`]: results as files in a folder.

use crate::csv;
use crate::figures;
#[cfg(feature = "parquet")]
use crate::parquet;
use crate::plan::Plan;
use crate::results::{self, Results};
use crate::sheet;
use crate::store::Rows;
use exm_remy::file::write_atomically;
use std::io;
use std::path::{Path, PathBuf};

/// The pixels that a unit of a picture is wide: sharp in print and on fine screens.
const PIXELS: f32 = 2.0;

/// A file of results that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", path.display())]
pub struct FolderError {
    path: PathBuf,
    source: io::Error,
}

/// Sums up the runs `rows` of `plan`, which `command` makes, and writes all there is to show of them
/// into `folder`: `results.json`, `results.csv` (flows), `links.csv`, both as Parquet too, and pictures
/// as SVG, PNG and PDF. Each file is written whole or not at all.
///
/// # Errors
/// [`FolderError`] where a file cannot be written.
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
        put(&format!("{}.svg", figure.picture.file), figure.svg.as_bytes())?;
        let png = exm_measure::png(&figure.svg, PIXELS).map_err(|error| FolderError {
            path: folder.join(format!("{}.png", figure.picture.file)),
            source: io::Error::other(error),
        })?;
        put(&format!("{}.png", figure.picture.file), &png)?;
        let pdf = exm_measure::pdf(&figure.svg).map_err(|error| FolderError {
            path: folder.join(format!("{}.pdf", figure.picture.file)),
            source: io::Error::other(error),
        })?;
        put(&format!("{}.pdf", figure.picture.file), &pdf)?;
        results.pictures.push(figure.picture);
    }
    put("results.csv", csv::text(sheet::flows(plan, rows), &results).as_bytes())?;
    put("links.csv", csv::text(sheet::links(plan, rows), &results).as_bytes())?;
    #[cfg(feature = "parquet")]
    for (name, sheet) in
        [("results.parquet", sheet::flows(plan, rows)), ("links.parquet", sheet::links(plan, rows))]
    {
        let bytes = parquet::bytes(sheet, &results)
            .map_err(|source| FolderError { path: folder.join(name), source })?;
        put(name, &bytes)?;
    }
    // Last, since it says that all others are there.
    put(results::FILE, results.to_json().as_bytes())?;
    Ok(results)
}
