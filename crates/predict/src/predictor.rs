//! [`Predictor`]: predicts the effect of keystrokes.

use crate::cells::PredictedCell;
use crate::cursor::{PredictedCursor, Verdict};
use crate::display::{Display, Slowness};
use crate::keys::{Key, Keys};
use exm_terminal::{Cell, Position, Screen, Size};
use exm_units::{Instant, Span};
use std::collections::BTreeMap;

/// The numbers of frames by which predictions are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// The newest frame of keystrokes that was sent.
    pub sent: u64,
    /// The newest one that the host's screen is an answer to.
    pub echoed: u64,
}

/// More bytes than this in one read were pasted, not typed.
const PASTED: usize = 100;
/// How often predictions that wait are looked at.
const LOOK: Span = Span::from_millis(50);

/// Predicts the effect of keystrokes on a screen, and judges its predictions by what the host then shows.
#[derive(Clone, Debug)]
pub struct Predictor {
    display: Display,
    /// Whether what is typed overwrites the text under the cursor, instead of shifting it.
    overwrites: bool,
    keys: Keys,
    slowness: Slowness,
    frames: Frames,
    /// Predicted cells by row, those of a row by column.
    rows: BTreeMap<usize, Vec<PredictedCell>>,
    /// Predicted positions of the cursor, oldest first.
    cursors: Vec<PredictedCursor>,
    /// The epoch of what is predicted now, and the newest one that was confirmed.
    epoch: u64,
    confirmed: u64,
    size: Size,
}

impl Predictor {
    /// A predictor whose predictions are shown as `display` says. `overwrites` if the programs at the host do not
    /// shift text when something is typed into it.
    pub fn new(display: Display, overwrites: bool) -> Predictor {
        Predictor {
            display,
            overwrites,
            keys: Keys::default(),
            slowness: Slowness::default(),
            frames: Frames::default(),
            rows: BTreeMap::new(),
            cursors: Vec::new(),
            epoch: 1,
            confirmed: 0,
            size: Size::new(1, 1),
        }
    }

    /// The user has typed `bytes`, read at once, before they are sent; the host shows `screen`.
    pub fn type_keys(&mut self, now: Instant, bytes: &[u8], screen: &Screen) {
        if self.display == Display::Never {
            return;
        }
        self.fit(screen);
        if bytes.len() > PASTED {
            self.reset();
            // A sequence may begin at its end.
            for &byte in bytes {
                self.keys.next(byte);
            }
            return;
        }
        for &byte in bytes {
            if let Some(key) = self.keys.next(byte) {
                self.press(now, key, screen);
            }
        }
    }

    /// The host shows `screen`, in answer to `frames`; frames are sent every `interval`. To be called before
    /// [`Predictor::type_keys`] and [`Predictor::draw`] when any of these has changed, and at [`Predictor::next_look`].
    pub fn update(&mut self, now: Instant, frames: Frames, interval: Span, screen: &Screen) {
        self.fit(screen);
        self.frames = frames;
        self.slowness.see_interval(interval, self.is_idle());
        self.judge_cells(now, screen);
        self.judge_cursor(screen);
    }

    /// Draws the predictions over `screen`, a copy of what the host shows.
    pub fn draw(&self, screen: &mut Screen) {
        let shows = match self.display {
            Display::Never => false,
            Display::Always | Display::Experimental => true,
            Display::Adaptive => self.slowness.shows(),
        };
        if !shows || screen.size() != self.size {
            return;
        }
        let underlines = self.slowness.underlines();
        for (&row, cells) in &self.rows {
            for cell in cells.iter().filter(|cell| !self.is_tentative(cell.epoch)) {
                cell.draw(row, underlines, screen);
            }
        }
        let known = self.cursors.iter().rev().find(|cursor| !self.is_tentative(cursor.epoch));
        if let Some(cursor) = known {
            screen.set_cursor(cursor.position);
        }
    }

    /// When to call [`Predictor::update`] next, although nothing has arrived: what waits long is shown.
    pub fn next_look(&self, now: Instant) -> Instant {
        if self.is_idle() { Instant::MAX } else { now.saturating_add(LOOK) }
    }

    /// Forgets all predictions.
    pub fn reset(&mut self) {
        self.rows.clear();
        self.cursors.clear();
        self.begin_epoch();
    }

    fn is_idle(&self) -> bool {
        self.rows.is_empty() && self.cursors.is_empty()
    }

    fn is_tentative(&self, epoch: u64) -> bool {
        self.display != Display::Experimental && epoch > self.confirmed
    }

    /// What is predicted from now on does not depend on what was confirmed so far.
    fn begin_epoch(&mut self) {
        if self.display != Display::Experimental {
            self.epoch += 1;
        }
    }

    /// Forgets everything if the screen has another size.
    fn fit(&mut self, screen: &Screen) {
        if screen.size() != self.size {
            self.size = screen.size();
            self.reset();
        }
    }

    fn press(&mut self, now: Instant, key: Key, screen: &Screen) {
        let Position { row, column } = self.cursor(screen);
        let last = self.size.columns() - 1;
        match key {
            Key::Print(character) => self.print(now, character, screen),
            Key::Delete if column > 0 => self.delete(now, screen),
            Key::Left if column > 0 => self.move_to(Position { row, column: column - 1 }),
            Key::Right if column < last => self.move_to(Position { row, column: column + 1 }),
            Key::Delete | Key::Left | Key::Right => {}
            Key::Return => self.next_line(screen),
            Key::Other => self.begin_epoch(),
        }
    }

    /// Where the cursor will be.
    fn cursor(&self, screen: &Screen) -> Position {
        self.cursors.last().map_or(screen.cursor(), |cursor| cursor.position)
    }

