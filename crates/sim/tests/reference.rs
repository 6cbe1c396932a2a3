//! The fast path against the original program: the throughputs and delays that it printed for the
//! published tables, and those that its authors published for one of them.
//!
//! Each reference value is one run of 10 000 simulated seconds. Ours is the mean of several such
//! runs, so the remaining difference is mostly random variation of the reference. The tolerance is
//! therefore the larger of 1 % and two standard errors of *one* run, estimated from ours. That
//! matters where the queue is long and a single flow affects it for minutes.

use exm_random::Distribution;
use exm_remy::{Action, CompiledAction, Grid, RuleTable, SignalSet};
use exm_sim::dumbbell::{self, Dumbbell, Outcome, Rules};
use exm_sim::traffic::{OnFor, OnOff};
use exm_table::TableFile;
use exm_units::{Bytes, Probability, Rate, Span};

/// The original's 10 Mbps is one packet per millisecond.
const PACKET: Bytes = Bytes::new(1250);
/// The length of a run, of theirs and of ours.
const DURATION: Span = Span::from_secs(10_000);
/// The minimum tolerance, as a fraction of the reference.
const TOLERANCE: f64 = 0.01;
/// The same for values from a paper, which are rounded.
const PUBLISHED_TOLERANCE: f64 = 0.05;

/// A network and what the original program measured on it.
struct Row {
    table: &'static str,
    senders: usize,
    /// Packets per millisecond.
    link: f64,
    /// Mean time on, and off, s.
    on: f64,
    /// Throughput divided by the equal share, and RTT divided by propagation delay.
    reference: [f64; 2],
    /// Throughput in Mbps and RTT in ms from the learnability paper (Sivaraman et al., SIGCOMM
    /// 2014), where it has them.
    published: Option<[f64; 2]>,
    /// How many runs to average: fewer with many packets, since runs then scatter little.
    runs: u64,
}

/// The propagation delay of all of them.
const RTT: Span = Span::from_millis(150);

const fn learnability(link: f64, reference: [f64; 2], published: [f64; 2], runs: u64) -> Row {
    let table = "RemyCC-2014-100x";
    Row { table, senders: 2, link, on: 1.0, reference, published: Some(published), runs }
}

const fn general(table: &'static str, senders: usize, reference: [f64; 2]) -> Row {
    Row { table, senders, link: 1.25, on: 5.0, reference, published: None, runs: 8 }
}

const PUBLISHED: [Row; 8] = [
    learnability(0.221, [1.073, 2.235], [1.8, 346.0], 12),
    learnability(0.993, [0.8087, 1.0998], [6.0, 165.0], 8),
    learnability(18.504, [0.6627, 1.0434], [91.1, 157.0], 2),
    learnability(80.15, [0.2651, 1.0001], [156.0, 150.0], 1),
    general("RemyCC-2013-delta1", 8, [0.8021, 1.0313]),
    general("RemyCC-2013-delta1", 2, [0.6315, 1.0061]),
    general("RemyCC-2013-delta0.1", 8, [0.8990, 1.1460]),
    general("RemyCC-2013-delta10", 8, [0.6987, 1.0081]),
];

const DEFAULT_RULE: Row = general("one default rule", 8, [0.8398, 2.94]);

/// The results of one run: throughput over share, RTT over delay, and throughput in packets per ms.
fn run(row: &Row, table: &RuleTable, seed: u64) -> [f64; 3] {
    let mean = Distribution::Exponential { mean: row.on };
    let network = Dumbbell {
        rate: Rate::from_packets_per_ms(row.link, PACKET),
        packet: PACKET,
        buffer: None,
        loss: Probability::ZERO,
        delays: vec![RTT; row.senders],
        traffic: OnOff { on: OnFor::Time(mean.clone()), off: mean },
        duration: DURATION,
    };
    let grid = Grid::new(table);
    let actions: Vec<CompiledAction> = table.rules().iter().map(|r| r.action.compile()).collect();
    let outcomes = dumbbell::run(&network, Rules { grid: &grid, actions: &actions }, seed);
    let mean = |of: &dyn Fn(&Outcome) -> f64| -> f64 {
        outcomes.iter().map(of).sum::<f64>() / outcomes.len() as f64
    };
    [
        mean(&|o| o.delivered as f64 / (o.share_time * 1000.0 * row.link)),
        mean(&|o| o.rtt_sum.as_secs_f64() / o.delivered as f64 / RTT.as_secs_f64()),
        mean(&|o| o.delivered as f64 / o.on_time.as_millis_f64()),
    ]
}

/// A mean, and the standard deviation of the averaged values: zero for one value.
fn mean_and_scatter(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0).max(1.0)).sqrt())
}

/// Runs `row` and returns descriptions of the values that are too far from the reference.
fn compare(row: &Row, table: &RuleTable) -> Vec<String> {
    let runs: Vec<[f64; 3]> = (1..=row.runs).map(|seed| run(row, table, seed)).collect();
    let of = |index: usize| {
        let values: Vec<f64> = runs.iter().map(|values| values[index]).collect();
        mean_and_scatter(&values)
    };
    let mut wrong = Vec::new();
    let mut line = format!("{:<20} {:>2} {:>6}", row.table, row.senders, row.link);
    for (index, name) in ["tp", "del"].into_iter().enumerate() {
        let (ours, scatter) = of(index);
        let theirs = row.reference[index];
        let error = scatter / (row.runs as f64).sqrt();
        line += &format!(
            "  {name} {ours:.4} +- {error:.4} against {theirs:.4} ({:+.2} %, one run {:.2} %)",
            100.0 * (ours / theirs - 1.0),
            100.0 * scatter / theirs
        );
        if (ours - theirs).abs() > (TOLERANCE * theirs).max(2.0 * scatter) {
            wrong.push(format!("{} {}: {name} {ours:.4}, not {theirs}", row.table, row.link));
        }
    }
    if let Some(published) = row.published {
        let ours = [of(2).0 * 10.0, of(1).0 * RTT.as_millis_f64()];
        for ((ours, theirs), unit) in ours.into_iter().zip(published).zip(["Mbps", "ms"]) {
            line += &format!("  {ours:.4} {unit}, published {theirs}");
            if (ours / theirs - 1.0).abs() > PUBLISHED_TOLERANCE {
                wrong.push(format!("{} {}: {ours:.4} {unit}, not {theirs}", row.table, row.link));
            }
        }
    }
    println!("{line}");
    wrong
}

#[test]
fn published_tables_agree_with_the_original() {
    let mut wrong = Vec::new();
    for row in &PUBLISHED {
        let Some(path) = exm_testing::reference(format!("remycc/{}.dna", row.table)) else {
            continue;
        };
        wrong.extend(compare(row, &TableFile::load(&path).unwrap().table));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn one_default_rule_agrees_with_the_original() {
    let action = Action { multiple: 1.0, increment: 1, intersend_ms: 3.0 };
    let table = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, action);
    let wrong = compare(&DEFAULT_RULE, &table);
    assert!(wrong.is_empty(), "{wrong:#?}");
}
