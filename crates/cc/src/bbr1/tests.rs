//! BBR, version 1, on a modelled path.

use super::*;
use crate::pipe::{Pipe, Seen, at};
use crate::watched::{Staged, Watched};

/// 15 Mbps and 80 ms, which are 100 packets.
fn pipe(buffer: u64) -> Pipe {
    Pipe::new(1250.0, Span::from_millis(80), buffer)
}

impl Staged for Bbr1 {
    type State = State;

    fn state(&self) -> State {
        self.state
    }

    fn probes_rtt(&self) -> bool {
        self.state == State::ProbeRtt
    }
}

fn watched(seed: u64) -> Watched<Bbr1> {
    Watched::new(Bbr1::new(seed))
}

#[test]
fn finds_bandwidth_and_round_trip_time_and_keeps_the_queue_short() {
    let mut cc = watched(1);
    let mut waits = Vec::new();
    let run = pipe(1000).run(&mut cc, Span::from_secs(30), |seen: &Seen| {
        if seen.now > at(5000) {
            waits.push(seen.queueing.as_millis_f64());
        }
    });
    let btl_bw = cc.bbr.model.btl_bw();
    assert!((1225.0..1275.0).contains(&btl_bw), "within 2 %: {btl_bw}");
    // The round trip of a packet is 80 ms and its own 0.8 ms on the link.
    let rtprop = cc.bbr.model.rtprop().unwrap().as_millis_f64();
    assert!((80.7..83.0).contains(&rtprop), "{rtprop}");
    // Section 4.2.3.2: the window is two bandwidth-delay products and three quanta of two.
    let cwnd = cc.bbr.cwnd;
    assert!((204.0..=216.0).contains(&cwnd), "{cwnd}");
    // A probe adds a quarter of 100 packets, 20 ms, and what stays of it goes away by the margin.
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    assert!((2.0..8.0).contains(&mean), "{mean}");
    assert!(run.delivered as f64 > 0.96 * 1250.0 * 30.0, "{}", run.delivered);
    assert_eq!(run.drops, 0);
}

#[test]
fn cycles_through_its_gains_from_any_phase_but_the_second() {
    let mut begins = [false; 8];
    for seed in 0..100 {
        let mut cc = watched(seed);
        pipe(1000).run(&mut cc, Span::from_secs(4), |_| {});
        let states: Vec<State> = cc.states.iter().map(|&(_, state)| state).collect();
        let [State::Startup, State::Drain, State::ProbeBw(first), ..] = states[..] else {
            panic!("{states:?}")
        };
        begins[first] = true;
        for pair in states[2..].windows(2) {
            let [State::ProbeBw(from), State::ProbeBw(to)] = *pair else { panic!("{pair:?}") };
            assert_eq!(to, (from + 1) % 8);
        }
        for pair in cc.states[2..].windows(2) {
            let (phase, length) = (pair[0].1, (pair[1].0 - pair[0].0).as_millis_f64());
            if phase != State::ProbeBw(1) {
                assert!((80.0..110.0).contains(&length), "{phase:?} for {length} ms");
            }
        }
    }
    assert_eq!(begins, [true, false, true, true, true, true, true, true]);
}

#[test]
fn probes_the_round_trip_time_every_ten_seconds_for_two_tenths() {
    // Beside another flow, or where the queue never quite empties, nothing refreshes the estimate:
    // here the link is slower from the third second on, so a packet takes longer on it.
    let mut cc = watched(1);
    pipe(1000).then(at(3000), 625.0).run(&mut cc, Span::from_secs(60), |_| {});
    let probes: Vec<_> = cc.states.windows(2).filter(|w| w[0].1 == State::ProbeRtt).collect();
    assert!((3..=6).contains(&probes.len()), "{probes:?}");
    for pair in probes {
        let length = (pair[1].0 - pair[0].0).as_millis_f64();
        assert!((200.0..500.0).contains(&length), "{length}");
        assert!(matches!(pair[1].1, State::ProbeBw(_)));
    }
    assert_eq!(cc.min_cwnd_in_probe_rtt, 4);
    let btl_bw = cc.bbr.model.btl_bw();
    assert!((612.0..638.0).contains(&btl_bw), "not lowered by the probes: {btl_bw}");
}

