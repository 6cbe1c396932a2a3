//! BBR on a modelled path: appendix A of the draft, as far as one link shows it.

use super::*;
use crate::pipe::{Pipe, Seen, at};
use crate::watched::{Staged, Watched};

fn pipe(buffer: u64) -> Pipe {
    Pipe::new(1250.0, Span::from_millis(80), buffer)
}

impl Staged for Bbr {
    type State = State;

    fn state(&self) -> State {
        self.cycle.state
    }

    fn probes_rtt(&self) -> bool {
        self.cycle.state == State::ProbeRtt
    }
}

fn watched(seed: u64) -> Watched<Bbr> {
    Watched::new(Bbr::new(seed))
}

#[test]
fn finds_bandwidth_and_round_trip_time_and_keeps_the_queue_short() {
    // A.1, A.3, A.8: 15 Mbps and 80 ms are 100 packets.
    let mut cc = watched(1);
    let mut waits = Vec::new();
    let run = pipe(1000).run(&mut cc, Span::from_secs(30), |seen: &Seen| {
        if seen.now > at(10_000) {
            waits.push(seen.queueing.as_millis_f64());
        }
    });
    let max_bw = cc.bbr.model.max_bw();
    assert!((1225.0..1275.0).contains(&max_bw), "within 2 %: {max_bw}");
    // The round trip of a packet is 80 ms and its own 0.8 ms on the link.
    let min_rtt = cc.bbr.model.min_rtt.as_millis_f64();
    assert!((80.7..81.5).contains(&min_rtt), "{min_rtt}");
    use State::{Cruise, Down, Drain, Refill, Startup, Up};
    // The queue is empty as Drain ends, so that Down lasts no time.
    assert_eq!(cc.sequence()[..6], [Startup, Drain, Cruise, Refill, Up, Down]);
    assert!(cc.states[1].0 < at(1200), "Startup lasts until {:?}", cc.states[1].0);
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    assert!(mean < 25.0, "{mean}");
    assert!(run.delivered as f64 > 0.94 * 1250.0 * 30.0, "{}", run.delivered);
    assert_eq!(run.drops, 0);
}

#[test]
fn probes_the_round_trip_time_every_five_seconds_for_two_tenths() {
    // A.10.
    let mut cc = watched(1);
    pipe(1000).run(&mut cc, Span::from_secs(32), |_| {});
    let entered = |state| cc.states.iter().filter(move |&&(_, seen)| seen == state);
    let probes = entered(State::ProbeRtt).count();
    assert!((4..=7).contains(&probes), "{probes}: {:?}", cc.states);
    for pair in cc.states.windows(2) {
        if pair[0].1 == State::ProbeRtt {
            let length = pair[1].0 - pair[0].0;
            assert!((200.0..400.0).contains(&length.as_millis_f64()), "{length}");
            assert_eq!(pair[1].1, State::Cruise);
        }
    }
    assert!((48..=52).contains(&cc.min_cwnd_in_probe_rtt), "{}", cc.min_cwnd_in_probe_rtt);
}

#[test]
fn a_probe_of_the_round_trip_time_does_not_lower_the_bandwidth() {
    let mut cc = watched(3);
    let mut least = f64::INFINITY;
    let mut first = cc.clone();
    pipe(1000).run(&mut first, Span::from_secs(20), |_| {});
    for seconds in 3..20 {
        cc = watched(3);
        pipe(1000).run(&mut cc, Span::from_secs(seconds), |_| {});
        least = least.min(cc.bbr.model.max_bw());
    }
    assert!(least > 1225.0, "{least}");
}

#[test]
fn losses_in_a_shallow_buffer_bound_what_it_puts_in_flight() {
    // A.21: a fifth of the bandwidth-delay product of buffer.
    let mut cc = watched(1);
    let run = pipe(20).run(&mut cc, Span::from_secs(60), |_| {});
    let longterm = cc.bbr.loss.inflight_longterm;
    assert!((90.0..150.0).contains(&longterm), "{longterm}");
    let lost = run.drops as f64 / (run.delivered + run.drops) as f64;
    assert!(lost < 0.02, "{lost}");
    assert!(run.delivered as f64 > 0.85 * 1250.0 * 60.0, "{}", run.delivered);
}

