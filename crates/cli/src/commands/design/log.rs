//! The log of a design: a line of JSON for every step, and one for the held-out score.

use crate::codes;
use crate::interrupt;
use crate::shell::Failure;
use exm_design::score::Scores;
use exm_design::{Designer, Progress};
use exm_store::write_atomically;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What a step did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(super) step: u64,
    /// What was spent so far.
    pub(super) cpu_seconds: f64,
    #[serde(default)]
    pub(super) rules: usize,
    pub(super) score: f64,
    pub(super) judged: Option<f64>,
    #[serde(default)]
    what: String,
}

/// How good the finished tables are: the last line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct HeldOutLine {
    /// The mean score.
    pub(super) held_out: f64,
    pub(super) interval: (f64, f64),
    pub(super) specimens: usize,
    seed: u64,
    /// What an omniscient sender would score.
    pub(super) omniscient: f64,
}

impl Step {
    /// What the last step of `designer` did.
    pub(super) fn of(designer: &Designer, progress: &Progress) -> Step {
        Step {
            step: designer.steps(),
            cpu_seconds: (designer.cpu_seconds() * 1e3).round() / 1e3,
            rules: progress.rules,
            score: progress.score,
            judged: progress.judged,
            what: progress.what.clone(),
        }
    }
}

impl HeldOutLine {
    /// That of the contender of this `index`.
    pub(super) fn of(scores: &Scores, index: usize) -> HeldOutLine {
        let score = scores.contenders[index].score;
        HeldOutLine {
            held_out: score.mean,
            interval: score.interval(),
            specimens: scores.specimens,
            seed: scores.seed,
            omniscient: scores.omniscient,
        }
    }
}

/// A log being written.
pub(crate) struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    /// The log at `path` of a design after `steps`: what it holds of those is kept, which is returned as well,
    /// and lines of steps that are to be taken again are not.
    pub(super) fn open(path: &Path, steps: u64) -> Result<(Log, Vec<Step>), Failure> {
        let failure = |error: io::Error| {
            Failure::new(format!("cannot write the log {}: {error}", path.display()))
        };
        let mut kept = String::new();
        let mut taken = Vec::new();
        if steps > 0 {
            let old = match std::fs::read_to_string(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
                old => old.map_err(failure)?,
            };
            for (text, step) in steps_of(&old).take_while(|(_, step)| step.step <= steps) {
                kept.push_str(text);
                kept.push('\n');
                taken.push(step);
            }
        }
        interrupt::shielded(|| write_atomically(path, kept.as_bytes())).map_err(failure)?;
        let file = OpenOptions::new().append(true).open(path).map_err(failure)?;
        Ok((Log { path: path.to_owned(), file }, taken))
    }

    /// Adds a [`Step`] or a [`HeldOutLine`].
    pub(super) fn add(&mut self, line: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(line)? + "\n";
        self.file.write_all(text.as_bytes()).map_err(|error| {
            Failure::new(format!("cannot write the log {}: {error}", self.path.display()))
        })
    }
}

/// Whether the file at `path` is the log of a design, or empty.
pub(super) fn is_log(path: &Path) -> bool {
    std::fs::read_to_string(path)
        .is_ok_and(|text| text.is_empty() || steps_of(&text).next().is_some())
}

/// The steps of `text` and their lines, up to the first line that is none, such as one cut short.
fn steps_of(text: &str) -> impl Iterator<Item = (&str, Step)> {
    text.lines().map_while(|line| Some((line, serde_json::from_str(line).ok()?)))
}

/// A log that was written.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// Never empty.
    pub(super) steps: Vec<Step>,
    /// None where the design has not ended, or was not scored.
    pub(super) held_out: Option<HeldOutLine>,
}

impl Record {
    /// Reads the log at `path`, without a last line that is cut short.
    pub(super) fn load(path: &Path) -> Result<Record, Failure> {
        let bytes = std::fs::read(path).map_err(|error| {
            let text = format!("cannot read the log {}: {error}", path.display());
            Failure::new(text).with_code(codes::of_input(&error))
        })?;
        // A last line cut short may end within a letter.
        Record::parse(&String::from_utf8_lossy(&bytes)).map_err(|problem| {
            let tip = "exm design writes its log beside the table, as cc.json.log.jsonl";
            Failure::new(format!("{} {problem}", path.display())).with_tip(tip)
        })
    }

    /// Reads a log, or returns what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Record, String> {
        let steps: Vec<Step> = steps_of(text).map(|(_, step)| step).collect();
        let mut rest = text.lines().skip(steps.len());
        let held_out = rest.next().map(serde_json::from_str).transpose();
        let damaged = steps.len() + if held_out.is_ok() { 2 } else { 1 };
        match held_out {
            Ok(None) if steps.is_empty() => Err("holds no step of a design yet".to_owned()),
            Ok(held_out) if !steps.is_empty() && rest.next().is_none() => {
                Ok(Record { steps, held_out })
            }
            // Cut short.
            Err(_) if !steps.is_empty() && rest.next().is_none() && !text.ends_with('\n') => {
                Ok(Record { steps, held_out: None })
            }
            _ if steps.is_empty() => Err("is no log of a design".to_owned()),
            _ => Err(format!("is damaged: line {damaged} is no line of a design's log")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: &str = "{\"step\":1,\"cpu_seconds\":0.5,\"score\":-3,\"judged\":null}\n";
    const HELD_OUT: &str = "{\"held_out\":-2.5,\"interval\":[-3.0,-2.0],\"specimens\":8,\"seed\":1,\
                            \"omniscient\":-1.5}\n";

    #[test]
    fn a_line_cut_short_ends_the_log() {
        let text = format!("{STEP}{{\"step\":2,\"cpu_sec");
        let steps: Vec<u64> = steps_of(&text).map(|(_, step)| step.step).collect();
        assert_eq!(steps, [1]);
        for end in 0..HELD_OUT.len() - 1 {
            let record = Record::parse(&format!("{STEP}{}", &HELD_OUT[..end])).unwrap();
            assert!(record.steps.len() == 1 && record.held_out.is_none(), "{end}");
        }
    }

    #[test]
    fn a_log_is_read_and_nothing_else() {
        let record = Record::parse(&format!("{STEP}{HELD_OUT}")).unwrap();
        assert_eq!(
            record.held_out.map(|line| (line.held_out, line.omniscient)),
            Some((-2.5, -1.5))
        );
        let error = |text: &str| Record::parse(text).unwrap_err();
        assert_eq!(error(""), "holds no step of a design yet");
        assert_eq!(error("dear diary\n"), "is no log of a design");
        assert_eq!(error(HELD_OUT), "is no log of a design");
        let damaged = "is damaged: line 2 is no line of a design's log";
        assert_eq!(error(&format!("{STEP}{{\n{STEP}")), damaged);
        assert_eq!(error(&format!("{STEP}{HELD_OUT}{STEP}")), damaged.replace('2', "3"));
    }
}
