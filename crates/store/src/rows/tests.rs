use super::*;

const COLUMNS: [Column; 3] = [Column::text("name"), Column::whole("count"), Column::real("rate")];

fn rows(count: usize) -> Vec<[Cell<'static>; 3]> {
    let row = |index: usize| match index % 3 {
        0 => [Cell::Text("Cubic/sfqCoDel"), Cell::Whole(index as u64), Cell::Real(1.5)],
        1 => [Cell::Text("a, \"b\""), Cell::Whole(7), Cell::Empty],
        _ => [Cell::Empty, Cell::Empty, Cell::Real(0.1)],
    };
    (0..count).map(row).collect()
}

fn written(format: Format, count: usize) -> Vec<u8> {
    let origin = [("command", "exm\nsimulate".to_owned()), ("seed", "7".to_owned())];
    let header = Header { schema: "rows", columns: &COLUMNS, origin: &origin };
    let mut writer =
        RowWriter::new(format, Vec::new(), &header).expect("writing to memory succeeds");
    for row in rows(count) {
        writer.row(&row).expect("writing to memory succeeds");
    }
    writer.finish().expect("writing to memory succeeds")
}

#[test]
fn csv_is_quoted_where_it_must_be() {
    let expected = "# command: exm simulate\n# seed: 7\nname,count,rate\nCubic/sfqCoDel,0,1.5\n\
                    \"a, \"\"b\"\"\",7,\n,,0.1\n";
    assert_eq!(String::from_utf8(written(Format::Csv, 3)).expect("text"), expected);
}

#[test]
fn a_row_that_does_not_fit_is_rejected() {
    let header = Header { schema: "rows", columns: &COLUMNS, origin: &[] };
    let mut writer =
        RowWriter::new(Format::Csv, Vec::new(), &header).expect("writing to memory succeeds");
    for row in [&rows(1)[0][..2], &[Cell::Real(1.0), Cell::Empty, Cell::Empty]] {
        let error = writer.row(row).expect_err("does not fit");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
    assert_eq!(writer.finish().expect("writing to memory succeeds"), b"name,count,rate\n");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_has_the_same_rows_as_csv_in_several_groups() {
    use super::parquet::GROUP;
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;
    let text = |field: &Field| match field {
        Field::Null => String::new(),
        Field::Str(text) if text.contains(',') => format!("\"{}\"", text.replace('"', "\"\"")),
        Field::Str(text) => text.clone(),
        Field::Double(number) => number.to_string(),
        other => other.to_string(),
    };
    for (count, groups) in [(0, 0), (3, 1), (GROUP, 1), (GROUP + 1, 2)] {
        let file = bytes::Bytes::from(written(Format::Parquet, count));
        let reader = SerializedFileReader::new(file).expect("is Parquet");
        assert_eq!(reader.metadata().num_row_groups(), groups);
        let entries = reader.metadata().file_metadata().key_value_metadata().expect("an origin");
        assert!(entries.iter().any(|e| e.key == "seed" && e.value.as_deref() == Some("7")));
        let rows = reader.get_row_iter(None).expect("rows").map(|row| {
            let row = row.expect("a row");
            row.get_column_iter().map(|(_, field)| text(field)).collect::<Vec<_>>().join(",")
        });
        let csv = String::from_utf8(written(Format::Csv, count)).expect("text");
        assert_eq!(rows.collect::<Vec<_>>(), csv.lines().skip(3).collect::<Vec<_>>());
    }
}
