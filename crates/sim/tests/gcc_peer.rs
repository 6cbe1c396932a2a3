//! GCC of this project and aiortc's (BSD-3-Clause, not distributed with it), given the same arrivals.
//!
//! aiortc's detector is the draft's Kalman filter (draft-ietf-rmcat-gcc-02, section 5.3), ours libwebrtc's later trend line; the rate
//! control is the draft's in both. So they need not notice a queue at the same packet, and must do the same about it.
//! `make tests` puts the package into `target/aiortc`.

use exm_cc::{Ack, Controller, DEFAULT_MTU, Gcc, Start};
use exm_testing::{Folder, has, skip};
use exm_units::{Bytes, Instant, Span};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// A packet: when it was sent and when it arrived, in ms.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: u64,
    arrived: u64,
}

/// The size of packets in bytes.
const SIZE: u64 = 1000;
/// The propagation delay, each way, in ms: the RTT is the 200 ms that aiortc takes for granted.
const ONE_WAY: u64 = 100;

/// Rates in kbps from times in ms on.
type Steps = [(u64, f64)];

fn kbps_at(steps: &Steps, ms: u64) -> f64 {
    steps.iter().take_while(|step| step.0 <= ms).last().map_or(0.0, |step| step.1)
}

/// Packets `sent` at these rates for `seconds` over a link with this `capacity`, which they share with those of a competing flow at
/// the rates `beside`.
fn over_link(sent: &Steps, beside: &Steps, capacity: &Steps, seconds: u64) -> Vec<Sent> {
    let (mut due, mut others, mut waiting) = (0.0, 0.0, 0.0_f64);
    let mut packets = Vec::new();
    for at in 0..seconds * 1000 {
        let kbits = (SIZE * 8) as f64 / 1000.0;
        waiting = (waiting - kbps_at(capacity, at) / 1000.0).max(0.0);
        others += kbps_at(beside, at) / 1000.0;
        due += kbps_at(sent, at) / 1000.0;
        if others >= kbits {
            (others, waiting) = (others - kbits, waiting + kbits);
        }
        if due >= kbits {
            (due, waiting) = (due - kbits, waiting + kbits);
            let queued = waiting / kbps_at(capacity, at) * 1000.0;
            packets.push(Sent { at, arrived: at + ONE_WAY + queued as u64 });
        }
    }
    packets
}

/// Our estimate after each packet, in kbps.
fn ours(packets: &[Sent]) -> Vec<f64> {
    let at = |ms| Instant::ZERO + Span::from_millis(ms);
    let mut gcc = Gcc::new();
    let mut start = Start::new(Instant::ZERO);
    start.mtu = DEFAULT_MTU;
    gcc.on_start(&start);
    let estimate = |(number, packet): (u64, &Sent)| {
        let mut ack = Ack::new(number, at(packet.at), at(packet.arrived + ONE_WAY));
        ack.received_at = Some(at(packet.arrived));
        ack.acked_bytes = Bytes::new(SIZE);
        gcc.on_ack(&ack);
        let packets = gcc.metrics().media_rate.expect("a controller of media");
        packets * DEFAULT_MTU.get() as f64 * 8.0 / 1000.0
    };
    (0..).zip(packets).map(estimate).collect()
}

/// aiortc's, if it is there; otherwise the skip is recorded.
#[track_caller]
fn theirs(packets: &[Sent]) -> Option<Vec<f64>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let package = root.join("../../target/aiortc");
    if !has("python3") || !package.join("aiortc/rate.py").exists() {
        skip("there is no python3 with aiortc in target/aiortc (`make tests` fetches it)");
        return None;
    }
    let folder = Folder::new("aiortc");
    let script = folder.0.join("script");
    let mut text = String::new();
    for packet in packets {
        writeln!(text, "{} {} {SIZE}", packet.at, packet.arrived).expect("a string");
    }
    std::fs::write(&script, text).expect("a temporary file");
    let program = root.join("tests/peers/aiortc_gcc.py");
    let output = Command::new("python3").arg(program).args([package, script]).output();
    let output = output.expect("python3 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rates = String::from_utf8(output.stdout).expect("digits");
    let rates: Vec<f64> =
        rates.lines().map(|line| line.parse::<f64>().expect("a rate") / 1000.0).collect();
    assert_eq!(rates.len(), packets.len());
    Some(rates)
}

