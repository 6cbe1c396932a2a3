//! A simulation that is stopped, copied, changed and watched.

use super::laws::{limits, networks};
use super::*;
use crate::network::Host;
use exm_link::QueueKind;
use exm_remy::{Action, RemyCc, RuleTable, Signal, SignalSet};
use exm_tcp::Settings;
use proptest::prelude::*;
use proptest::sample::select;

/// A change at some time. Links and flows are taken modulo their number.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Rate(usize, Rate),
    Delay(usize, Span),
    ExtraDelay(usize, Span),
    Buffer(usize, Limit),
    Queue(usize, &'static str),
    Loss(usize, f64),
    Controller(usize, &'static str),
    Traffic(usize, Option<OnOff>),
}

impl Change {
    fn apply<O: Observer>(&self, simulation: &mut Simulation<O>) -> Result<(), ChangeError> {
        let links = simulation.network().links().len();
        let flows = simulation.network().flows().len();
        match self {
            Change::Rate(link, rate) => simulation.set_rate(link % links, *rate),
            Change::Delay(link, delay) => simulation.set_delay(link % links, *delay),
            Change::ExtraDelay(flow, delay) => simulation.set_extra_delay(flow % flows, *delay),
            Change::Buffer(link, limit) => simulation.set_buffer(link % links, *limit),
            Change::Queue(link, name) => {
                let queue = QueueKind::named(name).expect("a known discipline");
                simulation.set_queue(link % links, queue)
            }
            Change::Loss(link, p) => simulation.set_loss(link % links, probability(*p)),
            Change::Controller(flow, name) => {
                let controller = AnyController::named(name).expect("a known controller");
                simulation.set_controller(flow % flows, controller)
            }
            Change::Traffic(flow, traffic) => {
                let traffic = traffic.clone().map_or_else(Traffic::none, Traffic::from);
                simulation.set_traffic(flow % flows, traffic)
            }
        }
    }
}

fn probability(p: f64) -> Probability {
    Probability::new(p).expect("a probability")
}

pub(super) fn changes() -> impl Strategy<Value = Vec<(Span, Change)>> {
    let which = 0usize..12;
    let millis = (0u64..300).prop_map(Span::from_millis);
    let traffic = select(vec![None, Some(OnOff::always()), Some(short_flows())]);
    let change = prop_oneof![
        (which.clone(), 1u64..40).prop_map(|(n, m)| Change::Rate(n, Rate::from_mbps(m as f64))),
        (which.clone(), millis.clone()).prop_map(|(n, delay)| Change::Delay(n, delay)),
        (which.clone(), millis).prop_map(|(n, delay)| Change::ExtraDelay(n, delay)),
        (which.clone(), limits()).prop_map(|(n, limit)| Change::Buffer(n, limit)),
        (which.clone(), select(QueueKind::NAMES.to_vec())).prop_map(|(n, q)| Change::Queue(n, q)),
        (which.clone(), select(vec![0.0, 0.02, 0.5])).prop_map(|(n, p)| Change::Loss(n, p)),
        (which.clone(), select(AnyController::NAMES.to_vec()))
            .prop_map(|(n, name)| Change::Controller(n, name)),
        (which, traffic).prop_map(|(n, traffic)| Change::Traffic(n, traffic)),
    ];
    prop::collection::vec(((0u64..1500).prop_map(Span::from_millis), change), 0..12)
}

fn short_flows() -> OnOff {
    let on = OnFor::Packets(Distribution::Exponential { mean: 20.0 });
    OnOff { on, off: Distribution::Exponential { mean: 0.1 } }
}

/// Runs `simulation` to its end through `changes`, each with the time since the one before it. Changes
/// that are impossible for the network (a rate for a trace) are rejected.
fn drive<O: Observer>(simulation: &mut Simulation<O>, changes: &[(Span, Change)]) {
    for (after, change) in changes {
        simulation.run_until(simulation.now() + *after);
        let _ = change.apply(simulation);
    }
    simulation.run_until(simulation.end());
}

/// Counts events by kind, for each flow and link.
#[derive(Clone, Debug, Default)]
struct Count {
    last: Instant,
    backwards: u64,
    flows: Vec<Flow>,
    dropped: Vec<u64>,
    marked: Vec<u64>,
    lost: Vec<u64>,
    enqueued: Vec<u64>,
    transmitted: Vec<u64>,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    sent: u64,
    acks_sent: u64,
    retransmitted: u64,
    arrived: u64,
    acks_arrived: u64,
    delivered: u64,
    rtts: u64,
    started: u64,
    stopped: u64,
    on: bool,
    limited: Option<Limited>,
}

/// The entry at `index`, which is created if it does not exist.
fn at<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}

