//! What only some links do: frames, block errors, timed changes and fewer ACKs.

use super::*;
use crate::metrics::Report;
use exm_link::{Aggregation, BlockErrors, Slots, Thinning, TimedStep, Timing};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The packets delivered and the ACKs received, by time.
#[derive(Default)]
struct Arrivals {
    /// The number and the time of arrival of each packet.
    packets: Vec<(u64, Instant)>,
    /// When each ACK arrived.
    acks: Vec<Instant>,
}

impl Observer for Arrivals {
    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Delivered { packet } => self.packets.push((packet.sequence, event.at)),
            EventKind::Acknowledged { .. } => self.acks.push(event.at),
            _ => {}
        }
    }
}

fn watched(links: Vec<LinkSpec>, flow: FlowSpec) -> (Arrivals, Report) {
    let mut seen = Arrivals::default();
    let report = run_observed(&network(links, vec![flow], Span::from_secs(60)), 1, &mut seen);
    (seen, report)
}

/// How many of `times` are equal to the one before them.
fn together(times: impl IntoIterator<Item = Instant>) -> usize {
    let times: Vec<Instant> = times.into_iter().collect();
    times.windows(2).filter(|pair| pair[0] == pair[1]).count()
}

/// Frames of at most `packets` packets or 4 ms.
fn frames(packets: u64, access: Distribution) -> Aggregation {
    Aggregation::default().packets(Packets::new(packets)).access(access)
}

/// A link of a packet a millisecond, with `back` in the other direction.
fn both_ways(there: LinkSpec, back: LinkSpec) -> Vec<LinkSpec> {
    vec![there.ends(0, 1), back.name("back").ends(1, 0)]
}

#[test]
fn a_saturated_link_of_frames_has_the_derived_rate() {
    for (access, packets, mbps) in [
        (Distribution::Fixed(0.001), 64, 9.6),
        (Distribution::Exponential { mean: 0.001 }, 64, 9.6),
        // Two packets, 2 ms of air, in 3 ms.
        (Distribution::Fixed(0.001), 2, 8.0),
        (Distribution::Fixed(0.0), 64, 12.0),
    ] {
        let settings = frames(packets, access.clone());
        let link = packet_a_ms(Limit::Unlimited, 0.0).aggregation(settings.clone());
        let (seen, report) = watched(vec![link], flow(10, window(100), ever()));
        let rate = report.links[0].bytes.get() as f64 * 8e-6 / 60.0;
        let derived = settings.capacity(Rate::from_mbps(12.0), PACKET).as_bps() as f64 * 1e-6;
        assert!((rate / mbps - 1.0).abs() < 0.01, "{access:?}: {rate} Mbps");
        assert!((derived / mbps - 1.0).abs() < 1e-6, "{access:?}: {derived} Mbps");
        let full = settings.full_frame(Rate::from_mbps(12.0), PACKET).get() as f64;
        let share = together(seen.packets.iter().map(|&(_, at)| at)) as f64;
        let share = share / seen.packets.len() as f64;
        assert!((share - (1.0 - 1.0 / full)).abs() < 0.01, "{access:?}: {share} arrive together");
        let busy = report.links[0].utilisation;
        assert!((busy - mbps / 12.0).abs() < 0.01, "{access:?}: busy {busy}");
    }
}

#[test]
fn a_lone_packet_waits_for_medium_access_and_no_more() {
    let link =
        packet_a_ms(Limit::Unlimited, 0.0).aggregation(frames(64, Distribution::Fixed(0.002)));
    let report = alone(link, flow(50, one_rule(0.0, 1000, 100.0), ever()), Span::from_secs(10));
    assert_eq!(report.rtt.min(), Some(Span::from_millis(53)));
    assert_eq!(report.rtt.max(), Some(Span::from_millis(53)));
    assert_eq!(report.queueing_delay.mean(), Some(Span::from_millis(2)));
}

