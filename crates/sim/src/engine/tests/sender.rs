//! The behaviour of the bare sender, on links where every packet can be followed by hand.

use super::*;
use crate::engine::host::{Host, HostPath, Occasion};
use exm_trace::Trace;
use std::collections::BTreeMap;
use std::sync::Arc;

fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

#[test]
fn the_least_round_trip_is_the_delay_and_one_transmission() {
    let sender = flow(150, window(1), ever());
    let report = alone(packet_a_ms(Limit::Unlimited, 0.0), sender, ms(1000));
    assert_eq!((report.rtt.min(), report.rtt.max()), (Some(ms(151)), Some(ms(151))));
    assert_eq!(report.queueing_delay.max(), Some(Span::ZERO));
    // Sent at 0, 151, ... 906 ms; the last is acknowledged at 1057 ms, after the end.
    assert_eq!((report.sent, report.delivered, report.under_way()), (7, 6, 1));
    assert_eq!((report.on_time, report.share_time), (ms(1000), 1.0));
    assert_eq!(report.throughput(), Some(Rate::from_bps(6 * 12_000)));
}

#[test]
fn events_at_the_end_do_not_happen() {
    let sender = |duration| {
        let sender = flow(150, window(1), ever());
        alone(packet_a_ms(Limit::Unlimited, 0.0), sender, duration).delivered
    };
    assert_eq!(sender(ms(151)), 0);
    assert_eq!(sender(ms(151) + Span::from_nanos(1)), 1);
}

#[test]
fn a_burst_fills_the_queue_and_the_rest_is_dropped() {
    let limit = Limit::Packets(Packets::new(10));
    let sender = flow(150, window(100), ever());
    let network = network(vec![packet_a_ms(limit, 0.0)], vec![sender], ms(150));
    let report = run(&network, 1);
    assert_eq!(report.links[0].dropped, 89, "one in transmission, ten wait");
    assert_eq!((report.links[0].max_queue, report.links[0].transmitted), (10, 11));
    assert_eq!(report.flows[0].dropped, [89]);
    assert_eq!(report.in_network, 11);
    // Ten packets wait 1 to 10 ms each.
    assert!((report.links[0].mean_queue - 55.0 / 150.0).abs() < 1e-12);
    assert!((report.links[0].utilisation - 11.0 / 150.0).abs() < 1e-12);
}

#[test]
fn pacing_spaces_sends_but_not_those_of_the_next_flow() {
    // On 10 ms, off 1 ms, sends 4 ms apart: at 1, 5, 9; at 12, 16, 20; ...
    let sender = flow(50, one_rule(0.0, 1000, 4.0), fixed_time(0.010, 0.001));
    let report = alone(packet_a_ms(Limit::Unlimited, 0.0), sender, ms(23));
    assert_eq!(report.sent, 6);
    assert_eq!(report.on_time, ms(20));
}

#[test]
fn nothing_is_sent_at_the_instant_of_switching_off() {
    let sender = |on_secs| {
        let sender = flow(50, one_rule(0.0, 1000, 5.0), fixed_time(on_secs, 1.0));
        alone(packet_a_ms(Limit::Unlimited, 0.0), sender, ms(1500)).sent
    };
    assert_eq!((sender(0.010), sender(0.010_000_001)), (2, 3), "at 0 and 5 ms; and at 10 ms");
}

#[test]
fn a_timed_flow_with_a_lost_window_waits_for_the_next_on_period() {
    let sender = flow(50, window(4), fixed_time(10.0, 1.0));
    let report = alone(packet_a_ms(Limit::Unlimited, 1.0), sender, Span::from_secs(24));
    assert_eq!((report.sent, report.lost, report.delivered), (12, 12, 0), "from 1, 12 and 23 s");
}

#[test]
fn a_flow_of_packets_gives_up_what_is_in_flight_after_a_second() {
    let sender = flow(50, window(4), fixed_packets(10.0, 1.0));
    let report = alone(packet_a_ms(Limit::Unlimited, 1.0), sender, ms(4500));
    assert_eq!(report.sent, 16, "4 at each of 1, 2, 3 and 4 s");
    assert_eq!((report.completion.count(), report.on_time), (0, ms(3500)));
}

#[test]
fn a_flow_of_packets_ends_with_its_last_acknowledgement() {
    let sender = flow(49, window(100), fixed_packets(10.0, 0.5));
    let report = alone(packet_a_ms(Limit::Unlimited, 0.0), sender, ms(1500));
    // Ten packets leave at once; the last ACK arrives after 10 + 49 ms.
    assert_eq!((report.sent, report.delivered), (20, 20));
    assert_eq!(report.completion.count(), 2);
    assert_eq!((report.completion.min(), report.completion.max()), (Some(ms(59)), Some(ms(59))));
    assert_eq!(report.on_time, ms(118));
}