impl Observer for Count {
    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, event: &Event) {
        let early = matches!(event.kind, EventKind::Lost { .. } | EventKind::Transmitted { .. });
        self.backwards += u64::from(event.at < self.last);
        if !early {
            self.last = event.at;
        }
        let flow = at(&mut self.flows, event.flow);
        match event.kind {
            EventKind::Started => (flow.started, flow.on) = (flow.started + 1, true),
            EventKind::Stopped => (flow.stopped, flow.on) = (flow.stopped + 1, false),
            EventKind::Sent { packet, .. } if packet.is_ack => flow.acks_sent += 1,
            EventKind::Sent { retransmission, .. } => {
                flow.sent += 1;
                flow.retransmitted += u64::from(retransmission);
            }
            EventKind::Delivered { packet } if packet.is_ack => flow.acks_arrived += 1,
            EventKind::Delivered { .. } => flow.arrived += 1,
            EventKind::Acknowledged { delivered, rtt } => {
                flow.delivered += delivered;
                flow.rtts += u64::from(rtt.is_some());
            }
            EventKind::Limited(limited) => {
                assert_ne!(flow.limited, Some(limited), "only changes are reported");
                flow.limited = Some(limited);
            }
            EventKind::Enqueued { link, .. } => *at(&mut self.enqueued, link) += 1,
            EventKind::Dropped { link, .. } => *at(&mut self.dropped, link) += 1,
            EventKind::Marked { link, .. } => *at(&mut self.marked, link) += 1,
            EventKind::Lost { link, .. } => *at(&mut self.lost, link) += 1,
            EventKind::Transmitted { link, .. } => *at(&mut self.transmitted, link) += 1,
        }
    }
}

