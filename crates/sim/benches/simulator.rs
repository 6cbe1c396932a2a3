//! The simulator's speed, in delivered packets a second: the fast path on the networks of
//! docs/performance.md, and the event engine beside it.
//!
//! The published tables are read from `shared/data/remycc` beside the repository, and their rows
//! are left out where they are absent.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use exm_link::{Limit, QueueKind, Service};
use exm_random::Distribution;
use exm_remy::{Action, CompiledAction, Grid, RemyCc, RuleTable, SignalSet, TableFile};
use exm_sim::controllers::AnyController;
use exm_sim::dumbbell::{self, Dumbbell, Rules};
use exm_sim::engine;
use exm_sim::network::{FlowSpec, LinkSpec, Network, Transport};
use exm_sim::traffic::{OnFor, OnOff};
use exm_tcp::Settings;
use exm_units::{Bytes, Packets, Probability, Rate, Span};
use std::path::Path;

const PACKET: Bytes = Bytes::new(1500);

/// One row: its table, senders, link in packets/ms, and mean on and off time in ms. All round
/// trips are 150 ms.
struct Row(&'static str, usize, f64, f64);

const ROWS: [Row; 5] = [
    Row("2014-100x", 2, 10.0, 1000.0),
    Row("2013-delta1", 2, 1.25, 5000.0),
    Row("2013-delta1", 8, 1.25, 5000.0),
    Row("2013-delta1", 32, 1.25, 5000.0),
    Row("one rule", 8, 1.25, 5000.0),
];

fn table(name: &str) -> Option<RuleTable> {
    if name == "one rule" {
        let action = Action { multiple: 1.0, increment: 1, intersend_ms: 3.0 };
        return Some(RuleTable::single(SignalSet::FIRST_FOUR, 16_384.0, action));
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/remycc");
    TableFile::load(folder.join(format!("RemyCC-{name}.dna"))).ok().map(|file| file.table)
}

fn traffic(on_off_ms: f64) -> OnOff {
    let span = Distribution::Exponential { mean: on_off_ms / 1000.0 };
    OnOff { on: OnFor::Time(span.clone()), off: span }
}

fn network(row: &Row, duration: Span) -> Dumbbell {
    Dumbbell {
        rate: Rate::from_packets_per_ms(row.2, PACKET),
        packet: PACKET,
        buffer: None,
        loss: Probability::ZERO,
        delays: vec![Span::from_millis(150); row.1],
        traffic: traffic(row.3),
        duration,
    }
}

fn fast_path(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fast path");
    for row in &ROWS {
        let Some(table) = table(row.0) else { continue };
        let grid = Grid::new(&table);
        let actions: Vec<CompiledAction> =
            table.rules().iter().map(|rule| rule.action.compile()).collect();
        let rules = Rules { grid: &grid, actions: &actions };
        let network = network(row, Span::from_secs(1000));
        let delivered: u64 = dumbbell::run(&network, rules, 1).iter().map(|o| o.delivered).sum();
        group.throughput(Throughput::Elements(delivered));
        let id = BenchmarkId::new(row.0, format!("{} senders, {} packets/ms", row.1, row.2));
        group.bench_function(id, |bencher| bencher.iter(|| dumbbell::run(&network, rules, 1)));
    }
    group.finish();
}

fn event_engine(criterion: &mut Criterion) {
    let row = &ROWS[4];
    let table = table(row.0).expect("one rule needs no file");
    let service = Service::Fixed(Rate::from_packets_per_ms(row.2, PACKET));
    let link = LinkSpec::bottleneck(service, Limit::Unlimited);
    let flow = FlowSpec {
        name: "remy".to_owned(),
        path: vec![0],
        back: Vec::new(),
        extra_delay: Span::from_millis(150),
        packet_size: PACKET,
        traffic: traffic(row.3).into(),
        transport: Transport::Bare { controller: RemyCc::new(&table).into(), timer: false },
    };
    let network = Network::new(vec![link], vec![flow; row.1], Span::from_secs(1000))
        .expect("the network is sound");
    let delivered: u64 = engine::run(&network, 1).flows.iter().map(|flow| flow.delivered).sum();
    let mut group = criterion.benchmark_group("event engine");
    group.throughput(Throughput::Elements(delivered));
    let id = BenchmarkId::new(row.0, format!("{} senders, {} packets/ms", row.1, row.2));
    group.bench_function(id, |bencher| bencher.iter(|| engine::run(&network, 1)));
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
        let limit = Limit::Packets(Packets::new(1000));
        let link = LinkSpec {
            queue: QueueKind::named(queue).expect("a known discipline"),
            ..LinkSpec::bottleneck(Service::Fixed(Rate::from_mbps(15.0)), limit)
        };
        let on = OnFor::Bytes(Distribution::Exponential { mean: 100_000.0 });
        let flow = FlowSpec {
            name: controller.to_owned(),
            path: vec![0],
            back: Vec::new(),
            extra_delay: Span::from_millis(150),
            packet_size: PACKET,
            traffic: OnOff { on, off: Distribution::Exponential { mean: 0.5 } }.into(),
            transport: Transport::Tcp {
                controller: AnyController::named(controller).expect("a known controller"),
                settings: Settings::default(),
            },
        };
        let network = Network::new(vec![link], vec![flow; 8], Span::from_secs(100))
            .expect("the network is sound");
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