/// When an estimate fell, in ms, and to what.
fn falls(packets: &[Sent], rates: &[f64]) -> Vec<(u64, f64)> {
    let pairs = rates.windows(2).zip(&packets[1..]);
    pairs
        .filter(|(pair, _)| pair[1] < 0.99 * pair[0])
        .map(|(pair, packet)| (packet.arrived, pair[1]))
        .collect()
}

/// The estimate at a time in ms.
fn rate_at(packets: &[Sent], rates: &[f64], ms: u64) -> f64 {
    rates[packets.partition_point(|packet| packet.arrived <= ms) - 1]
}

/// The estimates of both after each packet, in kbps: ours, then aiortc's.
#[track_caller]
fn both(packets: &[Sent]) -> Option<[Vec<f64>; 2]> {
    Some([ours(packets), theirs(packets)?])
}

/// The first fall at `from` ms or later, in ms after it.
fn noticed(packets: &[Sent], rates: &[f64], from: u64) -> Option<u64> {
    falls(packets, rates).iter().map(|fall| fall.0).find(|&at| at >= from).map(|at| at - from)
}

fn assert_near(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() < tolerance, "{what}: {found} for {expected}");
}

/// Both notice the queue that grows from `from` ms on, within an RTT of each other; 300 ms are thirty groups of packets, as many as the
/// trend line's smoothing and fit span.
fn assert_noticed(packets: &[Sent], both: &[Vec<f64>; 2], from: u64) {
    let lag = |rates: &Vec<f64>| {
        let before = falls(packets, rates).iter().filter(|fall| fall.0 < from).count();
        assert_eq!(before, 0, "falls without a queue");
        noticed(packets, rates, from).expect("it falls")
    };
    let [ours, theirs] = both.each_ref().map(lag);
    println!("noticed after {ours} ms, by aiortc after {theirs} ms");
    assert!(ours < 300 && theirs < 300 && ours.abs_diff(theirs) < 2 * ONE_WAY);
}

/// Section 5.5: 1.08 a second, up to 1.5 times what is received; aiortc allows 10 kbps more.
#[test]
fn both_grow_alike_over_a_link_with_room() {
    let packets = over_link(&[(0, 1000.0)], &[], &[(0, 2500.0)], 40);
    let Some(both) = both(&packets) else { return };
    for rates in &both {
        assert_eq!(falls(&packets, rates), []);
        let at = |ms| rate_at(&packets, rates, ms);
        println!("{:.3} in 4 s, {:.0} kbps at the end", at(8000) / at(4000), at(40_000));
        assert_near("growth in 4 s", at(8000) / at(4000), 1.08_f64.powi(4), 0.02);
        assert_near("the end", at(40_000), 1500.0, 0.02);
    }
}

/// Delays that differ by a few ms from packet to packet, at random, are no queue. At more than a group's distance of 8 ms the trend
/// line, unlike the Kalman filter, is sometimes mistaken: libwebrtc's constants, once in ten seconds at most here.
#[test]
fn both_bear_jitter() {
    for (most, tolerated) in [(5, 0), (15, 6)] {
        let mut packets = over_link(&[(0, 1000.0)], &[], &[(0, 2500.0)], 60);
        let (mut random, mut last) = (1_u64, 0);
        for packet in &mut packets {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            packet.arrived = (packet.arrived + (random >> 33) % (most + 1)).max(last);
            last = packet.arrived;
        }
        let Some(both) = both(&packets) else { return };
        let [ours, theirs] = both.each_ref().map(|rates| falls(&packets, rates).len());
        println!("up to {most} ms: {ours} falls, aiortc {theirs}");
        assert!(ours <= tolerated && theirs == 0, "{most} ms: {ours} and {theirs}");
    }
}

