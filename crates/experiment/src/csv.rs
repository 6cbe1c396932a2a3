//! Results as comma-separated text.

use crate::results::Results;
use crate::sheet::{Cell, Sheet, origin};
use std::fmt::Write;

/// `sheet` as text: where it is from, the names of its columns, its rows.
pub(crate) fn text(sheet: Sheet<'_>, results: &Results) -> String {
    let mut text = String::new();
    for (name, value) in origin(results) {
        writeln!(text, "# {name}: {value}").expect("memory takes it");
    }
    let names: Vec<&str> = sheet.columns.iter().map(|column| column.name).collect();
    text += &names.join(",");
    text.push('\n');
    for row in sheet.rows {
        for (place, cell) in row.into_iter().enumerate() {
            if place > 0 {
                text.push(',');
            }
            write_cell(&mut text, cell).expect("memory takes it");
        }
        text.push('\n');
    }
    text
}

fn write_cell(text: &mut String, cell: Cell<'_>) -> std::fmt::Result {
    match cell {
        // RFC 4180.
        Cell::Text(word) if word.contains([',', '"', '\n', '\r']) => {
            write!(text, "\"{}\"", word.replace('"', "\"\""))
        }
        Cell::Text(word) => write!(text, "{word}"),
        Cell::Whole(number) => write!(text, "{number}"),
        Cell::Real(number) => write!(text, "{number}"),
        Cell::Nothing => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let told = |cell: Cell<'_>| {
            let mut text = String::new();
            write_cell(&mut text, cell).expect("memory takes it");
            text
        };
        assert_eq!(told(Cell::Text("Cubic/sfqCoDel")), "Cubic/sfqCoDel");
        assert_eq!(told(Cell::Text("a, \"b\"")), "\"a, \"\"b\"\"\"");
        assert_eq!((told(Cell::Nothing), told(Cell::Real(1.5))), (String::new(), "1.5".to_owned()));
        assert_eq!(told(Cell::Whole(7)), "7");
    }
}
