//! [`Emulation`]: what control functions do to a screen.

mod control;
mod csi;
mod cursor;
mod edit;
mod modes;
mod osc;
mod sgr;
mod text;

use std::sync::Arc;

use crate::{
    cell::Cell,
    row::Row,
    screen::{Position, Screen, Size},
    scrolled::Scrolled,
    style::Style,
};

pub use osc::MAX_TITLE;

/// At most this many bytes of answers wait for the host; further answers are dropped.
pub const MAX_ANSWERS: usize = 4096;

/// Distance of the initial tab stops.
const TAB: usize = 8;

/// The character sets G0 and G1.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Charsets {
    /// Whether G0 and G1 contain DEC's special graphics, else ASCII.
    graphics: [bool; 2],
    /// Whether SO has selected G1.
    shifted: bool,
}

impl Charsets {
    fn is_graphics(self) -> bool {
        self.graphics[usize::from(self.shifted)]
    }
}

/// What DECSC saves.
#[derive(Clone, Copy, Debug, Default)]
struct SavedCursor {
    cursor: Position,
    pen: Style,
    charsets: Charsets,
    origin: bool,
    wrap_pending: bool,
}

/// A screen, and what determines how control functions change it.
pub(crate) struct Emulation {
    screen: Screen,
    /// The rows of the main screen, while the alternate screen is shown.
    parked: Option<Vec<Arc<Row>>>,
    /// A character was printed in the last column: the next one begins a new line.
    wrap_pending: bool,
    /// Of the main and of the alternate screen.
    saved: [SavedCursor; 2],
    /// The first row of the scrolling region, and the row after its last.
    top: usize,
    bottom: usize,
    /// For each column, whether it is a tab stop.
    tabs: Vec<bool>,
    /// DECOM: positions count from the top of the scrolling region.
    origin: bool,
    /// DECAWM.
    autowrap: bool,
    /// IRM.
    insert: bool,
    /// LNM: line feeds return to the first column.
    newline: bool,
    charsets: Charsets,
    /// What REP repeats.
    last: Option<char>,
    answers: Vec<u8>,
    scrolled: Scrolled,
    /// The parser is in its ground state again.
    ended: bool,
}

impl Emulation {
    /// An emulation that begins with `screen`.
    pub(crate) fn new(screen: Screen) -> Emulation {
        let size = screen.size();
        Emulation {
            screen,
            parked: None,
            wrap_pending: false,
            saved: [SavedCursor::default(); 2],
            top: 0,
            bottom: size.rows(),
            tabs: initial_tabs(size.columns()),
            origin: false,
            autowrap: true,
            insert: false,
            newline: false,
            charsets: Charsets::default(),
            last: None,
            answers: Vec::new(),
            scrolled: Scrolled::default(),
            ended: false,
        }
    }

    pub(crate) fn screen(&self) -> &Screen {
        &self.screen
    }

    pub(crate) fn take_answers(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.answers)
    }

    pub(crate) fn scrolled(&mut self) -> &mut Scrolled {
        &mut self.scrolled
    }

    /// Queues an answer for the host.
    fn answer(&mut self, answer: &[u8]) {
        if self.answers.len() + answer.len() <= MAX_ANSWERS {
            self.answers.extend_from_slice(answer);
        }
    }

    pub(crate) fn begin_sequence(&mut self) {
        self.ended = false;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    fn columns(&self) -> usize {
        self.screen.columns
    }

    fn row_count(&self) -> usize {
        self.screen.rows.len()
    }

    /// What erasing leaves.
    fn blank(&self) -> Cell {
        Cell::erased(&self.screen.pen)
    }

    /// RIS: everything but the size, the titles and the clipboard has its initial value.
    fn reset(&mut self) {
        let mut screen = Screen::new(self.screen.size());
        screen.title = self.screen.title.take();
        screen.icon_name = self.screen.icon_name.take();
        screen.clipboard = self.screen.clipboard.take();
        screen.bells = self.screen.bells;
        let answers = self.take_answers();
        let ended = self.ended;
        let scrolled = std::mem::take(&mut self.scrolled);
        *self = Emulation { answers, ended, scrolled, ..Emulation::new(screen) };
    }

    /// DECSTR: resets modes, margins and the pen, but neither the cells nor the cursor.
    fn soft_reset(&mut self) {
        self.screen.pen = Style::default();
        self.screen.modes.cursor_visible = true;
        self.screen.modes.application_cursor = false;
        self.screen.modes.application_keypad = false;
        self.top = 0;
        self.bottom = self.row_count();
        self.origin = false;
        self.autowrap = true;
        self.insert = false;
        self.charsets = Charsets::default();
        self.saved[self.current()] = SavedCursor::default();
        self.wrap_pending = false;
    }

    /// 1 if the alternate screen is shown, else 0.
    fn current(&self) -> usize {
        usize::from(self.screen.modes.alternate_screen)
    }

    pub(crate) fn resize(&mut self, size: Size) {
        if size == self.screen.size() {
            return;
        }
        let columns = size.columns();
        let overflow = (self.screen.cursor.row + 1).saturating_sub(size.rows());
        self.screen.rows.drain(..overflow);
        resize_rows(&mut self.screen.rows, size);
        if let Some(parked) = &mut self.parked {
            resize_rows(parked, size);
        }
        if columns > self.tabs.len() {
            self.tabs.extend((self.tabs.len()..columns).map(|column| column % TAB == 0));
        }
        self.tabs.truncate(columns);
        self.screen.columns = columns;
        self.screen.cursor.row -= overflow;
        self.screen.set_cursor(self.screen.cursor);
        self.wrap_pending = false;
        self.top = 0;
        self.bottom = size.rows();
    }
}

fn initial_tabs(columns: usize) -> Vec<bool> {
    (0..columns).map(|column| column % TAB == 0).collect()
}

fn resize_rows(rows: &mut Vec<Arc<Row>>, size: Size) {
    rows.truncate(size.rows());
    for row in rows.iter_mut().filter(|row| row.cells().len() != size.columns()) {
        Arc::make_mut(row).resize(size.columns());
    }
    let blank = Arc::new(Row::filled(size.columns(), Cell::default()));
    rows.resize(size.rows(), blank);
}
