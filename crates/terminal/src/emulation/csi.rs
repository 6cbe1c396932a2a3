//! Control sequences: what begins with CSI.

use vte::Params;

use super::Emulation;
use crate::{modes::CursorShape, screen::Position};

/// The parameters of a control sequence.
struct Arguments<'a>(&'a Params);

impl Arguments<'_> {
    /// A parameter, or 0 if it is absent.
    fn raw(&self, index: usize) -> usize {
        self.0
            .iter()
            .nth(index)
            .and_then(|param| param.first())
            .map_or(0, |value| usize::from(*value))
    }

    /// A number of repetitions, or a position that counts from 1: absent and 0 mean 1.
    fn count(&self, index: usize) -> usize {
        self.raw(index).max(1)
    }

    /// A position, counted from 0.
    fn position(&self, index: usize) -> usize {
        self.count(index) - 1
    }
}

impl Emulation {
    /// Executes a control sequence.
    pub(super) fn csi(&mut self, params: &Params, intermediates: &[u8], action: char) {
        let arguments = Arguments(params);
        match intermediates {
            [] => match action {
                '@' | 'J'..='M' | 'P' | 'S' | 'T' | 'X' | 'b' => self.edit(&arguments, action),
                'm' => self.select_graphic_rendition(params.iter()),
                'h' | 'l' => {
                    params.iter().flatten().for_each(|mode| self.set_mode(*mode, action == 'h'));
                }
                'c' if arguments.raw(0) == 0 => self.answer(b"\x1b[?62c"),
                'n' => self.report(arguments.raw(0)),
                'r' => self.set_margins(arguments.raw(0), arguments.raw(1)),
                's' => self.save_cursor(),
                'u' => self.restore_cursor(),
                'g' => self.clear_tabs(arguments.raw(0)),
                _ => self.move_cursor(&arguments, action),
            },
            [b'?'] => match action {
                'h' | 'l' => {
                    params
                        .iter()
                        .flatten()
                        .for_each(|mode| self.set_private_mode(*mode, action == 'h'));
                }
                'J' => self.erase_in_display(arguments.raw(0)),
                'K' => self.erase_in_line(arguments.raw(0)),
                _ => {}
            },
            [b'>'] if action == 'c' && arguments.raw(0) == 0 => self.answer(b"\x1b[>1;10;0c"),
            [b'!'] if action == 'p' => self.soft_reset(),
            [b' '] if action == 'q' => {
                let shape = u16::try_from(arguments.raw(0)).ok().and_then(CursorShape::new);
                self.screen.modes.cursor_shape = shape.unwrap_or(self.screen.modes.cursor_shape);
            }
            _ => {}
        }
    }

    fn edit(&mut self, arguments: &Arguments<'_>, action: char) {
        let count = arguments.count(0);
        match action {
            '@' => self.insert_characters(count),
            'J' => self.erase_in_display(arguments.raw(0)),
            'K' => self.erase_in_line(arguments.raw(0)),
            'L' => self.insert_lines(count),
            'M' => self.delete_lines(count),
            'P' => self.delete_characters(count),
            'S' => self.scroll_off(count),
            // With five parameters, it is a request to track the mouse.
            'T' if arguments.0.len() <= 1 => self.scroll_down(self.top, count),
            'X' => self.erase_characters(count),
            'b' => self.repeat(count),
            _ => {}
        }
    }

    fn move_cursor(&mut self, arguments: &Arguments<'_>, action: char) {
        let (count, position) = (arguments.count(0), arguments.position(0));
        let column = self.screen.cursor.column;
        match action {
            'A' => self.up(count),
            'B' | 'e' => self.down(count),
            'C' | 'a' => self.go_to_column(column + count),
            'D' => self.go_to_column(column.saturating_sub(count)),
            'E' => {
                self.down(count);
                self.carriage_return();
            }
            'F' => {
                self.up(count);
                self.carriage_return();
            }
            'G' | '`' => self.go_to_column(position),
            'H' | 'f' => {
                self.go_to_row(position);
                self.go_to_column(arguments.position(1));
            }
            'I' => self.tab(count),
            'Z' => self.back_tab(count),
            'd' => self.go_to_row(position),
            _ => {}
        }
    }

    /// DSR: reports that the terminal is well (5), or where the cursor is (6).
    fn report(&mut self, what: usize) {
        let Position { row, column } = self.screen.cursor;
        let row = if self.origin { row.saturating_sub(self.top) } else { row };
        match what {
            5 => self.answer(b"\x1b[0n"),
            6 => self.answer(format!("\x1b[{};{}R", row + 1, column + 1).as_bytes()),
            _ => {}
        }
    }

    /// TBC.
    fn clear_tabs(&mut self, which: usize) {
        match which {
            0 => self.tabs[self.screen.cursor.column] = false,
            3 => self.tabs.fill(false),
            _ => {}
        }
    }
}
