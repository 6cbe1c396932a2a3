//! [`Scrolled`]: the rows that have scrolled off the top of the main screen.

use crate::row::Row;
use std::{collections::VecDeque, sync::Arc};

/// Rows that have scrolled off the top of the main screen, oldest first. Only a limited number is kept.
#[derive(Clone, Debug, Default)]
pub struct Scrolled {
    rows: VecDeque<Arc<Row>>,
    limit: usize,
    /// How many rows were dropped before the first one that is kept.
    missing: u64,
}

impl Scrolled {
    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
        while self.rows.len() > limit {
            self.rows.pop_front();
            self.missing += 1;
        }
        if limit == 0 {
            self.missing = 0;
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.limit > 0
    }

    pub(crate) fn push(&mut self, row: Arc<Row>) {
        if self.rows.len() >= self.limit {
            self.rows.pop_front();
            self.missing += 1;
        }
        self.rows.push_back(row);
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Takes the oldest row.
    pub fn pop(&mut self) -> Option<Arc<Row>> {
        self.rows.pop_front()
    }

    /// The oldest row.
    pub fn first(&self) -> Option<&Arc<Row>> {
        self.rows.front()
    }

    /// How many rows before the oldest one were dropped since the last call, because too many had not been taken.
    pub fn take_missing(&mut self) -> u64 {
        std::mem::take(&mut self.missing)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Size, Terminal};

    fn scrolled(output: &str) -> (Vec<String>, u64) {
        let mut terminal = Terminal::new(Size::new(5, 3));
        terminal.keep_scrolled(4);
        terminal.advance(output.as_bytes());
        let kept = terminal.scrolled();
        let missing = kept.take_missing();
        let rows = std::iter::from_fn(|| kept.pop()).map(|row| row.text().trim_end().to_owned());
        (rows.collect(), missing)
    }

    #[test]
    fn rows_that_scroll_off_are_kept() {
        let lines = |first: usize, last: usize| {
            (first..=last).map(|line| format!("{line}\r\n")).collect::<String>()
        };
        assert_eq!(scrolled(&lines(1, 3)), (vec!["1".to_owned()], 0));
        let four = ["3", "4", "5", "6"].map(str::to_owned).to_vec();
        assert_eq!(scrolled(&lines(1, 8)), (four, 2));
        assert_eq!(scrolled("abcdefghijklmnop").0, ["abcde"], "wrapped lines");
        assert_eq!(scrolled("a\r\nb\x1b[2S").0, ["a", "b"]);
    }

    #[test]
    fn other_rows_are_not() {
        let none = (Vec::<String>::new(), 0);
        assert_eq!(scrolled("\x1b[?1049h1\r\n2\r\n3\r\n4\r\n"), none, "the alternate screen");
        assert_eq!(scrolled("1\x1b[2;3r\x1b[3H\n\n\n"), none, "a region in the middle");
        assert_eq!(scrolled("1\x1b[H\x1b[M"), none, "a deleted line");
        assert_eq!(scrolled("1\x1b[1;2r\x1b[2H\n").0, ["1"], "a region at the top");
        let mut off = Terminal::new(Size::new(5, 1));
        off.advance(b"1\n2\n3");
        assert!(off.scrolled().is_empty());
    }
}