/// The step of section 5.1 of RFC 8867 to 0.6 Mbps, and others: packets of 1.5 Mbps meet less capacity after 20 s. 0.85 of what arrives
/// is left; one packet more or less in half a second is 16 kbps.
#[test]
fn both_notice_a_queue_and_fall_to_a_part_of_what_arrives() {
    for capacity in [600.0, 300.0, 900.0, 1200.0, 1400.0] {
        let steps = [(0, 2500.0), (20_000, capacity)];
        let packets = over_link(&[(0, 1500.0)], &[], &steps, 23);
        let Some(both) = both(&packets) else { return };
        assert_noticed(&packets, &both, 20_000 + ONE_WAY);
        for rates in &both {
            let left = rates[rates.len() - 1];
            println!("{capacity} kbps: {left:.0} are left");
            assert_near("what is left", left, 0.85 * capacity, 0.02 + 0.85 * 16.0 / capacity);
        }
    }
}

/// For ten seconds a competing flow takes its part of the queue. The threshold may follow the trend line, so that ours rises a little
/// meanwhile. Both come back.
#[test]
fn both_yield_to_a_competing_flow_and_come_back() {
    for rate in [400.0, 300.0, 800.0] {
        let beside = [(0, 0.0), (20_000, rate), (30_000, 0.0)];
        let packets = over_link(&[(0, 800.0)], &beside, &[(0, 1000.0)], 100);
        let Some(both) = both(&packets) else { return };
        assert_noticed(&packets, &both, 20_000 + ONE_WAY);
        let part = 800.0 / (800.0 + rate) * 1000.0;
        for (rates, tolerance) in both.iter().zip([0.06, 0.03]) {
            let (beside, after) =
                (rate_at(&packets, rates, 25_000), rate_at(&packets, rates, 100_000));
            println!("{rate} kbps: {beside:.0} of {part:.0} kbps, later {after:.0}");
            assert_near("beside it", beside, 0.85 * part, tolerance);
            assert_near("after it", after, 1.5 * 800.0, 0.03);
        }
    }
}

/// The steps to 0.6 and 1 Mbps of section 5.1 of RFC 8867, by a sender that follows the first after 1.5 s. Near the rate at which
/// the path was full ours adds half a packet for each response time as in section 5.5, aiortc a whole one; once more is received than
/// then, both grow by 1.08 a second.
#[test]
fn both_recover_ours_as_slowly_as_the_draft_says() {
    let sent = [(0, 1500.0), (21_500, 450.0), (40_000, 800.0)];
    let steps = [(0, 2500.0), (20_000, 600.0), (40_000, 1000.0)];
    let packets = over_link(&sent, &[], &steps, 80);
    let Some(both) = both(&packets) else { return };
    let near = both
        .each_ref()
        .map(|rates| (rate_at(&packets, rates, 36_000) - rate_at(&packets, rates, 34_000)) / 2.0);
    let far = both
        .each_ref()
        .map(|rates| rate_at(&packets, rates, 44_000) / rate_at(&packets, rates, 42_000));
    let ends = both.each_ref().map(|rates| rate_at(&packets, rates, 80_000));
    println!("{near:.1?} kbps a second near it, {far:.3?} in 2 s far from it, {ends:.0?} kbps");
    // A response time is 0.3 s; packets are those of frames, 8.4 to 9.5 kbit.
    assert_near("half a packet", near[0], 0.5 * 8.8 / 0.3, 0.1);
    assert_near("a packet", near[1], 8.8 / 0.3, 0.1);
    for growth in far {
        assert_near("growth in 2 s", growth, 1.08_f64.powi(2), 0.02);
    }
    assert_near("the end of both", ends[0], ends[1], 0.03);
}
