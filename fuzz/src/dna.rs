//! Remy's own files: any bytes are read or refused, and what is read survives being written.

use exm_table::dna;

/// Runs the target on `bytes`.
pub fn run(bytes: &[u8]) {
    let Ok((table, layout)) = dna::read_with_layout(bytes) else { return };
    let written = dna::write_with_layout(&table, &layout).expect("a file has Remy's signals only");
    let (again, told) = dna::read_with_layout(&written).expect("what was written is read");
    assert_eq!(again, table);
    assert_eq!(dna::write_with_layout(&again, &told), Ok(written));
}
