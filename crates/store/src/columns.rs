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

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths = Vec::new();
        for line in &self.lines {
            widths.resize(widths.len().max(line.len()), 0);
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = cell.chars().count().max(*width);
            }
        }
        for line in &self.lines {
            let mut text = String::new();
            for (column, (cell, &width)) in line.iter().zip(&widths).enumerate() {
                let gap = if column == 0 { "" } else { "  " };
                text += &if self.words.contains(&column) {
                    format!("{gap}{cell:<width$}")
                } else {
                    format!("{gap}{cell:>width$}")
                };
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        Ok(())
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
}
