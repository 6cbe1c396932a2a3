//! Properties of every discipline: a new one is tested once it is in the list.

use crate::{
    AbcSettings, CoDelSettings, DualPi2Settings, FqCoDelSettings, PieSettings, RedSettings,
    SfqCoDelSettings, XcpSettings,
};
use crate::{
    Ecn, Limit, Packet, Queue, QueueActions, QueueConfig, QueueError, QueueKind, XcpHeader,
};
use exm_random::{Purpose, Stream};
use exm_units::{Bytes, Instant, Packets, Rate, Span};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The configuration of a queue at a link of 10 Mbps.
pub(crate) fn config(limit: Limit) -> QueueConfig {
    QueueConfig { limit, rate: Rate::from_mbps(10.0), stream: Stream::new(1, Purpose::Queue, 0) }
}

fn named(name: &str) -> QueueKind {
    QueueKind::named(name).expect("a name from the list")
}

fn configured(text: &str) -> Result<QueueKind, QueueError> {
    text.parse()
}

/// An operation on a queue, after a pause.
#[derive(Clone, Debug)]
enum Step {
    Enqueue { flow: u32, size: u32, ecn: Ecn, header: XcpHeader },
    Dequeue,
}

fn steps() -> impl Strategy<Value = Vec<(Span, Step)>> {
    let pause = prop_oneof![
        8 => 0u64..3_000_000,
        1 => 0u64..400_000_000,
        1 => 0u64..100_000_000_000,
    ];
    let ecn = prop_oneof![
        Just(Ecn::NotCapable),
        Just(Ecn::Capable),
        Just(Ecn::LowLatency),
        Just(Ecn::Marked)
    ];
    let header =
        prop_oneof![
            Just(XcpHeader::default()),
            (0.0f32..100.0, 0.0f32..1.0, -5.0f32..100.0)
                .prop_map(|(cwnd, rtt, feedback)| XcpHeader { cwnd, rtt, feedback }),
        ];
    let enqueue = (0u32..5, 40u32..3000, ecn, header)
        .prop_map(|(flow, size, ecn, header)| Step::Enqueue { flow, size, ecn, header });
    let step = prop_oneof![3 => enqueue, 2 => Just(Step::Dequeue)];
    prop::collection::vec((pause.prop_map(Span::from_nanos), step), 1..300)
}

fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![
        Just(Limit::Unlimited),
        (0u64..30).prop_map(|n| Limit::Packets(Packets::new(n))),
        (0u64..30_000).prop_map(|n| Limit::Bytes(Bytes::new(n))),
    ]
}

/// Where the packets are, by flow and number.
#[derive(Default)]
struct Books {
    waiting: BTreeMap<(u32, u64), Packet>,
    /// By flow, and whether a packet is one for low latency: such a one may overtake those of its flow that are not.
    last: BTreeMap<(u32, bool), u64>,
    marked: u64,
}

impl Books {
    fn check(&mut self, queue: &Queue, limit: Limit, actions: &mut QueueActions) {
        for packet in actions.take_dropped() {
            let known = self.waiting.remove(&(packet.flow, packet.sequence));
            assert!(known.is_some(), "dropped a packet that was not queued");
        }
        self.marked += actions.take_marked().len() as u64;
        assert!(actions.is_empty());
        assert_eq!(queue.packets(), self.waiting.len());
        let bytes: u64 = self.waiting.values().map(|packet| u64::from(packet.size)).sum();
        assert_eq!(queue.bytes(), bytes);
        assert!(!limit.is_exceeded(queue.packets(), queue.bytes()));
        let waiting: BTreeSet<_> = self.waiting.keys().copied().collect();
        assert_eq!(BTreeSet::from_iter(visited(queue)), waiting);
    }

    fn leaves(&mut self, packet: &Packet) {
        let came =
            self.waiting.remove(&(packet.flow, packet.sequence)).expect("the packet was queued");
        let class = (packet.flow, matches!(came.ecn, Ecn::LowLatency | Ecn::Marked));
        assert!(self.last.insert(class, packet.sequence) < Some(packet.sequence));
        let same = (came.size, came.at, came.sent_at) == (packet.size, packet.at, packet.sent_at);
        assert!(same, "{packet:?}");
        assert_eq!(came.ecn == Ecn::NotCapable, packet.ecn == Ecn::NotCapable);
        assert!(came.ecn != Ecn::Marked || packet.ecn == Ecn::Marked);
        assert!(packet.header.feedback <= came.header.feedback);
    }
}

/// The waiting packets by flow and number, in the order in which they are visited.
fn visited(queue: &Queue) -> Vec<(u32, u64)> {
    let mut visited = Vec::new();
    queue.visit_waiting(&mut |packet| visited.push((packet.flow, packet.sequence)));
    assert_eq!(visited.len(), queue.packets());
    visited
}

