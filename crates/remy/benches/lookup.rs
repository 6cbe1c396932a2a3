//! The time to find a memory's rule.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use exm_remy::{Action, Grid, Lookup, Point, RuleTable, Signal, SignalSet};
use std::hint::black_box;

/// A table of 129 rules on the first four signals, with cuts spread out.
fn table() -> RuleTable {
    let action = Action { multiple: 1.0, increment: 1, intersend_ms: 1.0 };
    let mut table = RuleTable::single(SignalSet::FIRST_FOUR, 16_384.0, action);
    for cut in 0..128_usize {
        let signal = Signal::ALL[cut % 4];
        let rule = cut * 7 % table.rules().len();
        let domain = table.rules()[rule].domain;
        let (lower, upper) = (domain.lower[signal.index()], domain.upper[signal.index()]);
        // Geometric midpoints: most memories are small.
        table.split(rule, signal, (lower.max(0.1) * upper).sqrt());
    }
    table
}

/// Memories as in a flow: each near the previous one.
fn memories() -> Vec<Point> {
    let mut memory = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let mut state = 1_u64;
    let step = |i: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let factor = 0.9 + (state >> 40) as f64 * (0.2 / (1 << 24) as f64);
        memory[i % 4] = (memory[i % 4] * factor).clamp(0.2, 500.0);
        memory
    };
    (0..4096).map(step).collect()
}

fn lookup(criterion: &mut Criterion) {
    let table = table();
    let grid = Grid::new(&table);
    let memories = memories();
    let mut group = criterion.benchmark_group("lookup");
    group.throughput(Throughput::Elements(memories.len() as u64));
    group.bench_function("grid, guessing the last rule", |bencher| {
        bencher.iter(|| {
            let mut rule = 0;
            for memory in &memories {
                rule = grid.find(black_box(memory), rule);
            }
            rule
        });
    });
    group.bench_function("tree", |bencher| {
        bencher.iter(|| memories.iter().map(|memory| table.find(black_box(memory))).sum::<usize>());
    });
    group.finish();
    criterion.bench_function("making a grid of 129 rules", |bencher| {
        bencher.iter(|| Grid::new(black_box(&table)));
    });
}

criterion_group!(benches, lookup);
criterion_main!(benches);
