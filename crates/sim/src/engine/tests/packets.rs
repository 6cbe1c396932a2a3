//! Where packets are, and what Sprout believes.

use super::laws::networks;
use super::simulation::{changes, drive_partly, ms};
use super::*;
use exm_sprout::{HORIZON, Method, Settings};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// The flow, number, send time and direction of a packet identify it.
type Key = (usize, u64, Instant, bool);

fn key(flow: usize, packet: &PacketId) -> Key {
    (flow, packet.sequence, packet.sent_at, packet.is_ack)
}

fn keys(samples: &[PacketSample]) -> BTreeSet<Key> {
    samples.iter().map(|sample| key(sample.flow, &sample.packet)).collect()
}

/// The packets that each link transmits.
fn transmitted<O: Observer>(simulation: &Simulation<O>, by: usize) -> Option<PacketSample> {
    let packets = simulation.packets();
    packets.into_iter().find(
        |sample| matches!(sample.whereabouts, Whereabouts::Transmitting { link, .. } if link == by),
    )
}

/// What happened to each packet, in order.
#[derive(Clone, Debug, Default)]
struct Fates(Vec<(Key, Instant, EventKind)>);

impl Observer for Fates {
    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, event: &Event) {
        if let EventKind::Sent { packet, .. }
        | EventKind::Enqueued { packet, .. }
        | EventKind::Dropped { packet, .. }
        | EventKind::Lost { packet, .. }
        | EventKind::Delivered { packet } = event.kind
        {
            self.0.push((key(event.flow, &packet), event.at, event.kind));
        }
    }
}

/// The packets agree with the counters and with the samples of the links.
fn check_counts<O: Observer>(simulation: &Simulation<O>) {
    let (packets, report) = (simulation.packets(), simulation.report());
    assert_eq!(packets.len() as u64, report.in_network);
    assert_eq!(keys(&packets).len(), packets.len(), "each is reported once");
    for (flow, counts) in report.flows.iter().enumerate() {
        let count = |is_ack| {
            let own = |s: &&PacketSample| s.flow == flow && s.packet.is_ack == is_ack;
            packets.iter().filter(own).count() as u64
        };
        let gone = counts.arrived + counts.lost + counts.dropped.iter().sum::<u64>();
        assert_eq!(count(false), counts.sent - gone);
        assert_eq!(count(true), counts.acks.sent - counts.acks.arrived - counts.acks.lost);
    }
    for index in 0..report.links.len() {
        let places = packets.iter().filter_map(|sample| match sample.whereabouts {
            Whereabouts::Waiting { link, place } if link == index => Some(place),
            _ => None,
        });
        let waiting = simulation.link(index).expect("a link").packets as usize;
        assert_eq!(places.collect::<Vec<_>>(), Vec::from_iter(0..waiting));
        let transmits = |s: &&PacketSample| matches!(s.whereabouts, Whereabouts::Transmitting { link, .. } if link == index);
        let in_frames = simulation.network().links()[index].aggregation.is_some();
        assert!(in_frames || packets.iter().filter(transmits).count() <= 1);
    }
    for sample in &packets {
        check_times(simulation, sample);
    }
}

fn check_times<O: Observer>(simulation: &Simulation<O>, sample: &PacketSample) {
    let now = simulation.now();
    let spec = &simulation.network().flows()[sample.flow];
    match sample.whereabouts {
        Whereabouts::Waiting { .. } => {}
        Whereabouts::Transmitting { ends_at, .. } => assert!(ends_at >= now),
        Whereabouts::Propagating { link, left_at, arrives_at } => {
            assert!(sample.packet.sent_at <= left_at && left_at <= now && now <= arrives_at);
            let path = if sample.packet.is_ack { &spec.back } else { &spec.path };
            assert!(path.split_last().expect("a path").1.contains(&link));
        }
        Whereabouts::Arriving { link, left_at, arrives_at, back } => {
            assert!(sample.packet.sent_at <= left_at && left_at <= now && now <= arrives_at);
            assert!(back <= arrives_at - left_at && (back == Span::ZERO || spec.back.is_empty()));
            assert!(Some(&link) == spec.path.last() && !sample.packet.is_ack);
        }
        Whereabouts::Returning { link, left_at, arrives_at } => {
            assert!(sample.packet.sent_at <= left_at && left_at <= now && now <= arrives_at);
            assert!(Some(&link) == spec.back.last() && sample.packet.is_ack);
        }
    }
}

