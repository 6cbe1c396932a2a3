//! Packets of a machine, as a tunnel reads them: whatever they are, none is lost that is not counted,
//! none overtakes another of its flow, and what is told of a flow stays bounded.

use exm_packet::{Packet, clamp_mss, too_big};
use exm_tunnel::FlowQueues;
use exm_units::{Bytes, Instant, Span};
use std::net::IpAddr;

const LARGEST: usize = 1288;

/// Runs the target on `bytes`.
pub fn run(bytes: &[u8]) {
    let mut queues = FlowQueues::new(Bytes::new(LARGEST as u64), Bytes::new(70));
    let (mut now, mut came, mut rest) = (Instant::ZERO, 0, bytes);
    while let [step, length, after @ ..] = rest {
        now += Span::from_micros(u64::from(*step));
        match step % 8 {
            0 => queues.set_bound(Bytes::new(u64::from(*length) * 500)),
            1 => {
                let (expected, mut out) = (queues.next_length(), Vec::new());
                queues.pull(now, &mut out);
                assert_eq!(expected.unwrap_or(0), out.len());
            }
            _ => {
                let (packet, others) = after.split_at(after.len().min(usize::from(*length)));
                came += u64::from(push(&mut queues, now, packet.to_vec()));
                rest = others;
                continue;
            }
        }
        rest = after;
    }
    let ends = [queues.waiting(), queues.sent(), queues.dropped()];
    assert_eq!(ends.iter().map(|tally| tally.packets).sum::<u64>(), came);
    assert!(queues.waiting().bytes <= queues.bound().get());
    assert!(queues.flows().count() <= 1025);
}

/// Does with a packet what a tunnel does; whether it is one.
fn push(queues: &mut FlowQueues, now: Instant, mut bytes: Vec<u8>) -> bool {
    // The lengths that a packet tells of itself are seldom right at random.
    let length = bytes.len() as u16;
    match bytes.first().map(|first| first >> 4) {
        Some(4) if bytes.len() >= 20 => bytes[2..4].copy_from_slice(&length.to_be_bytes()),
        Some(6) if bytes.len() >= 40 => bytes[4..6].copy_from_slice(&(length - 40).to_be_bytes()),
        _ => {}
    }
    let Ok(packet) = Packet::parse(&bytes) else { return false };
    let before = bytes.clone();
    if clamp_mss(&mut bytes, &packet, 700) {
        assert!(!clamp_mss(&mut bytes, &packet, 700), "once is enough");
    } else {
        assert_eq!(bytes, before);
    }
    for router in [IpAddr::from([100, 96, 0, 1]), IpAddr::from([0xfd65; 8])] {
        if let Some(answer) = too_big(&bytes, &packet, 700, router) {
            let told = Packet::parse(&answer).expect("an answer is a packet");
            assert_eq!((told.flow.from.0, told.flow.to.0), (router, packet.flow.from.0));
            assert!(too_big(&answer, &told, 700, packet.flow.from.0).is_none());
        }
    }
    queues.push(now, &packet, bytes);
    true
}
