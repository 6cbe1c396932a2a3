//! How results look on a terminal: tables that fit its width, and colours where it has them.

use crate::visible::visible;
use anstream::ColorChoice;
use clap::builder::styling::AnsiColor;
use exm_store::Columns;
use std::io;

/// The width of texts that do not go to a terminal, such as a file or a pipe.
const PIPED: usize = 100;

/// The narrowest and the widest terminal that is believed.
const BELIEVED: std::ops::RangeInclusive<usize> = 20..=10_000;

/// Marks of parts of a text, which [`printable`] turns into colours or removes. They are noncharacters of
/// Unicode, which no text is made of; [`Columns`] gives them no width.
const GOOD: char = '\u{fdd0}';
const BAD: char = '\u{fdd1}';
const END: char = '\u{fdd2}';

/// How wide results are printed: as COLUMNS says, or else as the terminal is.
pub(crate) fn width() -> usize {
    let named = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size_of(io::stdout());
    let width = named.or_else(|| terminal().map(|(width, _)| usize::from(width.0)));
    width.filter(|width| BELIEVED.contains(width)).unwrap_or(PIPED)
}

/// `columns` as wide as results are printed.
pub(crate) fn table(columns: &Columns) -> String {
    columns.fitted(width())
}

/// The end of the label at the start of a line such as "CPU time        3 min", and its indent.
const LABEL: std::ops::RangeInclusive<usize> = 4..=24;

/// `text` with its lines broken between words where they are too wide. Further lines of an indented line
/// are indented like it, those of a line with a label like the text after the label.
pub(crate) fn paragraph(text: &str) -> String {
    let width = width();
    let mut out = String::new();
    for line in text.lines() {
        if line.chars().count() <= width {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        let (start, rest) = line.split_at(text_start(line));
        let indent = " ".repeat(start.chars().count());
        let mut used = indent.len();
        out.push_str(start);
        for (index, word) in rest.split_whitespace().enumerate() {
            let length = word.chars().count();
            if index > 0 && used + 1 + length > width {
                out.push('\n');
                out.push_str(&indent);
                used = indent.len();
            } else if index > 0 {
                out.push(' ');
                used += 1;
            }
            out.push_str(word);
            used += length;
        }
        out.push('\n');
    }
    out
}

/// Where the text of a line begins: after its indent, and after its label if at least two spaces follow one.
fn text_start(line: &str) -> usize {
    let indent = line.len() - line.trim_start().len();
    let after = |label: usize| {
        let rest = &line[indent + label..];
        indent + label + (rest.len() - rest.trim_start().len())
    };
    let label = line[indent..].find("  ").map(after);
    label.filter(|end| LABEL.contains(end) && line.is_char_boundary(*end)).unwrap_or(indent)
}

/// Marks `text` as good news.
pub(crate) fn good(text: &str) -> String {
    format!("{GOOD}{text}{END}")
}

/// Marks `text` as bad news.
pub(crate) fn bad(text: &str) -> String {
    format!("{BAD}{text}{END}")
}

/// `text` for people on standard output: control characters are shown, and marks are colours if the terminal
/// has colours and neither NO_COLOR nor CLICOLOR turns them off.
pub(crate) fn printable(text: &str) -> String {
    let choice = anstream::AutoStream::choice(&io::stdout());
    painted(&visible(text), choice != ColorChoice::Never)
}

fn painted(text: &str, has_colours: bool) -> String {
    let style = |mark| match mark {
        GOOD => Some(AnsiColor::Green.on_default().render().to_string()),
        BAD => Some(AnsiColor::Red.on_default().render().to_string()),
        END => Some(AnsiColor::Green.on_default().render_reset().to_string()),
        _ => None,
    };
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match style(letter) {
            Some(code) if has_colours => out.push_str(&code),
            Some(_) => {}
            None => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_colours_or_nothing() {
        let text = format!("{} {}", good("better"), bad("worse"));
        assert_eq!(painted(&text, false), "better worse");
        assert_eq!(painted(&text, true), "\u{1b}[32mbetter\u{1b}[0m \u{1b}[31mworse\u{1b}[0m");
    }

    #[test]
    fn paragraphs_keep_their_indent() {
        let text = format!("  {}", "word ".repeat(60));
        let lines = paragraph(&text);
        assert!(lines.lines().all(|line| line.starts_with("  word") && line.len() <= width()));
        assert_eq!(lines.split_whitespace().count(), 60);
        assert_eq!(paragraph("a\n\nb\n"), "a\n\nb\n");
        let labelled = paragraph(&format!("CPU time        {}", text.trim_start()));
        assert!(labelled.lines().skip(1).all(|line| line.starts_with("                word")));
    }
}
