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
