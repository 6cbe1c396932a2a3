//! Operating system commands: titles, the clipboard, hyperlinks.

use std::sync::Arc;

use super::Emulation;
use crate::links::Link;

/// Titles are cut after this many characters.
pub const MAX_TITLE: usize = 256;

/// No target of a link is longer, in bytes, and neither are its parameters: the length that terminals agreed on.
const MAX_URI: usize = 2083;

impl Emulation {
    /// Executes an operating system command, whose parts were separated by semicolons.
    pub(super) fn osc(&mut self, params: &[&[u8]]) {
        let [command, arguments @ ..] = params else { return };
        match *command {
            b"0" => {
                self.screen.title = title(arguments);
                self.screen.icon_name = self.screen.title.clone();
            }
            b"1" => self.screen.icon_name = title(arguments),
            b"2" => self.screen.title = title(arguments),
            b"8" => self.set_link(arguments),
            b"52" => self.set_clipboard(arguments),
            _ => {}
        }
    }

    /// OSC 52: keeps what is written to the clipboard. Queries of its contents are refused, since the answer would
    /// reveal them to any program.
    fn set_clipboard(&mut self, arguments: &[&[u8]]) {
        let [selection, data] = arguments else { return };
        let is_base64 =
            data.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte));
        if (selection.is_empty() || selection.contains(&b'c')) && is_base64 {
            let text: String = data.iter().map(|byte| char::from(*byte)).collect();
            self.screen.clipboard = (!text.is_empty()).then(|| text.into());
        }
    }

    /// OSC 8: begins a hyperlink, or ends it where the target is empty.
    fn set_link(&mut self, arguments: &[&[u8]]) {
        let [parameters, uri @ ..] = arguments else { return };
        let link = Link { parameters: text(parameters), uri: text(&uri.join(&b';')) };
        let is_valid =
            !link.uri.is_empty() && link.uri.len() <= MAX_URI && link.parameters.len() <= MAX_URI;
        self.screen.pen.link = if is_valid { self.link_number(link) } else { 0 };
    }

    /// The number of a link. Where there is no room, those that no cell has are forgotten; 0 if that does not help.
    fn link_number(&mut self, link: Link) -> u16 {
        if let Some(number) = self.screen.links.find(&link) {
            return number;
        }
        if let Some(number) = Arc::make_mut(&mut self.screen.links).add(link.clone()) {
            return number;
        }
        let mut used = vec![false; usize::from(u16::MAX) + 1];
        let rows = self.screen.rows.iter().chain(self.parked.iter().flatten());
        for cell in rows.flat_map(|row| row.cells()) {
            used[usize::from(cell.style().link)] = true;
        }
        for saved in &self.saved {
            used[usize::from(saved.pen.link)] = true;
        }
        let links = Arc::make_mut(&mut self.screen.links);
        links.retain(&used[1..]);
        links.add(link).unwrap_or(0)
    }
}

/// A title, whose semicolons have separated it.
fn title(arguments: &[&[u8]]) -> Option<Arc<str>> {
    let title: String = text(&arguments.join(&b';')).chars().take(MAX_TITLE).collect();
    (!title.is_empty()).then(|| title.into())
}

/// The text without control characters, which would end the command when it is written again.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().filter(|character| !character.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        MAX_LINKS, MAX_OSC,
        testing::{shown, style},
    };

    #[test]
    fn titles_are_kept_and_bounded() {
        let terminal = shown(4, 2, "\x1b]0;a;b\x07\x1b]1;icon\x1b\\");
        assert_eq!(terminal.screen().title(), Some("a;b"));
        assert_eq!(terminal.screen().icon_name(), Some("icon"));
        let long = shown(4, 2, &format!("\x1b]2;{}\x07", "\u{e9}".repeat(999)));
        assert_eq!(long.screen().title().map(|title| title.chars().count()), Some(MAX_TITLE));
        assert_eq!(shown(4, 2, "\x1b]2;x\x07\x1b]2;\x07").screen().title(), None);
    }

    #[test]
    fn control_characters_do_not_get_into_titles() {
        let terminal = shown(4, 2, "\x1b]2;a\u{9c}b\nc\x07");
        assert_eq!(terminal.screen().title(), Some("abc"));
    }

    #[test]
    fn the_clipboard_is_written_but_not_read() {
        let mut terminal = shown(4, 2, "\x1b]52;c;aGk=\x07\x1b]52;c;?\x07\x1b]52;p;eA==\x07");
        assert_eq!(terminal.screen().clipboard(), Some("aGk="));
        assert!(terminal.take_answers().is_empty());
    }

    #[test]
    fn strings_that_are_too_long_are_ignored() {
        let long = "A".repeat(MAX_OSC);
        for end in ["\x07", "\x1b\\", "\x18"] {
            let terminal = shown(9, 2, &format!("\x1b]52;c;{long}{end}ok"));
            assert_eq!(terminal.screen().clipboard(), None);
            assert_eq!(terminal.screen().row(0).text().trim_end(), "ok");
        }
        let fits = "A".repeat(MAX_OSC - 100);
        let terminal = shown(9, 2, &format!("\x1b]52;c;{fits}\x07"));
        assert_eq!(terminal.screen().clipboard().map(str::len), Some(fits.len()));
    }

    #[test]
    fn links_are_kept_while_cells_have_them() {
        let mut terminal = shown(9, 2, "\x1b]8;id=1;http://a;b\x07x\x1b]8;;\x07y");
        let number = style(terminal.screen(), 0, 0).link;
        let link = Link { parameters: "id=1".to_owned(), uri: "http://a;b".to_owned() };
        assert_eq!(terminal.screen().link(number), Some(&link));
        assert_eq!(style(terminal.screen(), 0, 1).link, 0);
        for other in 0..3 * MAX_LINKS {
            terminal.advance(format!("\x1b[2;1H\x1b]8;;http://{other}\x07z").as_bytes());
            let newest = terminal.screen().link(style(terminal.screen(), 1, 0).link);
            assert_eq!(newest.map(|link| link.uri.clone()), Some(format!("http://{other}")));
        }
        assert_eq!(terminal.screen().link(number), Some(&link));
    }
}
