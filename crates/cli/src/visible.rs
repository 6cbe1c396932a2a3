//! The filter that text for people passes as it leaves the program. Names of files, excerpts of them and
//! titles are written by others: what in them would steer a terminal is shown instead of obeyed.

use std::borrow::Cow;
use std::fmt::Write;

/// `text` with all that would steer a terminal shown as `\x1b` or `\u{202e}`; lines and tabs remain.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    replaced(text, |out, letter| match u32::from(letter) {
        code @ ..=0xff => write!(out, "\\x{code:02x}"),
        code => write!(out, "\\u{{{code:x}}}"),
    })
}

/// The same of a text in JSON, by escapes of JSON: its encoder leaves DEL and all beyond ASCII as they
/// are, and they stand nowhere but in strings.
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

/// Whether a terminal acts on `letter`: the control characters, C1 too, and those that turn the direction
/// of writing (Unicode's property Bidi_Control) or break lines.
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
    fn what_steers_a_terminal_is_shown() {
        let hostile = "a\u{1b}[2J\u{7}\r\u{7f}\u{9b}1m\u{202e}b\u{2066}\u{200f}\u{61c}\u{2028}";
        let shown = r"a\x1b[2J\x07\x0d\x7f\x9b1m\u{202e}b\u{2066}\u{200f}\u{61c}\u{2028}";
        assert_eq!(visible(hostile), shown);
        assert!((0..=0x9f).filter_map(char::from_u32).all(|letter| {
            let text = letter.to_string();
            (visible(&text) == text) == (matches!(letter, '\n' | '\t') || !letter.is_control())
        }));
    }

    #[test]
    fn all_else_remains() {
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
