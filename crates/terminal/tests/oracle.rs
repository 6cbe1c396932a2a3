//! Comparison with another emulator, `avt`: the same output leads to the same text, cursor and colours.

mod common;

use common::{RECORDINGS, editing, text};
use exm_terminal::{Attributes, Colour, Position, Size, Terminal, Underline, update};
use proptest::prelude::*;

const COLUMNS: usize = 80;
const ROWS: usize = 24;

fn oracle(output: &str) -> avt::Terminal {
    let mut oracle = avt::Terminal::new(COLUMNS, ROWS).expect("the size is valid");
    oracle.feed(output);
    oracle
}

fn ours(output: &str) -> Terminal {
    let mut terminal = Terminal::new(Size::new(COLUMNS, ROWS));
    terminal.advance(output.as_bytes());
    terminal
}

fn colour(colour: Option<avt::Color>) -> Colour {
    match colour {
        None => Colour::Default,
        Some(avt::Color::Indexed(index)) => Colour::Indexed(index),
        Some(avt::Color::RGB(rgb)) => Colour::Rgb(rgb.r, rgb.g, rgb.b),
    }
}

/// Compares the characters and, where `with_styles`, how they look.
fn compare(output: &str, with_styles: bool) {
    let (oracle, ours) = (oracle(output), ours(output));
    for row in 0..ROWS {
        let line = oracle.screen().line(row).expect("the row exists");
        let text = ours.screen().row(row).text();
        assert_eq!(text.trim_end(), line.text().trim_end(), "row {row} of {output:?}");
        for (column, cell) in line.cells().iter().enumerate().filter(|_| with_styles) {
            let mine = ours.screen().cell(Position { row, column }).expect("the cell exists");
            let (style, pen) = (mine.style(), cell.pen());
            let place = format!("row {row}, column {column} of {output:?}");
            assert_eq!(style.background, colour(pen.background()), "background in {place}");
            if mine.character() != ' ' {
                assert_eq!(style.foreground, colour(pen.foreground()), "foreground in {place}");
                assert_eq!(
                    style.attributes.contains(Attributes::BOLD),
                    pen.is_bold(),
                    "bold in {place}"
                );
                assert_eq!(
                    style.underline != Underline::None,
                    pen.is_underline(),
                    "underline in {place}"
                );
            }
        }
    }
    if let Some((column, row)) = oracle.cursor().position() {
        // This cursor may be behind the last column; ours stays in it.
        let column = column.min(COLUMNS - 1);
        assert_eq!(ours.screen().cursor(), Position { row, column }, "{output:?}");
    }
}

#[test]
fn recorded_programs_look_the_same() {
    for (name, output) in RECORDINGS {
        println!("{name}");
        let output = String::from_utf8_lossy(output);
        compare(&output, true);
    }
}

#[test]
fn recorded_programs_look_the_same_in_the_middle() {
    for (_, output) in RECORDINGS {
        let output = String::from_utf8_lossy(output);
        for end in (0..output.len()).step_by(97).filter(|end| output.is_char_boundary(*end)) {
            compare(&output[..end], true);
        }
    }
}

#[test]
fn updates_of_recorded_programs_are_smaller_than_their_output() {
    for (name, output) in RECORDINGS {
        let mut server = Terminal::new(Size::new(COLUMNS, ROWS));
        let mut client = Terminal::showing(server.screen().clone());
        let mut sent = 0;
        for piece in output.chunks(500) {
            server.advance(piece);
            let bytes = update(&client.screen().clone(), server.screen(), true);
            client.advance(&bytes);
            sent += bytes.len();
            for (shown, wanted) in client.screen().rows().zip(server.screen().rows()) {
                assert_eq!(shown.text(), wanted.text());
            }
        }
        println!("{name}: {sent} of {} bytes", output.len());
        assert!(sent < output.len(), "{name}: {sent} bytes");
    }
}

