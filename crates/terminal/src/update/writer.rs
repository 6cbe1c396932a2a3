//! [`Writer`]: the bytes of an update, and the state of the terminal that receives them.

use std::{io::Write, sync::Arc};

use super::{Features, pen::write_sgr};
use crate::{
    cell::Cell,
    row::Row,
    screen::{Position, Screen},
    style::Style,
};

/// Collects the bytes of an update, and follows what they do to the receiving terminal.
pub(super) struct Writer<'a> {
    pub(super) features: &'a Features,
    pub(super) out: Vec<u8>,
    /// The rows that the receiver shows, before those are written that the update has reached.
    pub(super) shown: Vec<Arc<Row>>,
    pub(super) to: &'a Screen,
    /// For each hyperlink of the receiver, its number in `to`.
    links: Vec<u16>,
    /// Whether equal numbers of hyperlinks mean the same in `shown` and `to`.
    pub(super) has_same_links: bool,
    pen: Style,
    /// `None` where it is unknown: behind a character in the last column, terminals differ.
    cursor: Option<Position>,
    /// Where the receiver's cursor was at first, if nothing has moved it.
    unmoved: Option<Position>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(features: &'a Features, from: &Screen, to: &'a Screen) -> Writer<'a> {
        let has_same_links = !features.hyperlinks || Arc::ptr_eq(&from.links, &to.links);
        let links = if has_same_links { Vec::new() } else { from.links.translation(&to.links) };
        let mut writer = Writer {
            features,
            out: Vec::new(),
            shown: from.rows.clone(),
            to,
            links,
            has_same_links,
            pen: Style::default(),
            // In the last column, the receiver's terminal may be about to wrap.
            cursor: (from.cursor.column + 1 < from.columns).then_some(from.cursor),
            unmoved: Some(from.cursor),
        };
        writer.pen = writer.shown_style(&from.pen);
        writer
    }

    /// The receiver is in the initial state.
    pub(super) fn forget_all(&mut self) {
        self.shown = Screen::blank_rows(self.to.size(), Cell::default());
        self.pen = Style::default();
        self.cursor = Some(Position::default());
        self.unmoved = None;
    }

    /// Erases the receiver's screen.
    pub(super) fn clear(&mut self) {
        self.set_pen(&Style::default());
        self.out.extend_from_slice(b"\x1b[H\x1b[2J");
        self.shown = Screen::blank_rows(self.to.size(), Cell::default());
        self.cursor = Some(Position::default());
        self.unmoved = None;
    }

    /// A style of `shown`, as far as it is visible, with the number that its hyperlink has in `to`.
    fn shown_style(&self, style: &Style) -> Style {
        let mut visible = self.features.visible_style(style);
        if !self.has_same_links && visible.link > 0 {
            visible.link =
                self.links.get(usize::from(visible.link) - 1).copied().unwrap_or(u16::MAX);
        }
        visible
    }

    /// Whether a cell that is shown looks like one of `to`.
    pub(super) fn is_same(&self, shown: &Cell, wanted: &Cell) -> bool {
        if shown == wanted && self.has_same_links {
            return true;
        }
        shown.with_style(self.shown_style(shown.style())) == self.features.visible_cell(wanted)
    }

    /// Whether a row that is shown looks like one of `to`.
    pub(super) fn is_same_row(&self, shown: &Arc<Row>, wanted: &Arc<Row>) -> bool {
        if Arc::ptr_eq(shown, wanted) && self.has_same_links {
            return true;
        }
        let pairs = shown.cells().iter().zip(wanted.cells());
        shown.cells().len() == wanted.cells().len()
            && pairs.into_iter().all(|(a, b)| self.is_same(a, b))
    }

    /// Appends formatted text.
    pub(super) fn push(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a vector cannot fail.
        let _ = self.out.write_fmt(text);
    }

    /// Changes the receiver's pen to a style of `to`.
    pub(super) fn set_pen(&mut self, style: &Style) {
        let style = self.features.visible_style(style);
        write_sgr(&mut self.out, &self.pen, &style);
        if style.link != self.pen.link {
            match self.to.link(style.link) {
                None => self.out.extend_from_slice(b"\x1b]8;;\x1b\\"),
                Some(link) => {
                    let link = format!("\x1b]8;{};{}\x1b\\", link.parameters, link.uri);
                    self.out.extend_from_slice(link.as_bytes());
                }
            }
        }
        self.pen = style;
    }

    /// Records that the receiver's cursor has moved.
    pub(super) fn moved_to(&mut self, cursor: Option<Position>) {
        self.cursor = cursor;
        self.unmoved = None;
    }

    /// Records that characters of `width` columns were printed.
    pub(super) fn printed(&mut self, width: usize) {
        let columns = self.to.columns;
        let next = self.cursor.map(|cursor| Position { column: cursor.column + width, ..cursor });
        self.moved_to(next.filter(|next| next.column < columns));
    }

    /// Moves the receiver's cursor, by the shortest sequence found.
    pub(super) fn move_to(&mut self, target: Position) {
        if self.cursor == Some(target) {
            return;
        }
        let absolute = absolute(target);
        let relative = self.cursor.and_then(|cursor| self.relative(cursor, target));
        match relative {
            Some(relative) if relative.len() < absolute.len() => {
                self.out.extend_from_slice(&relative);
            }
            _ => self.out.extend_from_slice(&absolute),
        }
        self.moved_to(Some(target));
    }

    /// A sequence that moves from `cursor` to `target`, if there is one that may be short.
    fn relative(&self, cursor: Position, target: Position) -> Option<Vec<u8>> {
        if cursor.row == target.row && cursor.column < target.column {
            let distance = target.column - cursor.column;
            return Some(
                self.unchanged_text(cursor, target.column).unwrap_or_else(|| forward(distance)),
            );
        }
        let down = target.row.checked_sub(cursor.row)?;
        let mut moves = Vec::new();
        if target.column == 0 && cursor.column > 0 {
            moves.push(b'\r');
        } else if target.column < cursor.column && cursor.column - target.column <= 4 {
            moves.resize(cursor.column - target.column, 0x08);
        } else if target.column != cursor.column {
            return None;
        }
        // A line feed moves down without scrolling, since the target is on the screen.
        moves.extend(std::iter::repeat_n(b'\n', down.min(8)));
        (down <= 8).then_some(moves)
    }

    /// Up to three unchanged characters that can be printed once more with the current pen, which is shorter than a
    /// movement.
    fn unchanged_text(&self, cursor: Position, end: usize) -> Option<Vec<u8>> {
        let cells = &self.to.rows[cursor.row].cells()[cursor.column..end];
        let is_simple = |cell: &Cell| {
            matches!(cell.character(), ' '..='~')
                && cell.marks().next().is_none()
                && self.features.visible_style(cell.style()) == self.pen
        };
        let is_short = cells.len() <= 3 && cells.iter().all(is_simple);
        is_short.then(|| cells.iter().map(|cell| cell.character() as u8).collect())
    }

    /// Moves the cursor to its final position.
    pub(super) fn finish_cursor(&mut self) {
        if self.unmoved != Some(self.to.cursor) {
            self.move_to(self.to.cursor);
        }
    }
}

/// CUP.
fn absolute(target: Position) -> Vec<u8> {
    match (target.row + 1, target.column + 1) {
        (1, 1) => b"\x1b[H".to_vec(),
        (row, 1) => format!("\x1b[{row}H").into_bytes(),
        (row, column) => format!("\x1b[{row};{column}H").into_bytes(),
    }
}

/// CUF.
fn forward(distance: usize) -> Vec<u8> {
    if distance == 1 { b"\x1b[C".to_vec() } else { format!("\x1b[{distance}C").into_bytes() }
}