#[test]
fn frames_compress_acks() {
    let back = |access: Option<f64>| {
        let link = link(Rate::from_mbps(100.0), Limit::Unlimited, 0.0);
        access.map_or(link.clone(), |s| link.aggregation(frames(64, Distribution::Fixed(s))))
    };
    let tcp = || {
        let transport = Transport::Tcp {
            controller: AnyController::named("cubic").expect("is built in"),
            settings: exm_tcp::Settings::default(),
        };
        FlowSpec { transport, back: vec![1], ..flow(20, window(1), ever()) }
    };
    let there = || packet_a_ms(Limit::Packets(Packets::new(100)), 0.0);
    let (apart, plain) = watched(both_ways(there(), back(None)), tcp());
    let (bursts, report) = watched(both_ways(there(), back(Some(0.005))), tcp());
    assert!(together(apart.acks.iter().copied()) * 20 < apart.acks.len());
    assert!(together(bursts.acks.iter().copied()) * 3 > 2 * bursts.acks.len());
    let filled = |report: &Report| report.links[0].utilisation;
    assert!(
        filled(&plain) > 0.98 && filled(&report) > 0.98,
        "{} {}",
        filled(&plain),
        filled(&report)
    );
}

/// LTE's, with each packet a block of its own.
fn harq() -> BlockErrors {
    BlockErrors::default().slot(Span::ZERO)
}

#[test]
fn blocks_are_late_by_steps_of_geometric_probabilities() {
    // A packet every 100 ms: none waits for another.
    let link = packet_a_ms(Limit::Unlimited, 0.0).block_errors(harq());
    let paced = flow(50, one_rule(0.0, 1000, 100.0), ever());
    let network = network(vec![link], vec![paced], Span::from_secs(3000));
    let mut seen = Arrivals::default();
    run_observed(&network, 1, &mut seen);
    let mut late: BTreeMap<u64, f64> = BTreeMap::new();
    for &(number, at) in &seen.packets {
        let sent = Span::from_millis(100 * number);
        let delay = at - Instant::ZERO - sent - Span::from_millis(51);
        assert!(delay.as_nanos().is_multiple_of(8_000_000), "{delay}");
        *late.entry(delay.as_nanos() / 8_000_000).or_default() += 1.0;
    }
    let all = seen.packets.len() as f64;
    for (steps, share, tolerance) in
        [(0, 0.9, 0.006), (1, 0.09, 0.006), (2, 0.009, 0.002), (3, 0.001, 0.0007)]
    {
        let seen = late.get(&steps).copied().unwrap_or(0.0) / all;
        assert!((seen - share).abs() < tolerance, "{steps} steps: {seen}");
    }
    assert_eq!(late.keys().last(), Some(&3));
}

#[test]
fn block_errors_make_gaps_and_bursts_but_leave_the_rate() {
    let run = |errors: Option<BlockErrors>| {
        let link = packet_a_ms(Limit::Unlimited, 0.0);
        let link = LinkSpec { block_errors: errors, ..link };
        watched(vec![link], flow(20, window(100), ever()))
    };
    let (plain, _) = run(None);
    let (seen, report) = run(Some(BlockErrors::default()));
    let ratio = seen.packets.len() as f64 / plain.packets.len() as f64;
    assert!((ratio - 1.0).abs() < 0.001, "{ratio}");
    assert!(seen.packets.is_sorted() && report.flows[0].lost == 0);
    let gap = |seen: &Arrivals| seen.packets.windows(2).map(|pair| pair[1].1 - pair[0].1).max();
    assert!(gap(&plain) <= Some(Span::from_millis(2)));
    // All three steps, but for what the slot before was late by.
    assert!((Some(Span::from_millis(16))..=Some(Span::from_millis(25))).contains(&gap(&seen)));
    // Seven more arrive with one that is late by a step: 8 in 17 packets.
    let share = together(seen.packets.iter().map(|&(_, at)| at)) as f64 / seen.packets.len() as f64;
    assert!((0.35..0.6).contains(&share), "{share}");
}

