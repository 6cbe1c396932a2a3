//! [`Problem`]: what is wrong with a model, and where in its text.

use exm_grammar::{FileError, Source};

/// A problem, and where in the text it is: the offset of its first byte.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    place: Option<usize>,
    pub(super) what: String,
}

impl Problem {
    /// The error of the model `text`, called `file`.
    pub(super) fn of(self, file: &str, text: &str) -> FileError {
        let source = Source { file: file.to_owned(), text: text.to_owned() };
        source.error(self.place, self.what)
    }

    pub(super) fn at(place: usize, what: impl Into<String>) -> Problem {
        Problem { place: Some(place), what: what.into() }
    }

    pub(super) fn nowhere(what: impl Into<String>) -> Problem {
        Problem { place: None, what: what.into() }
    }
}
