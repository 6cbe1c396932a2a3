//! [`TableFile`]: a table and its provenance.

use crate::provenance::Provenance;
use exm_remy::RuleTable;

/// A table and its provenance.
///
/// Its own format is JSON, which keeps everything; Remy's `.dna` keeps only the table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableFile {
    /// The table.
    pub table: RuleTable,
    /// Its provenance.
    pub provenance: Provenance,
}
