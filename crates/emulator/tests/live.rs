//! The emulator with real programs, in network namespaces. Skipped if this process may not create
//! any.
#![cfg(target_os = "linux")]

use exm_emulator::{
    Cause, Delivery, Direction, Emulated, Ends, Observer, OutsideNetwork, PacketInfo, PathSpec,
    Propagation, RunningLink, Setup, emulate,
};
use exm_link::{Limit, Service};
use exm_trace::Trace;
use exm_units::{Instant, Packets, Probability, Rate, Span};
use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The ends of a link, if they can be created.
#[track_caller]
fn ends() -> Option<Ends> {
    if !exm_testing::can_make_networks(&[]) {
        return None;
    }
    Some(Ends::new(OutsideNetwork::Namespace).expect("a link's ends"))
}

/// A path with this rate and propagation delay.
fn path(mbps: f64, delay_ms: u64) -> PathSpec {
    let propagation = Propagation::Fixed(Span::from_millis(delay_ms));
    PathSpec { propagation, ..PathSpec::new(Service::Fixed(Rate::from_mbps(mbps))) }
}

fn no_observers<'a>() -> [Box<dyn Observer + 'a>; 2] {
    [Box::new(()), Box::new(())]
}

/// An observer that counts all deliveries and drops.
#[derive(Default)]
struct Notes {
    queued: u64,
    delivered: Vec<Delivery>,
    dropped: Vec<(PacketInfo, Cause)>,
    flows: Vec<String>,
}

struct Noting<'a>(&'a Mutex<Notes>);

impl Observer for Noting<'_> {
    fn queued(&mut self, _packet: &PacketInfo) {
        self.0.lock().unwrap().queued += 1;
    }

    fn delivered(&mut self, delivery: &Delivery) {
        self.0.lock().unwrap().delivered.push(*delivery);
    }

    fn dropped(&mut self, packet: &PacketInfo, _at: Instant, cause: Cause) {
        self.0.lock().unwrap().dropped.push((*packet, cause));
    }

    fn flow(&mut self, _number: u32, flow: &exm_emulator::Flow) {
        self.0.lock().unwrap().flows.push(flow.to_string());
    }
}

/// An observer that sends for each packet whether it has crossed the link or was lost.
struct OutcomeSender(Sender<bool>);

impl Observer for OutcomeSender {
    fn delivered(&mut self, _delivery: &Delivery) {
        let _ = self.0.send(true);
    }

    fn dropped(&mut self, _packet: &PacketInfo, _at: Instant, _cause: Cause) {
        let _ = self.0.send(false);
    }
}

/// UDP sockets at both ends, and the port of the outside one.
fn sockets(ends: &Ends) -> (UdpSocket, UdpSocket) {
    let bind = |end: &exm_emulator::End| {
        let ip = end.ip;
        end.namespace.run(move || UdpSocket::bind((ip, 0))).unwrap()
    };
    let (inside, outside) = (bind(&ends.inside), bind(&ends.outside));
    inside.connect(outside.local_addr().unwrap()).unwrap();
    outside.connect(inside.local_addr().unwrap()).unwrap();
    inside.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    outside.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    (inside, outside)
}

