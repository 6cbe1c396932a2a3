//! [`ExperimentError`]: what is wrong with an experiment, where, and what to do about it.

use exm_sim::scenario::suggest;
use std::fmt;

/// What is wrong with an experiment: the file and line, the line itself, the problem and its
/// remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentError {
    file: String,
    /// The number of the line, from 1 on, and its text.
    line: Option<(usize, String)>,
    problem: String,
}

impl ExperimentError {
    /// What is wrong and what to do about it.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// The number of the line, from 1 on, where the problem has one.
    pub fn line(&self) -> Option<usize> {
        self.line.as_ref().map(|&(number, _)| number)
    }
}

impl fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.line {
            Some((number, text)) => {
                write!(f, "{}:{number}: {}\n  {number} | {text}", self.file, self.problem)
            }
            None => write!(f, "{}: {}", self.file, self.problem),
        }
    }
}

impl std::error::Error for ExperimentError {}

/// The text that an experiment was read from, to point at in errors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    pub(crate) file: String,
    pub(crate) text: String,
}

/// A place in a [`Source`]: the offset of its first byte.
pub(crate) type Place = Option<usize>;

impl Source {
    /// The error `problem` at `place`.
    pub(crate) fn error(&self, place: Place, problem: impl Into<String>) -> ExperimentError {
        let line = place.and_then(|offset| {
            let number = self.text.get(..offset)?.matches('\n').count();
            self.line(number + 1)
        });
        ExperimentError { file: self.file.clone(), line, problem: problem.into() }
    }

    /// The error `problem` in the line of this number, if it has one.
    pub(crate) fn error_in_line(
        &self,
        number: Option<usize>,
        problem: impl Into<String>,
    ) -> ExperimentError {
        let line = number.and_then(|number| self.line(number));
        ExperimentError { file: self.file.clone(), line, problem: problem.into() }
    }

    /// The parser's error, told in our words.
    pub(crate) fn parse_error(&self, error: &toml::de::Error) -> ExperimentError {
        let place = error.span().map(|span| span.start);
        self.error(place, explain(error.message()))
    }

    fn line(&self, number: usize) -> Option<(usize, String)> {
        let text = self.text.lines().nth(number.checked_sub(1)?)?.trim();
        (!text.is_empty()).then(|| (number, text.chars().take(120).collect()))
    }
}

/// Names the nearest known key where the parser found an unknown one.
fn explain(message: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if message.starts_with("unknown field")
        && let Some((unknown, known)) = quoted.split_first()
    {
        return format!("there is no key \"{unknown}\" here: {}", suggest(unknown, known));
    }
    if message.starts_with("missing field")
        && let Some(key) = quoted.first()
    {
        return format!("the key \"{key}\" is missing: add it");
    }
    message.trim_end().replace('\n', "; ").replace('`', "\"")
}
