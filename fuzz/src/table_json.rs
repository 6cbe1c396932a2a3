//! Tables in JSON: any text is read or refused, and what is read survives being written.

use exm_table::TableFile;

/// Runs the target on `bytes`.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(file) = TableFile::from_json(text) else { return };
    let written = file.to_json();
    let again = TableFile::from_json(&written).expect("what was written is read");
    assert_eq!(again.to_json(), written);
}