/// Runs the steps: no packet vanishes, flows stay in order, counts are right, and the limit is
/// kept.
fn live(kind: &QueueKind, limit: Limit, steps: &[(Span, Step)]) -> Vec<(u32, u64)> {
    let mut queue = kind.build(config(limit));
    let (mut books, mut actions) = (Books::default(), QueueActions::default());
    let (mut now, mut left) = (Instant::ZERO, Vec::new());
    for (number, (pause, step)) in (0..).zip(steps) {
        now += *pause;
        match step {
            Step::Enqueue { flow, size, ecn, header } => {
                let packet =
                    Packet { ecn: *ecn, header: *header, ..Packet::new(*flow, number, *size, now) };
                books.waiting.insert((*flow, number), packet);
                queue.enqueue(now, packet, &mut actions);
            }
            Step::Dequeue => {
                let waits = queue.packets() > 0;
                let packet = queue.dequeue(now, &mut actions);
                // No discipline drops every packet.
                assert_eq!(packet.is_some(), waits);
                if let Some(packet) = packet {
                    books.leaves(&packet);
                    left.push((packet.flow, packet.sequence));
                }
            }
        }
        books.check(&queue, limit, &mut actions);
    }
    // Waiting packets leave in the end: in the order in which they are visited, if none is dropped.
    let (expected, before) = (visited(&queue), left.len());
    while let Some(packet) = queue.dequeue(now, &mut actions) {
        books.leaves(&packet);
        left.push((packet.flow, packet.sequence));
        books.check(&queue, limit, &mut actions);
    }
    assert!(books.waiting.is_empty());
    assert!(left.len() - before < expected.len() || left[before..] == expected);
    left
}

proptest! {
    #[test]
    fn no_packet_vanishes(steps in steps(), limit in limits()) {
        for name in QueueKind::NAMES {
            let left = live(&named(name), limit, &steps);
            // The same steps give the same result again.
            prop_assert_eq!(left, live(&named(name), limit, &steps));
        }
    }
}

/// Queues with settings that fail the check work badly, but safely.
fn unchecked_kinds() -> Vec<QueueKind> {
    let (never, nothing) = (Span::ZERO, Bytes::ZERO);
    let codel =
        CoDelSettings { target: never, interval: never, mtu: nothing, ..CoDelSettings::default() };
    let fq = FqCoDelSettings { bins: 0, quantum: nothing, ..FqCoDelSettings::default() };
    let sfq = SfqCoDelSettings { interval: never, target: never, ..SfqCoDelSettings::default() };
    let red = RedSettings { max: Packets::ZERO, idle_packet: nothing, ..RedSettings::default() };
    let pie = PieSettings { target: never, update: never, alpha: -1e300, ..PieSettings::default() };
    let xcp = XcpSettings { alpha: f64::NAN, beta: f64::INFINITY, ..XcpSettings::default() };
    let dual = DualPi2Settings { update: never, alpha: f64::NAN, ..DualPi2Settings::default() };
    let abc = AbcSettings {
        eta: f64::NAN,
        delta: never,
        window: never,
        token_limit: f64::NEG_INFINITY,
        ..AbcSettings::default()
    };
    vec![
        QueueKind::Abc(abc),
        QueueKind::DualPi2(dual),
        QueueKind::CoDel(codel),
        QueueKind::FqCoDel(fq),
        QueueKind::SfqCoDel(sfq),
        QueueKind::Red(red),
        QueueKind::Pie(pie),
        QueueKind::Xcp(xcp),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]
    #[test]
    fn impossible_settings_do_no_harm(steps in steps(), limit in limits()) {
        for kind in unchecked_kinds() {
            prop_assert!(kind.check().is_err());
            live(&kind, limit, &steps);
        }
    }
}

/// A link overloaded by half: 3 packets arrive while 2 leave, for 10 s. Returns how many were
/// dropped and how many marked.
fn overload(kind: &QueueKind, ecn: Ecn, limit: Limit) -> (usize, u64) {
    let mut queue = kind.build(config(limit));
    let mut actions = QueueActions::default();
    let (mut dropped, mut marked) = (0, 0);
    for round in 0..4_000 {
        let now = Instant::ZERO + Span::from_micros(2400) * round;
        for sequence in 0..3 {
            let flow = (sequence % 2) as u32;
            let packet = Packet { ecn, ..Packet::new(flow, round * 3 + sequence, 1500, now) };
            queue.enqueue(now, packet, &mut actions);
        }
        for half in 0..2 {
            queue.dequeue(now + Span::from_micros(1200) * half, &mut actions);
        }
        dropped += actions.take_dropped().count();
        marked += actions.take_marked().len() as u64;
    }
    (dropped, marked)
}

