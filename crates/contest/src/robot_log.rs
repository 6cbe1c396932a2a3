//! [`RobotLog`]: the scores of generated entrants so far, so that an interrupted contest goes on.

use crate::ENGINE;
use crate::error::ContestError;
use crate::hash::sha256;
use crate::score::{Pair, Score, Setting};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A file of scores: a line that says of what, then one for each entrant in the order in which they were run.
#[derive(Debug)]
pub struct RobotLog {
    path: PathBuf,
    file: Mutex<File>,
    known: BTreeMap<String, Score>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    /// The hash of what scores depend on.
    of: String,
}

#[derive(Serialize, Deserialize)]
struct Line {
    name: String,
    score: Score,
}

impl RobotLog {
    /// Opens the file at `path` for scores on `pair`, or begins it. Lines that were not written whole are dropped.
    ///
    /// # Errors
    /// [`ContestError`] if it cannot be read or written, or holds scores of another pair, setting or engine.
    pub fn open(path: &Path, pair: &Pair, setting: &Setting) -> Result<RobotLog, ContestError> {
        let of = sha256(format!("{ENGINE} {setting:?} {}", pair.hash()).as_bytes());
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(ContestError::read(path)(error)),
        };
        // The last line is whole only if it ends.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let mut lines = whole.lines();
        let header = lines.next().map(serde_json::from_str::<Header>);
        let mut known = BTreeMap::new();
        match header {
            None => {}
            Some(Ok(header)) if header.of == of => {
                let lines = lines.filter_map(|line| serde_json::from_str::<Line>(line).ok());
                known.extend(lines.map(|line| (line.name, line.score)));
            }
            Some(_) => return Err(ContestError::OtherScores(path.to_owned())),
        }
        let mut file = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(true)
            .open(path)
            .map_err(ContestError::write(path))?;
        let header = serde_json::to_string(&Header { of }).expect("it is text");
        let mut kept = header + "\n";
        for (name, score) in &known {
            kept += &line(name, score);
        }
        file.write_all(kept.as_bytes()).map_err(ContestError::write(path))?;
        Ok(RobotLog { path: path.to_owned(), file: Mutex::new(file), known })
    }

    /// The scores that it had when it was opened, by the names of entrants.
    pub fn known(&self) -> &BTreeMap<String, Score> {
        &self.known
    }

    /// Adds the score of the entrant `name`.
    ///
    /// # Errors
    /// [`ContestError::Write`].
    pub fn add(&self, name: &str, score: &Score) -> Result<(), ContestError> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line(name, score).as_bytes()).map_err(ContestError::write(&self.path))
    }
}

fn line(name: &str, score: &Score) -> String {
    let line = Line { name: name.to_owned(), score: score.clone() };
    serde_json::to_string(&line).expect("scores are plain values") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_testing::Folder;
    use exm_trace::Synthetic;
    use exm_units::Span;

    #[test]
    fn what_was_written_whole_is_known_again() {
        let folder = Folder::new("robot-log");
        let path = folder.0.join("scores.jsonl");
        let trace =
            |seed| Synthetic::named("lte").unwrap().generate(seed, Span::from_secs(2)).unwrap();
        let pair = Pair::new(trace(1), trace(2));
        let setting = |secs| Setting::new(Span::from_secs(secs), Span::ZERO, Span::from_millis(20));
        let score = Score { throughput_mbps: 0.1 + 0.2, ..Score::default() };
        let log = RobotLog::open(&path, &pair, &setting(2)).unwrap();
        log.add("one", &score).unwrap();
        log.add("two", &score).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 5]).unwrap();
        let again = RobotLog::open(&path, &pair, &setting(2)).unwrap();
        assert_eq!(again.known().keys().collect::<Vec<_>>(), ["one"]);
        assert_eq!(again.known()["one"], score);
        let other = RobotLog::open(&path, &pair, &setting(3)).unwrap_err();
        assert!(other.to_string().contains("scores of another"), "{other}");
        let swapped = Pair::new(trace(2), trace(1));
        assert!(RobotLog::open(&path, &swapped, &setting(2)).is_err());
    }
}