#[test]
fn losses_do_not_slow_it_down() {
    // A fifth of the bandwidth-delay product of buffer, which every probe overflows.
    let mut cc = watched(1);
    let run = pipe(20).run(&mut cc, Span::from_secs(60), |_| {});
    assert!(run.drops > 100, "{}", run.drops);
    assert!(run.delivered as f64 > 0.95 * 1250.0 * 60.0, "{}", run.delivered);
}

#[test]
fn paces_by_the_initial_window_until_it_knows_more() {
    // 2.885 * 10 packets in a millisecond, in the handshake's time where there was one.
    let mut cc = Bbr1::default();
    assert_eq!(cc.on_start(&Start::new(at(0))).intersend, Span::from_nanos(34_657));
    let mut start = Start::new(at(0));
    start.rtt = Some(Span::from_millis(100));
    assert_eq!(cc.on_start(&start).intersend, Span::from_nanos(3_465_736));
    assert!(cc.needs().own_recovery && cc.needs().delivery);
}

#[test]
fn the_quantum_follows_the_pace() {
    let mut cc = Bbr1::default();
    for (pace, quantum) in [(99.0, 1.0), (101.0, 2.0), (1999.0, 2.0), (8000.0, 8.0)] {
        cc.pacing_rate = pace;
        assert_eq!(cc.send_quantum(), quantum, "{pace}");
    }
    cc.pacing_rate = 1e6;
    assert!((cc.send_quantum() - 42.67).abs() < 0.01, "64 kB");
}

#[test]
fn packets_in_flight_are_counted_as_of_the_next_send() {
    let mut cc = Bbr1 { pacing_rate: 1000.0, state: State::ProbeBw(0), ..Bbr1::default() };
    assert_eq!(cc.inflight_at_next_send(50.0), 51.0, "two join, one leaves");
    cc.state = State::ProbeBw(1);
    assert_eq!(cc.inflight_at_next_send(50.0), 49.0);
}

#[test]
fn a_loss_has_it_conserve_packets_for_a_round_trip() {
    let mut cc = Bbr1::default();
    pipe(1000).run(&mut cc, Span::from_secs(4), |_| {});
    let (before, delivered) = (cc.cwnd, cc.model.delivered());
    let mut loss = Congestion::new(CongestionKind::Lost, at(4000), at(4100));
    loss.in_flight = Packets::new(50);
    assert_eq!(cc.on_congestion(&loss).cwnd.get(), 50);
    let mut delivery = crate::Delivery::new(delivered + 1, Span::ZERO);
    delivery.total_at_send = delivered - 1;
    let mut ack = Ack::new(0, at(4020), at(4100));
    (ack.delivery, ack.recovering, ack.in_flight) = (Some(delivery), true, Packets::new(49));
    assert_eq!(cc.on_ack(&ack).cwnd.get(), 50, "one left and one may be sent");
    (delivery.total, delivery.total_at_send) = (delivered + 2, delivered);
    ack.delivery = Some(delivery);
    assert_eq!(cc.on_ack(&ack).cwnd.get(), 51, "from the next round on one more than left");
    ack.recovering = false;
    assert!(cc.on_ack(&ack).cwnd.get() as f64 >= before - 6.0, "{} of {before}", cc.cwnd);
}