#[test]
fn paces_by_the_initial_window_until_it_knows_more() {
    // 2.77 * 10 packets in a millisecond, in the handshake's time where there was one.
    let mut cc = Bbr::default();
    assert_eq!(cc.on_start(&Start::new(at(0))).intersend, Span::from_nanos(36_101));
    let mut start = Start::new(at(0));
    start.rtt = Some(Span::from_millis(100));
    assert_eq!(cc.on_start(&start).intersend, Span::from_nanos(3_610_108));
    assert_eq!(cc.needs().own_recovery, cc.needs().delivery);
}

#[test]
fn a_timeout_leaves_one_packet_and_recovery_brings_the_window_back() {
    let mut cc = Bbr::default();
    pipe(1000).run(&mut cc, Span::from_secs(4), |_| {});
    let before = cc.cwnd;
    assert!(before > 100.0);
    let timeout = Congestion::new(CongestionKind::Timeout, at(4000), at(4500));
    assert_eq!(cc.on_congestion(&timeout).cwnd.get(), 1);
    cc.on_ack(&Ack::new(0, at(4000), at(4510)));
    assert_eq!(cc.cwnd, 4.0, "of a packet sent before");
    cc.on_ack(&Ack::new(0, at(4500), at(4580)));
    assert!(cc.cwnd > 0.9 * before, "{} of {before}", cc.cwnd);
}

#[test]
fn a_spurious_loss_restores_the_window() {
    // A.18.
    let mut cc = Bbr::default();
    pipe(1000).run(&mut cc, Span::from_secs(4), |_| {});
    let (cwnd, longterm) = (cc.cwnd, cc.loss.inflight_longterm);
    cc.on_congestion(&Congestion::new(CongestionKind::Lost, at(4000), at(4100)));
    (cc.cwnd, cc.loss.inflight_longterm) = (20.0, 30.0);
    cc.model.bw_shortterm = 100.0;
    cc.on_congestion(&Congestion::new(CongestionKind::Spurious, at(4000), at(4200)));
    assert_eq!((cc.cwnd, cc.loss.inflight_longterm), (cwnd, longterm));
    assert_eq!(cc.model.bw_shortterm, f64::INFINITY);
}

#[test]
fn a_wider_link_is_found_and_a_narrower_one_too() {
    // A.15 and A.16: tenfold.
    let mut cc = Bbr::default();
    let wider = pipe(5000).then(at(8000), 12_500.0);
    let mut found = None;
    let run = wider.run(&mut cc, Span::from_secs(20), |seen| {
        if found.is_none() && seen.decision.intersend < Span::from_micros(84) {
            found = Some(seen.now);
        }
    });
    assert!(found.is_some_and(|found| found < at(15_000)), "{found:?}");
    assert!(run.delivered > 90_000, "{}", run.delivered);

    let mut cc = Bbr::default();
    pipe(20).then(at(8000), 125.0).run(&mut cc, Span::from_secs(30), |_| {});
    let max_bw = cc.model.max_bw();
    assert!((115.0..150.0).contains(&max_bw), "{max_bw}");
}

#[test]
fn a_narrower_link_behind_an_unlimited_buffer_is_never_found() {
    // A property of the draft (docs/deviations.md): nothing is lost, and ProbeRTT, every five
    // seconds, ends each probe before it counts and leaves a queue that it takes for the path's
    // propagation delay.
    let mut cc = watched(1);
    pipe(u64::MAX).then(at(8000), 125.0).run(&mut cc, Span::from_secs(60), |_| {});
    let later = cc.states.iter().filter(|&&(since, _)| since > at(8000));
    let states: Vec<State> = later.map(|&(_, state)| state).collect();
    assert!(states.contains(&State::ProbeRtt) && !states.contains(&State::Down), "{states:?}");
    assert!(cc.bbr.model.max_bw() > 1225.0, "{}", cc.bbr.model.max_bw());
    assert!(cc.bbr.model.min_rtt > Span::from_secs(10), "{}", cc.bbr.model.min_rtt);
}
