//! What a controller from outside costs: an ACK, and packets in the event engine, next to the same controller natively.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use exm_cc::{Ack, Aimd, Controller, Start};
use exm_link::{Limit, Service};
use exm_plugin::{Limits, Module};
use exm_sim::controllers::AnyController;
use exm_sim::engine;
use exm_sim::network::{FlowSpec, Host, LinkSpec, Network};
use exm_units::{Instant, Packets, Rate, Span};
use std::hint::black_box;

#[path = "../tests/common/mod.rs"]
mod common;

fn acks(criterion: &mut Criterion) {
    let module = common::compile(common::AIMD).expect("it is valid");
    let mut group = criterion.benchmark_group("an ACK");
    let mut measure = |name: &str, controller: &mut dyn FnMut(&Ack)| {
        let mut sequence = 0;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                sequence += 1;
                let now = Instant::from_nanos(sequence * 1000);
                controller(black_box(&Ack::new(sequence, Instant::ZERO, now)));
            });
        });
    };
    let mut native: AnyController = AnyController::own(Aimd::new());
    native.on_start(&Start::new(Instant::ZERO));
    measure("native", &mut |ack| {
        black_box(native.on_ack(ack));
    });
    let mut own = AnyController::own(module.controller());
    own.on_start(&Start::new(Instant::ZERO));
    measure("module", &mut |ack| {
        black_box(own.on_ack(ack));
    });
    group.finish();
}

fn packets(criterion: &mut Criterion) {
    let network = |controller: AnyController| {
        let rate = Service::Fixed(Rate::from_mbps(100.0));
        let link = LinkSpec::bottleneck(rate, Limit::Packets(Packets::new(1000)));
        let flow =
            FlowSpec::new(Host::Tcp.transport(controller)).extra_delay(Span::from_millis(40));
        Network::new(vec![link], vec![flow; 8], Span::from_secs(20)).expect("it is possible")
    };
    let module = common::compile(common::AIMD).expect("it is valid");
    let mut group = criterion.benchmark_group("packets");
    for (name, controller) in [
        ("native", AnyController::own(Aimd::new())),
        ("module", AnyController::own(module.controller())),
    ] {
        let network = network(controller);
        let sent: u64 = engine::run(&network, 1).flows.iter().map(|flow| flow.sent).sum();
        group.throughput(Throughput::Elements(sent)).sample_size(10);
        group.bench_function(name, |bencher| bencher.iter(|| engine::run(black_box(&network), 1)));
    }
    group.finish();
}

fn instances(criterion: &mut Criterion) {
    let wasm = common::assembled(common::AIMD);
    let compile = || Module::compile("aimd.wasm", black_box(&wasm), &Limits::default());
    let module = compile().expect("it is valid");
    criterion.bench_function("compiling", |bencher| bencher.iter(compile));
    criterion.bench_function("an instance", |bencher| {
        bencher.iter(|| module.controller().on_start(&Start::new(Instant::ZERO)));
    });
    let mut begun = module.controller();
    begun.on_start(&Start::new(Instant::ZERO));
    criterion.bench_function("a copy", |bencher| bencher.iter(|| black_box(&begun).clone()));
}

criterion_group!(benches, acks, packets, instances);
criterion_main!(benches);
