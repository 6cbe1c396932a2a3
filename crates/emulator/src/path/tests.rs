use super::*;
use exm_trace::Trace;
use exm_units::{Bytes, Packets, Rate};
use proptest::prelude::*;
use std::sync::Arc;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Record {
    queued: Vec<(Instant, u64)>,
    departed: Vec<(Instant, u64)>,
    dropped: Vec<(Instant, u64, Cause)>,
    last: Instant,
}

impl Record {
    fn at(&mut self, at: Instant) {
        assert!(at >= self.last, "time goes forward");
        self.last = at;
    }
}

impl Outcome for Record {
    fn queued(&mut self, packet: &Packet) {
        self.at(packet.at);
        self.queued.push((packet.at, packet.sequence));
    }

    fn departed(&mut self, at: Instant, packet: Packet) {
        self.at(at);
        assert!(packet.at <= at);
        self.departed.push((at, packet.sequence));
    }

    fn dropped(&mut self, at: Instant, packet: Packet, cause: Cause) {
        self.at(at);
        self.dropped.push((at, packet.sequence, cause));
    }
}

fn at(micros: u64) -> Instant {
    Instant::ZERO + Span::from_micros(micros)
}

fn trace(millis: &[u64]) -> Service {
    let times = millis.iter().map(|&ms| at(1000 * ms)).collect();
    Service::Trace(Arc::new(Trace::new(times).expect("a trace")))
}

/// Sends packets of these sizes at these times, in microseconds, and advances the path as often.
fn run(spec: &PathSpec, seed: u64, sends: &[(u64, u32)], looks: &[u64]) -> (Record, Path) {
    let mut path = Path::new(spec, seed, 0).expect("a path");
    let mut record = Record::default();
    let mut times: Vec<_> = sends.iter().map(|&(time, size)| (time, Some(size))).collect();
    times.extend(looks.iter().map(|&time| (time, None)));
    times.sort_by_key(|&(time, _)| time);
    let mut number = 0;
    for (time, size) in times {
        if let Some(size) = size {
            path.send(at(time), Packet::new(number as u32 % 3, number, size, at(time)));
            number += 1;
        } else {
            path.advance(at(time), &mut record);
        }
    }
    (record, path)
}

/// Cellsim's accounting: an opportunity carries 15 packets of 100 bytes; a packet keeps the bytes
/// already carried; unused opportunities are lost.
#[test]
fn an_opportunity_carries_1500_bytes() {
    let spec = PathSpec::new(trace(&[10, 20, 30, 40]));
    let (record, path) = run(&spec, 1, &[(5000, 100); 16], &[100_000]);
    let times: Vec<_> = record.departed.iter().map(|&(at, _)| at.as_millis_f64()).collect();
    assert_eq!(times, [vec![10.0; 15], vec![20.0]].concat());
    assert_eq!(path.holds(), 0);
    // 1000 bytes of the second packet are carried by the first opportunity.
    let (record, _) = run(&spec, 1, &[(12_000, 500), (12_000, 1500), (12_000, 1000)], &[100_000]);
    let times: Vec<_> = record.departed.iter().map(|&(at, _)| at.as_millis_f64()).collect();
    assert_eq!(times, [20.0, 30.0, 30.0]);
}

#[test]
fn the_delay_comes_before_the_queue() {
    let mut spec = PathSpec::new(Service::Fixed(Rate::from_mbps(12.0)));
    spec.propagation = Propagation::Fixed(Span::from_millis(20));
    spec.limit = Limit::Packets(Packets::new(1));
    let (record, _) = run(&spec, 1, &[(0, 1500), (0, 1500), (0, 1500), (900, 1500)], &[90_000]);
    assert_eq!(record.queued.iter().map(|&(at, _)| at).collect::<Vec<_>>()[..2], [at(20_000); 2]);
    assert_eq!(record.departed, [(at(21_000), 0), (at(22_000), 1)]);
    let full = |number, time| (at(time), number, Cause::Queue);
    assert_eq!(record.dropped, [full(2, 20_000), full(3, 20_900)]);
}

