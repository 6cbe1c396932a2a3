//! Results as Apache Parquet, compressed with Snappy: the rows and columns of the CSV files, and where
//! they are from as key-value metadata.

use crate::results::Results;
use crate::sheet::{Cell, Column, Kind, Sheet, origin};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::io;
use std::sync::Arc;

/// Rows that are written together: at 30 columns, 16 MB of numbers.
const GROUP: usize = 1 << 16;

/// `sheet` as the bytes of a file.
pub(crate) fn bytes(sheet: Sheet<'_>, results: &Results) -> io::Result<Vec<u8>> {
    written(sheet, results).map_err(io::Error::other)
}

fn written(mut sheet: Sheet<'_>, results: &Results) -> Result<Vec<u8>, ParquetError> {
    let fields = sheet.columns.iter().map(|column| field(column).map(Arc::new));
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("results").with_fields(fields).build()?;
    let entries = origin(results).map(|(name, value)| KeyValue::new(name.to_owned(), value));
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(entries.to_vec()))
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    loop {
        let rows: Vec<Vec<Cell<'_>>> = sheet.rows.by_ref().take(GROUP).collect();
        if rows.is_empty() {
            return writer.into_inner();
        }
        let mut group = writer.next_row_group()?;
        for (place, column) in sheet.columns.iter().enumerate() {
            let Some(mut writer) = group.next_column()? else { break };
            let cells = || rows.iter().map(|row| row[place]);
            // 1 where there is a value and 0 where not.
            let levels: Vec<i16> = cells().map(|cell| i16::from(cell != Cell::Nothing)).collect();
            match column.kind {
                Kind::Text => {
                    let values: Vec<ByteArray> = cells().filter_map(text_of).collect();
                    writer.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
                }
                Kind::Whole => {
                    let values: Vec<i64> = cells().filter_map(whole_of).collect();
                    writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
                }
                Kind::Real => {
                    let values: Vec<f64> = cells().filter_map(real_of).collect();
                    writer.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
                }
            }
            writer.close()?;
        }
        group.close()?;
    }
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Whole => (Physical::INT64, None),
        Kind::Real => (Physical::DOUBLE, None),
    };
    Type::primitive_type_builder(column.name, physical)
        .with_logical_type(logical)
        .with_repetition(Repetition::OPTIONAL)
        .build()
}

fn text_of(cell: Cell<'_>) -> Option<ByteArray> {
    match cell {
        Cell::Text(text) => Some(ByteArray::from(text)),
        _ => None,
    }
}

fn whole_of(cell: Cell<'_>) -> Option<i64> {
    match cell {
        Cell::Whole(number) => Some(i64::try_from(number).unwrap_or(i64::MAX)),
        _ => None,
    }
}

fn real_of(cell: Cell<'_>) -> Option<f64> {
    match cell {
        Cell::Real(number) => Some(number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::{Options, Plan};
    use crate::{Experiment, Results, RunRow, csv, sheet};
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;
    use std::path::Path;

    const FILE: &str = r#"
        duration = "2 s"
        [dumbbell]
        rate = "10 Mbps"
        rtt = "20 ms"
        senders = 2
        controller = "scheme"
        traffic = { on = "exp 100 kB", off = "exp 0.2 s" }
        [experiment]
        columns = ["median_completion"]
        [[experiment.scheme]]
        name = "Reno, plain"
        controller = "reno"
    "#;

    /// A cell as the CSV file has it.
    fn told(field: &Field) -> String {
        match field {
            Field::Null => String::new(),
            Field::Str(text) if text.contains(',') => format!("\"{text}\""),
            Field::Str(text) => text.clone(),
            Field::Double(number) => number.to_string(),
            other => other.to_string(),
        }
    }

    #[test]
    fn parquet_holds_what_csv_shows() {
        let experiment = Experiment::parse(FILE, "a.toml", Path::new("")).expect("is sound");
        let plan = Plan::new(experiment, &Options::default(), &mut |name, _| Err(name.to_owned()));
        let plan = plan.expect("is sound");
        let rows = (0..3)
            .map(|run| ((0, run), RunRow::made(&plan.cases[0], plan.seed_of(run), plan.asked)));
        let rows = rows.collect();
        let results = Results::new(&plan, &rows, "exm experiment run a.toml".to_owned());
        let text = csv::text(sheet::flows(&plan, &rows), &results);
        let bytes = super::bytes(sheet::flows(&plan, &rows), &results).expect("memory takes it");
        assert_eq!(bytes, super::bytes(sheet::flows(&plan, &rows), &results).expect("again"));
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("is Parquet");
        let metadata = reader.metadata().file_metadata();
        let entries = metadata.key_value_metadata().expect("where it is from");
        assert!(entries.iter().any(|entry| entry.value.as_deref() == Some(&*results.command)));
        let names: Vec<&str> =
            metadata.schema().get_fields().iter().map(|field| field.name()).collect();
        let mut lines = text.lines().skip_while(|line| line.starts_with('#'));
        assert_eq!(lines.next(), Some(names.join(",").as_str()));
        let rows = reader.get_row_iter(None).expect("rows").map(|row| {
            let row = row.expect("a row");
            row.get_column_iter().map(|(_, field)| told(field)).collect::<Vec<_>>().join(",")
        });
        assert_eq!(rows.collect::<Vec<_>>(), lines.collect::<Vec<_>>());
        assert!(text.contains("\"Reno, plain\""), "{text}");
    }
}
