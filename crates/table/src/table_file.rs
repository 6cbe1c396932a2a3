//! [`TableFile`]: a table and its provenance.

use crate::provenance::Provenance;
use crate::robustness::Robustness;
use exm_remy::RuleTable;
use exm_units::Fnv1a;

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

impl TableFile {
    /// A number that tells the rules of tables apart, whatever their provenance: the 64-bit FNV-1a hash of
    /// their JSON.
    pub fn rules_hash(table: &RuleTable) -> u64 {
        let file = TableFile { table: table.clone(), provenance: Default::default() };
        Fnv1a::of(file.to_json()).get()
    }

    /// The table's behaviour around its model; `None` if absent or computed for different rules.
    pub fn robustness(&self) -> Option<&Robustness> {
        let known = self.provenance.robustness.as_ref()?;
        (known.rules_hash == TableFile::rules_hash(&self.table)).then_some(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robustness::{Cost, ForeignDelayResults, StressResults, Verdict};
    use exm_remy::{Action, SignalSet};

    fn file() -> TableFile {
        let table = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, Action::INITIAL);
        let around =
            |worst_rtt| StressResults { networks: 13, collapses: 2, worst_rtt, shortfall: 0.5 };
        let robustness = Robustness {
            rules_hash: TableFile::rules_hash(&table),
            verdict: Verdict::Collapses,
            near: around(4.5),
            far: around(f64::INFINITY),
            far_before: None,
            foreign: Some(ForeignDelayResults { networks: 12, starved: 1, kept: Some(0.875) }),
            guards: Some("horizon 300 ms".to_owned()),
            cost: Some(Cost { mean: -0.00184, interval: (-0.004, 0.0) }),
        };
        let provenance = Provenance { robustness: Some(robustness), ..Provenance::default() };
        TableFile { table, provenance }
    }

    #[test]
    fn a_verdict_is_read_as_it_was_written() {
        let file = file();
        assert_eq!(TableFile::from_json(&file.to_json()).unwrap(), file);
        assert!(file.robustness().is_some());
    }

    #[test]
    fn other_rules_have_no_verdict() {
        let mut file = file();
        file.table.set_action(0, Action { increment: 2, ..Action::INITIAL });
        assert_eq!(file.robustness(), None);
        assert!(!file.to_string_of_provenance().contains("around"));
    }

    impl TableFile {
        fn to_string_of_provenance(&self) -> String {
            self.robustness().map_or(String::new(), |known| known.near.to_string())
        }
    }

    #[test]
    fn what_was_found_is_told_in_a_few_words() {
        let file = file();
        let known = file.robustness().unwrap();
        let words = "fills the queue on 2 of 13 networks; worst RTT 4.5 times the minimum possible";
        assert_eq!(known.near.to_string(), words);
        assert_eq!(known.cost.unwrap().to_string(), "-0.0018 (-0.004..0)");
    }
}
