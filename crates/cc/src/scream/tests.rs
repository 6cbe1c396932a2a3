use super::*;
use crate::pipe::{Pipe, at};

/// A sender with this window, in packets, at an RTT.
fn with_window(mut cc: Scream, packets: f64, rtt: Span) -> Scream {
    cc.on_start(&Start::new(at(0)));
    cc.on_ack(&Ack::new(0, at(1000), at(1000) + rtt));
    cc.window = packets * cc.packet;
    cc
}

#[test]
fn follows_the_rate_of_the_link_below_its_target() {
    let (rate, wait) = Pipe::new(100.0, Span::from_millis(50), 300).second_half(&mut Scream::new());
    assert!(rate > 80.0, "{rate}");
    assert!(wait < 45.0, "{wait}");
}

#[test]
fn a_link_faster_than_its_encoder_is_used_as_far_as_that_goes() {
    let (rate, wait) =
        Pipe::new(1000.0, Span::from_millis(50), 300).second_half(&mut Scream::new());
    assert!((rate - 125.0).abs() < 1.0, "1.5 Mbps: {rate}");
    assert!(wait < 1.0, "{wait}");
}

#[test]
fn marks_keep_the_queue_short() {
    let pipe = Pipe::new(100.0, Span::from_millis(20), 300).marking_above(1);
    let (rate, wait) = pipe.second_half(&mut Scream::new());
    assert!(rate > 70.0 && wait < 20.0, "{rate} {wait}");
}

#[test]
fn the_average_of_marks_rises_fast_and_falls_slowly() {
    let mut marks = Marks::default();
    let mut ack = Ack::new(0, at(0), at(100));
    marks.observe(&ack, 0.1);
    ack.marked = Packets::new(1);
    ack.now = at(120);
    marks.observe(&ack, 0.1);
    // Half of two packets.
    assert!((marks.alpha() - 0.0625).abs() < 1e-12);
    (ack.marked, ack.now) = (Packets::ZERO, at(140));
    marks.observe(&ack, 0.1);
    assert!((marks.alpha() - 0.0625 * 127.0 / 128.0).abs() < 1e-12);
}

#[test]
fn each_sign_of_congestion_has_its_cut() {
    let rtt = Span::from_millis(25);
    let cut = |cc: Scream, kind| {
        let mut cc = with_window(cc, 100.0, rtt);
        cc.on_congestion(&Congestion::new(kind, at(1000), at(2000)));
        cc.respond(at(2000), 0.025);
        cc.window / cc.packet
    };
    assert!((cut(Scream::new(), CongestionKind::Lost) - 70.0).abs() < 1e-9);
    assert!((cut(Scream::new().classic(), CongestionKind::Marked) - 80.0).abs() < 1e-9);
    // Half of alpha, which is none here.
    assert!((cut(Scream::new(), CongestionKind::Marked) - 100.0).abs() < 1e-9);
    assert!((cut(Scream::new(), CongestionKind::Timeout) - 2.0).abs() < 1e-9);
}

#[test]
fn grows_by_a_packet_a_round_trip_and_faster_after_long_quiet() {
    let growth = |quiet: u64| {
        let mut cc = with_window(Scream::new(), 50.0, Span::from_millis(50));
        cc.tuning.max = 1e7;
        cc.congested = Some(at(10_000 - quiet));
        cc.flight.most = 100.0 * cc.packet;
        let before = cc.window;
        for _ in 0..50 {
            cc.grow(&Ack::new(1, at(9950), at(10_000)), 0.05);
        }
        (cc.window - before) / cc.packet
    };
    assert!((growth(0) - 1.0).abs() < 0.02, "{}", growth(0));
    // 2 % of 50 packets more.
    assert!((growth(5000) - 2.0).abs() < 0.05, "{}", growth(5000));
}

#[test]
fn the_target_rises_beside_losses_and_falls_again() {
    let target = Span::from_millis(60);
    let mut queue = Queue::new(at(0), target, Span::from_millis(400));
    queue.observe(0, at(0), (0.1, 0.025, 0.1));
    for step in 1..200_u64 {
        queue.lose();
        queue.observe(200_000_000, at(50 * step), (0.1, 0.025, 0.1));
    }
    assert!(queue.target() > 0.25, "{}", queue.target());
    for step in 200..3000_u64 {
        queue.observe(0, at(50 * step), (0.1, 0.025, 0.1));
    }
    assert!((queue.target() - 0.06).abs() < 1e-9, "{}", queue.target());
}
