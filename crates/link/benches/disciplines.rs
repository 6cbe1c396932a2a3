//! The cost of a packet in each queue discipline: enqueue and dequeue, with 100 packets of 16 flows
//! waiting.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use exm_link::{Ecn, Limit, Packet, QueueActions, QueueConfig, QueueKind};
use exm_random::{Purpose, Stream};
use exm_units::{Instant, Packets, Rate, Span};
use std::hint::black_box;

const WAITING: u64 = 100;
const FLOWS: u64 = 16;

fn disciplines(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("a packet in and out");
    group.throughput(Throughput::Elements(1));
    for name in QueueKind::NAMES {
        let config = QueueConfig {
            limit: Limit::Packets(Packets::new(1000)),
            rate: Rate::from_mbps(1000.0),
            stream: Stream::new(1, Purpose::Queue, 0),
        };
        let mut queue = QueueKind::named(name).expect("a name of the list").build(config);
        let mut actions = QueueActions::default();
        let (mut now, mut number) = (Instant::ZERO, 0);
        let mut packet_at = |now| {
            number += 1;
            let flow = (number * 7 % FLOWS) as u32;
            // Marked where they would otherwise be dropped, so that the queue keeps its length.
            Packet { ecn: Ecn::Capable, ..Packet::new(flow, number, 1500, now) }
        };
        for _ in 0..WAITING {
            queue.enqueue(now, packet_at(now), &mut actions);
        }
        group.bench_function(*name, |bencher| {
            bencher.iter(|| {
                now += Span::from_micros(12);
                queue.enqueue(now, packet_at(now), &mut actions);
                black_box(queue.dequeue(now, &mut actions))
            });
        });
        assert_eq!(queue.packets() as u64, WAITING, "{name} dropped");
    }
    group.finish();
}

criterion_group!(benches, disciplines);
criterion_main!(benches);