#[test]
fn lost_packets_of_a_flow_are_replaced() {
    let sender = flow(49, window(5), fixed_packets(200.0, 0.5));
    let report = alone(packet_a_ms(Limit::Unlimited, 0.2), sender, Span::from_secs(200));
    let completed = report.completion.count();
    assert!(completed > 20, "{completed}");
    let more = report.delivered - 200 * completed;
    // Besides the flow in progress only packets of a flow that had already ended can be extra: those
    // sent anew because of a stall.
    assert!(more < 200 + 5 * completed, "{more}");
    assert!(report.sent > report.delivered);
}

#[test]
fn acknowledgements_of_an_earlier_flow_count_but_do_not_change_its_memory() {
    // Flows of 20 ms every 21 ms over 50 ms of delay: all ACKs are stale, and each makes the window
    // one larger, as the rule says.
    let sender = flow(50, one_rule(1.0, 1, 0.0), fixed_time(0.020, 0.001));
    let mut seen = Watch { pace: Pace::EachEvent, ..Watch::default() };
    let network = network(vec![packet_a_ms(Limit::Unlimited, 0.0)], vec![sender], ms(100));
    let report = run_observed(&network, 1, &mut seen);
    assert!(report.flows[0].delivered > 0);
    // The window is 1 at the start of each flow: one packet at 1, 22, 43 ms; acknowledged at 52,
    // when the flow of 43 ms is on: its window becomes 2, and so on.
    assert_eq!(seen.windows.first(), Some(&(ms(52), 2)));
    assert!(seen.signals_zero, "stale acknowledgements do not change the memory");
}

#[test]
fn a_timer_restarts_a_controller_that_has_one() {
    let sender = flow(50, aimd(), ever());
    let mut seen = Watch { pace: Pace::Every(ms(500)), ..Watch::default() };
    let network = network(vec![packet_a_ms(Limit::Unlimited, 1.0)], vec![sender], ms(2600));
    let report = run_observed(&network, 1, &mut seen);
    // Ten packets at the start, one at each second after.
    assert_eq!(report.flows[0].sent, 12);
    let windows: Vec<u64> = seen.windows.iter().map(|&(_, cwnd)| cwnd).collect();
    assert_eq!(windows, [10, 10, 1, 1, 1, 1]);
    assert_eq!(seen.in_flight.last(), Some(&1));
}

#[test]
fn a_gap_halves_the_window_of_aimd_once_a_round_trip() {
    let limit = Limit::Packets(Packets::new(20));
    let sender = flow(100, aimd(), ever());
    let report = alone(packet_a_ms(limit, 0.0), sender, Span::from_secs(60));
    let utilisation = report.delivered as f64 / 60_000.0;
    assert!((0.6..0.95).contains(&utilisation), "{utilisation}");
    assert!(report.dropped[0] > 0 && report.dropped[0] < 200, "{:?}", report.dropped);
}

#[test]
fn senders_act_in_the_order_of_their_numbers() {
    let sender = flow(50, window(3), ever());
    let limit = Limit::Packets(Packets::new(4));
    let network = network(vec![packet_a_ms(limit, 0.0)], vec![sender; 3], ms(50));
    let report = run(&network, 1);
    let dropped: Vec<u64> = report.flows.iter().map(|f| f.dropped[0]).collect();
    assert_eq!(dropped, [0, 1, 3], "there is room for five");
}

#[test]
fn a_users_controller_behaves_as_the_built_in_one() {
    let with = |controller| {
        let transport = Transport::Tcp { controller, settings: exm_tcp::Settings::default() };
        let sender = FlowSpec { transport, ..flow(50, window(1), fixed_time(1.0, 0.3)) };
        let limit = Limit::Packets(Packets::new(20));
        let link = link(Rate::from_mbps(10.0), limit, 0.01);
        run(&network(vec![link], vec![sender; 2], ms(20_000)), 7)
    };
    let bbr = exm_cc::Bbr::new(1);
    let (own, built_in) = (AnyController::own(bbr.clone()), AnyController::from(Box::new(bbr)));
    assert_eq!(with(own), with(built_in), "its random numbers come from the seed, too");
}

