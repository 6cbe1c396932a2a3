//! Properties of every network.

use super::*;
use crate::network::TCP_HEADER;
use exm_link::{Aggregation, BlockErrors, QueueKind, Reordering, Slots, Thinning, Timing};
use exm_tcp::{DelayedAcks, Settings};
use exm_trace::Trace;
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::Arc;

pub(super) fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![
        Just(Limit::Unlimited),
        (1u64..40).prop_map(|n| Limit::Packets(Packets::new(n))),
        (1500u64..40_000).prop_map(|n| Limit::Bytes(Bytes::new(n))),
    ]
}

/// Link number `index` of a chain.
fn links(index: usize) -> impl Strategy<Value = LinkSpec> {
    let losses = select(vec![0.0, 0.0, 0.02, 0.3]);
    let queues = select(QueueKind::NAMES.to_vec());
    let service = prop_oneof![
        3 => (1u64..40).prop_map(|mbps| Service::Fixed(Rate::from_bps(mbps * 1_000_000))),
        1 => traces(),
    ];
    (service, limits(), losses, (0u64..30, variations(), effects()), queues).prop_map(
        move |(service, limit, loss, (delay, (jitter, reordering), effects), queue)| {
            let is_fixed = matches!(service, Service::Fixed(_));
            LinkSpec {
                ends: (index, index + 1),
                delay: Span::from_millis(delay),
                jitter,
                reordering,
                queue: QueueKind::named(queue).expect("a known discipline"),
                service,
                buffer: limit,
                loss: Probability::new(loss).expect("a probability"),
                aggregation: effects.aggregation.clone().filter(|_| is_fixed),
                timing: effects.timing.clone().filter(|_| is_fixed),
                thinning: effects.thinning.filter(|_| is_fixed),
                ..effects
            }
        },
    )
}

/// Links that do what only some do; most do none of it.
fn effects() -> impl Strategy<Value = LinkSpec> {
    let frames = (1u64..70, select(vec![0.0, 0.0003, 0.004])).prop_map(|(packets, mean)| {
        let settings = Aggregation::default().packets(Packets::new(packets));
        settings.access(Distribution::Exponential { mean })
    });
    let errors = (0.0..0.9, 0u64..5000, 0u64..5000).prop_map(|(probability, step, slot)| {
        let probability = Probability::new(probability).expect("a probability");
        let errors = BlockErrors::default().probability(probability);
        errors.step(Span::from_micros(step)).slot(Span::from_micros(slot))
    });
    let slots = (1u64..2000, 0.0..0.9, 0u64..300).prop_map(|(every, loss, edge)| {
        Timing::Slots(Slots {
            every: Span::from_millis(every),
            delay: Distribution::Uniform { low: 0.0, high: 0.05 },
            lowest_rate: Some(Rate::from_bps(500_000)),
            loss: Probability::new(loss).expect("a probability"),
            edge: Span::from_millis(edge),
        })
    });
    let thinning = prop_oneof![
        (1u64..9).prop_map(|n| Thinning::Each(Packets::new(n))),
        (0u64..30).prop_map(|ms| Thinning::Every(Span::from_millis(ms))),
    ];
    let some = (
        prop::option::weighted(0.2, frames),
        prop::option::weighted(0.2, errors),
        prop::option::weighted(0.2, slots),
        prop::option::weighted(0.2, thinning),
    );
    some.prop_map(|(aggregation, block_errors, timing, thinning)| LinkSpec {
        aggregation,
        block_errors,
        timing,
        thinning,
        ..link(Rate::from_mbps(1.0), Limit::Unlimited, 0.0)
    })
}

