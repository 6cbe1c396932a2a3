//! [`View`]: how the program above a session is shown.

use super::history::History;
use exm_session::Stats;
use exm_units::Instant;
use ratatui::Frame;
use ratatui::layout::Rect;

/// A session at one moment, with the program above it.
pub(crate) struct Moment<'a, E> {
    /// The time.
    pub(crate) now: Instant,
    /// The state of the session.
    pub(crate) stats: &'a Stats,
    /// The last minute of the session.
    pub(crate) history: &'a History,
    /// The program above it.
    pub(crate) application: &'a E,
}

/// Shows the program above a session.
pub(crate) trait View<E> {
    /// Looks for news; returns a message for the user, each once.
    fn look(&mut self, _moment: &Moment<'_, E>) -> Option<String> {
        None
    }

    /// What is appended to the line that is printed each second.
    fn line(&self, _application: &E) -> String {
        String::new()
    }

    /// Draws the session and the program.
    fn draw(&self, frame: &mut Frame, area: Rect, moment: &Moment<'_, E>);
}
