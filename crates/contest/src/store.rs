//! The store of attempts: a file for each [`Attempt`].
//!
//! A file is replaced as a whole, so that the store is sound whenever the program is killed. An attempt is first stored
//! without scores, and then with them: [`Contest::score_all`] scores what an interruption left, and what other rules or
//! another version of the engine scored.

use crate::board::OMNISCIENT;
use crate::entrant::{self, MAX_TABLE};
use crate::error::ContestError;
use crate::hash::{hex, sha256, unhex};
use crate::rules::Contest;
use crate::score::{self, Score};
use crate::{ENGINE, Entrant};
use exm_store::write_atomically;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// An attempt of a participant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Attempt {
    /// The participant.
    pub name: String,
    /// When it was submitted, milliseconds since 1970.
    pub submitted_ms: u64,
    /// The SHA-256 hash of the submission.
    pub hash: String,
    /// When it was marked for the final, milliseconds since 1970; the latest mark counts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub final_ms: Option<u64>,
    /// The name of the submitted file, whose end tells its kind.
    pub file: String,
    /// Its scores, once it has been scored.
    pub scores: Option<AttemptScores>,
    /// The submission, in hexadecimal digits.
    submission: String,
}

/// The scores of an attempt, and what made them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AttemptScores {
    /// The fingerprint of the rules.
    pub rules: String,
    /// The version of the engine.
    pub engine: String,
    /// On the training pair, which ranks.
    pub training: Score,
    /// On the robustness pair.
    pub robustness: Score,
}

/// Checks that a participant can be called `name`.
///
/// # Errors
/// [`ContestError::Name`] if not.
pub fn check_name(name: &str) -> Result<(), ContestError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    match (1..=40).contains(&name.len()) && name.bytes().all(is_plain) {
        true => Ok(()),
        false => Err(ContestError::Name(name.to_owned())),
    }
}

impl Attempt {
    /// The submitted bytes.
    pub fn bytes(&self) -> Vec<u8> {
        unhex(&self.submission).unwrap_or_default()
    }

    /// Its power on the training pair; none without scores, or if its controller failed.
    pub fn power(&self) -> Option<f64> {
        self.scores.as_ref()?.training.power
    }
}

impl Contest {
    /// Stores the submission `bytes` of a file called `file` by the participant `name`, and scores it. The same bytes by the
    /// same participant are one attempt, and keep its time.
    ///
    /// # Errors
    /// [`ContestError`] if the name or the submission is unusable, or the store cannot be written. A controller that fails in
    /// its run is no error: its [`Score::failure`] tells.
    pub fn submit(
        &self,
        name: &str,
        file: &str,
        bytes: &[u8],
        (now_ms, is_final): (u64, bool),
    ) -> Result<Attempt, ContestError> {
        check_name(name)?;
        self.check_free(name)?;
        let entrant = entrant::load(bytes, file, &self.limits())?;
        let hash = sha256(bytes);
        let path = self.attempt_path(name, &hash);
        let stored = if path.exists() { Some(read(&path)?) } else { None };
        let is_known = stored.is_some();
        let mut attempt = stored.unwrap_or_else(|| Attempt {
            name: name.to_owned(),
            submitted_ms: now_ms,
            hash,
            final_ms: None,
            file: file.to_owned(),
            scores: None,
            submission: hex(bytes),
        });
        if is_final {
            attempt.final_ms = Some(now_ms);
        }
        if !is_known || is_final {
            self.write_attempt(&attempt)?;
        }
        if !self.is_current(&attempt) {
            attempt.scores = Some(self.scored(&entrant)?);
            self.write_attempt(&attempt)?;
        }
        Ok(attempt)
    }

    /// Refuses the name of a baseline.
    pub(crate) fn check_free(&self, name: &str) -> Result<(), ContestError> {
        match name == OMNISCIENT || self.rules().baselines.iter().any(|known| known == name) {
            true => Err(ContestError::Reserved(name.to_owned())),
            false => Ok(()),
        }
    }

