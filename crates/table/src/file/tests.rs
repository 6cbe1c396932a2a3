use super::*;
use exm_remy::{Action, RuleTable, Signal, SignalSet};
use exm_testing::Folder;
use std::fs;

fn table_file() -> TableFile {
    let signals = SignalSet::new([Signal::SendEwma]).expect("one signal");
    let mut table = RuleTable::single(signals, 8.0, Action::INITIAL);
    assert!(table.split(0, Signal::SendEwma, 2.5));
    let provenance = Provenance { seed: Some(7), ..Provenance::default() };
    TableFile { table, provenance }
}

#[test]
fn both_formats_are_saved_and_loaded() {
    let folder = Folder::new("formats");
    let json = folder.0.join("table.json");
    table_file().save(&json).unwrap();
    assert_eq!(TableFile::load(&json).unwrap(), table_file());
    let dna = folder.0.join("table.dna");
    table_file().save(&dna).unwrap();
    let loaded = TableFile::load(&dna).unwrap();
    assert_eq!(loaded.table, table_file().table);
    assert!(loaded.provenance.remy_file.is_some());
    for (from, to) in [(&json, "a"), (&dna, "b")] {
        let unnamed = folder.0.join(to);
        fs::copy(from, &unnamed).unwrap();
        assert_eq!(TableFile::load(&unnamed).unwrap().table, table_file().table, "by content");
    }
    assert_eq!(folder.names(), ["a", "b", "table.dna", "table.json"]);
}

#[test]
fn errors_name_the_file_the_place_and_the_problem() {
    let folder = Folder::new("errors");
    let path = |name: &str| folder.0.join(name);
    let error = |name: &str| {
        let text = TableFile::load(path(name)).expect_err(name).to_string();
        text.strip_prefix(&format!("{}/", folder.0.display())).map(str::to_owned).unwrap_or(text)
    };
    assert!(error("none.json").starts_with("cannot read "));
    assert!(error("none.json").contains("none.json: No such file"), "{}", error("none.json"));
    fs::write(path("cut.json"), &table_file().to_json()[..100]).unwrap();
    let cut = error("cut.json");
    assert!(cut.starts_with("cut.json is not a table in JSON: line 6, column "), "{cut}");
    fs::write(path("bytes.json"), b"{\"\xff").unwrap();
    assert_eq!(error("bytes.json"), "bytes.json is not a table in JSON: byte 2 is not UTF-8 text");
    fs::write(path("cut.dna"), &dna::write(&table_file().table).unwrap()[..40]).unwrap();
    assert!(error("cut.dna").starts_with("cut.dna is not a table in Remy's format: byte 30, in"));
    fs::write(path("empty"), "").unwrap();
    assert_eq!(error("empty"), "empty is not a table in Remy's format: the file is empty");
    let large = File::create(path("large.json")).unwrap();
    large.set_len(dna::MAX_BYTES as u64 + 1).unwrap();
    assert_eq!(
        error("large.json"),
        "large.json is larger than the 67108864 bytes a table may have"
    );
    let unknown = table_file().save(path("table.txt")).expect_err("no format").to_string();
    let remedy = "table.txt is unknown: end its name in .json, or in .dna for Remy's own";
    assert!(unknown.ends_with(remedy), "{unknown}");
    let nowhere = table_file().save(path("none/table.json")).expect_err("no folder").to_string();
    assert!(nowhere.starts_with("cannot write "), "{nowhere}");
}

#[test]
fn a_table_on_other_signals_than_remys_is_saved_as_json_only() {
    let folder = Folder::new("extended");
    let path = |name: &str| folder.0.join(name);
    let signals = SignalSet::new([Signal::RttRatio, Signal::Ecn, Signal::ReceiveRate]).unwrap();
    let mut table = RuleTable::single(signals, 16_384.0, Action::INITIAL);
    assert!(table.split(0, Signal::Ecn, 0.125));
    let file = TableFile { table, provenance: Provenance::default() };
    let error = file.save(path("new.dna")).unwrap_err().to_string();
    let expected = "new.dna: Remy's format has no place for ecn, receive_rate, which the table uses: end \
                    its name in .json";
    assert!(error.ends_with(expected), "{error}");
    assert!(!path("new.dna").exists());
    file.save(path("new.json")).unwrap();
    assert_eq!(TableFile::load(path("new.json")).unwrap(), file);
}
