//! The filter for text that the program prints for people. Names of files, excerpts of them and titles
//! are written by others: control sequences in them are shown instead of executed.

use std::borrow::Cow;
use std::fmt::Write;

/// `text` with everything that would control a terminal shown as `\x1b` or `\u{202e}`; line breaks and
/// tabs remain.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    replaced(text, |out, letter| match u32::from(letter) {
        code @ ..=0xff => write!(out, "\\x{code:02x}"),
        code => write!(out, "\\u{{{code:x}}}"),
    })
}

/// The same for a text in JSON, with JSON escapes: its encoder leaves DEL and everything beyond ASCII
/// unchanged, and they occur only in strings.
pub(crate) fn visible_json(text: &str) -> Cow<'_, str> {
    replaced(text, |out, letter| write!(out, "\\u{:04x}", u32::from(letter)))
}

fn replaced(text: &str, escape: impl Fn(&mut String, char) -> std::fmt::Result) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if !steers(letter) || escape(&mut out, letter).is_err() {
            out.push(letter);
        }
    }
    Cow::Owned(out)
}

/// Whether a terminal acts on `letter`: control characters, including C1, and those that change the
/// direction of writing (Unicode's property Bidi_Control) or break lines.
fn steers(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        _ => letter.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown() {
        let hostile = "a\u{1b}[2J\u{7}\r\u{7f}\u{9b}1m\u{202e}b\u{2066}\u{200f}\u{61c}\u{2028}";
        let shown = r"a\x1b[2J\x07\x0d\x7f\x9b1m\u{202e}b\u{2066}\u{200f}\u{61c}\u{2028}";
        assert_eq!(visible(hostile), shown);
        assert!((0..=0x9f).filter_map(char::from_u32).all(|letter| {
            let text = letter.to_string();
            (visible(&text) == text) == (matches!(letter, '\n' | '\t') || !letter.is_control())
        }));
    }

    #[test]
    fn other_characters_are_unchanged() {
        let text = "┌ 15 Mbps, 95 % ▁▂█ ±∞\tüñ 日本\u{200d}\n";
        assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn json_means_the_same() {
        let hostile = "a\u{1b}[2J\u{7f}\u{9b}1m\u{202e}b\n\t\\";
        let encoded = serde_json::to_string_pretty(&[hostile]).unwrap();
        let shown = visible_json(&encoded);
        assert!(!shown.contains(steers) && shown.contains(r"\u007f\u009b1m\u202eb"), "{shown}");
        assert_eq!(serde_json::from_str::<[String; 1]>(&shown).unwrap(), [hostile]);
    }
}
