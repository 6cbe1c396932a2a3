//! [`update`]: the bytes that turn one screen into another.

mod modes;
mod pen;
mod rows;
mod scroll;
mod writer;

use crate::{
    cell::Cell,
    modes::Modes,
    screen::Screen,
    style::{Attributes, Style, Underline},
};
use writer::Writer;

/// What updates may contain besides what mosh 1.4.0 implements. By default, nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Features {
    /// DECSCUSR, the shape of the cursor.
    pub cursor_shape: bool,
    /// SGR 2, faint text.
    pub faint: bool,
    /// SGR 9, struck text.
    pub strike: bool,
    /// Kinds of underlines (SGR 4:2 to 4:5); without them, all are single.
    pub underline_kinds: bool,
    /// REP, which repeats a character.
    pub repeat: bool,
    /// OSC 8, hyperlinks.
    pub hyperlinks: bool,
    /// DECSET 1049: the alternate screen. Without it, only its contents are transmitted.
    pub alternate_screen: bool,
}

impl Features {
    /// What mosh 1.4.0 implements.
    pub const MOSH: Features = Features {
        cursor_shape: false,
        faint: false,
        strike: false,
        underline_kinds: false,
        repeat: false,
        hyperlinks: false,
        alternate_screen: false,
    };

    /// Everything that this crate's terminal implements.
    pub const ALL: Features = Features {
        cursor_shape: true,
        faint: true,
        strike: true,
        underline_kinds: true,
        repeat: true,
        hyperlinks: true,
        alternate_screen: true,
    };

    /// All that is visible, for a terminal that ignores what it does not know; on one screen.
    pub const STYLES: Features =
        Features { repeat: false, alternate_screen: false, ..Features::ALL };

    /// The bytes that turn a terminal that shows `from` into one that shows `to`.
    ///
    /// If the sizes differ, the terminal must already have the size of `to`. With `from_is_known` false, the
    /// terminal may be in any state, and `from` is ignored except for its size. The bytes contain no query.
    #[must_use]
    pub fn update(&self, from: &Screen, to: &Screen, from_is_known: bool) -> Vec<u8> {
        let blank;
        let mut writer = Writer::new(self, from, to);
        let from = if from_is_known {
            from
        } else {
            blank = Screen::new(to.size());
            self.write_initial_state(&mut writer.out);
            writer.forget_all();
            &blank
        };
        modes::write_before_rows(&mut writer, from, to);
        if from.size() != to.size() {
            writer.clear();
        }
        scroll::write(&mut writer);
        rows::write(&mut writer);
        writer.finish_cursor();
        modes::write_after_rows(&mut writer, from, to);
        writer.out
    }

    /// Brings a terminal in any state to that of a new one.
    fn write_initial_state(&self, out: &mut Vec<u8>) {
        // CAN ends a sequence that may have begun.
        out.push(0x18);
        // This restores a saved pen, and so precedes the rest.
        if self.alternate_screen {
            out.extend_from_slice(b"\x1b[?1049l");
        }
        if self.cursor_shape {
            out.extend_from_slice(b"\x1b[0 q");
        }
        if self.hyperlinks {
            out.extend_from_slice(b"\x1b]8;;\x1b\\");
        }
        out.extend_from_slice(INITIAL_STATE);
    }

    /// The style, as far as updates transmit it. Hyperlinks keep their number.
    fn visible_style(&self, style: &Style) -> Style {
        let mut visible = *style;
        if !self.faint {
            visible.attributes = visible.attributes.without(Attributes::FAINT);
        }
        if !self.strike {
            visible.attributes = visible.attributes.without(Attributes::STRIKE);
        }
        if !self.underline_kinds && visible.underline != Underline::None {
            visible.underline = Underline::Single;
        }
        if !self.hyperlinks {
            visible.link = 0;
        }
        visible
    }

    /// The cell, as far as updates transmit it.
    fn visible_cell(&self, cell: &Cell) -> Cell {
        cell.with_style(self.visible_style(cell.style()))
    }

    /// The screen that a terminal shows after [`Features::update`] to `screen`: it lacks what these features do not
    /// transmit. The number of rings of the bell remains.
    #[must_use]
    pub fn transmitted(&self, screen: &Screen) -> Screen {
        let mut screen = screen.clone();
        for row in 0..screen.rows.len() {
            for cell in screen.row_mut(row).cells_mut() {
                *cell = self.visible_cell(cell);
            }
        }
        screen.pen = self.visible_style(&screen.pen);
        let initial = Modes::default();
        screen.modes.application_cursor = false;
        screen.modes.application_keypad = false;
        if !self.cursor_shape {
            screen.modes.cursor_shape = initial.cursor_shape;
        }
        if !self.alternate_screen {
            screen.modes.alternate_screen = false;
        }
        if !self.hyperlinks {
            screen.links = Default::default();
        }
        screen
    }
}

