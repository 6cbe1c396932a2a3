//! Movements of the cursor, and scrolling.

use std::sync::Arc;

use super::{Emulation, SavedCursor};
use crate::screen::Position;

impl Emulation {
    pub(super) fn carriage_return(&mut self) {
        self.wrap_pending = false;
        self.screen.cursor.column = 0;
    }

    /// Moves to a column.
    pub(super) fn go_to_column(&mut self, column: usize) {
        self.wrap_pending = false;
        self.screen.cursor.column = column.min(self.columns() - 1);
    }

    /// Moves to a row, which counts from the top of the region in origin mode.
    pub(super) fn go_to_row(&mut self, row: usize) {
        self.wrap_pending = false;
        self.screen.cursor.row = if self.origin {
            (self.top + row).min(self.bottom - 1)
        } else {
            row.min(self.row_count() - 1)
        };
    }

    /// Moves up, but not out of the region.
    pub(super) fn up(&mut self, count: usize) {
        let row = self.screen.cursor.row;
        let limit = if row >= self.top { self.top } else { 0 };
        self.wrap_pending = false;
        self.screen.cursor.row = row.saturating_sub(count).max(limit);
    }

    /// Moves down, but not out of the region.
    pub(super) fn down(&mut self, count: usize) {
        let row = self.screen.cursor.row;
        let limit = if row < self.bottom { self.bottom } else { self.row_count() };
        self.wrap_pending = false;
        self.screen.cursor.row = (row + count).min(limit - 1);
    }

    /// IND: moves down, and scrolls at the end of the region.
    pub(super) fn index(&mut self) {
        self.wrap_pending = false;
        let row = self.screen.cursor.row;
        if row + 1 == self.bottom {
            self.scroll_off(1);
        } else if row + 1 < self.row_count() {
            self.screen.cursor.row += 1;
        }
    }

    /// RI: moves up, and scrolls at the beginning of the region.
    pub(super) fn reverse_index(&mut self) {
        self.wrap_pending = false;
        if self.screen.cursor.row == self.top {
            self.scroll_down(self.top, 1);
        } else {
            self.screen.cursor.row = self.screen.cursor.row.saturating_sub(1);
        }
    }

    /// Scrolls the region up, and keeps the rows that leave the main screen.
    pub(super) fn scroll_off(&mut self, count: usize) {
        if self.scrolled.is_on() && self.top == 0 && self.current() == 0 {
            let count = count.min(self.bottom);
            self.screen.rows[..count].iter().for_each(|row| self.scrolled.push(Arc::clone(row)));
        }
        self.scroll_up(self.top, count);
    }

    /// Scrolls the rows from `top` to the end of the region up.
    pub(super) fn scroll_up(&mut self, top: usize, count: usize) {
        let bottom = self.bottom;
        let count = count.min(bottom - top);
        self.screen.rows[top..bottom].rotate_left(count);
        self.blank_rows(bottom - count, bottom);
    }

    /// Scrolls the rows from `top` to the end of the region down.
    pub(super) fn scroll_down(&mut self, top: usize, count: usize) {
        let bottom = self.bottom;
        let count = count.min(bottom - top);
        self.screen.rows[top..bottom].rotate_right(count);
        self.blank_rows(top, top + count);
    }

    /// Erases the rows from `first` up to but not including `end`.
    pub(super) fn blank_rows(&mut self, first: usize, end: usize) {
        let blank = self.blank();
        for row in first..end {
            self.screen.blank_row(row, blank);
        }
    }

    /// DECSTBM, with rows counted from 1; a `bottom` of 0 stands for the last row.
    pub(super) fn set_margins(&mut self, top: usize, bottom: usize) {
        let rows = self.row_count();
        let top = top.max(1) - 1;
        let bottom = if bottom == 0 { rows } else { bottom.min(rows) };
        if top + 1 < bottom || (rows == 1 && top == 0) {
            (self.top, self.bottom) = (top, bottom);
            self.home();
        }
    }

    pub(super) fn home(&mut self) {
        self.go_to_row(0);
        self.go_to_column(0);
    }

    pub(super) fn save_cursor(&mut self) {
        self.saved[self.current()] = SavedCursor {
            cursor: self.screen.cursor,
            pen: self.screen.pen,
            charsets: self.charsets,
            origin: self.origin,
            wrap_pending: self.wrap_pending,
        };
    }

    pub(super) fn restore_cursor(&mut self) {
        let saved = self.saved[self.current()];
        self.screen.set_cursor(saved.cursor);
        self.screen.pen = saved.pen;
        self.charsets = saved.charsets;
        self.origin = saved.origin;
        self.wrap_pending = saved.wrap_pending && self.screen.cursor.column + 1 == self.columns();
    }

