//! Rows as Apache Parquet.

use super::{Cell, Column, ColumnType, Header};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;

/// The number of rows that are written together: at 30 columns of numbers, 16 MB.
pub(super) const GROUP: usize = 1 << 16;

pub(super) struct Parquet<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Values>,
    /// Rows not yet written.
    rows: usize,
}

/// The buffered values of a column. A level is 1 for a value and 0 for an absent one.
struct Values {
    data: Data,
    levels: Vec<i16>,
}

enum Data {
    Text(Vec<ByteArray>),
    Whole(Vec<i64>),
    Real(Vec<f64>),
}

impl Values {
    fn new(kind: ColumnType) -> Values {
        let data = match kind {
            ColumnType::Text => Data::Text(Vec::new()),
            ColumnType::Whole => Data::Whole(Vec::new()),
            ColumnType::Real => Data::Real(Vec::new()),
        };
        Values { data, levels: Vec::new() }
    }

    /// Adds `cell`, which must have the column's type.
    fn push(&mut self, cell: &Cell<'_>) {
        self.levels.push(i16::from(*cell != Cell::Empty));
        match (&mut self.data, cell) {
            (Data::Text(data), Cell::Text(text)) => data.push(ByteArray::from(*text)),
            (Data::Whole(data), Cell::Whole(number)) => {
                data.push(i64::try_from(*number).unwrap_or(i64::MAX));
            }
            (Data::Real(data), Cell::Real(number)) => data.push(*number),
            _ => {}
        }
    }
}

impl<W: Write + Send> Parquet<W> {
    pub(super) fn new(writer: W, header: &Header<'_>) -> io::Result<Parquet<W>> {
        let fields = header.columns.iter().map(|column| field(column).map(Arc::new));
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder(header.schema).with_fields(fields).build()?;
        let entries = header.origin.iter();
        let entries = entries.map(|(name, value)| KeyValue::new((*name).to_owned(), value.clone()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(entries.collect()))
            .build();
        let writer = SerializedFileWriter::new(writer, Arc::new(schema), Arc::new(properties))?;
        let columns = header.columns.iter().map(|column| Values::new(column.kind)).collect();
        Ok(Parquet { writer, columns, rows: 0 })
    }

    pub(super) fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        cells.iter().zip(&mut self.columns).for_each(|(cell, values)| values.push(cell));
        self.rows += 1;
        if self.rows == GROUP {
            self.write_group()?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<W> {
        if self.rows > 0 {
            self.write_group()?;
        }
        let mut writer = self.writer.into_inner()?;
        writer.flush()?;
        Ok(writer)
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for Values { data, levels } in &mut self.columns {
            let Some(mut column) = group.next_column()? else { break };
            match data {
                Data::Text(data) => {
                    column.typed::<ByteArrayType>().write_batch(data, Some(levels), None)?;
                    data.clear();
                }
                Data::Whole(data) => {
                    column.typed::<Int64Type>().write_batch(data, Some(levels), None)?;
                    data.clear();
                }
                Data::Real(data) => {
                    column.typed::<DoubleType>().write_batch(data, Some(levels), None)?;
                    data.clear();
                }
            }
            levels.clear();
            column.close()?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.kind {
        ColumnType::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        ColumnType::Whole => (Physical::INT64, None),
        ColumnType::Real => (Physical::DOUBLE, None),
    };
    Type::primitive_type_builder(column.name, physical)
        .with_logical_type(logical)
        .with_repetition(Repetition::OPTIONAL)
        .build()
}
