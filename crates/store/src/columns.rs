//! [`Columns`]: text in aligned columns.

use std::fmt;
use std::ops::Range;

/// Lines of cells, printed in aligned columns with two spaces between them: columns of text aligned left,
/// columns of numbers right.
#[derive(Clone, Debug)]
pub struct Columns {
    words: Range<usize>,
    lines: Vec<Vec<String>>,
}

impl Columns {
    /// No lines yet; the first `words` columns hold text.
    pub fn new(words: usize) -> Columns {
        Columns::with_words(0..words)
    }

    /// No lines yet; the columns with these indices hold text.
    pub fn with_words(words: Range<usize>) -> Columns {
        Columns { words, lines: Vec::new() }
    }

    /// Adds a line.
    pub fn line(&mut self, cells: impl IntoIterator<Item = String>) {
        self.lines.push(cells.into_iter().collect());
    }
}

/// The narrowest that a column of text is made.
const NARROWEST: usize = 16;

/// The gap between two columns.
const GAP: usize = 2;

impl Columns {
    /// The text in at most `width` characters a line, unless words or numbers alone are longer. Long texts
    /// continue on further lines. If that does not suffice, the columns stand in several blocks, one
    /// below the other, each with the columns of text on the left: nothing is left out.
    pub fn fitted(&self, width: usize) -> String {
        let mut widths = self.widths();
        if total(&widths, 0..widths.len()) <= width {
            return self.to_string();
        }
        let (all, floors) = (0..widths.len(), self.floors(&widths));
        if total(&floors, all.clone()) <= width {
            narrow(&mut widths, &floors, all, width);
            return self.to_string_with(&widths);
        }
        // Numbers on the left are names, too: those of rules.
        let names = if self.words.start > 0 { self.words.start } else { self.words.end };
        let widest = widths[names..].iter().copied().max().map_or(0, |widest| widest + GAP);
        narrow(&mut widths, &floors, 0..names, width.saturating_sub(widest));
        let blocks = blocks(&widths, names, width);
        let texts: Vec<String> = blocks.iter().map(|block| self.block(&widths, block)).collect();
        texts.join("\n")
    }

    /// The width of each column.
    fn widths(&self) -> Vec<usize> {
        let mut widths = Vec::new();
        for line in &self.lines {
            widths.resize(widths.len().max(line.len()), 0);
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = shown(cell).max(*width);
            }
        }
        widths
    }

    /// How narrow each column of these `widths` can be: columns of text are broken between words.
    fn floors(&self, widths: &[usize]) -> Vec<usize> {
        let longest = |column: usize| {
            let cells = self.lines.iter().filter_map(|line| line.get(column));
            cells.flat_map(|cell| cell.split_whitespace()).map(shown).max().unwrap_or(0)
        };
        let floor = |(column, &width): (usize, &usize)| match self.words.contains(&column) {
            true => width.min(NARROWEST.max(longest(column))),
            false => width,
        };
        widths.iter().enumerate().map(floor).collect()
    }

    fn to_string_with(&self, widths: &[usize]) -> String {
        self.block(widths, &(0..widths.len()).collect::<Vec<_>>())
    }

    /// The text of the columns with the these indices.
    fn block(&self, widths: &[usize], columns: &[usize]) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let cell = |&column: &usize| line.get(column).map_or("", String::as_str);
            let is_word = |column: &usize| self.words.contains(column);
            let wrapped: Vec<Vec<String>> = columns
                .iter()
                .map(|column| match is_word(column) {
                    true => wrap(cell(column), widths[*column]),
                    false => vec![cell(column).to_owned()],
                })
                .collect();
            for row in 0..wrapped.iter().map(Vec::len).max().unwrap_or(0) {
                let mut printed = String::new();
                for ((column, cells), position) in columns.iter().zip(&wrapped).zip(0..) {
                    let cell = cells.get(row).map_or("", String::as_str);
                    let pad = " ".repeat(widths[*column].saturating_sub(shown(cell)));
                    let gap = if position == 0 { "" } else { "  " };
                    printed += &match is_word(column) {
                        true => format!("{gap}{cell}{pad}"),
                        false => format!("{gap}{pad}{cell}"),
                    };
                }
                text += printed.trim_end();
                text.push('\n');
            }
        }
        text
    }
}

