//! The simulator's speed, in delivered packets a second: the fast path on the networks of
//! docs/performance.md, and the event engine beside it.
//!
//! The published tables are read from `shared/data/remycc` beside the repository, and their rows
//! are left out where they are absent.

mod workloads;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use exm_remy::{CompiledAction, Grid, RuleTable};
use exm_sim::dumbbell::{self, Rules};
use exm_sim::engine;
use exm_table::TableFile;
use exm_units::Span;
use std::path::Path;
use workloads::Senders;

/// Tables and their senders. All round trips are 150 ms.
const ROWS: [(&str, Senders); 5] = [
    ("2014-100x", Senders { count: 2, packets_per_ms: 10.0, on_off_ms: 1000.0 }),
    ("2013-delta1", Senders { count: 2, packets_per_ms: 1.25, on_off_ms: 5000.0 }),
    ("2013-delta1", Senders { count: 8, packets_per_ms: 1.25, on_off_ms: 5000.0 }),
    ("2013-delta1", Senders { count: 32, packets_per_ms: 1.25, on_off_ms: 5000.0 }),
    ("one rule", Senders { count: 8, packets_per_ms: 1.25, on_off_ms: 5000.0 }),
];

fn table(name: &str) -> Option<RuleTable> {
    if name == "one rule" {
        return Some(workloads::one_rule());
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/remycc");
    TableFile::load(folder.join(format!("RemyCC-{name}.dna"))).ok().map(|file| file.table)
}

fn id(name: &str, senders: &Senders) -> BenchmarkId {
    let Senders { count, packets_per_ms, .. } = senders;
    BenchmarkId::new(name, format!("{count} senders, {packets_per_ms} packets/ms"))
}

fn fast_path(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fast path");
    for (name, senders) in &ROWS {
        let Some(table) = table(name) else { continue };
        let grid = Grid::new(&table);
        let actions: Vec<CompiledAction> =
            table.rules().iter().map(|rule| rule.action.compile()).collect();
        let rules = Rules { grid: &grid, actions: &actions };
        let network = senders.dumbbell(Span::from_secs(1000));
        let delivered: u64 = dumbbell::run(&network, rules, 1).iter().map(|o| o.delivered).sum();
        group.throughput(Throughput::Elements(delivered));
        group.bench_function(id(name, senders), |bencher| {
            bencher.iter(|| dumbbell::run(&network, rules, 1));
        });
    }
    group.finish();
}

fn event_engine(criterion: &mut Criterion) {
    let (name, senders) = &ROWS[4];
    let duration = Span::from_secs(1000);
    let networks = [
        (id(name, senders), senders.network(&workloads::one_rule(), duration)),
        (BenchmarkId::from_parameter("two bottlenecks"), workloads::two_bottlenecks(duration)),
        (BenchmarkId::from_parameter("beside reno over TCP"), workloads::beside_reno(duration)),
    ];
    let mut group = criterion.benchmark_group("event engine");
    for (id, network) in networks {
        let delivered: u64 = engine::run(&network, 1).flows.iter().map(|flow| flow.delivered).sum();
        group.throughput(Throughput::Elements(delivered));
        group.bench_function(id, |bencher| bencher.iter(|| engine::run(&network, 1)));
    }
    group.finish();
}

/// TCP senders on the papers' standard network, by controller and queue.
fn tcp(criterion: &mut Criterion) {
    let schemes = [
        ("reno", "drop-tail"),
        ("cubic", "drop-tail"),
        ("vegas", "drop-tail"),
        ("compound", "drop-tail"),
        ("ledbat", "drop-tail"),
        ("bbr", "drop-tail"),
        ("xcp", "xcp"),
        ("cubic", "codel"),
        ("cubic", "fq-codel"),
        ("cubic", "sfq-codel"),
    ];
    let mut group = criterion.benchmark_group("tcp");
    for (controller, queue) in schemes {
        let network = workloads::tcp(controller, queue, Span::from_secs(100));
        let delivered: u64 = engine::run(&network, 1).flows.iter().map(|flow| flow.delivered).sum();
        group.throughput(Throughput::Elements(delivered));
        let id = BenchmarkId::new(controller, queue);
        group.bench_function(id, |bencher| bencher.iter(|| engine::run(&network, 1)));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = fast_path, event_engine, tcp
}
criterion_main!(benches);
