//! The emulator's path and the simulator's link, given the same packets at the same nanoseconds,
//! release them at the same nanoseconds, and drop as many.

use exm_emulator::{Cause, Outcome, Path, PathSpec};
use exm_link::{Limit, Packet, QueueKind, Service};
use exm_sim::controllers::AnyController;
use exm_sim::engine::{FlowSample, LinkSample, Observer, Pace, run_observed};
use exm_sim::network::{FlowSpec, Host, LinkSpec, Network};
use exm_trace::Synthetic;
use exm_units::{Bytes, Instant, Packets, Rate, Span};
use std::sync::Arc;

const SEED: u64 = 7;

/// The link after each change: its queue, and whether it is transmitting.
#[derive(Default)]
struct Changes(Vec<LinkSample>);

impl Observer for Changes {
    fn pace(&self) -> Pace {
        Pace::EachEvent
    }

    fn flow(&mut self, _sample: &FlowSample) {}

    fn link(&mut self, sample: &LinkSample) {
        self.0.push(*sample);
    }
}

/// Simulates a TCP flow of packets of `size` bytes over the link of `spec`: returns how the link
/// changed, how many packets it transmitted, and how many it dropped.
fn simulated(spec: &PathSpec, size: u32) -> (Vec<LinkSample>, [u64; 2]) {
    let bottleneck = LinkSpec::bottleneck(spec.service.clone(), spec.limit);
    let link = bottleneck.queue(spec.queue.clone());
    let controller = AnyController::named("cubic").expect("there is Cubic");
    let flow = FlowSpec::new(Host::Tcp.transport(controller))
        .extra_delay(Span::from_millis(40))
        .packet_size(Bytes::new(u64::from(size)));
    let network = Network::new(vec![link], vec![flow], Span::from_secs(30)).expect("a network");
    let mut changes = Changes::default();
    let report = run_observed(&network, SEED, &mut changes);
    (changes.0, [report.links[0].transmitted, report.links[0].dropped])
}

/// How many packets a path released and dropped, all of them at `now`.
struct Counts {
    now: Instant,
    departed: u64,
    dropped: u64,
}

impl Outcome for Counts {
    fn queued(&mut self, packet: &Packet) {
        assert_eq!(packet.at, self.now);
    }

    fn departed(&mut self, at: Instant, _packet: Packet) {
        assert_eq!(at, self.now, "a packet leaves when one does in the simulation");
        self.departed += 1;
    }

    fn dropped(&mut self, at: Instant, _packet: Packet, _cause: Cause) {
        assert_eq!(at, self.now, "a packet is dropped at an event of the simulation");
        self.dropped += 1;
    }
}

/// Sends packets of `size` bytes along the path of `spec` at the arrival times of the simulation, and
/// compares the two after each instant.
fn replay(changes: &[LinkSample], spec: &PathSpec, size: u32) -> [u64; 2] {
    let mut path = Path::new(spec, SEED, 0).expect("a path");
    let mut counts = Counts { now: Instant::ZERO, departed: 0, dropped: 0 };
    let held = |sample: &LinkSample| sample.packets + u64::from(sample.busy);
    let (mut number, mut before) = (0, 0);
    for instant in changes.chunk_by(|one, other| one.at == other.at) {
        counts.now = instant[0].at;
        for change in instant {
            // A change that leaves no fewer packets is an arrival, although the queue may have dropped
            // one: at least one packet of up to 1500 bytes leaves at each opportunity.
            if held(change) >= before {
                path.send(counts.now, Packet::new(0, number, size, counts.now));
                number += 1;
            }
            before = held(change);
        }
        path.advance(counts.now, &mut counts);
        let last = &instant[instant.len() - 1];
        let here = (path.queue_packets() as u64, path.queue_bytes(), path.holds() as u64);
        assert_eq!(here, (last.packets, last.bytes, held(last)), "at {:?}", counts.now);
    }
    [counts.departed, counts.dropped]
}

/// Every discipline, at a fixed rate and by a trace, with a limit of packets and of bytes, with
/// packets as large as an opportunity and such as need two.
#[test]
fn the_same_packets_leave_at_the_same_times() {
    let trace = Synthetic::named("lte-like").expect("a synthetic link");
    let trace = Arc::new(trace.generate(1, Span::from_secs(20)).expect("a trace"));
    let limits = [Limit::Packets(Packets::new(60)), Limit::Bytes(Bytes::new(90_000))];
    for name in QueueKind::NAMES {
        for (limit, size) in limits.into_iter().zip([1500, 1000]) {
            for service in [Service::Fixed(Rate::from_mbps(12.0)), Service::Trace(trace.clone())] {
                let queue = QueueKind::named(name).expect("a discipline");
                let spec = PathSpec { queue, limit, ..PathSpec::new(service) };
                let (changes, expected) = simulated(&spec, size);
                assert!(expected[0] > 1000 && expected[1] > 0, "{expected:?}, {spec:?}");
                assert_eq!(replay(&changes, &spec, size), expected, "{spec:?}");
            }
        }
    }
}