    /// All attempts, in the order of their submission.
    ///
    /// # Errors
    /// [`ContestError`] if a file cannot be read or is damaged.
    pub fn attempts(&self) -> Result<Vec<Attempt>, ContestError> {
        let folder = self.dir().join("attempts");
        let mut attempts = Vec::new();
        for entry in fs::read_dir(&folder).map_err(ContestError::read(&folder))? {
            let path = entry.map_err(ContestError::read(&folder))?.path();
            // Others are partial files of processes that were killed.
            if path.extension().is_some_and(|end| end == "json") {
                attempts.push(read(&path)?);
            }
        }
        attempts.sort_by(|a, b| {
            let key = |attempt: &Attempt| {
                (attempt.submitted_ms, attempt.name.clone(), attempt.hash.clone())
            };
            key(a).cmp(&key(b))
        });
        Ok(attempts)
    }

    /// Scores every attempt that has no scores, or those of other rules or of another engine, and returns all attempts.
    ///
    /// # Errors
    /// As [`Contest::attempts`] and [`Contest::submit`].
    pub fn score_all(&self) -> Result<Vec<Attempt>, ContestError> {
        let mut attempts = self.attempts()?;
        attempts.par_iter_mut().filter(|attempt| !self.is_current(attempt)).try_for_each(
            |attempt| {
                let entrant = entrant::load(&attempt.bytes(), &attempt.file, &self.limits())?;
                attempt.scores = Some(self.scored(&entrant)?);
                self.write_attempt(attempt)
            },
        )?;
        Ok(attempts)
    }

    /// The submission of each participant that the final runs: the last one marked for it, or else the last one; in the order
    /// of names.
    pub fn frozen(attempts: &[Attempt]) -> Vec<&Attempt> {
        let mut last: Vec<&Attempt> = attempts.iter().collect();
        last.sort_by_key(|attempt| {
            (&attempt.name, attempt.final_ms, attempt.submitted_ms, &attempt.hash)
        });
        let groups = last.chunk_by(|a, b| a.name == b.name);
        groups.filter_map(|group| group.last().copied()).collect()
    }

    fn scored(&self, entrant: &Entrant) -> Result<AttemptScores, ContestError> {
        let on = |pair| score::run(entrant, pair, &self.setting());
        let (training, robustness) = rayon::join(|| on(self.training()), || on(self.robustness()));
        let (rules, engine) = (self.fingerprint(), ENGINE.to_owned());
        Ok(AttemptScores { rules, engine, training: training?, robustness: robustness? })
    }

    fn is_current(&self, attempt: &Attempt) -> bool {
        let scores = attempt.scores.as_ref();
        scores.is_some_and(|s| s.rules == self.fingerprint() && s.engine == ENGINE)
    }

    fn attempt_path(&self, name: &str, hash: &str) -> PathBuf {
        self.dir().join("attempts").join(format!("{name}.{hash}.json"))
    }

    fn write_attempt(&self, attempt: &Attempt) -> Result<(), ContestError> {
        let path = self.attempt_path(&attempt.name, &attempt.hash);
        let text = serde_json::to_string(attempt).expect("an attempt is plain values");
        write_atomically(&path, text.as_bytes()).map_err(ContestError::write(path))
    }
}

/// The attempt in the file at `path`, whose name and submission agree with it.
fn read(path: &Path) -> Result<Attempt, ContestError> {
    let damaged = |problem: String| ContestError::Damaged { path: path.to_owned(), problem };
    let text = fs::read_to_string(path).map_err(ContestError::read(path))?;
    if text.len() > 4 * MAX_TABLE {
        return Err(damaged("it is too large for an attempt".to_owned()));
    }
    let attempt: Attempt = serde_json::from_str(&text)
        .map_err(|error| damaged(format!("it is no attempt of a contest: {error}")))?;
    let bytes = unhex(&attempt.submission);
    if bytes.is_none_or(|bytes| sha256(&bytes) != attempt.hash) {
        return Err(damaged("its submission does not have its hash".to_owned()));
    }
    let name = format!("{}.{}.json", attempt.name, attempt.hash);
    if path.file_name().is_none_or(|file| file != name.as_str()) {
        return Err(damaged(format!("it is the attempt that {name} should hold")));
    }
    Ok(attempt)
}
