//! What all commands share: printing results and reporting failures.

use crate::codes::{self, FAILED, USAGE};
use crate::visible::{visible, visible_json};
use crate::{layout, outside};
use clap::builder::styling::AnsiColor;
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
    /// The remedy, if the message does not contain it.
    tip: Option<String>,
}

impl Failure {
    /// The work failed.
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure { code: FAILED, message: message.into(), tip: None }
    }

    /// The request is invalid: something is unknown, missing or impossible.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        let tip = Some("for more information, try '--help'".to_owned());
        Failure { code: USAGE, message: message.into(), tip }
    }

    /// In clap's wording for values that it checks itself.
    pub(crate) fn invalid_value(value: &str, option: &str, problem: &str) -> Failure {
        Failure::usage(format!("invalid value '{value}' for '{option}': {problem}"))
    }

    /// Adds a remedy.
    pub(crate) fn with_tip(self, tip: impl Into<String>) -> Failure {
        Failure { tip: Some(tip.into()), ..self }
    }

    /// Ends the program with `code`.
    pub(crate) fn with_code(self, code: u8) -> Failure {
        Failure { code, ..self }
    }

    /// The message and the remedy, as one text.
    pub(crate) fn into_text(self) -> String {
        match self.tip {
            // A question ("did you mean") is a remedy already.
            Some(tip) if !self.message.ends_with('?') => format!("{}; {tip}", self.message),
            _ => self.message,
        }
    }

    /// Prints the failure, and returns the exit code.
    pub(crate) fn report(self) -> ExitCode {
        let (red, green) =
            (AnsiColor::Red.on_default().bold(), AnsiColor::Green.on_default().bold());
        let mut text = format!("{red}error:{red:#} {}\n", visible(&self.message));
        if let Some(tip) = self.tip {
            text.push_str(&format!("  {green}tip:{green:#} {}\n", visible(&tip)));
        }
        // If even that cannot be written, only the exit code remains.
        let _ = anstream::stderr().write_all(text.as_bytes());
        ExitCode::from(self.code)
    }
}

impl<E: std::error::Error + 'static> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::new(error.to_string()).with_code(codes::of(&error))
    }
}

/// How a command prints its result.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Printing {
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Printing {
    /// Whether JSON was asked for.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Prints `result`, as text or as JSON.
    pub(crate) fn print(self, result: &(impl Serialize + Display)) -> Result<(), Failure> {
        self.print_either(|| result.to_string(), || json(result, None))
    }

    /// The same, with a line for each of the `warnings`: before the text, on standard error, or in the
    /// JSON.
    pub(crate) fn print_warned(
        self,
        result: &(impl Serialize + Display),
        warnings: &[String],
    ) -> Result<(), Failure> {
        if !self.json {
            warnings.iter().for_each(|warning| warn(warning));
        }
        self.print_either(|| result.to_string(), || json(result, Some(warnings)))
    }

    /// Prints one of two texts, each of whole lines.
    pub(crate) fn print_either(
        self,
        text: impl FnOnce() -> String,
        json: impl FnOnce() -> Result<String, serde_json::Error>,
    ) -> Result<(), Failure> {
        outside::check()?;
        if self.json { print_json(&json()?) } else { print(&text()) }
    }
}

/// The common fields of every result in JSON. Results that depend on a seed or a host have these, too.
#[derive(Serialize)]
struct Envelope<'a, T> {
    version: &'static str,
    command: String,
    /// Only for commands that may warn.
    #[serde(skip_serializing_if = "Option::is_none")]
    warnings: Option<&'a [String]>,
    #[serde(flatten)]
    result: &'a T,
}

/// `result`, an object, in its [`Envelope`].
pub(crate) fn json(
    result: &impl Serialize,
    warnings: Option<&[String]>,
) -> Result<String, serde_json::Error> {
    let (version, command) = (env!("CARGO_PKG_VERSION"), command_line());
    let envelope = Envelope { version, command, warnings, result };
    Ok(serde_json::to_string_pretty(&envelope)? + "\n")
}

/// Prints `text`, whole lines for people.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    write_out(layout::printable(text).as_bytes())
}

/// Prints a `text` in JSON.
pub(crate) fn print_json(text: &str) -> Result<(), Failure> {
    write_out(visible_json(text).as_bytes())
}

/// Writes data for programs unmodified to standard output. A reader that closes the pipe is not a failure.
pub(crate) fn write_out(output: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(output).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("cannot write the result to the standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes `text`, whole lines for people, to standard error.
pub(crate) fn tell(text: &str) {
    // A failure to write is ignored.
    let _ = io::stderr().write_all(visible(text).as_bytes());
}

/// Prints a note beside the result.
pub(crate) fn note(text: &str) {
    remark("note", text);
}

/// Prints a warning about something that may make the result other than expected.
pub(crate) fn warn(text: &str) {
    remark("warning", text);
}

fn remark(kind: &str, text: &str) {
    let style = AnsiColor::Yellow.on_default().bold();
    // A failure to write is ignored.
    let _ = writeln!(anstream::stderr(), "{style}{kind}:{style:#} {}", visible(text));
}

/// The program as it was invoked: `exm`, or a path where it is not installed, as by `cargo run`.
pub(crate) fn program() -> String {
    std::env::args_os().next().map_or("exm".to_owned(), |name| quoted(&name.to_string_lossy()))
}

/// The command as typed, for the headers of files.
pub(crate) fn command_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
    std::iter::once("exm".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// `word` quoted for a shell, on one line, since comments in files contain commands. Control characters are
/// written as bash, zsh and POSIX.1-2024 read them, `$'
/// '`.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=,:+%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else if word.contains(char::is_control) {
        let escaped = word.chars().map(|c| match c {
            '\n' => r"\n".to_owned(),
            '\t' => r"\t".to_owned(),
            '\'' | '\\' => format!(r"\{c}"),
            // The C1 control characters in UTF-8, too: their bytes, three octal digits each.
            c if c.is_control() => {
                c.to_string().bytes().map(|byte| format!(r"\{byte:03o}")).collect()
            }
            c => c.to_string(),
        });
        format!("$'{}'", escaped.collect::<String>())
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        let words = ["simulate", "exp 5 s", "", "it's", "1%", "a,b"];
        let quoted = words.map(quoted);
        assert_eq!(quoted, ["simulate", "'exp 5 s'", "''", r"'it'\''s'", "1%", "a,b"]);
    }

    /// A command in a comment stays on its line, and cannot control a terminal.
    #[test]
    fn control_characters_are_quoted_on_one_line() {
        assert_eq!(quoted("a\nb\t'c\\'"), r"$'a\nb\t\'c\\\''");
        assert_eq!(quoted("\u{1b}[31m\r\u{9b}0"), r"$'\033[31m\015\302\2330'");
    }
}
