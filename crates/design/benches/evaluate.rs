//! How many packets a CPU-second the event engine simulates where a design tries a candidate: on two bottlenecks
//! with four senders, and of one RemyCC beside one NewReno. One thread; packets are those acknowledged.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use exm_design::{Model, Prepared, shipped, simulate};

/// Two senders cross both links, one more each of them.
const TWO_BOTTLENECKS: &str = r#"
    [network]
    rate = "50 Mbps"
    rtt = "75 ms"
    [[link]]
    rate = "50 Mbps"
    rtt = "75 ms"
    [traffic]
    on = "exp 1 s"
    off = "exp 1 s"
    [[sender]]
    name = "both"
    count = 2
    table = "one"
    path = [1, 2]
    [[sender]]
    name = "first"
    table = "one"
    path = 1
    [[sender]]
    name = "second"
    table = "one"
    path = 2
"#;

const BESIDE_RENO: &str = r#"
    [network]
    rate = "50 Mbps"
    rtt = "150 ms"
    buffer = "2 BDP"
    [traffic]
    on = "exp 1 s"
    off = "exp 1 s"
    [[sender]]
    name = "designed"
    [[sender]]
    name = "old"
    controller = "reno"
"#;

fn evaluate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("evaluation");
    let table = shipped::table("general-delta1").expect("it is shipped").table;
    for (name, text) in [
        ("two bottlenecks, four senders", TWO_BOTTLENECKS),
        ("a RemyCC beside NewReno", BESIDE_RENO),
    ] {
        let model = Model::parse(text, name).expect("the model is sound");
        let candidate = [Prepared::of(&model, &table)];
        let specimen = &model.specimens(1, 0, 1)[0];
        let run = || simulate(&model, specimen, &candidate);
        let packets: u64 = run().iter().map(|outcome| outcome.delivered).sum();
        group.throughput(Throughput::Elements(packets));
        group.bench_function(name, |bencher| bencher.iter(run));
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = evaluate
}
criterion_main!(benches);