/// What happens next to each packet that propagates happens when it was said to.
fn check_arrivals(simulation: &Simulation<Fates>) {
    let mut later = simulation.clone();
    later.observer_mut().0.clear();
    let until = simulation.now() + Span::from_millis(400);
    later.run_until(until);
    let (until, fates) = (later.now(), &later.observer().0);
    for sample in simulation.packets() {
        let own = key(sample.flow, &sample.packet);
        let next = || fates.iter().find(|(key, ..)| *key == own).map(|&(_, at, kind)| (at, kind));
        match sample.whereabouts {
            Whereabouts::Propagating { arrives_at, .. } if arrives_at < until => {
                let (at, kind) = next().expect("it arrives at a link");
                assert_eq!(at, arrives_at, "{kind:?}");
                assert!(!matches!(kind, EventKind::Delivered { .. }));
            }
            Whereabouts::Arriving { arrives_at, .. } if arrives_at < until => {
                let (at, kind) = next().expect("it arrives");
                assert!(at == arrives_at && matches!(kind, EventKind::Delivered { .. }));
            }
            Whereabouts::Returning { arrives_at, .. } if arrives_at < until => {
                let mut copy = simulation.clone();
                copy.run_until(arrives_at);
                assert!(keys(&copy.packets()).contains(&own));
                copy.run_until(arrives_at + Span::from_nanos(1));
                assert!(!keys(&copy.packets()).contains(&own));
            }
            Whereabouts::Transmitting { link, ends_at } if ends_at < until => {
                let mut copy = simulation.clone();
                let before = Instant::from_nanos(ends_at.as_nanos() - 1);
                copy.run_until(before.max(copy.now()));
                let packets = copy.packets();
                let last = packets.iter().find(|other| key(other.flow, &other.packet) == own);
                assert!(last == Some(&sample) || ends_at <= copy.now());
                copy.run_until(ends_at + Span::from_nanos(1));
                let next = transmitted(&copy, link);
                assert_ne!(next.map(|next| key(next.flow, &next.packet)), Some(own));
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// At any time, the packets reported are those sent and neither delivered, dropped nor lost; what they
    /// do next comes when it was said to; and a snapshot reports the same packets.
    #[test]
    fn every_packet_is_somewhere(
        network in networks(),
        seed in any::<u64>(),
        before in changes(),
        stops in prop::collection::vec((0u64..500, 0usize..30), 1..8),
    ) {
        let mut simulation = Simulation::observed(network, seed, Fates::default());
        drive_partly(&mut simulation, &before);
        for (millis, steps) in stops {
            simulation.run_until(simulation.now() + Span::from_millis(millis));
            check_counts(&simulation);
            for _ in 0..steps {
                simulation.step();
                check_counts(&simulation);
            }
            check_arrivals(&simulation);
            let mut copy = simulation.clone();
            prop_assert_eq!(copy.packets(), simulation.packets());
            copy.step();
            simulation.step();
            prop_assert_eq!(copy.packets(), simulation.packets());
        }
    }
}

/// A packet's way: it waits, is transmitted, and propagates to the receiver; half of the propagation delay
/// is the ACK's.
#[test]
fn a_packet_waits_is_transmitted_and_propagates() {
    let link = LinkSpec { delay: Span::from_millis(10), ..packet_a_ms(Limit::Unlimited, 0.0) };
    let flows = vec![flow(50, window(3), ever())];
    let mut simulation = Simulation::new(network(vec![link], flows, Span::from_secs(1)), 1);
    simulation.run_until(Instant::ZERO + Span::from_micros(1500));
    let packets = simulation.packets();
    let whereabouts = |sequence| {
        let found = packets.iter().find(|sample| sample.packet.sequence == sequence);
        found.map(|sample| sample.whereabouts)
    };
    assert_eq!(whereabouts(2), Some(Whereabouts::Waiting { link: 0, place: 0 }));
    assert_eq!(whereabouts(1), Some(Whereabouts::Transmitting { link: 0, ends_at: ms(2) }));
    let (left_at, arrives_at, back) = (ms(1), ms(61), Span::from_millis(30));
    let arriving = Whereabouts::Arriving { link: 0, left_at, arrives_at, back };
    assert_eq!(whereabouts(0), Some(arriving));
    assert!(simulation.sprout(0).is_none() && simulation.sprout(1).is_none());
}

fn sprout(method: Method) -> Simulation {
    let link = link(Rate::from_mbps(6.0), Limit::Unlimited, 0.0);
    let transport = Transport::Sprout(Settings { method, ..Settings::default() });
    let flow = FlowSpec { transport, ..flow(40, window(1), ever()) };
    Simulation::new(network(vec![link], vec![flow], Span::from_secs(60)), 1)
}

/// The belief is a distribution that follows the rate of the link, here 500 packets a second and then 167;
/// forecasts follow it, and reach the sender.
#[test]
fn sprouts_belief_follows_the_links_rate() {
    let mut simulation = sprout(Method::default());
    let mut last = Bytes::ZERO;
    for (secs, rate) in [(10, 500.0), (20, 500.0), (30, 500.0 / 3.0)] {
        simulation.run_until(ms(1000 * secs));
        let sample = simulation.sprout(0).expect("runs Sprout");
        let belief = sample.belief.expect("Bayesian");
        assert!((belief.probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-6);
        assert!((belief.mean() - rate).abs() < 0.25 * rate, "{} for {rate}", belief.mean());
        let bits = belief.mean() * 12_000.0;
        assert!((sample.mean_rate.as_bps() as f64 - bits).abs() < 0.001 * bits);
        // Cautious, but not much less than the mean.
        let expected = belief.mean() * 1500.0 * 0.02 * HORIZON as f64;
        let forecast = sample.forecast.delivered[HORIZON - 1].get() as f64;
        assert!((0.4..1.0).contains(&(forecast / expected)), "{forecast} of {expected}");
        let age = sample.forecast.tick - sample.followed.tick;
        assert!(age <= 3 && sample.followed.received > last, "{age} ticks");
        last = sample.followed.received;
        let (now, flow) = (simulation.now(), simulation.flow(0).expect("a flow"));
        assert_eq!((sample.at, sample.flow), (now, 0));
        assert_eq!(flow.cwnd.get(), (sample.window + sample.in_flight).get() / 1500);
        if secs == 20 {
            simulation.set_rate(0, Rate::from_mbps(2.0)).expect("a fixed rate");
        }
    }
    let mut average = sprout(Method::Ewma);
    average.run_until(ms(10_000));
    let sample = average.sprout(0).expect("runs Sprout");
    assert!(sample.belief.is_none() && sample.mean_rate > Rate::from_mbps(4.0));
}
