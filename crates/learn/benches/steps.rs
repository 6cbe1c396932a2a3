//! Steps of environments: one, and many on all cores.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use exm_design::Model;
use exm_learn::{Environment, Learners, Results, Reward, Settings, Source, Vector};
use exm_policy::{ActionSpace, Interface};
use exm_sim::controllers::AnyController;
use exm_sim::network::Host;

/// One flow, ten packets in an interval of 12 ms.
const MODEL: &str = r#"
    [network]
    rate = "10 Mbps"
    rtt = "12 ms"
    buffer = "50 packets"
    senders = 1
    [traffic]
    on = "always"
    [design]
    duration = "100 s"
"#;

fn settings() -> Settings {
    let interval = "12 ms".parse().expect("an interval");
    let action = ActionSpace::Window;
    Settings {
        interface: Interface { action, interval, ..Interface::default() },
        reward: Reward::Objective,
        learners: Learners::First,
        others: AnyController::named("cubic").expect("it is built in"),
        host: Host::Tcp,
        duration: None,
    }
}

fn source() -> Source {
    Source::Model(Box::new(Model::parse(MODEL, "the model").expect("it is sound")))
}

/// Half a window more, then half a window less: the link stays busy.
fn action(step: usize) -> f32 {
    if step.is_multiple_of(2) { 0.5 } else { -0.5 }
}

fn steps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("steps");
    let mut one = Environment::new(source(), settings(), 1).expect("it begins");
    let (mut room, mut step) = ([0f32; 30], 0);
    group.throughput(Throughput::Elements(1));
    group.bench_function("one", |bencher| {
        bencher.iter(|| {
            if one.has_ended() {
                one.reset(1).expect("it begins");
            }
            one.step(&[action(step)]).expect("a number");
            one.observe(0, &mut room);
            step += 1;
        });
    });
    for count in [8usize, 64, 256] {
        let seeds: Vec<u64> = (0..count as u64).collect();
        let mut many = Vector::new(source(), settings(), &seeds).expect("they begin");
        let mut observations = vec![0f32; 30 * count];
        let (mut rewards, mut ended) = (vec![0.0; count], vec![0; count]);
        let mut step = 0;
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::new("vector", count), |bencher| {
            bencher.iter(|| {
                let actions = vec![action(step); count];
                let results = Results {
                    observations: &mut observations,
                    rewards: &mut rewards,
                    ended: &mut ended,
                };
                many.step(&actions, results).expect("numbers");
                step += 1;
            });
        });
    }
    group.finish();
}

criterion_group!(benches, steps);
criterion_main!(benches);
