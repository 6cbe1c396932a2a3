//! Rows as comma-separated text.

use super::{Cell, Header};
use std::io::{self, Write};

pub(super) struct Csv<W: Write> {
    writer: W,
}

impl<W: Write> Csv<W> {
    pub(super) fn new(mut writer: W, header: &Header<'_>) -> io::Result<Csv<W>> {
        for (name, value) in header.origin {
            writeln!(writer, "# {name}: {}", value.replace(['\n', '\r'], " "))?;
        }
        let names: Vec<&str> = header.columns.iter().map(|column| column.name).collect();
        writeln!(writer, "{}", names.join(","))?;
        Ok(Csv { writer })
    }

    pub(super) fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        for (index, cell) in cells.iter().enumerate() {
            if index > 0 {
                self.writer.write_all(b",")?;
            }
            match cell {
                // RFC 4180, section 2.
                Cell::Text(text) if text.contains([',', '"', '\n', '\r']) => {
                    write!(self.writer, "\"{}\"", text.replace('"', "\"\""))?;
                }
                Cell::Text(text) => self.writer.write_all(text.as_bytes())?,
                Cell::Whole(number) => write!(self.writer, "{number}")?,
                Cell::Real(number) => write!(self.writer, "{number}")?,
                Cell::Empty => {}
            }
        }
        self.writer.write_all(b"\n")
    }

    pub(super) fn finish(mut self) -> io::Result<W> {
        self.writer.flush()?;
        Ok(self.writer)
    }
}