/// An echo takes the propagation delays and the transmissions, for both IP versions; its measurements
/// add up.
#[test]
fn an_echo_takes_as_long_as_it_should() {
    let Some(ends) = ends() else { return };
    let setup = Setup::new(path(10.0, 30), path(1.0, 15));
    let notes = Mutex::new(Notes::default());
    let observers: [Box<dyn Observer>; 2] = [Box::new(Noting(&notes)), Box::new(())];
    let (inside, outside) = sockets(&ends);
    let echo = |link: &RunningLink| {
        (0..10)
            .map(|_| {
                let began = link.clock().now();
                inside.send(&[1; 1000]).unwrap();
                let mut buffer = [0; 2000];
                let length = outside.recv(&mut buffer).unwrap();
                outside.send(&buffer[..length]).unwrap();
                assert_eq!(inside.recv(&mut buffer).unwrap(), 1000);
                link.clock().now() - began
            })
            .min()
            .unwrap()
    };
    let (least, emulated) = emulate(&setup, ends.ports(), observers, echo).unwrap();
    // 45 ms of propagation, and 1028 bytes at 10 Mbps and at 1 Mbps.
    let exact = Span::from_nanos(45_000_000 + 822_400 + 8_224_000);
    assert!(least >= exact && least < exact + Span::from_millis(4), "{least}");
    let [up, down] = &emulated.stats;
    assert_eq!(up.arrived.packets, up.delivered.packets + emulated.inside[0]);
    assert_eq!(down.total_lost().packets, 0);
    let notes = notes.into_inner().unwrap();
    assert!(notes.flows.iter().any(|flow| flow.starts_with("udp 100.")), "{:?}", notes.flows);
    assert_eq!(notes.delivered.len() as u64, up.delivered.packets);
    for delivery in notes.delivered.iter().filter(|delivery| delivery.packet.size == 1028) {
        assert_eq!(delivery.queueing(), Span::from_nanos(822_400));
        let PacketInfo { sent_at, queued_at, .. } = delivery.packet;
        assert_eq!(queued_at - sent_at, Span::from_millis(30));
        assert_eq!(delivery.total(), Span::from_nanos(30_822_400) + delivery.lateness());
    }
}

/// Packets beyond the rate are dropped by the queue and counted: none vanishes, even if a program
/// sends as fast as it can. Every delivered packet is received.
#[test]
fn every_loss_is_counted() {
    let Some(ends) = ends() else { return };
    let mut up = path(20.0, 5);
    up.limit = Limit::Packets(Packets::new(50));
    up.loss = Probability::new(0.1).unwrap();
    let setup = Setup::new(up, path(20.0, 5));
    let (inside, outside) = sockets(&ends);
    const SENT: u64 = 20_000;
    let (sender, outcomes) = channel();
    let observers: [Box<dyn Observer>; 2] = [Box::new(OutcomeSender(sender)), Box::new(())];
    let flood = |_: &RunningLink| {
        let (mut received, mut delivered, mut buffer) = (0, 0, [0; 2000]);
        outside.set_nonblocking(true).unwrap();
        let mut drain = || (0..).take_while(|_| outside.recv(&mut buffer).is_ok()).count() as u64;
        for _ in 0..SENT {
            assert_eq!(inside.send(&[0; 1172]).unwrap(), 1172);
            received += drain();
        }
        // Until the fate of each packet is known, and all delivered ones are received.
        for _ in ends.missed().unwrap()[0]..SENT {
            delivered += u64::from(outcomes.recv_timeout(Duration::from_secs(5)).unwrap());
            received += drain();
        }
        outside.set_nonblocking(false).unwrap();
        while received < delivered {
            outside.recv(&mut buffer).unwrap();
            received += 1;
        }
        received
    };
    let (received, emulated) = emulate(&setup, ends.ports(), observers, flood).unwrap();
    let up = &emulated.stats[0];
    let missed = ends.missed().unwrap()[0];
    assert_eq!(missed + up.arrived.packets, SENT, "{missed}");
    let lost = up.total_lost().packets;
    assert_eq!(up.arrived.packets, up.delivered.packets + lost);
    assert_eq!((emulated.inside[0], up.delivered.packets), (0, received));
    let share = up.lost(Cause::Loss).packets as f64 / up.arrived.packets as f64;
    assert!((share - 0.1).abs() < 0.02, "{share}");
    assert_eq!(up.lost(Cause::Loss).packets + up.lost(Cause::Queue).packets, lost);
    assert_eq!(up.max_queue.packets, 50);
}