/// Disciplines that signal congestion mark ECN-capable packets and drop none of them.
#[test]
fn ecn_capable_packets_are_marked_not_dropped() {
    let deciders = [
        ("codel", "codel"),
        ("fq-codel", "fq-codel"),
        ("sfq-codel", "sfq-codel"),
        ("red", "red"),
        ("pie", "pie mark_below=1"),
    ];
    for (name, on) in deciders {
        let off = configured(&format!("{name} ecn=false")).expect(name);
        let on = configured(on).expect(name);
        let (dropped, marked) = overload(&on, Ecn::Capable, Limit::Unlimited);
        assert!(dropped == 0 && marked > 20, "{name}: {dropped} {marked}");
        let (dropped, marked) = overload(&off, Ecn::Capable, Limit::Unlimited);
        assert!(dropped > 20 && marked == 0, "{name}: {dropped} {marked}");
        let (dropped, marked) = overload(&on, Ecn::NotCapable, Limit::Unlimited);
        assert!(dropped > 20 && marked == 0, "{name}: {dropped} {marked}");
    }
    let (dropped, marked) = overload(&named("step"), Ecn::Capable, Limit::Unlimited);
    assert!(dropped == 0 && marked > 10_000, "{dropped} {marked}");
    assert_eq!(overload(&named("step"), Ecn::NotCapable, Limit::Unlimited), (0, 0));
}

/// Linux's threshold for senders that respond to each mark.
#[test]
fn codel_marks_early_where_it_is_told_to() {
    for name in ["codel", "fq-codel", "sfq-codel"] {
        let early = configured(&format!("{name} ce_threshold=1ms")).expect(name);
        let low = configured(&format!("{name} ce_threshold=1ms,ce_low_latency=true")).expect(name);
        let (dropped, all) = overload(&early, Ecn::Capable, Limit::Unlimited);
        assert!(dropped == 0 && all > 7_000, "{name}: {dropped} {all}");
        assert_eq!(overload(&low, Ecn::LowLatency, Limit::Unlimited), (0, all), "{name}");
        let (_, few) = overload(&low, Ecn::Capable, Limit::Unlimited);
        assert!(few < all / 2, "{name}: {few} by the law alone");
    }
}

/// Plain queues drop only when full, and regardless of ECN.
#[test]
fn plain_queues_drop_only_when_full() {
    for name in ["drop-tail", "drop-head", "xcp", "step", "abc"] {
        assert_eq!(overload(&named(name), Ecn::NotCapable, Limit::Unlimited), (0, 0), "{name}");
        let room = Limit::Packets(Packets::new(100));
        let (dropped, _) = overload(&named(name), Ecn::Capable, room);
        // 98 are left at the end.
        assert_eq!(dropped, 4_000 - 98, "{name}");
    }
}

#[test]
fn every_name_is_unique_and_its_defaults_work() {
    for name in QueueKind::NAMES {
        let kind = named(name);
        assert_eq!(kind.name(), *name);
        assert_eq!(kind.check(), Ok(()));
        assert_eq!(configured(name).expect(name), kind);
        let error = configured(&format!("{name} colour=1")).expect_err(name).to_string();
        assert!(error.contains("has no parameter \"colour\": it has "), "{error}");
    }
    assert!(QueueKind::named("no-such").is_none());
}

#[test]
fn impossible_settings_are_rejected_with_a_remedy() {
    let cases = [
        (
            "codel interval=0 ms",
            "the queue codel cannot have interval = 0 ns: it must be longer than zero, such as \
             \"5 ms\" or \"100 ms\"",
        ),
        (
            "fq-codel bins=0",
            "the queue fq-codel cannot have bins = 0: it must be from 1 to 65536, such as 1024",
        ),
        (
            "sfq-codel quantum=0 B",
            "the queue sfq-codel cannot have quantum = 0 B: it must be from 1 B to 2 GB, such as \
             \"1514 B\"",
        ),
        (
            "red min=20 packets",
            "the queue red cannot have max = 15 packets: it must be above min = 20 packets, best \
             three times as much",
        ),
        (
            "pie update=0 s",
            "the queue pie cannot have update = 0 ns: it must be at least 1 us, such as \"15 ms\"",
        ),
        (
            "policer burst=100 B",
            "the queue policer cannot have burst = 100 B: it must hold a packet, so at least 1500 B, such \
             as \"100 kB\"",
        ),
        (
            "dual-pi2 coupling=0",
            "the queue dual-pi2 cannot have coupling = 0: it must be above 0, such as 2",
        ),
        (
            "abc token_limit=1",
            "the queue abc cannot have token_limit = 1: it must be above 1, such as 10, or no packet could \
             accelerate",
        ),
        (
            "abc window=0s",
            "the queue abc cannot have window = 0 ns: it must be longer than zero, such as \"40 ms\"",
        ),
        ("xcp alpha=-1", "the queue xcp cannot have alpha = -1: it must be above 0, such as 0.4"),
    ];
    for (text, expected) in cases {
        let error = configured(text).expect_err(text).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
