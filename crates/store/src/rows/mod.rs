//! [`RowWriter`]: files of rows and columns.

mod csv;
#[cfg(feature = "parquet")]
mod parquet;

use std::io::{self, Write};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Text.
    Text,
    /// Whole numbers from 0 up.
    Whole,
    /// Real numbers.
    Real,
}

/// A column of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: ColumnType,
}

impl Column {
    /// A column of text.
    pub const fn text(name: &'static str) -> Column {
        Column { name, kind: ColumnType::Text }
    }

    /// A column of whole numbers.
    pub const fn whole(name: &'static str) -> Column {
        Column { name, kind: ColumnType::Whole }
    }

    /// A column of real numbers.
    pub const fn real(name: &'static str) -> Column {
        Column { name, kind: ColumnType::Real }
    }
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Text.
    Text(&'a str),
    /// A whole number. Parquet, whose integers are signed, holds those of 2^63 and more as 2^63 - 1.
    Whole(u64),
    /// A real number, written as the shortest decimal that parses as the same number.
    Real(f64),
    /// Absent: empty in CSV, null in Parquet.
    Empty,
}

impl Cell<'_> {
    fn fits(self, kind: ColumnType) -> bool {
        match self {
            Cell::Text(_) => kind == ColumnType::Text,
            Cell::Whole(_) => kind == ColumnType::Whole,
            Cell::Real(_) => kind == ColumnType::Real,
            Cell::Empty => true,
        }
    }
}

impl From<Option<f64>> for Cell<'_> {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Cell::Empty, Cell::Real)
    }
}

impl From<Option<u64>> for Cell<'_> {
    fn from(value: Option<u64>) -> Self {
        value.map_or(Cell::Empty, Cell::Whole)
    }
}

/// A file format for rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Comma-separated text (RFC 4180). Lines that begin with `#` come first and state its origin.
    Csv,
    /// Apache Parquet, compressed with Snappy. Its key-value metadata states its origin.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl Format {
    /// The file extension, without a dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            #[cfg(feature = "parquet")]
            Format::Parquet => "parquet",
        }
    }
}

/// The header of a file.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a> {
    /// The name of the Parquet schema; not used in CSV.
    pub schema: &'a str,
    /// The columns.
    pub columns: &'a [Column],
    /// The origin of the rows, as names and values: command, seed, version.
    pub origin: &'a [(&'a str, String)],
}

/// Writes rows to `W` in either format.
pub struct RowWriter<W: Write + Send> {
    columns: Vec<Column>,
    output: Output<W>,
}

enum Output<W: Write + Send> {
    Csv(csv::Csv<W>),
    #[cfg(feature = "parquet")]
    Parquet(Box<parquet::Parquet<W>>),
}

impl<W: Write + Send> RowWriter<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// Those of `writer`.
    pub fn new(format: Format, writer: W, header: &Header<'_>) -> io::Result<RowWriter<W>> {
        let output = match format {
            Format::Csv => Output::Csv(csv::Csv::new(writer, header)?),
            #[cfg(feature = "parquet")]
            Format::Parquet => Output::Parquet(Box::new(parquet::Parquet::new(writer, header)?)),
        };
        Ok(RowWriter { columns: header.columns.to_vec(), output })
    }

    /// Writes a row, with a cell for each column.
    ///
    /// # Errors
    /// Those of the writer, and [`io::ErrorKind::InvalidInput`] if the cells do not match the columns.
    pub fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        let fit = cells.iter().zip(&self.columns).all(|(cell, column)| cell.fits(column.kind));
        if cells.len() != self.columns.len() || !fit {
            let problem = format!("the row {cells:?} does not fit the columns {:?}", self.columns);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        match &mut self.output {
            Output::Csv(output) => output.row(cells),
            #[cfg(feature = "parquet")]
            Output::Parquet(output) => output.row(cells),
        }
    }

    /// Writes the remaining rows, and returns the writer.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(self) -> io::Result<W> {
        match self.output {
            Output::Csv(output) => output.finish(),
            #[cfg(feature = "parquet")]
            Output::Parquet(output) => output.finish(),
        }
    }
}

#[cfg(test)]
mod tests;
