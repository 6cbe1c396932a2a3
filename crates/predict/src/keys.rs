//! [`Keys`]: what a user's bytes are, as far as their effect can be predicted.

use unicode_width::UnicodeWidthChar;

/// What a keystroke does to a line of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// Prints this character, of one column.
    Print(char),
    /// Deletes the character before the cursor.
    Delete,
    /// Moves the cursor.
    Left,
    Right,
    /// Ends the line.
    Return,
    /// Anything else: its effect is not known.
    Other,
}

/// Splits a user's bytes into keys: UTF-8, and the sequences of the arrow keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    sequence: Sequence,
    /// The bytes of a character that has more to come.
    partial: Vec<u8>,
}

/// Where in an escape sequence the next byte is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sequence {
    #[default]
    None,
    /// After ESC.
    Escape,
    /// After ESC and O, which arrow keys send in application mode.
    Single,
    /// After ESC and [; whether parameters followed.
    Control { plain: bool },
}

impl Keys {
    /// The key that `byte` completes, if it completes one.
    pub(crate) fn next(&mut self, byte: u8) -> Option<Key> {
        match self.sequence {
            Sequence::None => self.plain(byte),
            Sequence::Escape => {
                self.sequence = match byte {
                    b'[' => Sequence::Control { plain: true },
                    b'O' => Sequence::Single,
                    _ => Sequence::None,
                };
                (self.sequence == Sequence::None).then_some(Key::Other)
            }
            Sequence::Single => {
                self.sequence = Sequence::None;
                Some(arrow(byte))
            }
            Sequence::Control { plain } => {
                // A sequence ends with a letter or one of a few other bytes; before it are parameters.
                if (0x40..=0x7e).contains(&byte) {
                    self.sequence = Sequence::None;
                    return Some(if plain { arrow(byte) } else { Key::Other });
                }
                self.sequence = Sequence::Control { plain: false };
                None
            }
        }
    }

    fn plain(&mut self, byte: u8) -> Option<Key> {
        if !self.partial.is_empty() || byte >= 0x80 {
            return self.character(byte);
        }
        match byte {
            0x1b => {
                self.sequence = Sequence::Escape;
                None
            }
            b'\r' => Some(Key::Return),
            0x7f => Some(Key::Delete),
            0x20..=0x7e => Some(Key::Print(char::from(byte))),
            _ => Some(Key::Other),
        }
    }

    /// A byte of a character that has several.
    fn character(&mut self, byte: u8) -> Option<Key> {
        self.partial.push(byte);
        match std::str::from_utf8(&self.partial) {
            Ok(text) => {
                let key = text.chars().next().filter(|c| c.width() == Some(1)).map(Key::Print);
                self.partial.clear();
                Some(key.unwrap_or(Key::Other))
            }
            Err(error) if error.error_len().is_none() => None,
            Err(_) => {
                self.partial.clear();
                Some(Key::Other)
            }
        }
    }
}

fn arrow(byte: u8) -> Key {
    match byte {
        b'C' => Key::Right,
        b'D' => Key::Left,
        _ => Key::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut keys = Keys::default();
        bytes.iter().filter_map(|&byte| keys.next(byte)).collect()
    }

    #[test]
    fn bytes_are_keys() {
        assert_eq!(keys(b"a\r\x7f"), [Key::Print('a'), Key::Return, Key::Delete]);
        assert_eq!(keys("é".as_bytes()), [Key::Print('é')]);
        assert_eq!(keys("漢".as_bytes()), [Key::Other], "it is two columns wide");
        assert_eq!(keys(b"\x1b[C\x1bOD"), [Key::Right, Key::Left]);
        assert_eq!(keys(b"\x1b[1;5C\x1b[A\x03"), [Key::Other; 3]);
        assert_eq!(keys(b"\xff\x1bxb"), [Key::Other, Key::Other, Key::Print('b')]);
    }
}
