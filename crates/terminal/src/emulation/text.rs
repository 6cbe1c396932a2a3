//! Printing.

use unicode_width::UnicodeWidthChar;

use super::Emulation;
use crate::{cell::Cell, screen::Position};

/// DEC's special graphics for the characters from `_` to `~`.
const GRAPHICS: [char; 32] = [
    ' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─',
    '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
];

impl Emulation {
    /// Prints a run of printable ASCII.
    pub(crate) fn print_ascii(&mut self, text: &[u8]) {
        if self.insert || self.charsets.is_graphics() {
            text.iter().for_each(|byte| self.print(char::from(*byte)));
            return;
        }
        self.last = text.last().map(|byte| char::from(*byte));
        let mut rest = text;
        while let Some(last) = rest.last() {
            self.wrap_if_pending();
            let Position { row, column } = self.screen.cursor;
            let room = self.columns() - column;
            let (now, later) = rest.split_at(room.min(rest.len()));
            let pen = self.screen.pen;
            self.screen.row_mut(row).put_ascii(column, now, pen);
            self.advance_cursor(now.len());
            rest = later;
            if !self.autowrap && !later.is_empty() {
                // Without wrapping, all that does not fit is printed in the last column.
                let edge = self.columns() - 1;
                self.screen.row_mut(row).put_ascii(edge, &[*last], pen);
                return;
            }
        }
    }

    /// Prints a character. Those without a width join the one before.
    pub(crate) fn print(&mut self, character: char) {
        let character = self.mapped(character);
        match character.width() {
            None => self.c1(character),
            Some(0) => self.combine(character),
            Some(width) => {
                self.last = Some(character);
                self.print_wide(character, width.min(2));
            }
        }
    }

    /// Repeats the last printed character (REP), at most as often as there are cells.
    pub(super) fn repeat(&mut self, count: usize) {
        if let Some(last) = self.last {
            for _ in 0..count.min(self.columns() * self.row_count()) {
                self.print_wide(last, last.width().unwrap_or(1).clamp(1, 2));
            }
        }
    }

    /// The character of the current character set.
    fn mapped(&self, character: char) -> char {
        match character {
            '_'..='~' if self.charsets.is_graphics() => GRAPHICS[character as usize - '_' as usize],
            _ => character,
        }
    }

    fn print_wide(&mut self, character: char, width: usize) {
        let columns = self.columns();
        if width > columns {
            return;
        }
        self.wrap_if_pending();
        if self.screen.cursor.column + width > columns {
            if self.autowrap {
                self.carriage_return();
                self.index();
            } else {
                self.screen.cursor.column = columns - width;
            }
        }
        let Position { row, column } = self.screen.cursor;
        let (insert, blank) = (self.insert, self.blank());
        let cell = Cell::new(character, self.screen.pen);
        let target = self.screen.row_mut(row);
        if insert {
            target.insert(column, width, blank);
        }
        target.put(column, width, cell);
        self.advance_cursor(width);
    }

    /// Adds a combining character to the character before the cursor.
    fn combine(&mut self, mark: char) {
        let Position { row, column } = self.screen.cursor;
        let before = if self.wrap_pending { Some(column) } else { column.checked_sub(1) };
        if let Some(before) = before {
            self.screen.row_mut(row).add_mark(before, mark);
        }
    }

    fn wrap_if_pending(&mut self) {
        if self.wrap_pending {
            self.carriage_return();
            self.index();
        }
    }

    /// Moves the cursor right after printing. Behind the last column it waits for the next character.
    fn advance_cursor(&mut self, width: usize) {
        let columns = self.columns();
        let column = self.screen.cursor.column + width;
        self.wrap_pending = column >= columns && self.autowrap;
        self.screen.cursor.column = column.min(columns - 1);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{cursor, shown, text};

    #[test]
    fn text_wraps_when_the_next_character_comes() {
        let full = shown(5, 3, "abcde");
        assert_eq!(cursor(&full), (0, 4));
        let wrapped = shown(5, 3, "abcdefg");
        assert_eq!(text(&wrapped), ["abcde", "fg", ""]);
        assert_eq!(text(&shown(5, 3, "abcde\rX")), ["Xbcde", "", ""]);
        assert_eq!(text(&shown(5, 2, "abcdefghijklm")), ["fghij", "klm"]);
    }

    #[test]
    fn without_autowrap_the_last_column_is_overwritten() {
        assert_eq!(text(&shown(5, 2, "\x1b[?7labcdefgh")), ["abcdh", ""]);
        assert_eq!(text(&shown(5, 2, "\x1b[?7labcd\u{6f22}")), ["abc\u{6f22}", ""]);
    }

    #[test]
    fn a_wide_character_takes_two_columns_and_wraps_whole() {
        let terminal = shown(5, 2, "abcd\u{6f22}x");
        assert_eq!(text(&terminal), ["abcd", "\u{6f22}x"]);
        assert_eq!(terminal.screen().row(1).width_at(0), 2);
        assert_eq!(terminal.screen().row(1).width_at(1), 0);
        assert_eq!(cursor(&terminal), (1, 3));
    }

    #[test]
    fn half_a_wide_character_becomes_blank() {
        assert_eq!(text(&shown(5, 1, "\u{6f22}b\x1b[1GX")), ["X b"]);
        assert_eq!(text(&shown(5, 1, "\u{6f22}b\x1b[2GX")), [" Xb"]);
        assert_eq!(text(&shown(5, 1, "\u{6f22}b\x1b[2G\x1b[P")), [" b"]);
    }

    #[test]
    fn combining_characters_join_the_one_before_up_to_two() {
        let terminal = shown(5, 1, "e\u{301}\u{302}\u{303}x");
        assert_eq!(text(&terminal), ["e\u{301}\u{302}x"]);
        assert_eq!(text(&shown(2, 1, "ab\u{301}")), ["ab\u{301}"]);
        assert_eq!(text(&shown(2, 1, "\u{301}a")), ["a"]);
        assert_eq!(text(&shown(4, 1, "\u{6f22}\u{301}a")), ["\u{6f22}\u{301}a"]);
    }

    #[test]
    fn insert_mode_shifts_the_rest() {
        assert_eq!(text(&shown(6, 1, "abcdef\x1b[2G\x1b[4hXY\x1b[4lZ")), ["aXYZcd"]);
    }

    #[test]
    fn rep_repeats_the_last_character() {
        assert_eq!(text(&shown(10, 1, "ab\x1b[3bc")), ["abbbbc"]);
        // There are four cells, and so four repetitions, of which the last wraps.
        assert_eq!(text(&shown(4, 1, "a\x1b[65535b")), ["a"]);
        assert_eq!(text(&shown(4, 1, "\x1b[3b")), [""]);
    }

    #[test]
    fn special_graphics_are_lines() {
        assert_eq!(text(&shown(9, 1, "\x1b(0lqk\x1b(Blqk")), ["\u{250c}\u{2500}\u{2510}lqk"]);
        assert_eq!(text(&shown(9, 1, "\x1b)0x\x0ex\x0fx")), ["x\u{2502}x"]);
    }
}
