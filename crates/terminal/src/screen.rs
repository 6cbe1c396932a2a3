//! [`Screen`]: what a terminal shows.

use std::sync::Arc;

use crate::{
    cell::Cell,
    links::{Link, Links},
    modes::Modes,
    row::Row,
    style::Style,
};

/// The dimensions of a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    columns: usize,
    rows: usize,
}

impl Size {
    /// No dimension is larger.
    pub const MAX: usize = 1000;

    /// So many columns and rows, each limited to 1 up to [`Size::MAX`].
    pub fn new(columns: usize, rows: usize) -> Size {
        Size { columns: columns.clamp(1, Size::MAX), rows: rows.clamp(1, Size::MAX) }
    }

    /// The number of columns.
    pub fn columns(self) -> usize {
        self.columns
    }

    /// The number of rows.
    pub fn rows(self) -> usize {
        self.rows
    }
}

/// A position on a screen, counted from 0 at the top left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The row.
    pub row: usize,
    /// The column.
    pub column: usize,
}

/// What a terminal shows: its cells, its cursor, its modes and its titles.
///
/// A clone shares all rows with its original until one of them changes, and comparing two screens skips shared rows. What
/// influences only future output, such as margins, tab stops and saved cursors, belongs to the [`crate::Terminal`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screen {
    pub(crate) rows: Vec<Arc<Row>>,
    pub(crate) columns: usize,
    pub(crate) cursor: Position,
    pub(crate) pen: Style,
    pub(crate) modes: Modes,
    pub(crate) title: Option<Arc<str>>,
    pub(crate) icon_name: Option<Arc<str>>,
    pub(crate) clipboard: Option<Arc<str>>,
    pub(crate) bells: u64,
    pub(crate) links: Arc<Links>,
}

impl Screen {
    /// A blank screen.
    pub fn new(size: Size) -> Screen {
        Screen {
            rows: Screen::blank_rows(size, Cell::default()),
            columns: size.columns,
            cursor: Position::default(),
            pen: Style::default(),
            modes: Modes::default(),
            title: None,
            icon_name: None,
            clipboard: None,
            bells: 0,
            links: Arc::default(),
        }
    }

    /// A screen that consists of `row`, without its hyperlinks.
    pub fn of_row(row: Arc<Row>) -> Screen {
        let size = Size::new(row.cells().len(), 1);
        let mut screen = Screen::new(size);
        screen.show_row(0, row);
        screen
    }

    /// Rows that consist of `cell`. They share their memory.
    pub(crate) fn blank_rows(size: Size, cell: Cell) -> Vec<Arc<Row>> {
        let blank = Arc::new(Row::filled(size.columns, cell));
        std::iter::repeat_n(blank, size.rows).collect()
    }

    /// The dimensions.
    pub fn size(&self) -> Size {
        Size { columns: self.columns, rows: self.rows.len() }
    }

    /// The row with this number, counted from 0 at the top.
    ///
    /// # Panics
    ///
    /// If the screen has fewer rows.
    pub fn row(&self, row: usize) -> &Row {
        &self.rows[row]
    }

    /// The row with this number, to be shared with other screens.
    ///
    /// # Panics
    ///
    /// If the screen has fewer rows.
    pub fn shared_row(&self, row: usize) -> Arc<Row> {
        Arc::clone(&self.rows[row])
    }

    /// Replaces a row by `content`, cut or padded on the right, without its hyperlinks. Rows that the screen does not have are left alone.
    pub fn show_row(&mut self, row: usize, content: Arc<Row>) {
        let Some(place) = self.rows.get_mut(row) else { return };
        let has_links = content.cells().iter().any(|cell| cell.style().link != 0);
        let is_fit = content.cells().len() == self.columns;
        *place = content;
        if !is_fit || has_links {
            let row = Arc::make_mut(place);
            row.resize(self.columns);
            for cell in row.cells_mut() {
                *cell = cell.with_style(Style { link: 0, ..*cell.style() });
            }
        }
    }

    /// All rows, from top to bottom.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().map(Arc::as_ref)
    }

    /// The cell at a position, if the screen has it.
    pub fn cell(&self, position: Position) -> Option<&Cell> {
        self.rows.get(position.row)?.cells().get(position.column)
    }

    /// The position of the cursor, which is always on the screen.
    pub fn cursor(&self) -> Position {
        self.cursor
    }

    /// The style of the next character to be printed.
    pub fn pen(&self) -> &Style {
        &self.pen
    }

    /// The modes.
    pub fn modes(&self) -> &Modes {
        &self.modes
    }

    /// The window's title (OSC 0 and 2), `None` if it is empty or was never set.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The icon's name (OSC 0 and 1), `None` if it is empty or was never set.
    pub fn icon_name(&self) -> Option<&str> {
        self.icon_name.as_deref()
    }

    /// What was last written to the clipboard (OSC 52), in base64.
    pub fn clipboard(&self) -> Option<&str> {
        self.clipboard.as_deref()
    }

    /// How often the bell has rung.
    pub fn bells(&self) -> u64 {
        self.bells
    }

    /// The hyperlink with the number that a style has, see [`Style::link`].
    pub fn link(&self, number: u16) -> Option<&Link> {
        self.links.get(number)
    }

    /// Moves the cursor, to the nearest position on the screen. For overlays that predict where it will be.
    pub fn set_cursor(&mut self, position: Position) {
        self.cursor = Position {
            row: position.row.min(self.rows.len() - 1),
            column: position.column.min(self.columns - 1),
        };
    }

    /// Writes a character of one column over the cell at a position, if the screen has it. For overlays, such as
    /// predicted keystrokes or a line of status.
    pub fn overlay(&mut self, position: Position, cell: Cell) {
        if position.row < self.rows.len()
            && position.column < self.columns
            && !cell.is_continuation()
        {
            self.row_mut(position.row).put(position.column, 1, cell);
        }
    }

    /// Sets the title. `None` removes it. For clients that add a prefix.
    pub fn set_title(&mut self, title: Option<&str>) {
        self.title = title.map(Arc::from);
    }

    /// Sets the icon's name. `None` removes it.
    pub fn set_icon_name(&mut self, name: Option<&str>) {
        self.icon_name = name.map(Arc::from);
    }

    /// Forgets what was written to the clipboard. For clients that do not let programs write to it.
    pub fn forget_clipboard(&mut self) {
        self.clipboard = None;
    }

    /// The row, for changes. It is copied first if other screens share it.
    pub(crate) fn row_mut(&mut self, row: usize) -> &mut Row {
        Arc::make_mut(&mut self.rows[row])
    }

    /// Replaces a row by copies of `cell`.
    pub(crate) fn blank_row(&mut self, row: usize, cell: Cell) {
        match Arc::get_mut(&mut self.rows[row]) {
            Some(row) => row.fill_all(cell),
            None => self.rows[row] = Arc::new(Row::filled(self.columns, cell)),
        }
    }
}