/// The bytes that turn a terminal that shows `from` into one that shows `to`, for any peer that implements what mosh
/// 1.4.0 does. See [`Features::update`].
#[must_use]
pub fn update(from: &Screen, to: &Screen, from_is_known: bool) -> Vec<u8> {
    Features::MOSH.update(from, to, from_is_known)
}

/// The initial state, as far as mosh implements it: the character sets, the margins, LNM, IRM, DECOM, DECAWM, the pen, the
/// modes that updates transmit, and the cells.
const INITIAL_STATE: &[u8] =
    b"\x0f\x1b(B\x1b[r\x1b[20l\x1b[4l\x1b[?6l\x1b[?7h\x1b[m\x1b[?5l\x1b[?25h\x1b[?2004l\
\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[H\x1b[2J";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Size, testing::shown};

    fn bytes(first: &str, second: &str) -> String {
        let mut terminal = shown(40, 6, first);
        let before = terminal.screen().clone();
        terminal.advance(second.as_bytes());
        String::from_utf8_lossy(&update(&before, terminal.screen(), true)).into_owned()
    }

    #[test]
    fn updates_are_short() {
        assert_eq!(bytes("", ""), "");
        assert_eq!(bytes("ab", "c"), "c");
        assert_eq!(bytes("ab", "\x08 \x08"), "\x08\x1b[K");
        assert_eq!(bytes("abcdef", "\x1b[1;2HX"), "\x1b[1;2HX");
        assert_eq!(bytes("", "\x1b[31mred\x1b[m"), "\x1b[31mred\x1b[m");
        assert_eq!(bytes("ab", "\r\nc"), "\r\nc");
        assert_eq!(bytes("abcd", "\rX\x1b[4GY"), "\rXbcY");
    }

    #[test]
    fn rows_scroll() {
        let lines = "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix";
        assert_eq!(bytes(lines, "\r\nseven"), "\r\nseven");
        assert_eq!(bytes(lines, "\x1b[H\x1bM"), "\x1b[H\x1b[1L");
        let in_margins = bytes(lines, "\x1b[2;5r\x1b[5H\n\nx");
        assert_eq!(in_margins, "\x1b[2;5r\x1b[5H\n\n\x1b[r\x1b[5Hx");
    }

    #[test]
    fn the_order_is_that_of_mosh() {
        let second = "\x1b[?1006h\x1b[?1004h\x1b[?1000h\x1b[?2004h\x1b[?25l\x1b[?5h\x1b]52;c;aGk=\x07\x1b]0;t\x07\x07x\x1b[1m";
        let wanted = "\x07\x1b]0;t\x07\x1b]52;c;aGk=\x07\x1b[?5hx\x1b[?25l\x1b[1m\x1b[?2004h\x1b[?1000h\x1b[?1004h\x1b[?1006h";
        assert_eq!(bytes("", second), wanted);
    }

    #[test]
    fn what_mosh_lacks_is_left_out_unless_permitted() {
        let from = Screen::new(Size::new(20, 2));
        let output = "\x1b[?1049h\x1b[3 q\x1b[2;9;4:3mf\x1b]8;;http://a\x07l\x1b[m============";
        let to = shown(20, 2, output);
        let default = update(&from, to.screen(), true);
        assert_eq!(String::from_utf8_lossy(&default), "\x1b[4mfl\x1b[m============");
        let all =
            String::from_utf8_lossy(&Features::ALL.update(&from, to.screen(), true)).into_owned();
        for part in ["\x1b[?1049h", "\x1b[3 q", "2;9;4:3m", "\x1b]8;;http://a\x1b\\", "\x1b[11b"] {
            assert!(all.contains(part), "{all:?}");
        }
    }

    #[test]
    fn another_size_is_drawn_anew() {
        let (from, to) = (shown(9, 2, "old"), shown(12, 3, "new"));
        let bytes = update(from.screen(), to.screen(), true);
        assert_eq!(String::from_utf8_lossy(&bytes), "\x1b[H\x1b[2Jnew");
    }
}
