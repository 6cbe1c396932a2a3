//! `exm contest submit`: stores a submission and scores it.

use super::{Dir, failure, number};
use crate::codes::FAILED;
use crate::shell::{Failure, Printing};
use exm_contest::store::AttemptScores;
use exm_contest::{Attempt, Score};
use exm_plugin::skeletons::Language;
use exm_store::Columns;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::SystemTime;

const EXAMPLES: &str = "\
A submission is a WebAssembly module (.wasm), a rule table (.json, .dna), or a text that names a built-in \
controller with its parameters; or the folder of a skeleton's source, which is built on this machine. The same bytes again are the same attempt. The exit code is 1 if the \
controller fails in its run: such an attempt is kept, and not ranked.

Examples:
  exm contest submit mine.wasm --as ada
  exm contest submit mine --as ada
  exm contest submit table.json --as ada --contest course --final";

/// Submit a controller to a contest, and score it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The submission, or the folder of its source
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The participant: letters, digits, - and _
    #[arg(long = "as", value_name = "NAME")]
    name: String,
    /// Take this one to the final, not the last one
    #[arg(long = "final")]
    is_final: bool,
    #[command(flatten)]
    dir: Dir,
    #[command(flatten)]
    printing: Printing,
}

/// What was scored.
#[derive(Serialize)]
struct Scored<'a> {
    name: &'a str,
    hash: &'a str,
    scores: &'a AttemptScores,
}

impl fmt::Display for Scored<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = Columns::new(1);
        let heading = ["", "Mbps", "95 % delay, ms", "self-inflicted, ms", "power"];
        columns.line(heading.map(str::to_owned));
        let AttemptScores { training, robustness, .. } = self.scores;
        for (pair, score) in [("training", training), ("robustness", robustness)] {
            columns.line([pair.to_owned()].into_iter().chain(cells(score)));
        }
        f.write_str(&columns.to_string())
    }
}

/// The cells of a score.
pub(super) fn cells(score: &Score) -> [String; 4] {
    [
        number(Some(score.throughput_mbps), 3),
        number(score.delay_95_ms, 0),
        number(score.self_inflicted_ms, 0),
        number(score.power, 2),
    ]
}

#[expect(
    clippy::disallowed_methods,
    reason = "an attempt records when it was submitted; no score depends on it"
)]
pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Builds the source in `folder`, on this machine and as its user, and returns the module.
fn built(folder: &Path) -> Result<PathBuf, Failure> {
    let unknown = || {
        Failure::usage(format!("{} holds no source of a controller", folder.display()))
            .with_tip("exm controller new NAME --lang LANGUAGE writes one; or give a module, .wasm")
    };
    let language = Language::of_folder(folder).ok_or_else(unknown)?;
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let (command, module) = name.and_then(|name| language.build(&name)).ok_or_else(unknown)?;
    let status = Command::new("sh")
        .args(["-c", &command])
        .current_dir(folder)
        .env_remove("CARGO_TARGET_DIR")
        .stdin(Stdio::null())
        .status()
        .map_err(|error| Failure::new(format!("cannot run the shell to build it: {error}")))?;
    if !status.success() {
        let problem = format!("{} could not be built by: {command}", folder.display());
        return Err(Failure::new(problem).with_tip("its README says what it needs"));
    }
    Ok(folder.join(module))
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let contest = self.dir.open()?;
        let file = self.file.file_name().map(|name| name.to_string_lossy().into_owned());
        let file = file.unwrap_or_default();
        let file = if self.file.is_dir() { format!("{file}.wasm") } else { file };
        let path = if self.file.is_dir() { built(&self.file)? } else { self.file.clone() };
        let bytes = std::fs::read(&path)
            .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
        let when = (now_ms(), self.is_final);
        let attempt: Attempt = contest.submit(&self.name, &file, &bytes, when).map_err(failure)?;
        let Some(scores) = &attempt.scores else {
            return Err(Failure::new("the attempt has no scores"));
        };
        for score in [&scores.training, &scores.robustness] {
            if let Some(what) = &score.failure {
                let problem =
                    format!("the attempt is kept and not ranked, since it failed: {what}");
                return Err(Failure::new(problem).with_code(FAILED));
            }
        }
        self.printing.print(&Scored { name: &attempt.name, hash: &attempt.hash, scores })?;
        Ok(ExitCode::SUCCESS)
    }
}
