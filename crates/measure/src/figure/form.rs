//! [`Plot`]: a figure in a wide and a narrow form, and its numbers.

use std::fmt::Write;

/// How wide a figure is drawn. Its letters have the same size in every form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// 760 pixels: for paper and screens.
    #[default]
    Wide,
    /// 360 pixels: for phones. The names of lines are below the panels, not beside them.
    Narrow,
}

impl Form {
    /// The width in pixels.
    pub const fn width(self) -> f64 {
        match self {
            Form::Wide => 760.0,
            Form::Narrow => 360.0,
        }
    }
}

/// A figure that is drawn in several forms, and that can list its numbers.
pub trait Plot {
    /// The figure as an SVG file in this form.
    fn drawn(&self, form: Form) -> String;

    /// The numbers that the figure shows, as CSV (RFC 4180) with a line of headings. Missing numbers are
    /// empty.
    fn csv(&self) -> String;
}

/// A value of a CSV file.
pub(super) enum Value<'a> {
    Text(&'a str),
    Number(f64),
}

/// The text of a CSV file. Numbers have all their digits.
pub(super) fn csv<'a, const COLUMNS: usize>(
    headings: [&str; COLUMNS],
    rows: impl IntoIterator<Item = [Value<'a>; COLUMNS]>,
) -> String {
    let mut text = String::new();
    let headings = headings.map(Value::Text);
    write_row(&mut text, &headings);
    rows.into_iter().for_each(|row| write_row(&mut text, &row));
    text
}

fn write_row(text: &mut String, row: &[Value<'_>]) {
    for (index, value) in row.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        match value {
            Value::Text(words) if words.contains(['"', ',', '\n', '\r']) => {
                write!(text, "\"{}\"", words.replace('"', "\"\"")).expect("memory takes it");
            }
            Value::Text(words) => text.push_str(words),
            Value::Number(number) if number.is_finite() => {
                write!(text, "{number}").expect("memory takes it");
            }
            Value::Number(_) => {}
        }
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_and_missing_numbers_are_empty() {
        let rows = [
            [Value::Text("a, \"b\""), Value::Number(0.1)],
            [Value::Text("c"), Value::Number(f64::NAN)],
        ];
        assert_eq!(csv(["scheme", "x"], rows), "scheme,x\n\"a, \"\"b\"\"\",0.1\nc,\n");
    }
}