#[test]
fn a_slot_delivers_at_its_end() {
    let slots = BlockErrors::default().probability(Probability::ZERO).slot(Span::from_micros(2500));
    let link = packet_a_ms(Limit::Unlimited, 0.0).block_errors(slots);
    let (seen, _) = watched(vec![link], flow(0, window(20), ever()));
    let slot = |at: Instant| at.as_nanos().is_multiple_of(2_500_000);
    assert!(seen.packets.len() > 20_000 && seen.packets.iter().all(|&(_, at)| slot(at)));
}

#[test]
fn a_step_of_delay_is_exact() {
    let ms = Span::from_millis;
    let step = |at, delay| TimedStep { at: ms(at), delay: Some(ms(delay)), ..TimedStep::default() };
    let steps = vec![step(2000, 30), step(4000, 10)];
    let link =
        packet_a_ms(Limit::Unlimited, 0.0).timing(Timing::Steps { steps, every: Some(ms(6000)) });
    let (seen, report) = watched(vec![link], flow(50, one_rule(0.0, 1000, 100.0), ever()));
    for &(number, at) in &seen.packets {
        // It leaves the link a millisecond after it was sent.
        let sent = ms(100 * number);
        let added = match (100 * number + 1) % 6000 {
            0..2000 => 0,
            2000..4000 => 30,
            _ => 10,
        };
        assert_eq!(at, Instant::ZERO + sent + ms(51 + added), "packet {number}");
    }
    assert!(seen.packets.len() > 590 && report.flows[0].lost == 0);
}

#[test]
fn a_shorter_delay_makes_no_packet_overtake() {
    let ms = Span::from_millis;
    let steps = vec![
        TimedStep { at: ms(0), delay: Some(ms(20)), ..TimedStep::default() },
        TimedStep { at: ms(1000), delay: Some(ms(0)), ..TimedStep::default() },
    ];
    let link = packet_a_ms(Limit::Unlimited, 0.0).timing(Timing::Steps { steps, every: None });
    let (seen, _) = watched(vec![link], flow(0, one_rule(0.0, 1000, 1.0), ever()));
    assert!(seen.packets.is_sorted_by_key(|&(_, at)| at));
    assert!(seen.packets.iter().map(|&(number, _)| number).eq(0..seen.packets.len() as u64));
    // The last before the step arrives at 1020 ms, with those of the next 20 ms.
    let last = Instant::ZERO + ms(1019);
    assert_eq!(seen.packets.iter().filter(|&&(_, at)| at == last).count(), 21);
}

#[test]
fn steps_change_rate_and_loss() {
    let probability = |value| Some(Probability::new(value).expect("a probability"));
    let steps = vec![
        TimedStep {
            at: Span::from_secs(20),
            rate: Some(Rate::from_mbps(6.0)),
            ..TimedStep::default()
        },
        TimedStep { at: Span::from_secs(40), loss: probability(0.25), ..TimedStep::default() },
    ];
    let link = packet_a_ms(Limit::Unlimited, 0.0).timing(Timing::Steps { steps, every: None });
    let (seen, report) = watched(vec![link], flow(10, window(100), ever()));
    let between = |from: u64, to: u64| {
        let within = Instant::ZERO + Span::from_secs(from)..Instant::ZERO + Span::from_secs(to);
        seen.packets.iter().filter(|(_, at)| within.contains(at)).count() as f64
            / (to - from) as f64
    };
    assert!((between(1, 20) - 1000.0).abs() < 1.0, "{}", between(1, 20));
    assert!((between(21, 40) - 500.0).abs() < 1.0, "{}", between(21, 40));
    assert!((between(41, 42) - 375.0).abs() < 60.0, "{}", between(41, 42));
    assert!(report.links[0].lost > 0);
}

