//! [`picture`]: a screen as SVG.

use crate::cell::Cell;
use crate::row::Row;
use crate::screen::{Position, Screen};
use crate::style::{Attributes, Colour, Style, Underline};
use std::fmt::Write;

/// The size of a cell, and of the margin around all.
const WIDTH: usize = 9;
const HEIGHT: usize = 19;
const MARGIN: usize = 10;
/// Where the baseline is in a cell.
const BASELINE: usize = 14;
const FOREGROUND: Rgb = [0xd8, 0xd8, 0xd8];
const BACKGROUND: Rgb = [0x1c, 0x1e, 0x22];

type Rgb = [u8; 3];

/// The 16 ANSI colours.
const ANSI: [Rgb; 16] = [
    [0x2e, 0x34, 0x36],
    [0xcc, 0x3c, 0x3c],
    [0x5a, 0xa0, 0x2c],
    [0xc4, 0xa0, 0x10],
    [0x41, 0x72, 0xb4],
    [0x90, 0x5a, 0x98],
    [0x1a, 0x98, 0xa0],
    [0xd3, 0xd7, 0xcf],
    [0x70, 0x74, 0x70],
    [0xef, 0x5a, 0x5a],
    [0x8a, 0xd2, 0x4a],
    [0xf0, 0xdc, 0x60],
    [0x78, 0xa8, 0xe0],
    [0xb8, 0x84, 0xc0],
    [0x4a, 0xd8, 0xdc],
    [0xf4, 0xf4, 0xf2],
];

/// A picture of `screen` as SVG: text, colours, attributes and the cursor, as a terminal with a dark background shows them.
///
/// ```
/// use exm_terminal::{Size, Terminal, picture};
///
/// let mut terminal = Terminal::new(Size::new(20, 2));
/// terminal.advance(b"\x1b[1;32mgreen\x1b[m and plain");
/// let svg = picture(terminal.screen());
/// assert!(svg.starts_with("<svg ") && svg.contains(">green</text>"));
/// ```
pub fn picture(screen: &Screen) -> String {
    let size = screen.size();
    let width = size.columns() * WIDTH + 2 * MARGIN;
    let height = size.rows() * HEIGHT + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"15\">\n"
    );
    rectangle(&mut svg, (0, 0), (width, height), BACKGROUND);
    for (number, row) in screen.rows().enumerate() {
        draw_row(&mut svg, number, row);
    }
    if screen.modes().cursor_visible {
        draw_cursor(&mut svg, screen.cursor());
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws a row in runs of cells that look alike.
fn draw_row(svg: &mut String, number: usize, row: &Row) {
    let cells = row.cells();
    let mut from = 0;
    while from < cells.len() {
        let style = *cells[from].style();
        let alike = cells[from..].iter().take_while(|cell| *cell.style() == style).count();
        draw_run(svg, Position { row: number, column: from }, &cells[from..from + alike], &style);
        from += alike;
    }
}

fn draw_run(svg: &mut String, at: Position, cells: &[Cell], style: &Style) {
    let (x, y) = place(at);
    let width = cells.len() * WIDTH;
    let (foreground, background) = colours(style);
    if background != BACKGROUND {
        rectangle(svg, (x, y), (width, HEIGHT), background);
    }
    let mut text = String::new();
    cells.iter().for_each(|cell| cell.push_to(&mut text));
    if !text.trim().is_empty() {
        draw_text(svg, (x, y + BASELINE), &text, (foreground, style));
    }
    let line = |svg: &mut String, y: usize, dashes: &str| {
        let [red, green, blue] = foreground;
        // Writing to a string cannot fail.
        let _ = writeln!(
            svg,
            "<path d=\"M{x} {y}h{width}\" stroke=\"#{red:02x}{green:02x}{blue:02x}\"{dashes}/>"
        );
    };
    match style.underline {
        Underline::None => {}
        Underline::Single => line(svg, y + BASELINE + 3, ""),
        Underline::Double => [2, 4].into_iter().for_each(|gap| line(svg, y + BASELINE + gap, "")),
        Underline::Dotted => line(svg, y + BASELINE + 3, " stroke-dasharray=\"1 2\""),
        Underline::Curly | Underline::Dashed => {
            line(svg, y + BASELINE + 3, " stroke-dasharray=\"4 3\"");
        }
    }
    if style.attributes.contains(Attributes::STRIKE) {
        line(svg, y + HEIGHT / 2, "");
    }
}

fn draw_text(svg: &mut String, (x, y): (usize, usize), text: &str, look: (Rgb, &Style)) {
    let ([red, green, blue], style) = look;
    let mut attributes = String::new();
    for (attribute, written) in [
        (Attributes::BOLD, " font-weight=\"bold\""),
        (Attributes::ITALIC, " font-style=\"italic\""),
        (Attributes::FAINT, " opacity=\"0.6\""),
    ] {
        if style.attributes.contains(attribute) {
            attributes.push_str(written);
        }
    }
    // Blanks at the ends take no part; those before the text move it.
    let blanks = text.len() - text.trim_start_matches(' ').len();
    let (x, text) = (x + blanks * WIDTH, escaped(text.trim_matches(' ')));
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" fill=\"#{red:02x}{green:02x}{blue:02x}\" xml:space=\"preserve\"{attributes}>{text}</text>"
    );
}

