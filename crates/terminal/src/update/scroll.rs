//! Finds rows that have moved, and scrolls them.

use std::{ops::Range, sync::Arc};

use super::writer::Writer;
use crate::{cell::Cell, row::Row, screen::Position, style::Style};

/// Scrolling must spare so many rows to be worth its bytes.
const LEAST_GAIN: isize = 2;

/// A movement of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shift {
    /// The rows of the new screen that were at another place.
    rows: Range<usize>,
    /// How far they have moved.
    distance: usize,
    /// Whether they have moved up, else down.
    is_up: bool,
    /// How many rows need not be written, less those that must be written because they are lost.
    gain: isize,
}

impl Shift {
    /// The rows that scroll.
    fn region(&self) -> Range<usize> {
        if self.is_up {
            self.rows.start..self.rows.end + self.distance
        } else {
            self.rows.start - self.distance..self.rows.end
        }
    }
}

/// Scrolls, if rows have moved.
pub(super) fn write(writer: &mut Writer<'_>) {
    if let Some(shift) = find(writer).filter(|shift| shift.gain >= LEAST_GAIN) {
        scroll(writer, &shift);
    }
}

/// The movement that spares most rows. Rows are compared by hashes: a wrong guess costs bytes, but is corrected when the
/// rows are written.
fn find(writer: &Writer<'_>) -> Option<Shift> {
    let differ = |(shown, wanted): (&Arc<Row>, &Arc<Row>)| !Arc::ptr_eq(shown, wanted);
    let changed = writer.shown.iter().zip(&writer.to.rows).filter(|pair| differ(*pair)).count();
    if changed < 2 {
        return None;
    }
    let old: Vec<u64> = writer.shown.iter().map(|row| hash(row)).collect();
    let new: Vec<u64> = writer.to.rows.iter().map(|row| hash(row)).collect();
    let mut best: Option<Shift> = None;
    for distance in 1..new.len() {
        for is_up in [true, false] {
            longest_match(&old, &new, distance, is_up, &mut best);
        }
    }
    best
}

/// Improves `best` by the matches of rows that have moved by `distance`.
fn longest_match(old: &[u64], new: &[u64], distance: usize, is_up: bool, best: &mut Option<Shift>) {
    let blank = hash(&Row::filled(0, Cell::default()));
    let (first, end) = if is_up { (0, new.len() - distance) } else { (distance, new.len()) };
    let origin = |row: usize| if is_up { row + distance } else { row - distance };
    let mut row = first;
    while row < end {
        let start = row;
        while row < end && new[row] == old[origin(row)] {
            row += 1;
        }
        if row > start {
            let mut shift = Shift { rows: start..row, distance, is_up, gain: 0 };
            // A row that is right after scrolling is gained, if it would not be right without.
            let spared =
                (start..row).filter(|row| new[*row] != old[*row] && new[*row] != blank).count();
            let region = shift.region();
            let exposed = if is_up { row..region.end } else { region.start..start };
            let lost = exposed.filter(|row| new[*row] == old[*row] && new[*row] != blank).count();
            shift.gain = spared as isize - lost as isize;
            if best.as_ref().is_none_or(|best| shift.gain > best.gain) {
                *best = Some(shift);
            }
        }
        row += 1;
    }
}

/// Writes the sequences that scroll.
fn scroll(writer: &mut Writer<'_>, shift: &Shift) {
    let (region, distance) = (shift.region(), shift.distance);
    // New rows get the background of the pen.
    writer.set_pen(&Style::default());
    let has_margins = region != (0..writer.to.rows.len());
    if has_margins {
        writer.push(format_args!("\x1b[{};{}r", region.start + 1, region.end));
        writer.moved_to(Some(Position::default()));
    }
    let rows = &mut writer.shown[region.clone()];
    if shift.is_up {
        rows.rotate_left(distance);
    } else {
        rows.rotate_right(distance);
    }
    let blank = Arc::new(Row::filled(writer.to.columns, Cell::default()));
    let exposed = if shift.is_up { rows.len() - distance..rows.len() } else { 0..distance };
    rows[exposed].fill(blank);
    if shift.is_up {
        // Line feeds, unlike SU, let the receiver keep what scrolls out of its screen.
        writer.move_to(Position { row: region.end - 1, column: 0 });
        writer.out.extend(std::iter::repeat_n(b'\n', distance));
    } else {
        writer.move_to(Position { row: region.start, column: 0 });
        writer.push(format_args!("\x1b[{distance}L"));
    }
    if has_margins {
        writer.out.extend_from_slice(b"\x1b[r");
        writer.moved_to(Some(Position::default()));
    }
}

/// A hash of what a row shows (FNV-1a over words), without blanks at its end.
fn hash(row: &Row) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |word: u64| hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    let blank = Cell::default();
    let cells = row.cells();
    let end = cells.iter().rposition(|cell| *cell != blank).map_or(0, |last| last + 1);
    for cell in &cells[..end] {
        add(u64::from(u32::from(cell.character())) << 8 | cell.style().fingerprint());
    }
    hash
}
