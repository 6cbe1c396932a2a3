#![doc = include_str!("../README.md")]

mod amounts;
mod buffer;
mod error;
mod numbers;
mod scale;

pub use amounts::Amounts;
pub use buffer::Buffer;
pub use error::{FileError, GrammarError, Offset, Source, explain, nearest, suggest};
pub use scale::{UNITS, Unit};

use exm_link::{QueueError, QueueKind};

/// Parses a queue: "codel", or "codel target=5ms,interval=50ms".
///
/// # Errors
/// What is wrong, with the nearest name if one is misspelt.
pub fn queue(text: &str) -> Result<QueueKind, GrammarError> {
    text.parse().map_err(|error| queue_error(&error))
}

/// What is wrong with a queue, with the nearest name if one is misspelt.
pub fn queue_error(error: &QueueError) -> GrammarError {
    GrammarError::new(match error {
        QueueError::UnknownDiscipline(name) => {
            let suggestion = suggest(name, QueueKind::NAMES);
            format!("there is no queue discipline \"{name}\": {suggestion}")
        }
        error => error.to_string(),
    })
}
