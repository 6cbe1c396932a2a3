//! [`Notice`]: the line that says that nothing arrives.

use crate::Client;
use exm_terminal::{Attributes, Cell, Colour, Position, Screen, Style};
use exm_units::{Instant, Span};

/// Nothing has come from the server for so long: servers send every 3 s.
const SILENT: Span = Span::from_millis(6500);
/// Nothing was acknowledged for so long, although something arrives.
const UNACKNOWLEDGED: Span = Span::from_secs(10);
/// When a server that has not answered yet is named.
const CONNECTING: Span = Span::from_millis(250);

/// What the first row says over the screen, if anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice(Option<String>);

impl Notice {
    /// That of `client` at `now`, whose user may be leaving.
    pub(crate) fn of(client: &Client, now: Instant, is_leaving: bool) -> Notice {
        let seconds = |span: Span| span.as_nanos() / 1_000_000_000;
        let (silence, unacknowledged) = (client.silence(now), client.unacknowledged(now));
        Notice(if is_leaving {
            Some("Leaving.".to_owned())
        } else if !client.is_connected() {
            (silence > CONNECTING).then(|| "Nothing received from the server yet.".to_owned())
        } else if silence > SILENT {
            Some(format!("Last contact {} seconds ago.", seconds(silence)))
        } else if unacknowledged > UNACKNOWLEDGED {
            Some(format!("Last reply {} seconds ago.", seconds(unacknowledged)))
        } else {
            None
        })
    }

    /// The same, or `message` if it says nothing. The message may come from the server: only printable ASCII is shown of it.
    pub(crate) fn or(self, message: Option<String>) -> Notice {
        let shown = |character: char| match character {
            ' '..='~' => character,
            _ => '?',
        };
        Notice(self.0.or_else(|| message.map(|text| text.chars().map(shown).collect())))
    }

    /// The one over the history.
    pub(crate) fn history(line: u64, all: usize) -> Notice {
        let place = if all == 0 { "empty".to_owned() } else { format!("line {line} of {all}") };
        Notice(Some(format!("History: {place}; q returns")))
    }

    /// Draws it over the first row of `screen`.
    pub(crate) fn draw(&self, screen: &mut Screen) {
        let Some(text) = &self.0 else { return };
        let style = Style {
            foreground: Colour::Indexed(7),
            background: Colour::Indexed(4),
            attributes: Attributes::BOLD,
            ..Style::default()
        };
        let text = format!("mosh: {text}");
        let columns = screen.size().columns();
        let padded = text.chars().chain(std::iter::repeat(' ')).take(columns);
        for (column, character) in padded.enumerate() {
            screen.overlay(Position { row: 0, column }, Cell::new(character, style));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_terminal::Size;

    #[test]
    fn it_covers_the_first_row() {
        let mut screen = Screen::new(Size::new(12, 2));
        Notice(None).draw(&mut screen);
        assert_eq!(screen, Screen::new(Size::new(12, 2)));
        Notice(Some("Last contact".to_owned())).draw(&mut screen);
        assert_eq!(screen.row(0).text(), "mosh: Last c");
        assert_eq!(screen.row(1).text().trim(), "");
        // A server cannot make the terminal do anything by a message.
        Notice(None).or(Some("a\x1b[2J".to_owned())).draw(&mut screen);
        assert_eq!(screen.row(0).text(), "mosh: a?[2J ");
    }
}
