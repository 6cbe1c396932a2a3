//! Series as Parquet.

use super::{Cell, Column, Origin, Table};
use parquet::basic::{Compression, Repetition, Type as Physical};
use parquet::data_type::{DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows held back to be written together: at 14 columns, 7 MiB.
const GROUP: usize = 1 << 16;

pub(super) struct Parquet<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Values>,
}

/// The values of a column not yet written. A level is 1 where there is a value and 0 where not.
struct Values {
    data: Data,
    levels: Vec<i16>,
}

enum Data {
    Whole(Vec<i64>),
    Real(Vec<f64>),
}

impl<W: Write + Send> Parquet<W> {
    pub(super) fn new(writer: W, columns: &[Column], origin: &Origin) -> io::Result<Parquet<W>> {
        let fields = columns.iter().map(|column| {
            let physical = if column.whole { Physical::INT64 } else { Physical::DOUBLE };
            let field = Type::primitive_type_builder(column.name, physical);
            field.with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
        });
        let fields = fields.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let schema = Type::group_type_builder("series").with_fields(fields).build();
        let entries = origin.entries().map(|(name, value)| KeyValue::new(name.to_owned(), value));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(entries.to_vec()))
            .build();
        let schema = Arc::new(schema.map_err(failed)?);
        let writer = SerializedFileWriter::new(writer, schema, Arc::new(properties));
        let values = columns.iter().map(|column| Values {
            data: if column.whole { Data::Whole(Vec::new()) } else { Data::Real(Vec::new()) },
            levels: Vec::new(),
        });
        Ok(Parquet { writer: writer.map_err(failed)?, columns: values.collect() })
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for values in &mut self.columns {
            let Some(mut column) = group.next_column()? else { break };
            match &mut values.data {
                Data::Whole(data) => {
                    column.typed::<Int64Type>().write_batch(data, Some(&values.levels), None)?;
                    data.clear();
                }
                Data::Real(data) => {
                    column.typed::<DoubleType>().write_batch(data, Some(&values.levels), None)?;
                    data.clear();
                }
            }
            values.levels.clear();
            column.close()?;
        }
        group.close()?;
        Ok(())
    }
}

impl<W: Write + Send> Table for Parquet<W> {
    fn row(&mut self, cells: &[Cell]) -> io::Result<()> {
        for (cell, values) in cells.iter().zip(&mut self.columns) {
            values.levels.push(i16::from(*cell != Cell::Nothing));
            match (&mut values.data, cell) {
                (Data::Whole(data), Cell::Whole(number)) => data.push(*number),
                (Data::Real(data), Cell::Real(number)) => data.push(*number),
                (_, Cell::Nothing) => {}
                (Data::Whole(_), Cell::Real(_)) | (Data::Real(_), Cell::Whole(_)) => {
                    unreachable!("rows are made for their columns")
                }
            }
        }
        if self.columns.first().is_some_and(|values| values.levels.len() >= GROUP) {
            self.write_group().map_err(failed)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.write_group().map_err(failed)?;
        let mut writer = self.writer.into_inner().map_err(failed)?;
        writer.flush()
    }
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error)
}
