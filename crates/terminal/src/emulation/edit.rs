//! Erasing, inserting and deleting.

use super::Emulation;
use crate::{cell::Cell, screen::Position, style::Style};

impl Emulation {
    /// ED: erases a part of the screen.
    pub(super) fn erase_in_display(&mut self, part: usize) {
        let (row, rows) = (self.screen.cursor.row, self.row_count());
        match part {
            0 => {
                self.erase_in_line(0);
                self.blank_rows(row + 1, rows);
            }
            1 => {
                self.erase_in_line(1);
                self.blank_rows(0, row);
            }
            2 => {
                self.wrap_pending = false;
                self.blank_rows(0, rows);
            }
            // 3 erases the lines that have scrolled out, which are not kept.
            _ => {}
        }
    }

    /// EL: erases a part of the cursor's line.
    pub(super) fn erase_in_line(&mut self, part: usize) {
        let Position { row, column } = self.screen.cursor;
        let range = match part {
            0 => column..self.columns(),
            1 => 0..column + 1,
            2 => 0..self.columns(),
            _ => return,
        };
        self.wrap_pending = false;
        let blank = self.blank();
        self.screen.row_mut(row).fill(range, blank);
    }

    /// ECH: erases characters from the cursor on.
    pub(super) fn erase_characters(&mut self, count: usize) {
        let Position { row, column } = self.screen.cursor;
        self.wrap_pending = false;
        let blank = self.blank();
        self.screen.row_mut(row).fill(column..column + count, blank);
    }

    /// ICH: inserts blanks at the cursor.
    pub(super) fn insert_characters(&mut self, count: usize) {
        let Position { row, column } = self.screen.cursor;
        self.wrap_pending = false;
        let blank = self.blank();
        self.screen.row_mut(row).insert(column, count, blank);
    }

    /// DCH: deletes characters at the cursor.
    pub(super) fn delete_characters(&mut self, count: usize) {
        let Position { row, column } = self.screen.cursor;
        self.wrap_pending = false;
        let blank = self.blank();
        self.screen.row_mut(row).delete(column, count, blank);
    }

    /// IL: inserts lines at the cursor, if that is in the region.
    pub(super) fn insert_lines(&mut self, count: usize) {
        let row = self.screen.cursor.row;
        if (self.top..self.bottom).contains(&row) {
            self.scroll_down(row, count);
            self.carriage_return();
        }
    }

    /// DL: deletes lines at the cursor, if that is in the region.
    pub(super) fn delete_lines(&mut self, count: usize) {
        let row = self.screen.cursor.row;
        if (self.top..self.bottom).contains(&row) {
            self.scroll_up(row, count);
            self.carriage_return();
        }
    }

    /// DECALN: fills the screen with E, for adjusting it.
    pub(super) fn alignment_pattern(&mut self) {
        (self.top, self.bottom) = (0, self.row_count());
        for row in 0..self.row_count() {
            self.screen.blank_row(row, Cell::new('E', Style::default()));
        }
        self.origin = false;
        self.home();
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Colour,
        testing::{shown, style, text},
    };

    const LINES: &str = "abc\r\ndef\r\nghi\x1b[2;2H";

    fn edited(sequence: &str) -> Vec<String> {
        text(&shown(3, 3, &format!("{LINES}{sequence}")))
    }

    #[test]
    fn parts_of_the_screen_are_erased() {
        assert_eq!(edited("\x1b[J"), ["abc", "d", ""]);
        assert_eq!(edited("\x1b[1J"), ["", "  f", "ghi"]);
        assert_eq!(edited("\x1b[2J"), ["", "", ""]);
        assert_eq!(edited("\x1b[3J"), ["abc", "def", "ghi"]);
        assert_eq!(edited("\x1b[K"), ["abc", "d", "ghi"]);
        assert_eq!(edited("\x1b[1K"), ["abc", "  f", "ghi"]);
        assert_eq!(edited("\x1b[2K"), ["abc", "", "ghi"]);
        assert_eq!(edited("\x1b[X"), ["abc", "d f", "ghi"]);
    }

    #[test]
    fn characters_and_lines_are_inserted_and_deleted() {
        assert_eq!(edited("\x1b[@"), ["abc", "d e", "ghi"]);
        assert_eq!(edited("\x1b[P"), ["abc", "df", "ghi"]);
        assert_eq!(edited("\x1b[99P"), ["abc", "d", "ghi"]);
        assert_eq!(edited("\x1b[L"), ["abc", "", "def"]);
        assert_eq!(edited("\x1b[M"), ["abc", "ghi", ""]);
        assert_eq!(edited("\x1b[MX"), ["abc", "Xhi", ""]);
    }

    #[test]
    fn erasing_keeps_the_background() {
        let terminal = shown(3, 2, "\x1b[31;44;1mx\x1b[K");
        let erased = style(terminal.screen(), 0, 1);
        assert_eq!(erased.background, Colour::Indexed(4));
        assert_eq!(erased, erased.erased());
    }

    #[test]
    fn the_alignment_pattern_fills_the_screen() {
        assert_eq!(edited("\x1b#8"), ["EEE", "EEE", "EEE"]);
    }
}