#[test]
fn a_shorter_delay_keeps_the_order() {
    let steps = vec![(at(0), Span::from_millis(30)), (at(1000), Span::from_millis(1))];
    let mut spec = PathSpec::new(Service::Fixed(Rate::from_mbps(12_000.0)));
    spec.propagation = Propagation::Varying(Arc::new(Schedule::new(steps).unwrap()));
    let (record, _) = run(&spec, 1, &[(0, 1500), (2000, 1500), (40_000, 1500)], &[90_000]);
    let queued: Vec<_> = record.queued.iter().map(|&(at, _)| at.as_millis_f64()).collect();
    assert_eq!(queued, [30.0, 30.0, 41.0]);
}

#[test]
fn delayed_packets_are_overtaken() {
    let mut spec = PathSpec::new(Service::Fixed(Rate::from_mbps(12_000.0)));
    let probability = Probability::new(0.25).unwrap();
    spec.reordering = Some(Reordering { probability, extra: Span::from_millis(5) });
    let sends: Vec<_> = (0..4000).map(|n| (n * 1000, 100)).collect();
    let (record, _) = run(&spec, 3, &sends, &[9_000_000]);
    let late = record.departed.windows(2).filter(|pair| pair[1].1 < pair[0].1).count();
    assert!((900..1100).contains(&late), "{late}");
    assert_eq!(record.departed.len(), 4000);
}

#[test]
fn losses_have_causes() {
    let mut spec = PathSpec::new(Service::Fixed(Rate::from_mbps(12_000.0)));
    spec.loss = Probability::new(0.1).unwrap();
    spec.bursts = Bursts::of(Probability::new(0.1).unwrap(), 4.0);
    let sends: Vec<_> = (0..20_000).map(|n| (n * 10, 100)).collect();
    let (record, _) = run(&spec, 3, &sends, &[9_000_000]);
    let of = |cause| record.dropped.iter().filter(|drop| drop.2 == cause).count();
    assert!((1850..2150).contains(&of(Cause::Loss)), "{}", of(Cause::Loss));
    assert!((1550..2050).contains(&of(Cause::Burst)), "{}", of(Cause::Burst));
}

/// Cellsim's tail loss: a packet lost at random never enters the queue, and takes none of the link's
/// time.
#[test]
fn random_loss_takes_packets_before_the_queue() {
    let mut spec = PathSpec::new(Service::Fixed(Rate::from_mbps(12.0)));
    spec.propagation = Propagation::Fixed(Span::from_millis(20));
    spec.loss = Probability::new(0.5).unwrap();
    let (record, path) = run(&spec, 3, &[(0, 1500); 100], &[900_000]);
    let left = record.departed.len();
    assert!((30..70).contains(&left), "{left}");
    assert_eq!(record.departed.last().unwrap().0, at(20_000 + 1000 * left as u64));
    assert!(record.dropped.iter().all(|drop| (drop.0, drop.2) == (at(20_000), Cause::Loss)));
    assert_eq!(
        (record.queued.len(), path.max_queued()),
        (left, (left - 1, 1500 * (left as u64 - 1)))
    );
}

#[test]
fn an_impossible_queue_is_rejected() {
    let mut spec = PathSpec::new(trace(&[1]));
    let settings = exm_link::FqCoDelSettings { bins: 0, ..Default::default() };
    spec.queue = QueueKind::FqCoDel(settings);
    assert!(Path::new(&spec, 1, 0).unwrap_err().to_string().contains("bins = 0"));
}

fn specs() -> impl Strategy<Value = PathSpec> {
    let services = prop_oneof![
        (1u64..50_000).prop_map(|kbps| Service::Fixed(Rate::from_bps(kbps * 1000))),
        prop::collection::vec(1u64..40, 1..20).prop_map(|mut times| {
            times.sort_unstable();
            trace(&times)
        }),
    ];
    let limits = prop_oneof![
        Just(Limit::Unlimited),
        (0u64..20).prop_map(|n| Limit::Packets(Packets::new(n))),
        (0u64..20_000).prop_map(|n| Limit::Bytes(Bytes::new(n))),
    ];
    let queues = prop::sample::select(QueueKind::NAMES);
    let probabilities =
        (0.0..0.3, prop::option::of((0.01..0.3, 1.0..5.0)), prop::option::of(0.0..0.5));
    let delays = prop_oneof![
        (0u64..50).prop_map(|ms| Propagation::Fixed(Span::from_millis(ms))),
        prop::collection::vec((0u64..200, 0u64..50), 1..9).prop_map(|mut steps| {
            steps.sort_unstable();
            let steps = steps.into_iter().map(|(t, d)| (at(1000 * t), Span::from_millis(d)));
            Propagation::Varying(Arc::new(Schedule::new(steps.collect()).unwrap()))
        }),
    ];
    (services, limits, queues, probabilities, delays).prop_map(
        |(service, limit, queue, (loss, bursts, probability), propagation)| PathSpec {
            propagation,
            reordering: probability.map(|probability| Reordering {
                probability: Probability::new(probability).unwrap(),
                extra: Span::from_millis(7),
            }),
            loss: Probability::new(loss).unwrap(),
            bursts: bursts.and_then(|(loss, long)| Bursts::of(Probability::new(loss)?, long)),
            queue: QueueKind::named(queue).unwrap(),
            limit,
            service,
        },
    )
}

