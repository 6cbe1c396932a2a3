//! `exm report`: results on one page.

use crate::outputs::{check_only_output, is_stdout, write_file, write_output};
use crate::shell::{Failure, note, warn};
use exm_experiment::{ReportEntry, ResultsError, ShowError, page};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
An HTML page contains its pictures, their data and the experiments' files, and needs no other files. The pictures of a Markdown page are in a
folder next to it with the same name. Folders whose runs are unfinished are left out, with a note.

Examples:
  exm report results/thesis-3-4 -o report.html
  exm report results/thesis-3-4 results/thesis-3-7 -o docs/results.md
  exm report results/*";

/// Write the results of any number of experiments as one page
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folders of results, in the order of the page; or one that holds several of them, such as results
    #[arg(value_name = "FOLDER", required = true)]
    folders: Vec<PathBuf>,
    /// The file of the page: .html, or .md for Markdown; - for standard output, as HTML
    #[arg(
        short,
        long = "out",
        alias = "output",
        value_name = "FILE",
        default_value = "report.html"
    )]
    output: PathBuf,
    /// Overwrite an existing page
    #[arg(long, short)]
    force: bool,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let is_markdown = match self.output.extension().and_then(|end| end.to_str()) {
            Some("html") => false,
            Some("md") => true,
            _ if is_stdout(&self.output) => false,
            _ => {
                let problem = "end its name in .html, or in .md for Markdown";
                let value = self.output.display().to_string();
                return Err(Failure::invalid_value(&value, "--out", problem));
            }
        };
        check_only_output(&self.output, &[], self.force)?;
        let folders: Vec<PathBuf> = self.folders.iter().flat_map(|folder| inside(folder)).collect();
        let all: Vec<Option<ReportEntry>> =
            folders.iter().map(|folder| load(folder)).collect::<Result<_, _>>()?;
        let all: Vec<ReportEntry> = all.into_iter().flatten().collect();
        if all.is_empty() {
            return Err(Failure::new("no folder holds finished results".to_owned())
                .with_tip("finish one by giving its exm experiment run again"));
        }
        for shown in &all {
            let warnings = shown.results.warnings.iter();
            warnings.for_each(|warning| warn(&format!("{}: {warning}", shown.name)));
        }
        if !is_markdown {
            let mut page = page(&all, "");
            page.provenance = vec![(
                "page written by".to_owned(),
                concat!("exm ", env!("EXM_VERSION")).to_owned(),
            )];
            write_output(&self.output, page.html().as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        let beside = self.output.with_extension("");
        let name = beside.file_name().and_then(|name| name.to_str()).unwrap_or("pictures");
        write_pictures(&all, &beside, name)?;
        write_file(&self.output, page(&all, name).markdown().as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The results in `folder`; none, with a note, if they are unfinished.
fn load(folder: &Path) -> Result<Option<ReportEntry>, Failure> {
    match ReportEntry::load(folder) {
        Ok(shown) => Ok(Some(shown)),
        Err(error @ ShowError::Results(ResultsError::Unfinished { .. })) => {
            note(&format!("left out: {error}"));
            Ok(None)
        }
        Err(ShowError::Results(error @ ResultsError::Read { .. })) if is_empty(folder) => {
            note(&format!("left out: {}, which is empty ({error})", folder.display()));
            Ok(None)
        }
        Err(error) => Err(Failure::from(error)
            .with_tip("give folders that exm experiment run or exm compare has written")),
    }
}

/// The folders of results meant by `folder`: itself or, if it holds none, the folders directly in it that do, in
/// the order of their names.
fn inside(folder: &Path) -> Vec<PathBuf> {
    let has_results = |folder: &Path| {
        !matches!(ReportEntry::load(folder), Err(ShowError::Results(ResultsError::Read { .. })))
    };
    let mut found = Vec::new();
    if !has_results(folder) {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        found.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir()));
        found.retain(|path| has_results(path));
        found.sort();
    }
    if found.is_empty() { vec![folder.to_owned()] } else { found }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// Writes the figures of a Markdown page into the folder `beside` it.
fn write_pictures(all: &[ReportEntry], beside: &Path, name: &str) -> Result<(), Failure> {
    if all.iter().any(|shown| !shown.svgs.is_empty()) {
        std::fs::create_dir_all(beside).map_err(|error| {
            Failure::new(format!("cannot make the folder {}: {error}", beside.display()))
        })?;
    }
    for shown in all {
        for (index, svg) in shown.svgs.iter().enumerate() {
            let file = shown.file(name, index);
            let file = Path::new(&file).file_name().unwrap_or_default();
            write_file(&beside.join(file), svg.as_bytes())?;
        }
    }
    Ok(())
}
