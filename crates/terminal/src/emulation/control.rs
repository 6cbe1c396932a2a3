//! What the parser calls: control characters, escape sequences, and the way to the others.

use vte::{Params, Perform};

use super::Emulation;

impl Emulation {
    /// Executes a control character of C0, or DEL, which does nothing.
    pub(crate) fn control(&mut self, byte: u8) {
        match byte {
            0x07 => self.screen.bells += 1,
            0x08 => self.go_to_column(self.screen.cursor.column.saturating_sub(1)),
            b'\t' => self.tab(1),
            // VT and FF act like LF.
            b'\n' | 0x0b | 0x0c => {
                self.index();
                if self.newline {
                    self.carriage_return();
                }
            }
            b'\r' => self.carriage_return(),
            0x0e => self.charsets.shifted = true,
            0x0f => self.charsets.shifted = false,
            _ => {}
        }
    }

    /// Executes a control character of C1 that does not begin a string or a sequence; those are ignored, since only
    /// their forms of 7 bits are supported.
    pub(super) fn c1(&mut self, character: char) {
        match character {
            '\u{84}' => self.index(),
            '\u{85}' => self.next_line(),
            '\u{88}' => self.set_tab(),
            '\u{8d}' => self.reverse_index(),
            _ => {}
        }
    }

    fn next_line(&mut self) {
        self.index();
        self.carriage_return();
    }

    fn set_tab(&mut self) {
        self.tabs[self.screen.cursor.column] = true;
    }
}

impl Perform for Emulation {
    fn print(&mut self, character: char) {
        Emulation::print(self, character);
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            // CAN and SUB end a sequence.
            0x18 | 0x1a => self.ended = true,
            0..0x80 => self.control(byte),
            _ => self.c1(char::from(byte)),
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: char) {
        self.ended = true;
        if !ignore {
            self.csi(params, intermediates, action);
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], ignore: bool, byte: u8) {
        self.ended = true;
        if ignore {
            return;
        }
        match (intermediates, byte) {
            ([], b'7') => self.save_cursor(),
            ([], b'8') => self.restore_cursor(),
            ([], b'=') => self.screen.modes.application_keypad = true,
            ([], b'>') => self.screen.modes.application_keypad = false,
            ([], b'D') => self.index(),
            ([], b'E') => self.next_line(),
            ([], b'H') => self.set_tab(),
            ([], b'M') => self.reverse_index(),
            ([], b'Z') => self.answer(b"\x1b[?62c"),
            ([], b'c') => self.reset(),
            ([b'#'], b'8') => self.alignment_pattern(),
            ([b'('], _) => self.charsets.graphics[0] = byte == b'0',
            ([b')'], _) => self.charsets.graphics[1] = byte == b'0',
            _ => {}
        }
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], bell_terminated: bool) {
        // A string that ESC ends is followed by a backslash, which the parser reports as an escape sequence.
        self.ended = bell_terminated;
        self.osc(params);
    }

    fn unhook(&mut self) {
        // ESC, ST as one byte, CAN or SUB ends a device control string.
        self.ended = true;
    }

    fn terminated(&self) -> bool {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        MAX_ANSWERS,
        testing::{cursor, shown, text},
    };

    #[test]
    fn queries_are_answered() {
        let mut terminal = shown(9, 3, "\x1b[2;3H\x1b[c\x1b[>c\x1b[5n\x1b[6n");
        assert_eq!(terminal.take_answers(), b"\x1b[?62c\x1b[>1;10;0c\x1b[0n\x1b[2;3R");
        assert!(terminal.take_answers().is_empty());
        let mut flooded = shown(9, 3, &"\x1b[c".repeat(5000));
        assert!(flooded.take_answers().len() <= MAX_ANSWERS);
    }

    /// As mosh's terminal does: programs ask these only to find out whether there is an answer.
    #[test]
    fn other_queries_are_not() {
        let queries = "\x05\x1b[=c\x1b[x\x1b[1x\x1b[?6n\x1b[?15n\x1b[4$p\x1b[?25$p\x1bP$qm\x1b\\\x1b[>0q\x1b[18t\x1b]11;?\x07";
        let mut terminal = shown(9, 3, queries);
        assert!(terminal.take_answers().is_empty());
        assert_eq!(text(&terminal), ["", "", ""]);
    }

    #[test]
    fn control_characters_within_a_sequence_are_executed() {
        let terminal = shown(9, 3, "a\x1b[\r2Cb\x07\x07");
        assert_eq!(text(&terminal)[0], "a b");
        assert_eq!(terminal.screen().bells(), 2);
    }

    #[test]
    fn can_ends_a_sequence() {
        assert_eq!(text(&shown(9, 1, "\x1b[3\x18x")), ["x"]);
        assert_eq!(text(&shown(9, 1, "\x1b]0;title\x1ax")), ["x"]);
    }

    #[test]
    fn unknown_sequences_and_device_control_strings_are_skipped() {
        assert_eq!(
            text(&shown(9, 1, "\x1bP1$qm\x1b\\a\x1b[?9999hb\x1b_x\x1b\\c\x1b[>4;2md")),
            ["abcd"]
        );
        assert_eq!(text(&shown(9, 1, "\x1b[1;;<3zab\x1b[1mc")), ["abc"]);
    }

    #[test]
    fn c1_controls_act_as_characters_of_unicode() {
        assert_eq!(cursor(&shown(9, 3, "ab\u{84}")), (1, 2));
        assert_eq!(cursor(&shown(9, 3, "ab\u{85}")), (1, 0));
    }
}