fn draw_cursor(svg: &mut String, at: Position) {
    let (x, y) = place(at);
    let _ = writeln!(
        svg,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\" opacity=\"0.45\"/>"
    );
}

fn place(at: Position) -> (usize, usize) {
    (MARGIN + at.column * WIDTH, MARGIN + at.row * HEIGHT)
}

fn rectangle(svg: &mut String, (x, y): (usize, usize), size: (usize, usize), colour: Rgb) {
    let ((width, height), [red, green, blue]) = (size, colour);
    let _ = writeln!(
        svg,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"#{red:02x}{green:02x}{blue:02x}\"/>"
    );
}

/// The colours of text and background.
fn colours(style: &Style) -> (Rgb, Rgb) {
    let foreground = rgb(style.foreground, FOREGROUND);
    let background = rgb(style.background, BACKGROUND);
    let is = |attribute| style.attributes.contains(attribute);
    let (foreground, background) =
        if is(Attributes::INVERSE) { (background, foreground) } else { (foreground, background) };
    if is(Attributes::INVISIBLE) { (background, background) } else { (foreground, background) }
}

fn rgb(colour: Colour, default: Rgb) -> Rgb {
    match colour {
        Colour::Default => default,
        Colour::Rgb(red, green, blue) => [red, green, blue],
        Colour::Indexed(index @ 0..16) => ANSI[usize::from(index)],
        // A cube of 6 levels a colour, and then 24 greys, as in xterm.
        Colour::Indexed(index @ 16..232) => {
            let level = |part: u8| if part == 0 { 0 } else { 55 + 40 * part };
            let place = index - 16;
            [level(place / 36), level(place / 6 % 6), level(place % 6)]
        }
        Colour::Indexed(index) => [8 + 10 * (index - 232); 3],
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::shown;

    #[test]
    fn what_is_visible_is_drawn() {
        let terminal = shown(12, 2, "a<b\x1b[1;7;38;5;196m bold\x1b[m\r\n\x1b[4:3mx");
        let svg = picture(terminal.screen());
        assert!(svg.contains(">a&lt;b</text>"), "{svg}");
        assert!(svg.contains("font-weight=\"bold\">bold</text>"), "{svg}");
        assert!(svg.contains("fill=\"#ff0000\""), "the inverse background: {svg}");
        assert!(svg.contains("stroke-dasharray=\"4 3\""), "{svg}");
        assert_eq!(svg.matches("opacity=\"0.45\"").count(), 1, "the cursor");
        assert_eq!(rgb(Colour::Indexed(255), FOREGROUND), [238; 3]);
    }
}
