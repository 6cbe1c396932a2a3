//! [`TableFile`]: a table and where it comes from.

use crate::provenance::Provenance;
use exm_remy::RuleTable;

/// A table and where it comes from.
///
/// Its own format is JSON, which keeps everything; Remy's `.dna` keeps the table alone.
#[derive(Clone, Debug, PartialEq)]
pub struct TableFile {
    /// The table.
    pub table: RuleTable,
    /// Where it comes from.
    pub provenance: Provenance,
}