/// The kernel's TCP fills the link, and no more: large packets are segmented, segments are written as
/// one again, and every byte arrives unchanged.
#[test]
fn tcp_fills_the_link_with_the_right_bytes() {
    let Some(ends) = ends() else { return };
    let mut up = path(80.0, 5);
    up.limit = Limit::Packets(Packets::new(200));
    let setup = Setup::new(up, path(80.0, 5));
    for version in [4, 6] {
        let (emulated, seconds) = transfer(&ends, &setup, version);
        let up = &emulated.stats[0];
        assert!(up.arrived.bytes / up.arrived.packets > 1300, "{:?}", up.arrived);
        let rate = up.delivered.bytes as f64 * 8e-6 / seconds;
        assert!(rate < 80.5, "{rate}");
        assert!(rate > 50.0, "{rate}");
    }
}

/// Byte `at` of a transfer.
fn byte(at: usize) -> u8 {
    (at ^ at >> 8 ^ at >> 16) as u8
}

/// Transfers data over TCP from inside to outside, and compares every byte. Also returns the duration
/// in seconds.
fn transfer(ends: &Ends, setup: &Setup, version: u8) -> (Emulated, f64) {
    const LENGTH: usize = 12_000_000;
    let address: IpAddr =
        if version == 4 { ends.outside.ip.into() } else { ends.outside.ip6.into() };
    let listener = ends.outside.namespace.run(|| TcpListener::bind((address, 0))).unwrap();
    let address = listener.local_addr().unwrap();
    let work = |link: &RunningLink| {
        let receiver = thread::spawn(move || -> io::Result<usize> {
            let (mut stream, _) = listener.accept()?;
            let (mut at, mut buffer) = (0, vec![0; 65_536]);
            loop {
                let length = stream.read(&mut buffer)?;
                let right = (at..).zip(&buffer[..length]).all(|(at, &got)| got == byte(at));
                assert!(right, "the bytes at {at} are unchanged");
                at += length;
                if length == 0 {
                    return Ok(at);
                }
            }
        });
        let stream = ends.inside.namespace.run(|| TcpStream::connect(address));
        let mut stream = stream.unwrap();
        let began = link.clock().now();
        let data: Vec<u8> = (0..LENGTH).map(byte).collect();
        stream.write_all(&data).unwrap();
        drop(stream);
        assert_eq!(receiver.join().unwrap().unwrap(), LENGTH);
        (link.clock().now() - began).as_secs_f64()
    };
    let (seconds, emulated) = emulate(setup, ends.ports(), no_observers(), work).unwrap();
    (emulated, seconds)
}

/// Packets leave at the trace's opportunities: a burst is spread over them, and each packet leaves
/// soon after its opportunity.
#[test]
fn packets_leave_at_the_opportunities_of_a_trace() {
    let Some(ends) = ends() else { return };
    let times: Vec<_> = [10, 20, 30, 45, 60].map(|ms| Instant::ZERO + Span::from_millis(ms)).into();
    let service = Service::Trace(Arc::new(Trace::new(times).unwrap()));
    let mut up = PathSpec::new(service);
    up.propagation = Propagation::Fixed(Span::from_millis(3));
    let setup = Setup::new(up, path(100.0, 1));
    let notes = Mutex::new(Notes::default());
    let observers: [Box<dyn Observer>; 2] = [Box::new(Noting(&notes)), Box::new(())];
    let (inside, outside) = sockets(&ends);
    let burst = |_: &RunningLink| {
        let mut buffer = [0; 2000];
        (0..20).for_each(|_| assert_eq!(inside.send(&[0; 1472]).unwrap(), 1472));
        (0..20).for_each(|_| assert_eq!(outside.recv(&mut buffer).unwrap(), 1472));
    };
    emulate(&setup, ends.ports(), observers, burst).unwrap();
    let notes = notes.into_inner().unwrap();
    let left: Vec<_> = notes
        .delivered
        .iter()
        .filter(|delivery| delivery.packet.size == 1500)
        .map(|delivery| delivery.due_at.as_nanos() as f64 % 60e6 / 1e6)
        .collect();
    assert_eq!(left.len(), 20);
    assert!(left.iter().all(|ms| [0.0, 10.0, 20.0, 30.0, 45.0].contains(ms)), "{left:?}");
    assert_eq!(Direction::Up.name(), "up");
}