#[test]
fn samples_come_at_their_pace_and_change_nothing() {
    let sender = flow(50, aimd(), fixed_time(1.0, 0.3));
    let limit = Limit::Packets(Packets::new(20));
    let network = network(vec![packet_a_ms(limit, 0.01)], vec![sender; 2], ms(5000));
    let plain = run(&network, 3);
    let mut every = Watch { pace: Pace::Every(ms(100)), ..Watch::default() };
    let sampled = run_observed(&network, 3, &mut every);
    assert_eq!(every.count, BTreeMap::from([("flow", 100), ("link", 50)]));
    assert_eq!(sampled.events, plain.events + 50);
    let mut each = Watch { pace: Pace::EachEvent, ..Watch::default() };
    assert_eq!(run_observed(&network, 3, &mut each), plain);
    assert_eq!(sampled.flows, plain.flows);
    let acks: u64 = plain.flows.iter().map(|f| f.delivered).sum();
    assert_eq!(each.count["flow"], acks);
    assert_eq!(each.count["link"], plain.links[0].arrived + plain.links[0].transmitted);
}

/// Records the samples.
struct Watch {
    pace: Pace,
    windows: Vec<(Span, u64)>,
    in_flight: Vec<u64>,
    signals_zero: bool,
    count: BTreeMap<&'static str, u64>,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch {
            pace: Pace::Never,
            windows: Vec::new(),
            in_flight: Vec::new(),
            signals_zero: true,
            count: BTreeMap::new(),
        }
    }
}

impl Observer for Watch {
    fn pace(&self) -> Pace {
        self.pace
    }

    fn flow(&mut self, sample: &FlowSample) {
        self.windows.push((sample.at - Instant::ZERO, sample.cwnd.get()));
        self.in_flight.push(sample.in_flight.get());
        self.signals_zero &=
            sample.signals.is_none_or(|signals| signals == [0.0; exm_remy::Signal::COUNT]);
        *self.count.entry("flow").or_default() += 1;
    }

    fn link(&mut self, _sample: &LinkSample) {
        *self.count.entry("link").or_default() += 1;
    }
}

/// An ACK belongs to the flow of the packet that it acknowledges, even after the next flow has
/// started.
#[test]
fn acks_belong_to_the_flow_of_their_packet() {
    let there = packet_a_ms(Limit::Unlimited, 0.0);
    let links = vec![there.clone(), LinkSpec { ends: (1, 0), ..there }];
    let spec = FlowSpec { back: vec![1], ..flow(10, window(5), ever()) };
    let network = network(links, vec![spec], Span::from_secs(1));
    let path = HostPath { first_hop: 0, first_back: Some(1), propagation: Span::ZERO };
    let mut host = Host::new(&network, 1, 0, path);
    host.switch_on(Instant::ZERO);
    let packet = host.send(Instant::ZERO, 0);
    let later = Instant::ZERO + Span::from_millis(1);
    host.switch_off(later);
    host.switch_on(later);
    host.meet(later, &Occasion::Arrival(&packet), &mut ());
    let ack = host.send_ack(later, 0).expect("an ACK");
    assert_eq!((packet.epoch, ack.epoch), (1, 1));
    assert_eq!(host.send(later, 0).epoch, 2);
}

/// A packet lost at random on a link with a trace uses none of its opportunities; a link of fixed rate
/// transmits it first.
#[test]
fn traces_lose_before_the_queue() {
    let times = (1..=100).map(|ms| Instant::ZERO + Span::from_millis(ms)).collect();
    let trace = Service::Trace(Arc::new(Trace::new(times).expect("a sound trace")));
    let lossy = packet_a_ms(Limit::Unlimited, 0.5);
    for (service, transmits_all) in [(trace, false), (lossy.service.clone(), true)] {
        let link = LinkSpec { service, ..lossy.clone() };
        let flow = flow(10, window(50), ever());
        let report = run(&network(vec![link], vec![flow], ms(2000)), 1);
        let link = &report.links[0];
        assert!(link.lost > 500, "{}", link.lost);
        let transmitted = link.arrived - if transmits_all { 0 } else { link.lost };
        assert!(transmitted.abs_diff(link.transmitted) <= 1 + link.max_queue);
        assert_eq!(report.flows[0].lost, link.lost);
    }
}

/// The share of a trace is that of what it carried in that time, which may be more than its mean.
#[test]
fn the_share_of_a_trace_is_of_what_it_carried() {
    // A packet a millisecond for a second, and then nothing for three.
    let times = (1..=1000).chain([4000]).map(|ms| Instant::ZERO + Span::from_millis(ms)).collect();
    let trace = Service::Trace(Arc::new(Trace::new(times).expect("a sound trace")));
    let link = LinkSpec { service: trace, ..packet_a_ms(Limit::Unlimited, 0.0) };
    let flow = flow(10, window(50), ever());
    let report = run(&network(vec![link], vec![flow; 2], ms(900)), 1);
    let shares: Vec<f64> =
        report.flows.iter().filter_map(FlowReport::normalised_throughput).collect();
    assert!(shares.iter().all(|share| (0.9..=1.1).contains(share)), "{shares:?}");
    assert!((0.97..=1.0).contains(&(shares.iter().sum::<f64>() / 2.0)), "{shares:?}");
}