/// Narrows the widest of `columns` until they fit into `width`, none below its floor.
fn narrow(widths: &mut [usize], floors: &[usize], columns: Range<usize>, width: usize) {
    while total(widths, columns.clone()) > width {
        let can = columns.clone().filter(|&column| widths[column] > floors[column]);
        let Some(widest) = can.max_by_key(|&column| widths[column]) else { break };
        widths[widest] -= 1;
    }
}

/// The width of the `columns`, with their gaps.
fn total(widths: &[usize], columns: Range<usize>) -> usize {
    let gaps = columns.len().saturating_sub(1) * GAP;
    widths[columns].iter().sum::<usize>() + gaps
}

/// The columns of each block: the first `names`, and as many others as fit into `width`, at least one.
fn blocks(widths: &[usize], names: usize, width: usize) -> Vec<Vec<usize>> {
    let start: Vec<usize> = (0..names).collect();
    let mut blocks = vec![start.clone()];
    let mut used = total(widths, 0..names);
    for column in names..widths.len() {
        let block = blocks.last_mut().expect("there is one from the start");
        if used + GAP + widths[column] > width && block.len() > names {
            used = total(widths, 0..names) + GAP + widths[column];
            blocks.push([start.as_slice(), &[column]].concat());
        } else {
            used += GAP + widths[column];
            block.push(column);
        }
    }
    blocks
}

/// How wide `cell` is. Noncharacters of Unicode (U+FDD0 to U+FDEF) have no width: a program may mark
/// parts of its text by them, as for colours.
fn shown(cell: &str) -> usize {
    cell.chars().filter(|letter| !('\u{fdd0}'..='\u{fdef}').contains(letter)).count()
}

/// `text` in lines of at most `width` characters, broken between words; a longer word stays whole.
/// Further lines are indented like the first.
fn wrap(text: &str, width: usize) -> Vec<String> {
    if shown(text) <= width {
        return vec![text.to_owned()];
    }
    let indent = &text[..text.len() - text.trim_start().len()];
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if shown(line) + 1 + shown(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("{indent}{word}")),
        }
    }
    lines
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_string_with(&self.widths()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_aligned_left_and_numbers_right() {
        let mut columns = Columns::new(1);
        columns.line(["flow", "Mbps", "±"].map(str::to_owned));
        columns.line(["a long name", "1.5", "10"].map(str::to_owned));
        assert_eq!(columns.to_string(), "flow         Mbps   ±\na long name   1.5  10\n");
        let mut columns = Columns::with_words(1..2);
        columns.line(["rule", "box", "m"].map(str::to_owned));
        columns.line(["1", "any", "0.5"].map(str::to_owned));
        assert_eq!(columns.to_string(), "rule  box    m\n   1  any  0.5\n");
    }

    #[test]
    fn wide_tables_are_stacked_with_their_names() {
        let mut columns = Columns::new(1);
        columns.line(["flow", "Mbps", "queueing", "loss"].map(str::to_owned));
        columns.line(["cubic", "14.05 ±0.10", "171.5 ±2.1", "0.00"].map(str::to_owned));
        let expected = "flow          Mbps    queueing\ncubic  14.05 ±0.10  171.5 ±2.1\n\n\
                        flow   loss\ncubic  0.00\n";
        assert_eq!(columns.fitted(34), expected);
        assert_eq!(columns.fitted(100), columns.to_string());
    }

    #[test]
    fn long_texts_continue_on_the_next_line() {
        let mut columns = Columns::new(2);
        columns.line(["name", "title", "runs"].map(str::to_owned));
        columns.line(["thesis-3-4", "A dumbbell of eight senders", "16"].map(str::to_owned));
        let expected = "name        title             runs\nthesis-3-4  A dumbbell of       16\n            \
                        eight senders\n";
        assert_eq!(columns.fitted(34), expected);
        // Too narrow for anything, but nothing is lost.
        for width in 0..60 {
            let text = columns.fitted(width);
            for word in ["thesis-3-4", "dumbbell", "senders", "16"] {
                assert!(text.contains(word), "{width}: {text}");
            }
        }
    }

    #[test]
    fn marks_have_no_width() {
        let mut columns = Columns::new(1);
        columns.line(["a", "\u{fdd0}better\u{fdd2}"].map(str::to_owned));
        columns.line(["b", "worse!"].map(str::to_owned));
        assert_eq!(columns.to_string(), "a  \u{fdd0}better\u{fdd2}\nb  worse!\n");
    }
}
