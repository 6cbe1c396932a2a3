//! [`PredictedCell`]: what a cell will show.

use crate::cursor::Verdict;
use exm_terminal::{Cell, Position, Screen, Underline};
use exm_units::Instant;

/// What a cell will show.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PredictedCell {
    pub(crate) column: usize,
    /// None: the cell changes, it is not known to what.
    pub(crate) cell: Option<Cell>,
    /// What the cell has shown since it was first predicted, any of which the host may not have changed yet.
    pub(crate) before: Vec<char>,
    /// The frame whose echo decides.
    pub(crate) frame: u64,
    pub(crate) epoch: u64,
    /// When it was predicted.
    pub(crate) at: Instant,
}

impl PredictedCell {
    pub(crate) fn judge(&self, row: usize, echoed: u64, screen: &Screen) -> Verdict {
        let Some(seen) = screen.cell(Position { row, column: self.column }) else {
            return Verdict::Wrong;
        };
        if echoed < self.frame {
            return Verdict::Pending;
        }
        match self.cell.map(|cell| cell.character()) {
            // Anything would be right, and most cells are blank anyway.
            None | Some(' ') => Verdict::RightAnyway,
            Some(character) if character != seen.character() => Verdict::Wrong,
            Some(character) if self.before.contains(&character) => Verdict::RightAnyway,
            Some(_) => Verdict::Right,
        }
    }

    /// Draws it over `screen`.
    pub(crate) fn draw(&self, row: usize, underlined: bool, screen: &mut Screen) {
        let position = Position { row, column: self.column };
        let Some(cell) = self.cell.or_else(|| screen.cell(position).copied()) else { return };
        // Where it is not known what comes, only the underline says that something does; below a blank, it would say too much.
        let is_blank = self.cell.is_none() && cell.character() == ' ';
        let is_news = self.cell.is_some_and(|cell| {
            screen.cell(position).is_some_and(|seen| seen.character() != cell.character())
        });
        if !underlined || is_blank || !is_news && self.cell.is_some() {
            screen.overlay(position, cell);
            return;
        }
        let mut style = *cell.style();
        style.underline = Underline::Single;
        screen.overlay(position, cell.with_style(style));
    }
}