proptest! {
    /// Every packet leaves, is dropped and counted, or is still inside, exactly once. Without
    /// reordering, packets leave in order. When the path is advanced changes nothing, and all
    /// randomness comes from the seed.
    #[test]
    fn no_packet_vanishes(
        spec in specs(),
        seed: u64,
        mut sends in prop::collection::vec((0u64..300_000, 1u32..1500), 0..120),
        looks in prop::collection::vec(0u64..2_000_000, 0..30),
    ) {
        sends.sort_unstable_by_key(|&(time, _)| time);
        let end = 2_000_000;
        let often = [&looks[..], &[end]].concat();
        let (record, path) = run(&spec, seed, &sends, &often);
        let left = record.departed.iter().map(|&(_, number)| number);
        let mut gone: Vec<_> = left.chain(record.dropped.iter().map(|drop| drop.1)).collect();
        gone.sort_unstable();
        prop_assert!(gone.windows(2).all(|pair| pair[0] < pair[1]), "no packet has two outcomes");
        prop_assert_eq!(gone.len() + path.holds(), sends.len());
        let flows_apart = spec.queue.name().contains("fq");
        if spec.reordering.is_none() && !flows_apart {
            prop_assert!(record.departed.windows(2).all(|pair| pair[0].1 < pair[1].1));
        }
        let (once, _) = run(&spec, seed, &sends, &[end]);
        prop_assert_eq!(record, once);
    }

    /// A caller that advances the path only at its announced times is never late: no packet leaves
    /// earlier.
    #[test]
    fn no_packet_leaves_before_it_is_expected(
        spec in specs(),
        seed: u64,
        mut sends in prop::collection::vec((0u64..300_000, 1u32..1500), 0..60),
    ) {
        sends.sort_unstable_by_key(|&(time, _)| time);
        let mut path = Path::new(&spec, seed, 0).expect("a path");
        let mut record = Record::default();
        let sent = sends.iter().map(|&(time, size)| (at(time), Some(size)));
        for (time, size) in sent.chain([(at(2_000_000), None)]) {
            let mut next = path.next();
            while next < time {
                let before = record.departed.len();
                path.advance(Instant::from_nanos(next.as_nanos() - 1), &mut record);
                prop_assert_eq!(record.departed.len(), before);
                path.advance(next, &mut record);
                next = path.next();
            }
            if let Some(size) = size {
                path.send(time, Packet::new(0, 0, size, time));
            }
        }
    }

    /// A trace never carries more than it offers.
    #[test]
    fn no_opportunity_is_used_twice(
        mut times in prop::collection::vec(1u64..40, 1..20),
        mut sends in prop::collection::vec((0u64..200_000, 1u32..1500), 0..120),
    ) {
        times.sort_unstable();
        sends.sort_unstable_by_key(|&(time, _)| time);
        let spec = PathSpec::new(trace(&times));
        let Service::Trace(offered) = &spec.service else { unreachable!() };
        let (record, _) = run(&spec, 1, &sends, &[10_000_000]);
        prop_assert_eq!(record.departed.len(), sends.len());
        let mut carried = 0;
        for &(time, number) in &record.departed {
            carried += u64::from(sends[number as usize].1);
            let capacity = offered.capacity(Instant::ZERO, time + Span::from_nanos(1));
            prop_assert!(carried <= capacity.get());
        }
    }
}
