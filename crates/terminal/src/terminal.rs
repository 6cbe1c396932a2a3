//! [`Terminal`]: separates text from control sequences.

use crate::{
    emulation::Emulation,
    screen::{Screen, Size},
    scrolled::Scrolled,
};

/// OSC strings that are longer, in bytes, are ignored: a part of a clipboard would be worse than nothing.
pub const MAX_OSC: usize = 16 * 1024;

/// The most parameters of SGR that are read without the parser.
const MOST_CODES: usize = 16;

const BELL: u8 = 0x07;
const CANCEL: u8 = 0x18;
const SUBSTITUTE: u8 = 0x1a;
const ESCAPE: u8 = 0x1b;

/// What the next byte belongs to.
///
/// The parser does not tell when it drops a malformed sequence and expects text again, and it replaces invalid UTF-8 in
/// a way that depends on where its input is cut. So the ends of sequences are found here, and it never receives text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    /// Text and control characters.
    Text,
    /// What follows ESC.
    Escape,
    /// A control sequence, which the first byte from @ to ~ ends.
    Csi,
    /// Another sequence or a string, of which the parser has received so many bytes.
    Other(usize),
    /// A sequence that is too long.
    Discarded,
}

/// A terminal without a window: consumes the output of programs, and keeps the screen that results.
///
/// Text is handled here in runs, which is several times as fast as a parser that looks at each character. Only what
/// begins with ESC goes through the parser.
pub struct Terminal {
    emulation: Emulation,
    /// On the heap, since its buffer is large.
    parser: Box<vte::Parser<MAX_OSC>>,
    input: Input,
    /// The beginning of a character in UTF-8, whose end has not arrived.
    partial: [u8; 4],
    partial_len: usize,
}

impl Terminal {
    /// A blank terminal.
    pub fn new(size: Size) -> Terminal {
        Terminal::showing(Screen::new(size))
    }

    /// A terminal that shows `screen`. What a screen does not contain (margins, tab stops, saved cursors, the other of
    /// the two screens) has its initial value.
    pub fn showing(screen: Screen) -> Terminal {
        Terminal {
            emulation: Emulation::new(screen),
            parser: Box::default(),
            input: Input::Text,
            partial: [0; 4],
            partial_len: 0,
        }
    }

    /// What is shown.
    pub fn screen(&self) -> &Screen {
        self.emulation.screen()
    }

    /// Changes the dimensions. Rows are cut or padded on the right; where there are fewer rows, those at the bottom are
    /// removed, or those at the top if the cursor would be removed otherwise.
    pub fn resize(&mut self, size: Size) {
        self.emulation.resize(size);
    }

    /// The answers to queries of programs since the last call, which the host writes to the programs' input.
    pub fn take_answers(&mut self) -> Vec<u8> {
        self.emulation.take_answers()
    }

    /// Keeps at most so many rows that scroll off the top of the main screen; 0, the initial value, keeps none. If more scroll off
    /// before they are taken from [`Terminal::scrolled`], the oldest are dropped.
    pub fn keep_scrolled(&mut self, limit: usize) {
        self.emulation.scrolled().set_limit(limit);
    }

    /// The rows that have scrolled off the top of the main screen, to be taken.
    pub fn scrolled(&mut self) -> &mut Scrolled {
        self.emulation.scrolled()
    }

