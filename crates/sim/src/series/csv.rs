//! Series as comma-separated text.

use super::{Cell, Column, Origin, Table};
use std::io::{self, Write};

pub(super) struct Csv<W: Write> {
    writer: W,
}

impl<W: Write> Csv<W> {
    pub(super) fn new(mut writer: W, columns: &[Column], origin: &Origin) -> io::Result<Csv<W>> {
        for (name, value) in origin.entries() {
            writeln!(writer, "# {name}: {}", value.replace(['\n', '\r'], " "))?;
        }
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        writeln!(writer, "{}", names.join(","))?;
        Ok(Csv { writer })
    }
}

impl<W: Write> Table for Csv<W> {
    fn row(&mut self, cells: &[Cell]) -> io::Result<()> {
        for (index, cell) in cells.iter().enumerate() {
            if index > 0 {
                self.writer.write_all(b",")?;
            }
            match cell {
                Cell::Whole(number) => write!(self.writer, "{number}")?,
                Cell::Real(number) => write!(self.writer, "{number}")?,
                Cell::Nothing => {}
            }
        }
        self.writer.write_all(b"\n")
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.writer.flush()
    }
}
