//! [`ModelError`]: what is wrong with a model, where, and what to do about it.

use std::fmt;

/// What is wrong with a model: the file and line, the problem with its remedy, the line itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    file: String,
    /// The number of the line, from 1 on, and its text.
    line: Option<(usize, String)>,
    problem: String,
}

impl ModelError {
    /// The error `problem` of the model `text`, called `file`.
    pub(super) fn new(file: &str, text: &str, problem: Problem) -> ModelError {
        let line = problem.place.and_then(|place| {
            let number = text.get(..place)?.matches('\n').count();
            let line = text.lines().nth(number)?.trim();
            (!line.is_empty()).then(|| (number + 1, line.chars().take(120).collect()))
        });
        ModelError { file: file.to_owned(), line, problem: problem.what }
    }

    /// What is wrong and what to do about it.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// The number of the line, from 1 on, where the problem has one.
    pub fn line(&self) -> Option<usize> {
        self.line.as_ref().map(|&(number, _)| number)
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.line {
            Some((number, text)) => {
                write!(f, "{}:{number}: {}\n  {number} | {text}", self.file, self.problem)
            }
            None => write!(f, "{}: {}", self.file, self.problem),
        }
    }
}

impl std::error::Error for ModelError {}

/// A problem, and where in the text it is: the offset of its first byte.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    place: Option<usize>,
    what: String,
}

impl Problem {
    pub(super) fn at(place: usize, what: impl Into<String>) -> Problem {
        Problem { place: Some(place), what: what.into() }
    }

    pub(super) fn nowhere(what: impl Into<String>) -> Problem {
        Problem { place: None, what: what.into() }
    }
}