    /// Consumes output of programs. Sequences and characters may be cut anywhere.
    pub fn advance(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let used = match self.input {
                Input::Text if self.partial_len > 0 => self.complete_character(rest[0]),
                Input::Text => self.text(rest),
                Input::Escape => self.escape(rest[0]),
                Input::Csi => self.csi(rest),
                Input::Other(length) => self.other(rest, length),
                Input::Discarded => self.discard(rest),
            };
            rest = &rest[used..];
        }
    }

    /// Consumes text, up to the first ESC or the end. Returns how many bytes it consumed.
    fn text(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b' '..=b'~' => {
                    let run = run_length(&bytes[at..], |byte| matches!(byte, b' '..=b'~'));
                    self.emulation.print_ascii(&bytes[at..at + run]);
                    at += run;
                }
                &ESCAPE => match self.graphic_rendition(&bytes[at..]) {
                    Some(length) => at += length,
                    None => {
                        self.parse(&bytes[at..=at]);
                        self.input = Input::Escape;
                        return at + 1;
                    }
                },
                0..0x80 => {
                    self.emulation.control(*byte);
                    at += 1;
                }
                _ => {
                    let run = run_length(&bytes[at..], |byte| byte >= 0x80);
                    self.utf8(&bytes[at..at + run], at + run == bytes.len());
                    at += run;
                }
            }
        }
        at
    }

    /// Executes SGR at the beginning of `bytes`, if it is there as a whole and has only numbers: of all sequences it is the most
    /// frequent, and the parser takes several times as long. Returns its length.
    fn graphic_rendition(&mut self, bytes: &[u8]) -> Option<usize> {
        let rest = bytes.strip_prefix(b"\x1b[")?;
        let (mut codes, mut last) = ([0_u16; MOST_CODES], 0);
        for (place, &byte) in rest.iter().enumerate() {
            match byte {
                b'0'..=b'9' => {
                    let code = codes.get_mut(last)?;
                    *code = code.saturating_mul(10).saturating_add(u16::from(byte - b'0'));
                }
                b';' => last += 1,
                b'm' => {
                    let codes = codes.get(..=last)?.chunks(1);
                    self.emulation.select_graphic_rendition(codes);
                    return Some(b"\x1b[".len() + place + 1);
                }
                _ => return None,
            }
        }
        None
    }

    /// Prints bytes that are not ASCII. `is_cut` says that more of them may follow.
    fn utf8(&mut self, bytes: &[u8], is_cut: bool) {
        for chunk in bytes.utf8_chunks() {
            chunk.valid().chars().for_each(|character| self.emulation.print(character));
            let invalid = chunk.invalid();
            let is_last = invalid.as_ptr_range().end == bytes.as_ptr_range().end;
            if is_cut && is_last && is_incomplete(invalid) {
                self.partial[..invalid.len()].copy_from_slice(invalid);
                self.partial_len = invalid.len();
            } else if !invalid.is_empty() {
                self.emulation.print(char::REPLACEMENT_CHARACTER);
            }
        }
    }

    /// Adds `byte` to the character that has begun. Returns 1 if it belongs to that character, else 0.
    fn complete_character(&mut self, byte: u8) -> usize {
        let length = self.partial_len;
        self.partial[length] = byte;
        let candidate = &self.partial[..=length];
        match std::str::from_utf8(candidate) {
            Ok(text) => {
                text.chars().for_each(|character| self.emulation.print(character));
                self.partial_len = 0;
                1
            }
            Err(error) if error.error_len().is_none() => {
                self.partial_len += 1;
                1
            }
            Err(_) => {
                self.emulation.print(char::REPLACEMENT_CHARACTER);
                self.partial_len = 0;
                0
            }
        }
    }

    /// Hands bytes to the parser, which stops where a sequence ends. Returns how many it consumed.
    fn parse(&mut self, bytes: &[u8]) -> usize {
        self.emulation.begin_sequence();
        self.parser.advance_until_terminated(&mut self.emulation, bytes)
    }

    /// Consumes the byte after ESC, if it belongs to no longer sequence than a control sequence's beginning.
    fn escape(&mut self, byte: u8) -> usize {
        self.input = match byte {
            b'[' => Input::Csi,
            CANCEL | SUBSTITUTE => Input::Text,
            // Control characters are executed, and others that do not belong here are ignored.
            0..0x20 | 0x7f.. => Input::Escape,
            _ => {
                self.input = Input::Other(0);
                return 0;
            }
        };
        self.parse(&[byte])
    }

    /// Consumes a control sequence up to its end, or up to what replaces it. Returns how many bytes it consumed.
    fn csi(&mut self, bytes: &[u8]) -> usize {
        let is_end = |byte: u8| matches!(byte, b'@'..=b'~' | ESCAPE | CANCEL | SUBSTITUTE);
        let before = run_length(bytes, |byte| !is_end(byte));
        self.input = match bytes.get(before) {
            None => Input::Csi,
            Some(&ESCAPE) => Input::Escape,
            Some(_) => Input::Text,
        };
        let part = &bytes[..bytes.len().min(before + 1)];
        self.parse(part);
        part.len()
    }

    /// Consumes another sequence or a string up to its end, or up to an ESC. Returns how many bytes it consumed.
    fn other(&mut self, bytes: &[u8], length: usize) -> usize {
        let room = MAX_OSC.saturating_sub(length);
        if room == 0 {
            *self.parser = vte::Parser::default();
            self.input = Input::Discarded;
            return 0;
        }
        let part = &bytes[..bytes.len().min(room)];
        let before = run_length(part, |byte| byte != ESCAPE);
        let used = self.parse(&part[..part.len().min(before + 1)]);
        self.input = if used > before {
            Input::Escape
        } else if self.emulation.has_ended() {
            Input::Text
        } else {
            Input::Other(length + used)
        };
        used
    }

    /// Skips the rest of a sequence that is too long.
    fn discard(&mut self, bytes: &[u8]) -> usize {
        let is_end = |byte: u8| matches!(byte, BELL | CANCEL | SUBSTITUTE | ESCAPE);
        let before = run_length(bytes, |byte| !is_end(byte));
        match bytes.get(before) {
            None => return before,
            Some(&ESCAPE) => {
                self.parse(&[ESCAPE]);
                self.input = Input::Escape;
            }
            Some(_) => self.input = Input::Text,
        }
        before + 1
    }
}

