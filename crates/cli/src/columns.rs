//! Text in columns.

use std::fmt;

/// Lines of cells, printed in columns: those of the first `left` columns to the left, the others,
/// which hold numbers, to the right.
#[derive(Debug)]
pub(crate) struct Columns {
    left: usize,
    lines: Vec<Vec<String>>,
}

impl Columns {
    /// No line yet.
    pub(crate) fn new(left: usize) -> Columns {
        Columns { left, lines: Vec::new() }
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, cells: impl IntoIterator<Item = String>) {
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
                text += &if column < self.left {
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
    fn words_stand_left_and_numbers_right() {
        let mut columns = Columns::new(1);
        columns.line(["flow", "Mbps", "±"].map(str::to_owned));
        columns.line(["a long name", "1.5", "10"].map(str::to_owned));
        assert_eq!(columns.to_string(), "flow         Mbps   ±\na long name   1.5  10\n");
    }
}
