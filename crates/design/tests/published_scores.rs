//! The published tables score on our sixteen networks what the original program gives them, where
//! this machine has the tables.

use exm_design::{Layout, Model, Objective};
use exm_remy::Grid;
use exm_sim::MeasuredOver;
use exm_sim::dumbbell::{self, Rules};
use exm_table::TableFile;
use exm_units::Span;
use std::path::Path;

/// The sum of the scores on the sixteen networks by the original program.
const SCORES: [(&str, f64); 4] = [
    ("RemyCC-2013-delta0.1", -12.18),
    ("RemyCC-2013-delta1", -12.19),
    ("RemyCC-2013-delta10", -19.44),
    ("RemyCC-2014-100x", -17.80),
];
/// A run of 1000 s scatters by 0.08, and the original's numbers of one seed no less.
const TOLERANCE: f64 = 0.25;

#[test]
fn published_tables_score_as_in_the_original_program() {
    let model = Model::shipped("general16").unwrap();
    for (name, expected) in SCORES {
        let Some(path) = exm_testing::reference(format!("remycc/{name}.dna")) else {
            continue;
        };
        let score = score(&model, &path);
        assert!((score - expected).abs() < TOLERANCE, "{name}: {score} is not {expected}");
    }
}

/// The sum over one block of the model, each network simulated ten times as long as it says, since
/// what comes at the ends of a run lowers the score of short ones.
fn score(model: &Model, table: &Path) -> f64 {
    let table = TableFile::load(table).unwrap().table;
    let grid = Grid::new(&table);
    let actions: Vec<_> = table.rules().iter().map(|rule| rule.action.compile()).collect();
    // The original program measures throughput over on-periods.
    let objective = Objective { over: MeasuredOver::Papers, ..model.objective().clone() };
    let mut sum = 0.0;
    for mut specimen in model.specimens(1, 0, 16) {
        let Layout::Dumbbell { network, .. } = &mut specimen.network else { panic!("a dumbbell") };
        network.duration = Span::from_secs(1000);
        let rules = Rules { grid: &grid, actions: &actions };
        let outcomes = dumbbell::run(network, rules, specimen.seed);
        sum += objective.score(network, &outcomes);
    }
    sum
}
