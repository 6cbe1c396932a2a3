//! What screens show, to compare them.

use exm_terminal::{Position, Screen, Size, Style, Terminal};
use std::fmt::Write as _;

/// What a user can see of a screen.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    rows: Vec<Vec<(String, Style)>>,
    /// None if it is hidden.
    cursor: Option<Position>,
}

impl Seen {
    pub(crate) fn of(screen: &Screen) -> Seen {
        let row = |row: &exm_terminal::Row| {
            let cells = row.cells().iter().filter(|cell| !cell.is_continuation());
            cells
                .map(|cell| {
                    let mut text = String::new();
                    cell.push_to(&mut text);
                    // An erased cell looks like a blank.
                    let text = if text.is_empty() { " ".to_owned() } else { text };
                    (text, *cell.style())
                })
                .collect()
        };
        Seen {
            rows: screen.rows().map(row).collect(),
            cursor: screen.modes().cursor_visible.then(|| screen.cursor()),
        }
    }

    /// What a terminal of `size` shows that was sent `output`.
    pub(crate) fn after(size: Size, output: &str) -> Seen {
        let mut terminal = Terminal::new(size);
        terminal.advance(output.as_bytes());
        Seen::of(terminal.screen())
    }

    fn text(&self, row: usize) -> String {
        let text: String = self.rows[row].iter().map(|(text, _)| text.as_str()).collect();
        text.trim_end().to_owned()
    }

    /// The rows that contain text.
    pub(crate) fn lines(&self) -> Vec<String> {
        (0..self.rows.len()).map(|row| self.text(row)).filter(|text| !text.is_empty()).collect()
    }

    /// How this differs from what `other` shows, in words; none if they are equal.
    pub(crate) fn difference(&self, other: &Seen) -> Option<String> {
        let mut words = String::new();
        if self.cursor != other.cursor {
            let _ = write!(words, "cursor {:?} and {:?}; ", self.cursor, other.cursor);
        }
        if self.rows.len() != other.rows.len() {
            let _ = write!(words, "{} and {} rows; ", self.rows.len(), other.rows.len());
        }
        for row in 0..self.rows.len().min(other.rows.len()) {
            if self.rows[row] == other.rows[row] {
                continue;
            }
            let _ = write!(words, "row {row}: {:?} and {:?}", self.text(row), other.text(row));
            let mut cells = self.rows[row].iter().zip(&other.rows[row]).enumerate();
            if let Some((place, (one, another))) = cells.find(|(_, (one, another))| one != another)
            {
                let _ = write!(words, ", first at cell {place}: {one:?} and {another:?}");
            }
            words.push_str("; ");
        }
        (!words.is_empty()).then_some(words)
    }
}