/// Follows screens of ours with `avt`, by updates, and compares what it shows.
fn check_updates<'a>(pieces: impl Iterator<Item = &'a [u8]>) {
    let mut server = Terminal::new(Size::new(COLUMNS, ROWS));
    let mut client = avt::Terminal::new(COLUMNS, ROWS).expect("the size is valid");
    let mut before = server.screen().clone();
    client.feed(String::from_utf8_lossy(&update(&before, &before, false)).as_ref());
    for piece in pieces {
        server.advance(piece);
        let bytes = update(&before, server.screen(), true);
        client.feed(String::from_utf8_lossy(&bytes).as_ref());
        before = server.screen().clone();
        for (number, row) in before.rows().enumerate() {
            let line = client.screen().line(number).expect("the row exists");
            assert_eq!(line.text().trim_end(), row.text().trim_end(), "row {number}, {bytes:?}");
            for (cell, mine) in line.cells().iter().zip(row.cells()) {
                assert_eq!(mine.style().background, colour(cell.pen().background()));
            }
        }
    }
}

#[test]
fn updates_of_recorded_programs_suit_another_emulator() {
    for (_, output) in RECORDINGS {
        check_updates(output.chunks(100));
        check_updates(output.chunks(1500));
    }
}

/// What both emulators interpret in the same way: no combining characters, and no insert mode, in which `avt` loses
/// characters next to wide ones and where lines wrap.
fn common_output() -> impl Strategy<Value = String> {
    let control =
        prop::sample::select(vec!["\r", "\n", "\r\n", "\t", "\x08", "\r\x1bM", "\r\x1b7", "\x1b8"]);
    let colours = prop::sample::select(vec![
        "\x1b[31m",
        "\x1b[1;44m",
        "\x1b[m",
        "\x1b[38;5;99;4m",
        "\x1b[48;2;1;2;3m",
    ]);
    let modes = prop::sample::select(vec!["\x1b[?7l", "\x1b[?7h", "\x1b[5;15r", "\x1b[r"]);
    let plain = text().prop_map(|text| String::from_utf8_lossy(&text).into_owned());
    let plain = plain.prop_filter("widths agree", |text| {
        !text.chars().any(|character| matches!(character, '\u{300}'..='\u{36f}' | '\u{fe0f}'))
    });
    // After IL and DL, this emulator keeps the cursor's column; xterm and ours return to the first.
    let sequence = editing().prop_map(|mut bytes| {
        if bytes.ends_with(b"L") || bytes.ends_with(b"M") {
            bytes.push(b'\r');
        }
        if bytes.last().is_some_and(|last| b"JKX@P".contains(last)) {
            // Where a line is about to wrap, it still is after erasing; not in xterm and ours.
            bytes.splice(0..0, *b"\x1b[30G");
        }
        if bytes.ends_with(b"b") {
            // It repeats the cell before the cursor; xterm and ours what was printed last.
            bytes.splice(0..0, *b"\x1b[30Gr");
        }
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let piece = prop_oneof![
        5 => plain,
        4 => sequence,
        3 => control.prop_map(str::to_owned),
        2 => colours.prop_map(str::to_owned),
        1 => modes.prop_map(str::to_owned),
    ];
    let output = prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat());
    output.prop_filter("both interpret it in the same way", |output| {
        // This emulator inserts and deletes lines outside the margins, too; DEC's terminals and xterm do not.
        let edits_lines = output.contains("L\r") || output.contains("M\r");
        // It restores DECAWM with the cursor, as DEC's terminals do, and xterm and ours do not.
        let restores = output.contains("\x1b8") && output.contains("\x1b[?7l");
        let edits_outside = edits_lines && output.contains("\x1b[5;15r");
        !edits_outside && !restores
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn plausible_output_looks_the_same(output in common_output()) {
        // Where half of a wide character is overwritten, the emulators give the other half different backgrounds.
        compare(&output, output.is_ascii());
    }

    #[test]
    fn updates_suit_another_emulator(output in common_output(), length in 20..300usize) {
        check_updates(output.as_bytes().chunks(length));
    }
}