#[test]
fn slots_lose_at_their_edges_alone() {
    let slots = Slots {
        every: Span::from_secs(5),
        delay: Distribution::Uniform { low: 0.0, high: 0.02 },
        loss: Probability::new(0.5).expect("a probability"),
        edge: Span::from_millis(500),
        ..Slots::default()
    };
    let link = packet_a_ms(Limit::Unlimited, 0.0).timing(Timing::Slots(slots));
    let (seen, report) = watched(vec![link], flow(0, one_rule(0.0, 1000, 10.0), ever()));
    // Fifty packets an edge, half of them.
    assert!((report.flows[0].lost as f64 - 300.0).abs() < 60.0, "{}", report.flows[0].lost);
    let delays = seen
        .packets
        .iter()
        .map(|&(number, at)| at - Instant::ZERO - Span::from_millis(10 * number));
    let mut delays: Vec<Span> = delays.collect();
    delays.dedup();
    assert_eq!(delays.len(), 12, "one delay a slot");
}

/// Two links of which ACKs cross the second, which is slow, and a Cubic flow.
fn over_slow_acks(thinning: Option<Thinning>) -> (Arrivals, Report) {
    // 52 B in 1 ms: half of the ACKs of a packet a millisecond, delayed ACKs off.
    let back = link(Rate::from_bps(208_000), Limit::Packets(Packets::new(200)), 0.0);
    let back = LinkSpec { thinning, ..back };
    let transport = Transport::Tcp {
        controller: AnyController::named("cubic").expect("is built in"),
        settings: exm_tcp::Settings::default(),
    };
    let flow = FlowSpec { transport, back: vec![1], ..flow(20, window(1), ever()) };
    watched(both_ways(packet_a_ms(Limit::Packets(Packets::new(100)), 0.0), back), flow)
}

#[test]
fn thinned_acks_leave_the_flow_its_rate() {
    let (_, plain) = over_slow_acks(None);
    let (_, thin) = over_slow_acks(Some(Thinning::Each(Packets::new(4))));
    assert!(thin.links[0].utilisation > 0.95, "{}", thin.links[0].utilisation);
    // The slow way back has a queue no more.
    assert!(thin.links[1].mean_queue * 5.0 < plain.links[1].mean_queue);
    let acks = &thin.flows[0].acks;
    assert_eq!(acks.lost, thin.links[1].dropped);
    assert!(acks.lost * 10 > acks.sent * 4, "{} of {}", acks.lost, acks.sent);
}

#[test]
fn thinning_by_n_sends_one_in_n_where_many_wait() {
    // ACKs of 52 B take 5 ms, and come each millisecond: one in five could pass, one in twenty does.
    let back = link(Rate::from_bps(83_200), Limit::Unlimited, 0.0)
        .aggregation(frames(64, Distribution::Fixed(0.4)).airtime(Span::from_secs(1)))
        .thinning(Thinning::Each(Packets::new(20)));
    let bare = FlowSpec { back: vec![1], ..flow(20, one_rule(0.0, 100_000, 1.0), ever()) };
    let there = packet_a_ms(Limit::Unlimited, 0.0);
    let (_, report) = watched(both_ways(there, back), bare);
    let acks = &report.flows[0].acks;
    let ratio = acks.arrived as f64 / (acks.arrived + acks.lost) as f64;
    assert!((0.05..0.055).contains(&ratio), "{ratio}");
}

proptest! {
    /// Frames lose nothing, and keep the order.
    #[test]
    fn frames_keep_the_order(
        packets in 1u64..70,
        airtime_us in 1u64..10_000,
        access_us in 0u64..5000,
        size in 40u64..3000,
    ) {
        let access = Distribution::Exponential { mean: access_us as f64 * 1e-6 };
        let settings = frames(packets, access).airtime(Span::from_micros(airtime_us));
        let link = packet_a_ms(Limit::Unlimited, 0.0).aggregation(settings);
        let flow = FlowSpec { packet_size: Bytes::new(size), ..flow(5, window(30), ever()) };
        let (seen, report) = watched(vec![link], flow);
        let numbers = seen.packets.iter().map(|&(number, _)| number);
        prop_assert!(numbers.eq(0..seen.packets.len() as u64));
        prop_assert!(seen.packets.is_sorted_by_key(|&(_, at)| at));
        prop_assert!(report.flows[0].under_way() <= 30);
    }
}
