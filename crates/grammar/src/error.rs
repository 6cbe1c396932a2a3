//! [`FileError`]: what is wrong with a file, where, and how to fix it.

use std::fmt;
use std::ops::Range;

/// What is wrong with a piece of text, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GrammarError(String);

impl GrammarError {
    /// The error with the message `problem`.
    pub fn new(problem: impl Into<String>) -> GrammarError {
        GrammarError(problem.into())
    }
}

impl From<GrammarError> for String {
    fn from(error: GrammarError) -> String {
        error.0
    }
}

/// What is wrong with a file: the file and line, the text of the line, the problem and its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    file: String,
    /// The number of the line, counted from 1, and its text.
    line: Option<(usize, String)>,
    /// The key whose value is wrong.
    key: Option<&'static str>,
    problem: String,
}

impl FileError {
    /// The same error, about the value of `key`.
    #[must_use]
    pub fn with_key(self, key: &'static str) -> FileError {
        FileError { key: Some(key), ..self }
    }

    /// The key whose value is wrong, if the problem has one: for values that stand in no file.
    pub fn key(&self) -> Option<&'static str> {
        self.key
    }

    /// What is wrong, and how to fix it.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// The number of the line, counted from 1, if the problem has one.
    pub fn line(&self) -> Option<usize> {
        self.line.as_ref().map(|&(number, _)| number)
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.line, self.key) {
            (Some((number, text)), _) => {
                write!(f, "{}:{number}: {}\n  {number} | {text}", self.file, self.problem)
            }
            (None, Some(key)) => write!(f, "{}, {key}: {}", self.file, self.problem),
            (None, None) => write!(f, "{}: {}", self.file, self.problem),
        }
    }
}

impl std::error::Error for FileError {}

/// The text that was read, for quoting in errors.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The name of the file.
    pub file: String,
    /// The whole text.
    pub text: String,
}

/// A position in a [`Source`]: the offset of its first byte, if the problem has one.
pub type Offset = Option<usize>;

impl Source {
    /// The error `problem`, with the line at `place`.
    pub fn error(&self, place: Offset, problem: impl Into<String>) -> FileError {
        let line = place.and_then(|offset| {
            let number = self.text.get(..offset)?.matches('\n').count();
            let text = self.text.lines().nth(number)?.trim();
            (!text.is_empty()).then(|| (number + 1, text.chars().take(120).collect()))
        });
        FileError { file: self.file.clone(), line, key: None, problem: problem.into() }
    }

    /// The parser's error, reworded: see [`explain`].
    pub fn parse_error(&self, error: &toml::de::Error) -> FileError {
        let place = error.span().map(|Range { start, .. }| start);
        self.error(place, explain(error.message()))
    }
}

/// Rewords the message of the TOML parser: an unknown key is shown with the nearest known one.
/// `message` is [`toml::de::Error::message`].
pub fn explain(message: &str) -> String {
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
    if message.starts_with("invalid value: integer")
        && let Some(number) = quoted.first().filter(|number| number.starts_with('-'))
    {
        return format!("{number} cannot stand here: give a whole number from 0 up");
    }
    message.trim_end().replace('\n', "; ").replace('`', "\"")
}

/// The one of `known` that is most similar to `unknown`, if any is similar enough.
pub fn nearest<'a>(unknown: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|name| (strsim::osa_distance(unknown, name), *name))
        .filter(|&(distance, name)| distance <= 1 + unknown.len().min(name.len()) / 3)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

/// How many names a list has at most: longer ones are no help. The keys of every section of our files are fewer.
const MOST_LISTED: usize = 24;

/// "did you mean ...?" if one of `known` is similar to `unknown`, otherwise the list of them.
pub fn suggest(unknown: &str, known: &[&str]) -> String {
    match (nearest(unknown, known), known) {
        (Some(name), _) => format!("did you mean \"{name}\"?"),
        (None, []) => "nothing can stand here".to_owned(),
        (None, _) => {
            let listed = known.iter().take(MOST_LISTED).map(|name| format!("\"{name}\""));
            let listed = listed.collect::<Vec<_>>().join(", ");
            match known.len().saturating_sub(MOST_LISTED) {
                0 => format!("give one of {listed}"),
                others => format!("give one of {listed} or {others} others"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_named() {
        let known = ["rate", "delay", "buffer"];
        assert_eq!(suggest("rat", &known), "did you mean \"rate\"?");
        assert_eq!(suggest("bufer", &known), "did you mean \"buffer\"?");
        assert_eq!(suggest("zzz", &known), "give one of \"rate\", \"delay\", \"buffer\"");
        assert_eq!(suggest("zzz", &[]), "nothing can stand here");
        let listed = |count| suggest("zzz", &vec!["rate"; count]).matches("\"rate\"").count();
        assert_eq!([listed(MOST_LISTED), listed(2 * MOST_LISTED)], [MOST_LISTED; 2]);
        assert!(suggest("zzz", &vec!["rate"; MOST_LISTED + 3]).ends_with(" or 3 others"));
    }

    #[test]
    fn negative_numbers_are_explained() {
        let error = toml::from_str::<std::collections::BTreeMap<String, u64>>("senders = -1");
        let message = explain(error.expect_err("no such number").message());
        assert_eq!(message, "-1 cannot stand here: give a whole number from 0 up");
    }

    #[test]
    fn an_error_shows_its_line() {
        let source = Source { file: "a.toml".to_owned(), text: "x = 1\n  y = 2\n".to_owned() };
        let error = source.error(Some(8), "y is wrong");
        assert_eq!(error.to_string(), "a.toml:2: y is wrong\n  2 | y = 2");
        let whole = source.error(None, "all is wrong");
        assert_eq!(whole.to_string(), "a.toml: all is wrong");
        assert_eq!(whole.with_key("rtt").to_string(), "a.toml, rtt: all is wrong");
        assert_eq!(source.error(Some(999), "off").line(), None);
    }
}