#[test]
fn a_recovery_that_follows_at_once_conserves_nothing() {
    let mut cc = Bbr1::default();
    pipe(1000).run(&mut cc, Span::from_secs(4), |_| {});
    let delivered = cc.model.delivered();
    let mut loss = Congestion::new(CongestionKind::Lost, at(4000), at(4100));
    loss.in_flight = Packets::new(50);
    cc.on_congestion(&loss);
    let mut delivery = crate::Delivery::new(delivered + 1, Span::ZERO);
    delivery.total_at_send = delivered;
    let mut ack = Ack::new(0, at(4020), at(4200));
    (ack.delivery, ack.recovering, ack.in_flight) = (Some(delivery), true, Packets::new(49));
    let cwnd = cc.on_ack(&ack).cwnd;
    assert!(cc.recovery.packet_conservation.is_none(), "a round trip later");
    // The acknowledgement that ends the recovery reports another loss.
    assert_eq!(cc.on_congestion(&loss).cwnd, cwnd);
    assert!(cc.recovery.active && cc.recovery.packet_conservation.is_none());
    // One acknowledgement without a loss between the two makes two recoveries of them.
    ack.recovering = false;
    cc.on_ack(&ack);
    assert_eq!(cc.on_congestion(&loss).cwnd.get(), 50);
}

#[test]
fn a_policed_rate_is_kept_without_probing() {
    let mut cc = watched(1);
    pipe(1000).run(&mut cc, Span::from_secs(4), |_| {});
    cc.bbr.state = State::ProbeBw(0);
    assert_eq!(cc.bbr.pacing_gain(), 1.25);
    let rate = cc.bbr.model.btl_bw() / 2.0;
    cc.bbr.model.police(rate);
    assert_eq!(cc.bbr.pacing_gain(), 1.0);
    assert_eq!(cc.bbr.model.bw(), rate);
    let spurious = Congestion::new(CongestionKind::Spurious, at(4000), at(4100));
    cc.bbr.on_congestion(&spurious);
    assert_eq!((cc.bbr.pacing_gain(), cc.bbr.model.is_policed()), (1.25, false));
}

#[test]
fn a_timeout_leaves_one_packet_and_recovery_brings_the_window_back() {
    let mut cc = Bbr1::default();
    pipe(1000).run(&mut cc, Span::from_secs(4), |_| {});
    let before = cc.cwnd;
    let timeout = Congestion::new(CongestionKind::Timeout, at(4000), at(4500));
    assert_eq!(cc.on_congestion(&timeout).cwnd.get(), 1);
    cc.on_ack(&Ack::new(0, at(4000), at(4510)));
    assert_eq!(cc.cwnd, 1.0, "of a packet sent before");
    cc.on_ack(&Ack::new(0, at(4500), at(4580)));
    assert_eq!(cc.cwnd, before);
}

#[test]
fn a_spurious_loss_restores_the_window() {
    let mut cc = Bbr1::default();
    pipe(1000).run(&mut cc, Span::from_secs(4), |_| {});
    let before = cc.cwnd;
    let mut loss = Congestion::new(CongestionKind::Lost, at(4000), at(4100));
    loss.in_flight = Packets::new(50);
    cc.on_congestion(&loss);
    cc.on_congestion(&Congestion::new(CongestionKind::Spurious, at(4000), at(4200)));
    assert_eq!(cc.cwnd, before);
    assert!(!cc.recovery.active && cc.recovery.packet_conservation.is_none());
}

#[test]
fn a_wider_link_is_found_and_a_narrower_one_too() {
    let mut cc = Bbr1::default();
    let wider = pipe(5000).then(at(8000), 12_500.0);
    wider.run(&mut cc, Span::from_secs(20), |_| {});
    let btl_bw = cc.model.btl_bw();
    assert!((12_250.0..12_750.0).contains(&btl_bw), "{btl_bw}");

    let mut cc = Bbr1::default();
    pipe(20).then(at(8000), 125.0).run(&mut cc, Span::from_secs(30), |_| {});
    let btl_bw = cc.model.btl_bw();
    assert!((122.0..130.0).contains(&btl_bw), "{btl_bw}");
}
