//! What unit tests share.

use crate::{Position, Screen, Size, Style, Terminal};

/// A terminal of the given size that has displayed `output`.
pub(crate) fn shown(columns: usize, rows: usize, output: &str) -> Terminal {
    let mut terminal = Terminal::new(Size::new(columns, rows));
    terminal.advance(output.as_bytes());
    terminal
}

/// The rows, without spaces at their ends.
pub(crate) fn text(terminal: &Terminal) -> Vec<String> {
    terminal.screen().rows().map(|row| row.text().trim_end().to_owned()).collect()
}

/// Row and column of the cursor.
pub(crate) fn cursor(terminal: &Terminal) -> (usize, usize) {
    let Position { row, column } = terminal.screen().cursor();
    (row, column)
}

/// The style of a cell.
pub(crate) fn style(screen: &Screen, row: usize, column: usize) -> Style {
    *screen.cell(Position { row, column }).expect("the cell exists").style()
}
