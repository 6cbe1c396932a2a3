//! The tables published with the papers, where this machine has them.

#[path = "../../remy/tests/common/mod.rs"]
mod common;

use common::published;
use exm_remy::{Grid, Lookup};
use exm_table::{Provenance, TableFile, diff, dna, show, show_tree, stats};
use rand_core::Rng;
use rand_pcg::Pcg64;

/// Name, rules, rules with empty boxes, signals, depth.
const TABLES: [(&str, usize, usize, usize, usize); 4] = [
    ("RemyCC-2013-delta0.1", 162, 12, 3, 8),
    ("RemyCC-2013-delta1", 190, 24, 3, 10),
    ("RemyCC-2013-delta10", 197, 76, 3, 10),
    ("RemyCC-2014-100x", 91, 0, 4, 4),
];

fn tables() -> Vec<(String, TableFile, Vec<u8>)> {
    let Some(files) = published() else {
        return Vec::new();
    };
    let load = |path: std::path::PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, TableFile::load(&path).unwrap(), std::fs::read(&path).unwrap())
    };
    files.into_iter().map(load).collect()
}

#[test]
fn they_are_read_as_they_are_known() {
    for (name, file, _) in tables() {
        let Some((_, rules, empty, signals, depth)) =
            TABLES.into_iter().find(|(known, ..)| *known == name)
        else {
            exm_testing::skip(format!("{name} is not among the known tables"));
            continue;
        };
        let stats = stats(&file.table);
        let found = (stats.rules, stats.empty_rules, stats.axes.len(), stats.depth);
        assert_eq!(found, (rules, empty, signals, depth), "{name}");
    }
}

#[test]
fn they_are_written_byte_for_byte() {
    for (name, file, bytes) in tables() {
        let layout = file.provenance.remy_file.as_ref().expect("a layout from a .dna file");
        assert!(dna::write_with_layout(&file.table, layout).unwrap() == bytes, "{name}");
        assert_eq!(
            dna::read(&dna::write(&file.table).unwrap()).as_ref(),
            Ok(&file.table),
            "{name}"
        );
        let through_json = TableFile::from_json(&file.to_json()).unwrap();
        assert_eq!(through_json, file, "{name}");
    }
}

#[test]
fn the_grid_finds_what_the_tree_finds() {
    for (name, file, _) in tables() {
        let grid = Grid::new(&file.table);
        let mut random = Pcg64::new(1, 0);
        let mut number = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut guess = 0;
        for _ in 0..100_000 {
            // Cubed, so that most are small, as the bounds are.
            let memory = std::array::from_fn(|_| 20.0 * number() * number() * number());
            let rule = file.table.find(&memory);
            assert_eq!(grid.find(&memory, guess), rule, "{name} {memory:?}");
            guess = rule;
        }
        for rule in file.table.rules() {
            for memory in [rule.domain.lower, rule.domain.upper] {
                let rule = file.table.find(&memory);
                assert_eq!(grid.find(&memory, guess), rule, "{name} {memory:?}");
            }
        }
    }
}

#[test]
fn they_are_shown_and_compared() {
    let tables = tables();
    for (name, file, _) in &tables {
        let rules = stats(&file.table).rules - stats(&file.table).empty_rules;
        let lines =
            show(&file.table).to_string().lines().filter(|line| line.contains("·window ")).count();
        assert_eq!(lines, rules, "{name}");
        let leaves = show_tree(&file.table).to_string().matches(": rule ").count();
        assert_eq!(leaves, file.table.rules().len(), "{name}");
        assert!(diff(&file.table, &file.table).acts_alike(), "{name}");
    }
    for pair in tables.windows(2) {
        let diff = diff(&pair[0].1.table, &pair[1].1.table);
        assert!(diff.differing_cells > 0 && diff.biggest.len() == 10);
    }
}

#[test]
fn a_table_with_no_layout_known_is_written_with_its_axes_named() {
    for (name, file, _) in tables() {
        let bare = TableFile { table: file.table, provenance: Provenance::default() };
        let (_, layout) = dna::read_with_layout(&dna::write(&bare.table).unwrap()).unwrap();
        assert!(layout.names_axes && layout.settings.is_empty(), "{name}");
    }
}
