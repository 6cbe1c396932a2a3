//! Properties of files: writing and reading gives the same table, and no bytes make a reader panic.

#[path = "../../remy/tests/common/mod.rs"]
mod common;

use common::{remys_table, table};
use exm_remy::{Node, Rule, RuleTable};
use exm_table::{ArrivalTimes, Pending, Provenance, Score, TableFile, dna};
use proptest::prelude::*;
use proptest::sample::Index;

fn text() -> impl Strategy<Value = Option<String>> {
    let texts =
        vec!["", "\n", "exm design model.toml", "[link]\nrate = \"1 Mbps\"\n", "\"\\\r\u{7f}µ"];
    prop::option::of(prop::sample::select(texts).prop_map(str::to_owned))
}

fn provenance() -> impl Strategy<Value = Provenance> {
    let number = -1e12..1e12;
    let score = (number.clone(), number.clone(), number, any::<u64>(), any::<u64>());
    let score = score.prop_map(|(mean, low, high, specimens, seed)| Score {
        mean,
        interval: (low, high),
        specimens,
        seed,
    });
    let times = prop::sample::select(vec![ArrivalTimes::Receiver, ArrivalTimes::Ack]);
    let layout =
        any::<bool>().prop_map(|names_axes| dna::Layout { names_axes, settings: vec![0x22, 1, 7] });
    let texts = prop::array::uniform6(text());
    let seed = any::<Option<u64>>();
    let rest = (seed.clone(), seed, prop::option::of(0.0..1e9), prop::option::of(times));
    let more = (prop::option::of(score), prop::option::of(layout));
    (texts, rest, more).prop_map(|(texts, (seed, model_hash, cpu_seconds, arrival_times), more)| {
        let [program, command, search, objective, notes, model] = texts;
        let (held_out_score, remy_file) = more;
        Provenance {
            program,
            command,
            search,
            seed,
            steps: seed.map(|seed| seed / 2),
            cpu_seconds,
            objective,
            arrival_times,
            held_out_score,
            robustness: None,
            pending: seed.map(|_| Pending::Hardening),
            notes,
            model_hash,
            model,
            remy_file,
        }
    })
}

/// `table` with its rules numbered in the order of the tree's leaves, as in a `.dna` file.
fn in_order(table: &RuleTable) -> RuleTable {
    fn collect(node: &Node, table: &RuleTable, rules: &mut Vec<Rule>) -> Node {
        match node {
            Node::Leaf(index) => {
                rules.push(table.rules()[*index]);
                Node::Leaf(rules.len() - 1)
            }
            Node::Split { domain, children } => {
                let children = children.iter().map(|child| collect(child, table, rules)).collect();
                Node::Split { domain: *domain, children }
            }
        }
    }
    let mut rules = Vec::new();
    let root = collect(table.root(), table, &mut rules);
    RuleTable::new(table.signals(), rules, root).expect("the same partition")
}

/// Bytes with a few changed, inserted or removed, or truncated.
fn corrupted(mut bytes: Vec<u8>, damage: &[(u8, Index, u8)]) -> Vec<u8> {
    for &(kind, place, byte) in damage {
        if bytes.is_empty() {
            break;
        }
        let place = place.index(bytes.len());
        match kind {
            0 => bytes[place] = byte,
            1 => bytes[place] ^= 1 << (byte % 8),
            2 => bytes.insert(place, byte),
            3 => drop(bytes.remove(place)),
            _ => bytes.truncate(place),
        }
    }
    bytes
}

fn damage() -> impl Strategy<Value = Vec<(u8, Index, u8)>> {
    let kind = prop_oneof![9 => 0_u8..4, 1 => Just(4)];
    prop::collection::vec((kind, any::<Index>(), any::<u8>()), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn dna_reads_as_written(table in remys_table(), names_axes in any::<bool>()) {
        let table = in_order(&table);
        prop_assert_eq!(&dna::read(&dna::write(&table).unwrap()).unwrap(), &table);
        let layout = dna::Layout { names_axes, settings: vec![0x22, 0] };
        let bytes = dna::write_with_layout(&table, &layout).unwrap();
        let (read, read_layout) = dna::read_with_layout(&bytes).unwrap();
        prop_assert_eq!(read, table.clone());
        prop_assert_eq!(&read_layout.settings, &layout.settings);
        prop_assert_eq!(dna::write_with_layout(&table, &read_layout).unwrap(), bytes);
    }

    #[test]
    fn json_reads_as_written(table in table(), provenance in provenance()) {
        let file = TableFile { table, provenance };
        let text = file.to_json();
        let read = TableFile::from_json(&text).unwrap();
        prop_assert_eq!(&read, &file);
        prop_assert_eq!(read.to_json(), text);
    }

    #[test]
    fn dna_is_written_only_for_remys_signals(table in table()) {
        prop_assert_eq!(dna::write(&table).is_err(), table.signals().is_extended());
    }

    #[test]
    fn damaged_dna_is_read_or_refused(table in remys_table(), damage in damage()) {
        let bytes = corrupted(dna::write(&table).unwrap(), &damage);
        if let Ok((table, layout)) = dna::read_with_layout(&bytes) {
            let again = dna::read_with_layout(&dna::write_with_layout(&table, &layout).unwrap());
            prop_assert_eq!(again.unwrap().0, table);
        }
    }

    #[test]
    fn damaged_json_is_read_or_refused(table in table(), damage in damage()) {
        let file = TableFile { table, provenance: Provenance::default() };
        let bytes = corrupted(file.to_json().into_bytes(), &damage);
        if let Ok(text) = std::str::from_utf8(&bytes)
            && let Ok(file) = TableFile::from_json(text)
        {
            prop_assert_eq!(TableFile::from_json(&file.to_json()).unwrap(), file);
        }
    }

    #[test]
    fn noise_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = dna::read(&bytes);
        let _ = TableFile::from_json(&String::from_utf8_lossy(&bytes));
    }
}