    /// Moves to the next tab stops.
    pub(super) fn tab(&mut self, count: usize) {
        let Position { mut column, .. } = self.screen.cursor;
        for _ in 0..count.min(self.columns()) {
            let next = self.tabs.iter().skip(column + 1).position(|is_stop| *is_stop);
            column = next.map_or(self.columns() - 1, |distance| column + 1 + distance);
        }
        self.go_to_column(column);
    }

    /// Moves to previous tab stops.
    pub(super) fn back_tab(&mut self, count: usize) {
        let Position { mut column, .. } = self.screen.cursor;
        for _ in 0..count.min(self.columns()) {
            column = self.tabs[..column].iter().rposition(|is_stop| *is_stop).unwrap_or(0);
        }
        self.go_to_column(column);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{cursor, shown, text};

    #[test]
    fn lines_scroll_within_the_margins() {
        let lines = "1\r\n2\r\n3\r\n4\x1b[2;3r";
        assert_eq!(text(&shown(3, 4, &format!("{lines}\x1b[3H\nx"))), ["1", "3", "x", "4"]);
        assert_eq!(text(&shown(3, 4, &format!("{lines}\x1b[2H\x1bMx"))), ["1", "x", "2", "4"]);
        assert_eq!(text(&shown(3, 4, &format!("{lines}\x1b[S"))), ["1", "3", "", "4"]);
        assert_eq!(text(&shown(3, 4, &format!("{lines}\x1b[9T"))), ["1", "", "", "4"]);
        // Below the margins, nothing scrolls.
        assert_eq!(text(&shown(3, 4, &format!("{lines}\x1b[4H\n\nx"))), ["1", "2", "3", "x"]);
    }

    #[test]
    fn origin_mode_counts_from_the_margin() {
        assert_eq!(cursor(&shown(9, 9, "\x1b[3;5r\x1b[?6h")), (2, 0));
        assert_eq!(cursor(&shown(9, 9, "\x1b[3;5r\x1b[?6h\x1b[2;4H")), (3, 3));
        assert_eq!(cursor(&shown(9, 9, "\x1b[3;5r\x1b[?6h\x1b[9;4H")), (4, 3));
        let mut terminal = shown(9, 9, "\x1b[3;5r\x1b[?6h\x1b[2;4H\x1b[6n");
        assert_eq!(terminal.take_answers(), b"\x1b[2;4R");
    }

    #[test]
    fn movements_stop_at_margins_and_edges() {
        assert_eq!(cursor(&shown(9, 9, "\x1b[3;5r\x1b[4;4H\x1b[9A")), (2, 3));
        assert_eq!(cursor(&shown(9, 9, "\x1b[3;5r\x1b[4;4H\x1b[9B")), (4, 3));
        assert_eq!(cursor(&shown(9, 9, "\x1b[3;5r\x1b[8;4H\x1b[9B")), (8, 3));
        assert_eq!(cursor(&shown(9, 9, "\x1b[999;999H")), (8, 8));
        assert_eq!(cursor(&shown(9, 9, "\x1b[5;5H\x1b[2F")), (2, 0));
        assert_eq!(cursor(&shown(9, 9, "\x1b[5;5H\x1b[2E")), (6, 0));
    }

    #[test]
    fn margins_of_one_line_are_refused() {
        assert_eq!(text(&shown(3, 3, "1\r\n2\r\n3\x1b[2;2r\n4")), ["2", "3", " 4"]);
    }

    #[test]
    fn the_cursor_is_saved_with_its_pen() {
        let terminal = shown(9, 3, "\x1b[2;3H\x1b[31m\x1b7\x1b[H\x1b[m\x1b8");
        assert_eq!(cursor(&terminal), (1, 2));
        assert_eq!(terminal.screen().pen().foreground, crate::Colour::Indexed(1));
    }

    #[test]
    fn tab_stops_are_set_and_cleared() {
        assert_eq!(cursor(&shown(30, 1, "\t")), (0, 8));
        assert_eq!(cursor(&shown(30, 1, "\x1b[3I")), (0, 24));
        assert_eq!(cursor(&shown(30, 1, "\x1b[9I")), (0, 29));
        assert_eq!(cursor(&shown(30, 1, "\x1b[20G\x1b[2Z")), (0, 8));
        assert_eq!(cursor(&shown(30, 1, "\x1b[4G\x1bH\r\t")), (0, 3));
        assert_eq!(cursor(&shown(30, 1, "\x1b[9G\x1b[g\r\t")), (0, 16));
        assert_eq!(cursor(&shown(30, 1, "\x1b[3g\t")), (0, 29));
    }
}
