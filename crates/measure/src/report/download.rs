//! Files embedded in a page as links that save them.

use super::Download;
use crate::escape::escaped;
use std::fmt::Write;

/// The letters of base64, see RFC 4648, section 4.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes a line of links that save `files`.
pub(super) fn write_links(html: &mut String, files: &[Download]) -> std::fmt::Result {
    if files.is_empty() {
        return Ok(());
    }
    write!(html, "<p class=\"downloads\">Download:")?;
    for Download { label, file, media_type, content } in files {
        let (label, file) = (escaped(label), escaped(file));
        let data = base64(content.as_bytes());
        write!(
            html,
            " <a download=\"{file}\" href=\"data:{media_type};charset=utf-8;base64,{data}\">{label}</a>"
        )?;
    }
    writeln!(html, "</p>")
}

/// `bytes` as base64 with padding.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The bytes of base64 text.
    pub(in super::super) fn decoded(text: &str) -> Vec<u8> {
        let letters = text.trim_end_matches('=').bytes();
        let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
        for letter in letters {
            let value = LETTERS.iter().position(|&known| known == letter).expect("is base64");
            bits = bits << 6 | value as u32;
            count += 6;
            if count >= 8 {
                count -= 8;
                bytes.push((bits >> count & 255) as u8);
            }
        }
        bytes
    }

    /// The examples of RFC 4648, section 10.
    #[test]
    fn base64_is_that_of_the_rfc() {
        let of = |text: &str| base64(text.as_bytes());
        assert_eq!([of(""), of("f"), of("fo"), of("foo")], ["", "Zg==", "Zm8=", "Zm9v"]);
        assert_eq!([of("foob"), of("fooba"), of("foobar")], ["Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    proptest! {
        #[test]
        fn base64_keeps_every_byte(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(decoded(&base64(&bytes)), bytes);
        }
    }
}
