//! Styled text, broken into lines.

use clap::builder::styling::{AnsiColor, Style as Ansi};
use std::fmt::Write;

/// The style of a piece of text on a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Style {
    #[default]
    Plain,
    Strong,
    Code,
    Heading,
}

impl Style {
    fn ansi(self) -> Ansi {
        match self {
            Style::Plain => Ansi::new(),
            Style::Strong => Ansi::new().bold(),
            Style::Code => AnsiColor::Cyan.on_default(),
            Style::Heading => Ansi::new().bold().underline(),
        }
    }
}

/// Characters with their styles. A line break is a character, too.
#[derive(Clone, Debug, Default)]
pub(super) struct Text(Vec<(char, Style)>);

impl Text {
    /// Adds `text` in this style.
    pub(super) fn push(&mut self, text: &str, style: Style) {
        self.0.extend(text.chars().map(|letter| (letter, style)));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of its characters.
    pub(super) fn width(&self) -> usize {
        self.0.len()
    }

    /// Its lines, broken between words so that each has at most `width` characters, unless a single
    /// word is longer.
    pub(super) fn lines(&self, width: usize) -> Vec<Text> {
        let mut lines = Vec::new();
        for paragraph in self.0.split(|&(letter, _)| letter == '\n') {
            let mut line: Vec<(char, Style)> = Vec::new();
            let words = paragraph.split(|&(letter, _)| letter == ' ');
            for word in words.filter(|word| !word.is_empty()) {
                if !line.is_empty() && line.len() + 1 + word.len() > width {
                    lines.push(Text(std::mem::take(&mut line)));
                }
                if let Some(&(_, last)) = line.last() {
                    // A space between two words of the same style has it as well.
                    let same = word.first().is_some_and(|&(_, style)| style == last);
                    line.push((' ', if same { last } else { Style::Plain }));
                }
                line.extend_from_slice(word);
            }
            lines.push(Text(line));
        }
        lines
    }

    /// Writes it to `out`, with terminal escape codes if `styled`.
    pub(super) fn write(&self, out: &mut String, styled: bool) {
        let mut now = Style::Plain;
        for &(letter, style) in &self.0 {
            if styled && style != now {
                write!(out, "{:#}{}", now.ansi(), style.ansi())
                    .expect("writing to memory succeeds");
                now = style;
            }
            out.push(letter);
        }
        if styled {
            write!(out, "{:#}", now.ansi()).expect("writing to memory succeeds");
        }
    }
}

/// Rows of cells as columns that fit into `width` characters if cells can be wrapped so; the first
/// row is the heading.
pub(super) fn columns(rows: &[Vec<Text>], width: usize, styled: bool) -> String {
    let widths = fitting(rows, width);
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cells: Vec<Vec<Text>> =
            row.iter().zip(&widths).map(|(cell, &width)| cell.lines(width)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for index in 0..height {
            let mut line = String::new();
            let mut gap = 0;
            for (cell, &width) in cells.iter().zip(&widths) {
                let text = cell.get(index).cloned().unwrap_or_default();
                if !text.is_empty() {
                    line.push_str(&" ".repeat(gap));
                    text.write(&mut line, styled);
                    gap = 0;
                }
                gap += width.saturating_sub(text.width()) + 2;
            }
            out.push_str(&line);
            out.push('\n');
        }
        if number == 0 {
            let rules: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
            out.push_str(&rules.join("  "));
            out.push('\n');
        }
    }
    out
}

/// The widths of the columns of `rows`: the widest are narrowed first until all fit into `width`.
fn fitting(rows: &[Vec<Text>], width: usize) -> Vec<usize> {
    /// The least width to which a column is narrowed.
    const LEAST: usize = 8;
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cells = |column: usize| rows.iter().filter_map(move |row| row.get(column));
    let mut widths: Vec<usize> =
        (0..count).map(|column| cells(column).map(Text::width).max().unwrap_or(0)).collect();
    let available = width.saturating_sub(2 * count.saturating_sub(1));
    while widths.iter().sum::<usize>() > available {
        let Some(widest) = widths.iter_mut().max_by_key(|width| **width) else { break };
        if *widest <= LEAST {
            break;
        }
        *widest -= 1;
    }
    // A word that is longer than its column widens it again.
    let longest = |column: usize, width: usize| {
        let lines = cells(column).flat_map(|cell| cell.lines(width));
        lines.map(|line| line.width()).max().unwrap_or(0)
    };
    widths.iter().enumerate().map(|(column, &width)| longest(column, width)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Text {
        let mut all = Text::default();
        all.push(text, Style::Plain);
        all
    }

    fn shown(text: &Text, styled: bool) -> String {
        let mut out = String::new();
        text.write(&mut out, styled);
        out
    }

    #[test]
    fn lines_end_before_the_word_that_has_no_room() {
        let lines = plain("one two  three\nfour incomprehensible").lines(8);
        let lines: Vec<String> = lines.iter().map(|line| shown(line, false)).collect();
        assert_eq!(lines, ["one two", "three", "four", "incomprehensible"]);
    }

    #[test]
    fn styles_are_codes_on_a_terminal_only() {
        let mut text = plain("a ");
        text.push("b", Style::Strong);
        assert_eq!(shown(&text, false), "a b");
        assert_eq!(shown(&text, true), "a \u{1b}[1mb\u{1b}[0m");
    }

    #[test]
    fn columns_give_way_where_they_are_widest() {
        let rows =
            [vec![plain("key"), plain("is")], vec![plain("rate"), plain("of the whole link")]];
        let expected = "key   is\n----  ----------\nrate  of the\n      whole link\n";
        assert_eq!(columns(&rows, 16, false), expected);
        assert_eq!(columns(&rows, 80, false).lines().count(), 3);
    }
}
