//! Writes the cells that changed.

use std::sync::Arc;

use super::writer::Writer;
use crate::{cell::Cell, row::Row, screen::Position};

/// A run of at least so many blanks is erased (ECH), as is shorter than printing spaces.
const ERASE: usize = 9;
/// A run of at least so many equal characters is repeated (REP).
const REPEAT: usize = 8;

/// Writes all rows that differ from what is shown.
pub(super) fn write(writer: &mut Writer<'_>) {
    for number in 0..writer.to.rows.len() {
        let wanted = Arc::clone(&writer.to.rows[number]);
        let shown = Arc::clone(&writer.shown[number]);
        if !writer.is_same_row(&shown, &wanted) {
            write_row(writer, number, &shown, &wanted);
        }
    }
}

/// Writes the differences of a row.
///
/// Where one cell of a wide character that is shown is overwritten, the other becomes blank. Then that differs from
/// what is wanted, too, and is written: to the left it has been, since the row is written from left to right.
fn write_row(writer: &mut Writer<'_>, number: usize, shown: &Row, wanted: &Row) {
    let (shown, cells) = (shown.cells(), wanted.cells());
    let tail = blank_tail(writer, cells);
    let mut column = 0;
    while column < cells.len() {
        let width = wanted.width_at(column).max(1);
        let range = column..column + width;
        let is_same = range.clone().all(|at| writer.is_same(&shown[at], &cells[at]));
        if is_same {
            column += width;
            continue;
        }
        writer.move_to(Position { row: number, column });
        if column >= tail {
            writer.set_pen(cells[column].style());
            writer.out.extend_from_slice(b"\x1b[K");
            return;
        }
        column += write_run(writer, &cells[column..], width);
    }
}

/// The column from which on all cells are blank, of the same background.
fn blank_tail(writer: &Writer<'_>, cells: &[Cell]) -> usize {
    let visible = |cell: &Cell| writer.features.visible_cell(cell);
    let Some(last) = cells.last().map(visible).filter(Cell::is_erased) else { return cells.len() };
    cells.iter().rposition(|cell| visible(cell) != last).map_or(0, |column| column + 1)
}

/// Writes the first of `cells`, or as many equal ones as one sequence can. Returns how many it has written.
fn write_run(writer: &mut Writer<'_>, cells: &[Cell], width: usize) -> usize {
    let first = writer.features.visible_cell(&cells[0]);
    writer.set_pen(first.style());
    let may_run = width == 1 && (first.is_erased() || writer.features.repeat);
    let equal = |cell: &&Cell| writer.features.visible_cell(cell) == first;
    let run = if may_run { cells.iter().take_while(equal).count() } else { 1 };
    // The run may end before a wide character's second cell, but never within one, as that is not equal.
    if first.is_erased() && run >= ERASE {
        writer.push(format_args!("\x1b[{run}X"));
        return run;
    }
    write_cell(writer, &first);
    if writer.features.repeat && run >= REPEAT && first.marks().next().is_none() {
        writer.push(format_args!("\x1b[{}b", run - 1));
        writer.printed(run);
        return run;
    }
    writer.printed(width);
    width
}

fn write_cell(writer: &mut Writer<'_>, cell: &Cell) {
    let mut buffer = [0; 4];
    writer.out.extend_from_slice(cell.character().encode_utf8(&mut buffer).as_bytes());
    for mark in cell.marks() {
        writer.out.extend_from_slice(mark.encode_utf8(&mut buffer).as_bytes());
    }
}
