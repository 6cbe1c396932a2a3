//! Tables in JSON: any text is read or refused, and what is read survives being written.

#![no_main]

use exm_remy::TableFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(file) = TableFile::from_json(text) else { return };
    let written = file.to_json();
    let again = TableFile::from_json(&written).expect("what was written is read");
    assert_eq!(again.to_json(), written);
});