/// How many of the first `bytes` satisfy `belongs`.
fn run_length(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|byte| !belongs(*byte)).unwrap_or(bytes.len())
}

/// Whether `bytes` begin a character whose end is missing.
fn is_incomplete(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cursor, shown, text};

    #[test]
    fn characters_may_be_cut_anywhere() {
        let output = "a\u{e9}\u{6f22}\u{1f980}b".as_bytes();
        for length in 1..output.len() {
            let mut terminal = Terminal::new(Size::new(9, 1));
            output.chunks(length).for_each(|piece| terminal.advance(piece));
            assert_eq!(text(&terminal), ["a\u{e9}\u{6f22}\u{1f980}b"]);
        }
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        let mut terminal = Terminal::new(Size::new(9, 1));
        terminal.advance(b"a\xffb\xe6\xbc");
        terminal.advance(b"c\xe6\xbc\x1b[1md");
        assert_eq!(text(&terminal), ["a\u{fffd}b\u{fffd}c\u{fffd}d"]);
    }

    #[test]
    fn text_after_malformed_sequences_is_not_the_parsers() {
        for begin in [b"\x1b[1<2m".as_slice(), b"\x1bPq\x9c", b"\x1b\xff[m", b"\x1bP1\x18"] {
            let output = [begin, b"\xe6\xbcz\xfa\x80\xfey"].concat();
            for length in 1..output.len() {
                let mut terminal = Terminal::new(Size::new(20, 1));
                output.chunks(length).for_each(|piece| terminal.advance(piece));
                assert_eq!(text(&terminal), ["\u{fffd}z\u{fffd}\u{fffd}\u{fffd}y"], "{begin:?}");
            }
        }
    }

    #[test]
    fn a_smaller_size_keeps_the_cursor_and_what_is_above() {
        let mut terminal = shown(5, 4, "one\r\ntwo\r\nthree\r\nx");
        terminal.resize(Size::new(3, 2));
        assert_eq!(text(&terminal), ["thr", "x"]);
        assert_eq!(cursor(&terminal), (1, 1));
        terminal.resize(Size::new(6, 3));
        assert_eq!(text(&terminal), ["thr", "x", ""]);
        terminal.advance(b"\x1b[H\t");
        assert_eq!(cursor(&terminal), (0, 5));
    }

    #[test]
    fn sizes_are_limited() {
        assert_eq!(Size::new(0, 0), Size::new(1, 1));
        assert_eq!(Size::new(usize::MAX, 5).columns(), Size::MAX);
        let mut tiny = shown(1, 1, "ab\u{6f22}\n\x1b[2;2r\x1b[5@\x1b[3Lc");
        tiny.resize(Size::new(2, 1));
        assert_eq!(text(&tiny), ["c"]);
    }

    #[test]
    fn clones_share_rows() {
        let mut terminal = shown(5, 3, "a\r\nb");
        let before = terminal.screen().clone();
        terminal.advance(b"c");
        let shared = |row: usize| std::ptr::eq(before.row(row), terminal.screen().row(row));
        assert_eq!([shared(0), shared(1), shared(2)], [true, false, true]);
        assert_ne!(before, *terminal.screen());
    }
}