    fn move_to(&mut self, position: Position) {
        let (frame, epoch) = (self.frames.sent + 1, self.epoch);
        let cursor = PredictedCursor { position, frame, epoch };
        // One for each frame and epoch: those of older ones may come true before.
        match self.cursors.last_mut() {
            Some(last) if (last.frame, last.epoch) == (frame, epoch) => *last = cursor,
            _ => self.cursors.push(cursor),
        }
    }

    /// What a cell will show, as far as it is known.
    fn expected(&self, position: Position, screen: &Screen) -> Option<Cell> {
        let predicted = self.rows.get(&position.row).and_then(|cells| {
            cells.iter().find(|cell| cell.column == position.column).map(|cell| cell.cell)
        });
        predicted.unwrap_or_else(|| screen.cell(position).copied())
    }

    fn print(&mut self, now: Instant, character: char, screen: &Screen) {
        let Position { row, column } = self.cursor(screen);
        let last = self.size.columns() - 1;
        if column == last {
            // Whether the line wraps before or after is not known.
            self.begin_epoch();
        }
        if !self.overwrites {
            for to in (column + 1..=last).rev() {
                let from = Position { row, column: to - 1 };
                // At the end of the line something may be shifted out, or wrap.
                let cell = if to == last { None } else { self.expected(from, screen) };
                self.predict(now, Position { row, column: to }, cell, screen);
            }
        }
        // Programs mostly go on in the style that they wrote in before.
        let neighbour = Position { row, column: column.saturating_sub(1) };
        let style = self.expected(neighbour, screen).map(|cell| *cell.style()).unwrap_or_default();
        let here = Position { row, column };
        self.predict(now, here, Some(Cell::new(character, style)), screen);
        if column < last {
            self.move_to(Position { row, column: column + 1 });
        } else {
            self.next_line(screen);
        }
    }

    fn delete(&mut self, now: Instant, screen: &Screen) {
        let Position { row, column } = self.cursor(screen);
        let (column, last) = (column - 1, self.size.columns() - 1);
        self.move_to(Position { row, column });
        if self.overwrites {
            self.predict(now, Position { row, column }, Some(Cell::default()), screen);
            return;
        }
        for to in column..=last {
            let from = Position { row, column: to + 1 };
            let cell = if to == last { None } else { self.expected(from, screen) };
            self.predict(now, Position { row, column: to }, cell, screen);
        }
    }

    /// The cursor goes to the start of the next line, in an epoch of its own: what follows is only known once the host has
    /// answered. At the bottom everything moves up, which is not predicted.
    fn next_line(&mut self, screen: &Screen) {
        self.begin_epoch();
        let row = (self.cursor(screen).row + 1).min(self.size.rows() - 1);
        self.move_to(Position { row, column: 0 });
    }

    /// Predicts that a cell will show `cell`.
    fn predict(&mut self, now: Instant, at: Position, cell: Option<Cell>, screen: &Screen) {
        let (frame, epoch) = (self.frames.sent + 1, self.epoch);
        let seen = screen.cell(at).map_or(' ', Cell::character);
        let cells = self.rows.entry(at.row).or_default();
        match cells.binary_search_by_key(&at.column, |cell| cell.column) {
            Ok(index) => {
                let known = &mut cells[index];
                if let Some(before) = known.cell {
                    known.before.push(before.character());
                }
                if !known.before.contains(&seen) {
                    known.before.push(seen);
                }
                (known.cell, known.frame, known.epoch, known.at) = (cell, frame, epoch, now);
            }
            Err(index) => {
                let column = at.column;
                let before = vec![seen];
                let new = PredictedCell { column, cell, before, frame, epoch, at: now };
                cells.insert(index, new);
            }
        }
    }

    fn judge_cells(&mut self, now: Instant, screen: &Screen) {
        while let Some(wrong) = self.drop_judged(now, screen) {
            if wrong <= self.confirmed {
                return self.reset();
            }
            // Nothing of this epoch was confirmed: it goes, with those after it.
            for cells in self.rows.values_mut() {
                cells.retain(|cell| cell.epoch < wrong);
            }
            self.cursors.retain(|cursor| cursor.epoch < wrong);
            self.begin_epoch();
        }
        self.rows.retain(|_, cells| !cells.is_empty());
    }

    /// Drops the predictions that have come true, up to one that has not: returns its epoch.
    fn drop_judged(&mut self, now: Instant, screen: &Screen) -> Option<u64> {
        let Predictor { rows, slowness, frames, confirmed, display, .. } = self;
        let mut wrong = None;
        for (&row, cells) in rows.iter_mut() {
            cells.retain(|cell| {
                if wrong.is_some() {
                    return true;
                }
                let waited = now.saturating_since(cell.at);
                match cell.judge(row, frames.echoed, screen) {
                    Verdict::Pending => {
                        slowness.see_waiting(waited);
                        return true;
                    }
                    Verdict::Right => {
                        *confirmed = cell.epoch.max(*confirmed);
                        slowness.see_answer(now, waited);
                    }
                    Verdict::Wrong if *display != Display::Experimental => {
                        wrong = Some(cell.epoch);
                    }
                    Verdict::Wrong | Verdict::RightAnyway => {}
                }
                false
            });
        }
        wrong
    }

    /// Only the newest position is judged: the host may have answered later keys already, and so be past an older one.
    fn judge_cursor(&mut self, screen: &Screen) {
        let echoed = self.frames.echoed;
        let Some(newest) = self.cursors.last() else { return };
        if newest.judge(echoed, screen) != Verdict::Wrong {
            self.cursors.retain(|cursor| cursor.frame > echoed);
        } else if self.display == Display::Experimental {
            self.cursors.clear();
        } else {
            self.reset();
        }
    }
}
