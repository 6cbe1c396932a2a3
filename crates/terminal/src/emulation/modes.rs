//! Modes: SM, RM, DECSET and DECRST.

use super::Emulation;
use crate::{
    cell::Cell,
    modes::{MouseEncoding, MouseMode},
    screen::Screen,
};

impl Emulation {
    /// SM and RM.
    pub(super) fn set_mode(&mut self, mode: u16, on: bool) {
        match mode {
            4 => self.insert = on,
            20 => self.newline = on,
            _ => {}
        }
    }

    /// DECSET and DECRST.
    pub(super) fn set_private_mode(&mut self, mode: u16, on: bool) {
        let modes = &mut self.screen.modes;
        match mode {
            1 => modes.application_cursor = on,
            3 => self.reset_page(),
            5 => modes.reverse_video = on,
            6 => {
                self.origin = on;
                self.home();
            }
            7 => {
                self.autowrap = on;
                self.wrap_pending &= on;
            }
            25 => modes.cursor_visible = on,
            66 => modes.application_keypad = on,
            1004 => modes.focus_events = on,
            2004 => modes.bracketed_paste = on,
            9 => self.set_mouse(MouseMode::X10, on),
            1000 => self.set_mouse(MouseMode::Normal, on),
            1002 => self.set_mouse(MouseMode::ButtonMotion, on),
            1003 => self.set_mouse(MouseMode::AnyMotion, on),
            1005 => self.set_mouse_encoding(MouseEncoding::Utf8, on),
            1006 => self.set_mouse_encoding(MouseEncoding::Sgr, on),
            1015 => self.set_mouse_encoding(MouseEncoding::Urxvt, on),
            47 | 1047 => self.show_alternate(on),
            1048 if on => self.save_cursor(),
            1048 => self.restore_cursor(),
            1049 if on => {
                // Saved for the main screen, which is left.
                self.save_cursor();
                self.show_alternate(true);
            }
            1049 => {
                self.show_alternate(false);
                self.restore_cursor();
            }
            _ => {}
        }
    }

    /// DECCOLM: the number of columns is the client's, and the other effects remain. The screen is cleared, the margins are those of the
    /// screen, and the cursor is in the first cell.
    fn reset_page(&mut self) {
        self.set_margins(1, self.row_count());
        self.erase_in_display(2);
    }

    fn set_mouse(&mut self, mouse: MouseMode, on: bool) {
        self.screen.modes.mouse = if on { mouse } else { MouseMode::Off };
    }

    fn set_mouse_encoding(&mut self, encoding: MouseEncoding, on: bool) {
        self.screen.modes.mouse_encoding = if on { encoding } else { MouseEncoding::Bytes };
    }

    /// Shows the alternate screen, which is blank at first, or the main one. The cursor keeps its position.
    fn show_alternate(&mut self, on: bool) {
        if self.screen.modes.alternate_screen == on {
            return;
        }
        self.screen.modes.alternate_screen = on;
        self.wrap_pending = false;
        let blank = || Screen::blank_rows(self.screen.size(), Cell::default());
        let next = if on { blank() } else { self.parked.take().unwrap_or_else(blank) };
        let last = std::mem::replace(&mut self.screen.rows, next);
        if on {
            self.parked = Some(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        MouseEncoding, MouseMode,
        testing::{cursor, shown, text},
    };

    #[test]
    fn the_alternate_screen_is_blank_and_the_main_one_returns() {
        let mut terminal = shown(4, 2, "main\x1b[?1049h");
        assert_eq!(text(&terminal), ["", ""]);
        terminal.advance(b"\x1b[Halt");
        assert!(terminal.screen().modes().alternate_screen);
        terminal.advance(b"\x1b[?1049l");
        assert_eq!(text(&terminal), ["main", ""]);
        assert_eq!(cursor(&terminal), (0, 3));
        assert_eq!(text(&shown(4, 2, "main\x1b[?47h\x1b[?47h\x1b[?47l")), ["main", ""]);
    }

    /// As the manual of the VT510 has it, except that the width stays.
    #[test]
    fn another_number_of_columns_clears_the_screen() {
        for mode in ["\x1b[?3h", "\x1b[?3l"] {
            let terminal = shown(4, 3, &format!("ab\r\ncd\x1b[2;3r\x1b[3;2H{mode}x\n\ny"));
            assert_eq!(text(&terminal), ["x", "", " y"]);
            assert_eq!(terminal.screen().size(), crate::Size::new(4, 3));
        }
    }

    #[test]
    fn the_last_mouse_mode_counts() {
        let terminal = shown(4, 2, "\x1b[?1000;1006h\x1b[?1002h");
        assert_eq!(terminal.screen().modes().mouse, MouseMode::ButtonMotion);
        assert_eq!(terminal.screen().modes().mouse_encoding, MouseEncoding::Sgr);
        let off = shown(4, 2, "\x1b[?1003h\x1b[?1003l\x1b[?1015h\x1b[?1015l");
        assert_eq!(off.screen().modes(), crate::Screen::new(off.screen().size()).modes());
    }

    #[test]
    fn resets_restore_modes() {
        let set = "ab\x1b[?5;25;2004;1;1004h\x1b[?25l\x1b=\x1b[31m\x1b[4 q";
        let terminal = shown(4, 2, &format!("{set}\x1bc"));
        assert_eq!(*terminal.screen(), crate::Screen::new(terminal.screen().size()));
        let soft = shown(4, 2, &format!("{set}\x1b[!p"));
        assert!(soft.screen().modes().cursor_visible && !soft.screen().modes().application_cursor);
        assert_eq!(text(&soft), ["ab", ""]);
        assert_eq!(cursor(&soft), (0, 2));
    }
}
