//! Comparison with a third emulator, that of Alacritty: the same output leads to the same text, cursor and styles, and so do
//! updates.

mod common;

use alacritty_terminal::Term;
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::index::{Column, Line, Point};
use alacritty_terminal::term::Config;
use alacritty_terminal::term::cell::Flags;
use alacritty_terminal::term::test::TermSize;
use alacritty_terminal::vte::ansi::{Color, NamedColor, Processor};
use common::{RECORDINGS, output};
use exm_terminal::{
    Attributes, Cell, Colour, Features, Position, Screen, Size, Terminal, Underline,
};
use proptest::prelude::*;

const COLUMNS: usize = 80;
const ROWS: usize = 24;

/// The other emulator, with its parser.
struct Oracle(Term<VoidListener>, Processor);

impl Oracle {
    fn new() -> Oracle {
        let size = TermSize::new(COLUMNS, ROWS);
        Oracle(Term::new(Config::default(), &size, VoidListener), Processor::new())
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.1.advance(&mut self.0, bytes);
    }

    /// Compares its screen with ours.
    fn compare(&self, screen: &Screen, context: &str) {
        let grid = self.0.grid();
        for (row, ours) in screen.rows().enumerate() {
            let line = Line(i32::try_from(row).expect("few"));
            for (column, cell) in ours.cells().iter().enumerate() {
                let theirs = &grid[Point::new(line, Column(column))];
                let place = format!("row {row}, column {column} of {context}");
                compare_cells(cell, theirs, &place);
            }
        }
        let cursor = grid.cursor.point;
        let row = usize::try_from(cursor.line.0).expect("on the screen");
        assert_eq!(screen.cursor(), Position { row, column: cursor.column.0 }, "{context}");
    }
}

fn compare_cells(ours: &Cell, theirs: &alacritty_terminal::term::cell::Cell, place: &str) {
    let style = ours.style();
    assert_eq!(style.background, colour(theirs.bg), "background in {place}");
    if ours.is_continuation() || theirs.flags.contains(Flags::WIDE_CHAR_SPACER) {
        assert!(theirs.flags.contains(Flags::WIDE_CHAR_SPACER), "second half in {place}");
        return;
    }
    let character = if theirs.c == '\t' { ' ' } else { theirs.c };
    assert_eq!(ours.character(), character, "{place}");
    if character == ' ' {
        return;
    }
    assert_eq!(style.foreground, colour(theirs.fg), "foreground in {place}");
    for (attribute, flag) in [
        (Attributes::BOLD, Flags::BOLD),
        (Attributes::ITALIC, Flags::ITALIC),
        (Attributes::INVERSE, Flags::INVERSE),
        (Attributes::FAINT, Flags::DIM),
        (Attributes::STRIKE, Flags::STRIKEOUT),
    ] {
        assert_eq!(style.attributes.contains(attribute), theirs.flags.contains(flag), "{place}");
    }
    let is_underlined = theirs.flags.intersects(Flags::ALL_UNDERLINES);
    assert_eq!(style.underline != Underline::None, is_underlined, "underline in {place}");
}

fn colour(colour: Color) -> Colour {
    match colour {
        Color::Named(NamedColor::Foreground | NamedColor::Background) => Colour::Default,
        Color::Named(name) => Colour::Indexed(u8::try_from(name as usize).expect("one of 16")),
        Color::Indexed(index) => Colour::Indexed(index),
        Color::Spec(rgb) => Colour::Rgb(rgb.r, rgb.g, rgb.b),
    }
}

#[test]
fn recorded_programs_look_the_same() {
    for (name, output) in RECORDINGS {
        let (mut oracle, mut ours) = (Oracle::new(), Terminal::new(Size::new(COLUMNS, ROWS)));
        for (number, piece) in output.chunks(97).enumerate() {
            oracle.feed(piece);
            ours.advance(piece);
            oracle.compare(ours.screen(), &format!("piece {number} of {name}"));
        }
    }
}

/// Follows a screen of ours by updates.
fn check_updates(output: &[u8], length: usize) {
    let mut server = Terminal::new(Size::new(COLUMNS, ROWS));
    let mut client = Oracle::new();
    let mut before = server.screen().clone();
    client.feed(&Features::ALL.update(&before, &before, false));
    for piece in output.chunks(length) {
        server.advance(piece);
        client.feed(&Features::ALL.update(&before, server.screen(), true));
        before = server.screen().clone();
        client.compare(&before, &format!("{:?}", String::from_utf8_lossy(output)));
    }
}

#[test]
fn updates_of_recorded_programs_look_the_same() {
    for (_, output) in RECORDINGS {
        check_updates(output, 100);
        check_updates(output, 1500);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn updates_look_the_same(output in output(), length in 20..300usize) {
        check_updates(&output, length);
    }
}
