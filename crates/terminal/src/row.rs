//! [`Row`]: one line of a screen.

use std::ops::Range;

use crate::{cell::Cell, style::Style};

/// One line of a screen.
///
/// The two cells of a wide character always stand next to each other: an edit that would separate them turns the one
/// that remains into a blank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    cells: Vec<Cell>,
}

impl Row {
    /// A row of `columns` copies of `cell`.
    pub(crate) fn filled(columns: usize, cell: Cell) -> Row {
        Row { cells: vec![cell; columns] }
    }

    /// The cells, from left to right.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The cells, for changes of their styles only.
    pub(crate) fn cells_mut(&mut self) -> &mut [Cell] {
        &mut self.cells
    }

    /// The number of columns that the character in `column` occupies: 1 or 2, or 0 in the second cell of a wide
    /// character and outside the row.
    pub fn width_at(&self, column: usize) -> usize {
        match self.cells.get(column) {
            None => 0,
            Some(cell) if cell.is_continuation() => 0,
            Some(_) => {
                1 + usize::from(self.cells.get(column + 1).is_some_and(Cell::is_continuation))
            }
        }
    }

    /// The characters, with spaces up to the end of the row.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.cells.len());
        self.cells.iter().for_each(|cell| cell.push_to(&mut text));
        text
    }

    /// Blanks the wide character that extends across the left edge of `column`, if there is one.
    fn split_at(&mut self, column: usize) {
        if self.cells.get(column).is_some_and(Cell::is_continuation) {
            let blank = Cell::erased(self.cells[column].style());
            self.cells[column] = blank;
            if let Some(lead) = column.checked_sub(1) {
                self.cells[lead] = blank;
            }
        }
    }

    /// Makes `range` ready to be replaced.
    fn cut_out(&mut self, range: &Range<usize>) {
        self.split_at(range.start);
        self.split_at(range.end);
    }

    /// Fills `range`, which is cut at the end of the row.
    pub(crate) fn fill(&mut self, range: Range<usize>, cell: Cell) {
        let range = range.start.min(self.cells.len())..range.end.min(self.cells.len());
        self.cut_out(&range);
        self.cells[range].fill(cell);
    }

    /// Fills the whole row.
    pub(crate) fn fill_all(&mut self, cell: Cell) {
        self.cells.fill(cell);
    }

    /// Writes a character of `width` columns, 1 or 2, which must fit.
    pub(crate) fn put(&mut self, column: usize, width: usize, cell: Cell) {
        self.cut_out(&(column..column + width));
        self.cells[column] = cell;
        if width == 2 {
            self.cells[column + 1] = Cell::continuation(*cell.style());
        }
    }

    /// Writes printable ASCII from `column` on, which must fit.
    pub(crate) fn put_ascii(&mut self, column: usize, text: &[u8], style: Style) {
        let range = column..column + text.len();
        self.cut_out(&range);
        for (cell, byte) in self.cells[range].iter_mut().zip(text) {
            *cell = Cell::new(char::from(*byte), style);
        }
    }

    /// Adds a combining character to the character in `column` or, if that is the second cell of a wide character, to
    /// that character.
    pub(crate) fn add_mark(&mut self, column: usize, mark: char) {
        let lead = match self.cells.get(column) {
            Some(cell) if cell.is_continuation() => column.saturating_sub(1),
            _ => column,
        };
        if let Some(cell) = self.cells.get_mut(lead) {
            cell.add_mark(mark);
        }
    }

    /// Inserts `count` copies of `blank` at `column`. What is shifted beyond the end of the row is lost.
    pub(crate) fn insert(&mut self, column: usize, count: usize, blank: Cell) {
        let columns = self.cells.len();
        let count = count.min(columns.saturating_sub(column));
        self.split_at(column);
        self.split_at(columns - count);
        self.cells[column..].rotate_right(count);
        self.cells[column..column + count].fill(blank);
    }

    /// Deletes `count` cells at `column`, and appends as many copies of `blank`.
    pub(crate) fn delete(&mut self, column: usize, count: usize, blank: Cell) {
        let columns = self.cells.len();
        let count = count.min(columns.saturating_sub(column));
        self.cut_out(&(column..column + count));
        self.cells[column..].rotate_left(count);
        self.cells[columns - count..].fill(blank);
    }

    /// Changes the number of columns. New cells are blank.
    pub(crate) fn resize(&mut self, columns: usize) {
        self.split_at(columns);
        self.cells.resize(columns, Cell::default());
    }
}