impl Count {
    /// The counts agree with `report`.
    fn check(&mut self, report: &Report) {
        assert_eq!(self.backwards, 0);
        for (index, expected) in report.flows.iter().enumerate() {
            let flow = at(&mut self.flows, index);
            assert_eq!(flow.sent, expected.sent);
            assert_eq!(flow.arrived, expected.arrived);
            assert_eq!(flow.acks_sent, expected.acks.sent);
            assert_eq!(flow.rtts, expected.rtt.count());
            assert_eq!(flow.started, flow.stopped + u64::from(flow.on));
        }
        for (index, expected) in report.links.iter().enumerate() {
            assert_eq!(*at(&mut self.dropped, index), expected.dropped);
            assert_eq!(*at(&mut self.marked, index), expected.marked);
            assert_eq!(*at(&mut self.lost, index), expected.lost);
            assert_eq!(*at(&mut self.transmitted, index), expected.transmitted);
            assert!(*at(&mut self.enqueued, index) <= expected.arrived);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    /// Wherever it is stopped, and whether or not it is stepped, it reports what `run` does, and at
    /// each stop the counts are those of that time.
    #[test]
    fn stopping_changes_no_result(
        network in networks(),
        seed in any::<u64>(),
        stops in prop::collection::vec((0u64..900, 0usize..30), 0..8),
    ) {
        let mut simulation = Simulation::new(network.clone(), seed);
        for (millis, steps) in stops {
            simulation.run_until(simulation.now() + Span::from_millis(millis));
            for _ in 0..steps {
                let due = simulation.next_event();
                prop_assert!(due.is_none_or(|due| due >= simulation.now()));
                prop_assert_eq!(simulation.step(), due);
            }
            let report = simulation.report();
            prop_assert_eq!(report.duration, simulation.now() - Instant::ZERO);
            let under_way: u64 = report.flows.iter().map(FlowReport::under_way).sum();
            prop_assert_eq!(report.in_network, under_way);
        }
        prop_assert_eq!(simulation.finish(), run(&network, seed));
    }

    /// Changes are reproducible, a copy continues as its original does, and every packet is accounted
    /// for.
    #[test]
    fn changes_are_exact(
        network in networks(),
        seed in any::<u64>(),
        before in changes(),
        after in changes(),
    ) {
        let mut simulation = Simulation::observed(network.clone(), seed, Count::default());
        drive_partly(&mut simulation, &before);
        let mut copy = simulation.clone();
        drive(&mut simulation, &after);
        drive(&mut copy, &after);
        let report = simulation.report();
        prop_assert_eq!(&copy.report(), &report);
        let mut again = Simulation::new(network, seed);
        drive_partly(&mut again, &before);
        drive(&mut again, &after);
        prop_assert_eq!(&again.report(), &report);
        let under_way: u64 = report.flows.iter().map(FlowReport::under_way).sum();
        prop_assert_eq!(report.in_network, under_way);
        simulation.observer_mut().check(&report);
    }

    /// Events agree with the report's counts, and observing them changes nothing.
    #[test]
    fn events_agree_with_the_report(network in networks(), seed in any::<u64>()) {
        let mut count = Count::default();
        let report = run_observed(&network, seed, &mut count);
        prop_assert_eq!(&report, &run(&network, seed));
        // A link of fixed rate reports the packets that it will lose ahead of time.
        for (flow, expected) in count.flows.iter().zip(&report.flows) {
            prop_assert_eq!(flow.retransmitted, expected.retransmitted);
        }
        count.check(&report);
    }
}

pub(super) fn drive_partly<O: Observer>(
    simulation: &mut Simulation<O>,
    changes: &[(Span, Change)],
) {
    for (after, change) in changes {
        simulation.run_until(simulation.now() + *after / 8);
        let _ = change.apply(simulation);
    }
}

pub(super) fn ms(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

fn millis(at: Instant) -> u64 {
    at.as_nanos() / 1_000_000
}

/// The send and arrival times of each packet, by number.
#[derive(Clone, Debug, Default)]
struct Arrivals(Vec<(u64, Instant, Instant)>);

impl Observer for Arrivals {
    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, event: &Event) {
        if let EventKind::Delivered { packet } = event.kind {
            self.0.push((packet.sequence, packet.sent_at, event.at));
        }
    }
}

/// A sender of a packet every 10 ms over an idle link that takes 1 ms to transmit one (12 Mbps).
fn paced(seconds: u64) -> Network {
    let link = link(Rate::from_mbps(12.0), Limit::Unlimited, 0.0);
    network(vec![link], vec![flow(50, one_rule(0.0, 1000, 10.0), ever())], Span::from_secs(seconds))
}

/// A new delay applies to packets that leave the link from then on, which do not overtake others.
#[test]
fn packets_do_not_overtake_where_a_delay_is_shortened() {
    let mut simulation = Simulation::observed(paced(1), 1, Arrivals::default());
    simulation.run_until(ms(500));
    simulation.set_extra_delay(0, Span::from_millis(5)).unwrap();
    simulation.run_until(ms(1000));
    let arrivals = &simulation.observer().0;
    assert!(arrivals.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].2 <= pair[1].2));
    // The one sent at 490 ms left the link at 491 ms, and arrives 50 ms later; those sent until 530 ms
    // must wait for it.
    let arrival = |sent| {
        let found = arrivals.iter().find(|(_, sent_at, _)| *sent_at == ms(sent));
        found.map(|&(_, _, at)| millis(at))
    };
    assert_eq!(arrival(490), Some(541));
    assert_eq!([500, 520, 530].map(arrival), [Some(541); 3]);
    assert_eq!(arrival(540), Some(546));
}

