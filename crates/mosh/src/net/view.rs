//! [`View`]: the history, shown instead of the screen.

use super::keys::{HistoryKeys, Move};
use crate::History;
use crate::notice::Notice;
use exm_terminal::{Position, Screen};
use exm_units::{Instant, Span};

/// How long the rest of a sequence is waited for after ESC.
const PATIENCE: Span = Span::from_millis(50);

/// A part of the history, and of the screen that follows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// The number of the first line that is shown.
    top: u64,
    keys: HistoryKeys,
    /// When keys were read last.
    read_at: Instant,
}

impl View {
    /// The page before the screen, which has so many `rows`.
    pub(crate) fn new(now: Instant, history: &History, rows: usize) -> View {
        let mut view = View { top: history.end(), keys: HistoryKeys::default(), read_at: now };
        view.go(Move::Pages(-1), history, rows);
        view
    }

    /// Processes keys. Returns false if the screen is to be shown again.
    pub(crate) fn read(
        &mut self,
        now: Instant,
        keys: &[u8],
        history: &History,
        rows: usize,
    ) -> bool {
        self.read_at = now;
        let moves = self.keys.read(keys);
        moves.iter().for_each(|next| self.go(*next, history, rows));
        !moves.contains(&Move::Leave)
    }

    /// When an ESC that was read is a key, unless something follows.
    pub(crate) fn leaves_at(&self) -> Instant {
        if self.keys.is_undecided() { self.read_at.saturating_add(PATIENCE) } else { Instant::MAX }
    }

    fn go(&mut self, next: Move, history: &History, rows: usize) {
        // The notice covers a row, and a page keeps one for the reader.
        let page = rows.saturating_sub(2).max(1) as i64;
        let top = match next {
            Move::Lines(lines) => self.top.saturating_add_signed(lines),
            Move::Pages(pages) => self.top.saturating_add_signed(pages * page),
            Move::First => history.first(),
            Move::Last => history.end(),
            Move::Leave => self.top,
        };
        self.top = top.clamp(history.first(), history.end());
    }

    /// What is shown at this place, over a copy of the `screen`.
    pub(crate) fn draw(&self, history: &History, screen: &mut Screen) {
        let top = self.top.clamp(history.first(), history.end());
        let rows = screen.size().rows();
        let current: Vec<_> = (0..rows).map(|row| screen.shared_row(row)).collect();
        // The first row is the notice's.
        for row in 1..rows {
            let number = top + row as u64 - 1;
            let below = number.saturating_sub(history.end()) as usize;
            let content = history.row(number).or_else(|| current.get(below).cloned());
            content.into_iter().for_each(|content| screen.show_row(row, content));
        }
        screen.set_cursor(Position { row: 0, column: screen.size().columns() });
        let (line, all) = (top - history.first() + 1, history.len());
        Notice::history(line.min(all as u64), all).draw(screen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_terminal::{Size, Terminal};

    fn history(lines: usize) -> History {
        let mut history = History::new(1000);
        (0..lines).for_each(|line| {
            let mut terminal = Terminal::new(Size::new(30, 1));
            terminal.advance(format!("old {line}").as_bytes());
            history.push_row(terminal.screen().shared_row(0));
        });
        history
    }

    fn shown(view: View, history: &History) -> Vec<String> {
        let mut terminal = Terminal::new(Size::new(60, 5));
        terminal.advance(b"a\r\nb\r\nc");
        let mut screen = terminal.screen().clone();
        view.draw(history, &mut screen);
        screen.rows().map(|row| row.text().trim_end().to_owned()).collect()
    }

    #[test]
    fn it_scrolls_over_history_and_screen() {
        let now = Instant::ZERO;
        let none = history(0);
        let empty = shown(View::new(now, &none, 5), &none);
        assert_eq!(empty, ["mosh: History: empty; q returns", "a", "b", "c", ""]);
        let history = history(10);
        let mut view = View::new(now, &history, 5);
        let notice = "mosh: History: line 8 of 10; q returns";
        assert_eq!(shown(view, &history), [notice, "old 7", "old 8", "old 9", "a"]);
        assert!(view.read(now, b"j", &history, 5));
        assert_eq!(shown(view, &history)[1..], ["old 8", "old 9", "a", "b"]);
        assert!(view.read(now, b"g", &history, 5));
        assert_eq!(shown(view, &history)[1..], ["old 0", "old 1", "old 2", "old 3"]);
        assert!(view.read(now, b"\x1b[6~kkkkkkkkkk", &history, 5));
        assert_eq!(shown(view, &history)[1], "old 0", "not before the first");
        assert!(view.read(now, b"Gjjj", &history, 5));
        assert_eq!(shown(view, &history)[1..], ["a", "b", "c", ""]);
        assert!(!view.read(now, b"x", &history, 5));
    }

    #[test]
    fn a_lone_escape_leaves_after_a_while() {
        let (now, history) = (Instant::ZERO, history(3));
        let mut view = View::new(now, &history, 5);
        assert_eq!(view.leaves_at(), Instant::MAX);
        assert!(view.read(now, b"\x1b", &history, 5));
        assert_eq!(view.leaves_at(), now + PATIENCE);
        assert!(view.read(now, b"[B", &history, 5));
        assert_eq!(view.leaves_at(), Instant::MAX);
    }
}