/// Half of the links have a constant delay.
fn variations() -> impl Strategy<Value = (Distribution, Reordering)> {
    let held_back = (1u64..40).prop_map(|ms| Reordering {
        probability: Probability::new(0.1).expect("a probability"),
        extra: Span::from_millis(ms),
    });
    prop_oneof![
        3 => Just((LinkSpec::NO_JITTER, LinkSpec::NO_REORDERING)),
        1 => Just((Distribution::Exponential { mean: 0.005 }, LinkSpec::NO_REORDERING)),
        1 => held_back.clone().prop_map(|held_back| (LinkSpec::NO_JITTER, held_back)),
        1 => held_back.prop_map(|held_back| (Distribution::Uniform { low: 0.0, high: 0.01 }, held_back)),
    ]
}

/// Opportunities at random milliseconds, some coinciding.
fn traces() -> impl Strategy<Value = Service> {
    prop::collection::vec(0u64..4, 2..60).prop_map(|gaps| {
        let mut at = Instant::from_nanos(1_000_000);
        let times = gaps.into_iter().map(|gap| {
            at += Span::from_millis(gap);
            at
        });
        Service::Trace(Arc::new(Trace::new(times.collect()).expect("a sound trace")))
    })
}

fn traffics() -> impl Strategy<Value = OnOff> {
    let off = select(vec![
        Distribution::Fixed(0.0),
        Distribution::Exponential { mean: 0.5 },
        Distribution::Uniform { low: 0.0, high: 0.3 },
    ]);
    let on = select(vec![
        OnFor::Always,
        OnFor::Time(Distribution::Exponential { mean: 0.7 }),
        OnFor::Time(Distribution::Fixed(0.1)),
        OnFor::Packets(Distribution::Exponential { mean: 30.0 }),
        OnFor::Packets(Distribution::Fixed(1.0)),
    ]);
    (on, off).prop_map(|(on, off)| OnOff { on, off })
}

fn flows(links: usize) -> impl Strategy<Value = FlowSpec> {
    let paths = (0..links).prop_flat_map(move |from| (Just(from), from + 1..=links));
    let senders = prop_oneof![4 => bare(), 4 => tcp(), 1 => sprout()];
    (paths, 0u64..200, senders, traffics(), any::<bool>()).prop_map(
        move |((from, to), delay, (size, transport), traffic, returns)| FlowSpec {
            path: (from..to).collect(),
            // The return links follow, the last one first.
            back: if returns { (2 * links - to..2 * links - from).collect() } else { vec![] },
            packet_size: Bytes::new(size),
            transport,
            ..flow(delay, window(1), traffic)
        },
    )
}

type Sender = (u64, Transport);

fn sprout() -> impl Strategy<Value = Sender> {
    let methods = select(vec![exm_sprout::Method::default(), exm_sprout::Method::Ewma]);
    (select(vec![512u64, 1500]), methods).prop_map(|(size, method)| {
        (size, Transport::Sprout(exm_sprout::Settings { method, ..Default::default() }))
    })
}

fn bare() -> impl Strategy<Value = Sender> {
    let controllers =
        select(vec![aimd(), window(7), one_rule(1.0, 1, 2.0), one_rule(0.9, 3, 0.5), window(0)]);
    let sizes = select(vec![40u64, 512, 1500]);
    (controllers, sizes, any::<bool>())
        .prop_map(|(controller, size, timer)| (size, Transport::Bare { controller, timer }))
}

fn tcp() -> impl Strategy<Value = Sender> {
    let named = |&name: &&str| AnyController::named(name).expect("a known controller");
    let mut controllers: Vec<AnyController> = AnyController::NAMES.iter().map(named).collect();
    controllers.extend([one_rule(1.0, 1, 2.0), window(0)]);
    let windows = prop::option::of((1u64..30).prop_map(Packets::new));
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (select(controllers), select(vec![512u64, 1500]), 1u64..20, windows, flags).prop_map(
        |(controller, size, initial, receive_window, (handshake, ecn, delayed, persistent))| {
            let settings = Settings {
                initial_window: Packets::new(initial),
                handshake,
                delayed_acks: delayed.then(DelayedAcks::default),
                ecn,
                receive_window,
                persistent,
                ..Settings::default()
            };
            (size, Transport::Tcp { controller, settings })
        },
    )
}