/// A new rate applies from the next packet on; the one in transmission is not affected.
#[test]
fn a_new_rate_applies_from_the_next_packet_on() {
    let link = link(Rate::from_mbps(12.0), Limit::Unlimited, 0.0);
    let flows = vec![flow(0, window(4), ever())];
    let network = network(vec![link], flows, Span::from_secs(1));
    let mut simulation = Simulation::observed(network, 1, Arrivals::default());
    simulation.run_until(Instant::ZERO + Span::from_micros(1500));
    simulation.set_rate(0, Rate::from_mbps(1.2)).unwrap();
    simulation.run_until(ms(50));
    let times = simulation.observer().0.iter().map(|&(_, _, at)| millis(at));
    assert_eq!(times.collect::<Vec<_>>(), [1, 2, 12, 22, 32, 42]);
    assert_eq!(simulation.network().links()[0].service.rate(), Rate::from_mbps(1.2));
}

/// Waiting packets stay when a buffer is made smaller; new arrivals meet the new limit.
#[test]
fn a_new_buffer_applies_to_new_arrivals() {
    let link = link(Rate::from_mbps(1.2), Limit::Unlimited, 0.0);
    let flows = vec![flow(0, window(20), ever())];
    let mut simulation = Simulation::new(network(vec![link], flows, Span::from_secs(10)), 1);
    simulation.run_until(ms(1));
    assert_eq!(simulation.link(0).unwrap().packets, 19);
    simulation.set_buffer(0, Limit::Packets(Packets::new(3))).unwrap();
    assert_eq!(simulation.link(0).unwrap().packets, 19);
    simulation.run_until(Instant::ZERO + Span::from_secs(9));
    assert!(simulation.link(0).unwrap().packets <= 3);
    assert!(simulation.report().links[0].dropped > 0);
    assert_eq!(simulation.link(1), None);
}

