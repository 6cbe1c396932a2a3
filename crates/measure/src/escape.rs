//! Text that means itself, whatever is in it.

/// `text` with what means something to SVG and HTML written as text, in attributes too. Characters
/// that XML has no way to write are left out.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' => escaped.push(letter),
            _ if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {}
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_is_written_as_text() {
        assert_eq!(escaped("a < b & \"c\"\u{1}"), "a &lt; b &amp; &quot;c&quot;");
    }
}
