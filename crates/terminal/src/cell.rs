//! [`Cell`]: one position of a screen.

use crate::style::Style;

/// One position of a screen: a character, its combining characters, and its style.
///
/// A wide character occupies two cells: the first holds it, and the second is a continuation of the same style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// NUL in the continuation of a wide character. Programs cannot print NUL.
    character: char,
    /// NUL where there is none.
    marks: [char; Cell::MAX_MARKS],
    style: Style,
}

impl Default for Cell {
    fn default() -> Cell {
        Cell::new(' ', Style::default())
    }
}

impl Cell {
    /// A cell keeps this many combining characters; others are dropped.
    pub const MAX_MARKS: usize = 2;

    /// A cell that shows `character`.
    pub fn new(character: char, style: Style) -> Cell {
        Cell { character, marks: ['\0'; Cell::MAX_MARKS], style }
    }

    /// What erasing leaves while `pen` is the current style.
    pub fn erased(pen: &Style) -> Cell {
        Cell::new(' ', pen.erased())
    }

    /// The second cell of a wide character.
    pub(crate) fn continuation(style: Style) -> Cell {
        Cell::new('\0', style)
    }

    /// The character, which is a space in a blank cell, and NUL in the second cell of a wide character.
    pub fn character(&self) -> char {
        self.character
    }

    /// The combining characters, in order.
    pub fn marks(&self) -> impl Iterator<Item = char> + '_ {
        self.marks.iter().copied().take_while(|mark| *mark != '\0')
    }

    /// The style.
    pub fn style(&self) -> &Style {
        &self.style
    }

    /// This cell with another style.
    #[must_use]
    pub fn with_style(mut self, style: Style) -> Cell {
        self.style = style;
        self
    }

    /// Whether this is the second cell of a wide character.
    pub fn is_continuation(&self) -> bool {
        self.character == '\0'
    }

    /// Whether erasing could have left this cell.
    pub fn is_erased(&self) -> bool {
        self.character == ' ' && self.marks[0] == '\0' && self.style == self.style.erased()
    }

    /// Adds a combining character, if there is room.
    pub(crate) fn add_mark(&mut self, mark: char) {
        if let Some(free) = self.marks.iter_mut().find(|mark| **mark == '\0') {
            *free = mark;
        }
    }

    /// Appends the character and its combining characters to `text`.
    pub fn push_to(&self, text: &mut String) {
        if !self.is_continuation() {
            text.push(self.character);
            text.extend(self.marks());
        }
    }
}
