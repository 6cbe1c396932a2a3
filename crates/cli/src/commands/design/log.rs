//! The log of a design: a line of JSON for every step.

use crate::interrupt;
use crate::shell::Failure;
use exm_design::{Designer, Progress};
use exm_store::write_atomically;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What a step did.
#[derive(Serialize)]
struct Line<'a> {
    step: u64,
    cpu_seconds: f64,
    rules: usize,
    score: f64,
    judged: Option<f64>,
    what: &'a str,
}

/// What of an old line is needed.
#[derive(Deserialize)]
struct OldLine {
    step: u64,
    cpu_seconds: f64,
    score: f64,
}

/// A log being written.
pub(crate) struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    /// The log at `path` of a design after `steps`: what it holds of those is kept, and lines of
    /// steps that are to be taken again are not. Also tells the CPU time and score of every line
    /// kept.
    pub(crate) fn open(path: &Path, steps: u64) -> Result<(Log, Vec<(f64, f64)>), Failure> {
        let failure = |error: io::Error| {
            Failure::new(format!("cannot write the log {}: {error}", path.display()))
        };
        let mut kept = String::new();
        let mut scores = Vec::new();
        if steps > 0 {
            let old = match std::fs::read_to_string(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
                old => old.map_err(failure)?,
            };
            for (text, line) in complete_lines(&old).take_while(|(_, line)| line.step <= steps) {
                kept.push_str(text);
                kept.push('\n');
                scores.push((line.cpu_seconds, line.score));
            }
        }
        interrupt::shielded(|| write_atomically(path, kept.as_bytes())).map_err(failure)?;
        let file = OpenOptions::new().append(true).open(path).map_err(failure)?;
        Ok((Log { path: path.to_owned(), file }, scores))
    }

    /// Adds what the last step of `designer` did.
    pub(crate) fn add(&mut self, designer: &Designer, progress: &Progress) -> Result<(), Failure> {
        let Progress { score, judged, rules, what, .. } = progress;
        let line = Line {
            step: designer.steps(),
            cpu_seconds: (designer.cpu_seconds() * 1e3).round() / 1e3,
            rules: *rules,
            score: *score,
            judged: *judged,
            what,
        };
        let text = serde_json::to_string(&line)? + "\n";
        self.file.write_all(text.as_bytes()).map_err(|error| {
            Failure::new(format!("cannot write the log {}: {error}", self.path.display()))
        })
    }
}

/// Whether the file at `path` is the log of a design, or empty.
pub(super) fn is_log(path: &Path) -> bool {
    std::fs::read_to_string(path)
        .is_ok_and(|text| text.is_empty() || complete_lines(&text).next().is_some())
}

/// The lines of `text` up to the first that is none of a log, such as a last one cut short.
fn complete_lines(text: &str) -> impl Iterator<Item = (&str, OldLine)> {
    text.lines().map_while(|line| Some((line, serde_json::from_str(line).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_cut_short_ends_the_log() {
        let text = "{\"step\":1,\"cpu_seconds\":0.5,\"score\":-3}\n{\"step\":2,\"cpu_sec";
        let lines: Vec<u64> = complete_lines(text).map(|(_, line)| line.step).collect();
        assert_eq!(lines, [1]);
    }
}
