//! How long a step of a design takes: one generation of the first stage on the demo's model.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use exm_design::{Designer, Model, SearchKind};

fn step(criterion: &mut Criterion) {
    let text = include_str!("../models/demo.toml");
    let model = Model::parse(text, "demo.toml").expect("the demo's model is sound");
    let designer = Designer::new(model, SearchKind::Evolve, 1).expect("it designs one table");
    criterion.bench_function("a generation of the demo", |bencher| {
        bencher.iter_batched(
            || designer.clone(),
            |mut designer| designer.step(),
            BatchSize::LargeInput,
        );
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = step
}
criterion_main!(benches);