/// Waiting packets move to the new queue, in order.
#[test]
fn waiting_packets_move_to_a_new_queue() {
    let link = link(Rate::from_mbps(1.2), Limit::Unlimited, 0.0);
    let flows = vec![flow(0, window(20), ever())];
    let network = network(vec![link], flows, Span::from_millis(400));
    let mut simulation = Simulation::observed(network, 1, Arrivals::default());
    simulation.run_until(ms(1));
    simulation.set_queue(0, QueueKind::named("fq-codel").unwrap()).unwrap();
    simulation.run_until(ms(400));
    let numbers: Vec<u64> = simulation.observer().0.iter().map(|&(number, ..)| number).collect();
    assert_eq!(numbers.len(), 39);
    // CoDel drops none in the first 100 ms (RFC 8289, section 4.2), and some after that.
    assert_eq!(numbers[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert!(numbers.is_sorted() && simulation.report().links[0].dropped > 0);
}

fn tcp(name: &str) -> Transport {
    let controller = AnyController::named(name).expect("a known controller");
    Transport::Tcp { controller, settings: Settings::default() }
}

/// A TCP connection continues under another controller: BBR, which needs delivery rate samples that
/// Reno does not, empties the queue that Reno keeps.
#[test]
fn a_connection_continues_under_another_controller() {
    let link = link(Rate::from_mbps(10.0), Limit::Packets(Packets::new(400)), 0.0);
    let flow = FlowSpec { transport: tcp("reno"), ..flow(40, window(1), ever()) };
    let mut simulation = Simulation::new(network(vec![link], vec![flow], Span::from_secs(60)), 1);
    simulation.run_until(Instant::ZERO + Span::from_secs(30));
    let (before, queue) = (simulation.report(), simulation.link(0).unwrap().packets);
    simulation.set_controller(0, AnyController::named("bbr").unwrap()).unwrap();
    simulation.run_until(Instant::ZERO + Span::from_secs(50));
    let (middle, short) = (simulation.report(), simulation.link(0).unwrap().packets);
    assert!(queue > 100 && short < 80, "{queue} packets waited under Reno, {short} under BBR");
    let mbps = (middle.flows[0].bytes - before.flows[0].bytes).get() as f64 * 8.0 / 20e6;
    assert!((9.0..10.0).contains(&mbps), "{mbps} Mbps");
    let controller = simulation.network().flows()[0].transport.controller();
    assert!(matches!(controller, Some(AnyController::Bbr(_))));
}

/// A RemyCC that follows other rules keeps what it remembers; the same rules change nothing.
#[test]
fn rules_are_replaced_without_a_new_start() {
    let table = |increment| {
        let action = Action { multiple: 0.5, increment, intersend_ms: 0.0 };
        RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, action)
    };
    let remy = |increment| RemyCc::new(&table(increment));
    let start = || {
        let link = link(Rate::from_mbps(10.0), Limit::Packets(Packets::new(400)), 0.0);
        let transport = crate::network::Host::Tcp.transport(remy(10).into());
        let flow = FlowSpec { transport, ..flow(40, window(1), ever()) };
        Simulation::new(network(vec![link], vec![flow], Span::from_secs(4)), 1)
    };
    let (mut same, mut other) = (start(), start());
    for (simulation, increment) in [(&mut same, 10), (&mut other, 30)] {
        simulation.run_until(ms(2000));
        let before = simulation.flow(0).unwrap();
        simulation.set_rule_table(0, &remy(increment)).unwrap();
        let now = simulation.flow(0).unwrap();
        assert!(now.signals.unwrap()[2] >= 1.0, "the signals are kept");
        assert_eq!((now.signals, now.cwnd), (before.signals, before.cwnd));
    }
    other.run_until(ms(3000));
    assert_eq!(other.flow(0).unwrap().cwnd, Packets::new(59));
    assert!(same.finish() == start().finish());
    let signals = SignalSet::new([Signal::RttRatio]).unwrap();
    let foreign = RuleTable::single(signals, 16384.0, Action::INITIAL);
    let refused = other.set_rule_table(0, &RemyCc::new(&foreign));
    assert_eq!(refused, Err(ChangeError::NoRuleTable { flow: 0 }));
}

/// A silenced sender stops at once, and starts again when it is given traffic.
#[test]
fn traffic_stops_and_starts() {
    let mut simulation = Simulation::new(paced(10), 1);
    simulation.run_until(ms(1000));
    let sent = simulation.report().flows[0].sent;
    simulation.set_traffic(0, Traffic::none()).unwrap();
    assert!(!simulation.flow(0).unwrap().on);
    assert_eq!(simulation.flow(0).unwrap().limited, Limited::Off);
    simulation.run_until(ms(2000));
    assert_eq!(simulation.report().flows[0].sent, sent);
    assert_eq!(simulation.report().flows[0].on_time, Span::from_secs(1));
    simulation.set_traffic(0, OnOff::always()).unwrap();
    simulation.run_until(ms(3000));
    assert_eq!(simulation.report().flows[0].sent, 2 * sent);
    assert_eq!(simulation.report().flows[0].on_time, Span::from_secs(2));
}

/// A sender is limited by its window or by its pacing.
#[test]
fn the_limit_of_a_sender_is_reported() {
    let mut simulation = Simulation::new(paced(10), 1);
    simulation.run_until(ms(995));
    assert_eq!(simulation.flow(0).unwrap().limited, Limited::Pace);
    simulation.set_controller(0, window(2)).unwrap();
    simulation.run_until(ms(2000));
    assert_eq!(simulation.flow(0).unwrap().limited, Limited::Window);
    assert_eq!(simulation.flow(0).unwrap().in_flight, Packets::new(2));
}

/// Impossible changes are rejected with the valid range, and change nothing.
#[test]
fn impossible_changes_are_rejected() {
    let mut simulation = Simulation::new(paced(1), 1);
    let rate = Rate::from_mbps(1.0);
    let error = simulation.set_rate(1, rate).unwrap_err();
    assert_eq!(error, ChangeError::NoSuchLink { link: 1, links: 1 });
    assert_eq!(error.to_string(), "there is no link 1: the network has 1, numbered from 0");
    let error = simulation.set_controller(3, aimd()).unwrap_err();
    assert_eq!(error, ChangeError::NoSuchFlow { flow: 3, flows: 1 });
    assert!(simulation.set_rate(0, Rate::from_bps(0)).is_err());
    let none = Limit::Packets(Packets::new(0));
    let refused = simulation.set_buffer(0, none);
    assert_eq!(
        refused.is_err(),
        Network::new(
            vec![LinkSpec { buffer: none, ..simulation.network().links()[0].clone() }],
            simulation.network().flows().to_vec(),
            Span::from_secs(1),
        )
        .is_err()
    );
    assert_eq!(Simulation::new(paced(1), 1).finish(), {
        let mut other = Simulation::new(paced(1), 1);
        other.set_rate(0, Rate::from_bps(0)).unwrap_err();
        other.finish()
    });
}

/// A controller that never asks for more than it started with.
#[derive(Clone)]
struct Fixed(u64);

impl exm_cc::Controller for Fixed {
    fn on_start(&mut self, _: &exm_cc::Start) -> exm_cc::Decision {
        exm_cc::Decision { cwnd: Packets::new(self.0), intersend: Span::ZERO, wake_at: None }
    }
    fn on_ack(&mut self, ack: &exm_cc::Ack) -> exm_cc::Decision {
        self.on_start(&exm_cc::Start::new(ack.now))
    }
    fn on_congestion(&mut self, of: &exm_cc::Congestion) -> exm_cc::Decision {
        self.on_start(&exm_cc::Start::new(of.now))
    }
    fn on_tick(&mut self, now: Instant) -> exm_cc::Decision {
        self.on_start(&exm_cc::Start::new(now))
    }
}

#[test]
fn an_own_controller_is_changed_and_decided_for_in_place() {
    for host in Host::ALL {
        let link = LinkSpec::bottleneck(Service::Fixed(Rate::from_mbps(10.0)), Limit::Unlimited);
        let own = host.transport(AnyController::own(Fixed(5)));
        let flow = FlowSpec::new(own).extra_delay(Span::from_millis(100));
        let network = Network::new(vec![link], vec![flow], Span::from_secs(4)).unwrap();
        let mut simulation = Simulation::new(network, 1);
        simulation.run_until(Instant::ZERO + Span::from_millis(1001));
        let in_flight = |simulation: &Simulation| simulation.flow(0).unwrap().in_flight.get();
        assert_eq!(in_flight(&simulation), 5);
        // In force at once, until the controller's next decision.
        let now = simulation.now();
        let cwnd = Packets::new(8);
        let decision = exm_cc::Decision { cwnd, intersend: Span::ZERO, wake_at: None };
        simulation.set_decision(0, decision).unwrap();
        simulation.run_until(now + Span::from_micros(1));
        assert_eq!(in_flight(&simulation), 8);
        simulation.run_until(now + Span::from_secs(1));
        assert_eq!(in_flight(&simulation), 5);
        simulation.controller_mut(0).unwrap().own_mut::<Fixed>().unwrap().0 = 20;
        assert!(simulation.controller_mut(0).unwrap().own_mut::<u64>().is_none());
        simulation.run_until(now + Span::from_secs(2));
        assert_eq!(in_flight(&simulation), 20);
        assert!(
            simulation.set_decision(1, decision).is_err() && simulation.controller_mut(1).is_none()
        );
    }
}