/// A chain of links, each flow over some part of it.
pub(super) fn networks() -> impl Strategy<Value = Network> {
    let chain = prop_oneof![
        (links(0), Just(())).prop_map(|(a, ())| vec![a]),
        (links(0), links(1), links(2)).prop_map(|(a, b, c)| vec![a, b, c]),
    ];
    let chain = (chain, links(0)).prop_map(|(mut links, like)| {
        // As many links lead back, for all flows or none.
        let there = links.len();
        links.extend((0..there).rev().map(|to| LinkSpec { ends: (to + 1, to), ..like.clone() }));
        links
    });
    chain.prop_flat_map(|links| {
        let flows = prop::collection::vec(flows(links.len() / 2), 1..7);
        (Just(links), flows).prop_map(|(links, flows)| network(links, flows, Span::from_secs(6)))
    })
}

/// The round trip of a packet of `size` that finds every queue empty; waiting for an opportunity
/// counts as queueing.
fn least_rtt(network: &Network, flow: &FlowSpec, size: Bytes) -> Span {
    let across = |size| {
        move |&link: &usize| {
            let link = &network.links()[link];
            let transmission = match &link.service {
                Service::Fixed(rate) => rate.service_time(size),
                _ => Span::ZERO,
            };
            link.delay + transmission
        }
    };
    let there: Span = flow.path.iter().map(across(size)).sum();
    there + flow.back.iter().map(across(TCP_HEADER)).sum() + flow.extra_delay
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    /// Every packet sent is delivered, lost, dropped or in flight, by every counter.
    #[test]
    fn packets_are_conserved(network in networks(), seed in any::<u64>()) {
        let report = run(&network, seed);
        let under_way: u64 = report.flows.iter().map(FlowReport::under_way).sum();
        prop_assert_eq!(report.in_network, under_way);
        let there = network.links().len() / 2;
        let (links_there, links_back) = report.links.split_at(there);
        let lost: u64 = report.flows.iter().map(|f| f.lost).sum();
        prop_assert_eq!(lost, links_there.iter().map(|l| l.lost).sum::<u64>());
        let acks_lost: u64 = report.flows.iter().map(|f| f.acks.lost).sum();
        prop_assert_eq!(acks_lost, links_back.iter().map(|l| l.lost + l.dropped).sum::<u64>());
        for (index, link) in links_there.iter().enumerate() {
            let across = network.flows().iter().zip(&report.flows);
            let dropped = across.filter_map(|(spec, flow)| {
                let hop = spec.path.iter().position(|&link| link == index)?;
                Some(flow.dropped[hop])
            });
            prop_assert_eq!(link.dropped, dropped.sum::<u64>());
            prop_assert!(link.arrived >= link.transmitted + link.dropped);
        }
    }

    /// No link exceeds its rate or its buffer, and no packet is faster than its propagation delay.
    #[test]
    fn links_keep_their_limits(network in networks(), seed in any::<u64>()) {
        let report = run(&network, seed);
        for (spec, link) in network.links().iter().zip(&report.links) {
            prop_assert!((0.0..=1.0).contains(&link.utilisation));
            let bits = spec.service.rate().as_bps() as f64 * network.duration().as_secs_f64();
            // Service times are rounded to the nanosecond: at 40 B and 40 Mbps by at most 1 in 16
            // 000.
            let fixed = matches!(spec.service, Service::Fixed(_));
            prop_assert!(!fixed || link.bytes.get() as f64 * 8.0 <= bits * 1.0001);
            let most = match spec.buffer {
                Limit::Packets(most) => most.get(),
                Limit::Bytes(most) => most.get() / 40,
                Limit::Unlimited => u64::MAX,
            };
            prop_assert!(link.max_queue <= most);
            prop_assert!(link.mean_queue <= link.max_queue as f64);
        }
        for (spec, flow) in network.flows().iter().zip(&report.flows) {
            let least = least_rtt(&network, spec, spec.packet_size);
            if let Transport::Tcp { .. } = spec.transport {
                let least = least_rtt(&network, spec, TCP_HEADER);
                prop_assert!(flow.rtt.min().is_none_or(|rtt| rtt >= least));
                prop_assert!(flow.delivered <= flow.arrived && flow.retransmitted <= flow.sent);
            } else {
                prop_assert!(flow.rtt.min().is_none_or(|rtt| rtt >= least));
                let constant =
                    spec.path.iter().all(|&link| network.links()[link].has_constant_delay());
                let is_sprout = matches!(spec.transport, Transport::Sprout(_));
                if !spec.back.is_empty() || is_sprout || !constant {
                    continue;
                }
                let waited = flow.rtt.sum_nanos()
                    - u128::from(flow.delivered) * u128::from(least.as_nanos());
                prop_assert_eq!(flow.queueing_delay.sum_nanos(), waited);
            }
            prop_assert!(flow.on_time <= network.duration());
            prop_assert!(flow.share_time <= flow.on_time.as_secs_f64() * (1.0 + 1e-12));
        }
    }

    /// The same seed gives the same report.
    #[test]
    fn a_seed_decides_everything(network in networks(), seed in any::<u64>()) {
        prop_assert_eq!(run(&network, seed), run(&network, seed));
    }

    /// Observing each event, for which links process individual events instead of looking ahead,
    /// changes nothing; and links that look ahead are in the same state whenever they are sampled.
    #[test]
    fn looking_ahead_changes_no_result(
        network in networks(),
        seed in any::<u64>(),
    ) {
        let mut each = Links { pace: Pace::EachEvent, seen: Vec::new() };
        prop_assert_eq!(run_observed(&network, seed, &mut each), run(&network, seed));
        let mut every = Links { pace: Pace::Every(Span::from_millis(37)), seen: Vec::new() };
        run_observed(&network, seed, &mut every);
        for sample in &every.seen {
            let before = |seen: &&LinkSample| seen.link == sample.link && seen.at <= sample.at;
            let last = each.seen.iter().rev().find(before);
            let last = last.map_or((0, 0, false), |s| (s.packets, s.bytes, s.busy));
            prop_assert_eq!((sample.packets, sample.bytes, sample.busy), last);
        }
    }

    /// Flows on separate links get the same results whatever their numbers.
    #[test]
    fn flows_on_separate_links_are_independent(
        mbps in (1u64..20, 1u64..20),
        delays in (1u64..100, 1u64..100),
        limit in limits(),
    ) {
        let on = |link: usize, delay| FlowSpec { path: vec![link], ..flow(delay, aimd(), ever()) };
        let at = |mbps: u64| link(Rate::from_bps(mbps * 1_000_000), limit, 0.0);
        let links = vec![at(mbps.0), at(mbps.1)];
        let secs = Span::from_secs(5);
        let (a, b) = (on(0, delays.0), on(1, delays.1));
        let one = run(&network(links.clone(), vec![a.clone(), b.clone()], secs), 1);
        let other = run(&network(links, vec![b, a], secs), 1);
        prop_assert_eq!(&one.flows[0], &other.flows[1]);
        prop_assert_eq!(&one.flows[1], &other.flows[0]);
        prop_assert_eq!(one.links, other.links);
    }
}

/// Records the samples of links.
struct Links {
    pace: Pace,
    seen: Vec<LinkSample>,
}

impl Observer for Links {
    fn pace(&self) -> Pace {
        self.pace
    }

    fn flow(&mut self, _sample: &FlowSample) {}

    fn link(&mut self, sample: &LinkSample) {
        self.seen.push(*sample);
    }
}
