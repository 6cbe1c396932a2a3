use super::*;
use crate::controllers::AnyController;
use crate::engine::run_observed;
use crate::metrics::Report;
use crate::network::{FlowSpec, Host, LinkSpec, Transport};
use crate::traffic::{OnFor, OnOff};
use exm_capture::{LinkType, Reader};
use exm_link::{Limit, Service};
use exm_packet::build::flags;
use exm_random::Distribution;
use exm_units::{Packets, Probability, Rate, Span};

/// A packet that was written: its time, its bytes, and its length.
type Written = (u64, Vec<u8>, u32);

fn controller(name: &str) -> AnyController {
    AnyController::named(name).expect("is built in")
}

/// A flow over a short lossy link of 10 Mbps.
fn network(transport: Transport, traffic: OnOff) -> Network {
    let link = LinkSpec::new(Service::Fixed(Rate::from_mbps(10.0)))
        .buffer(Limit::Packets(Packets::new(20)))
        .loss(Probability::new(0.01).expect("a probability"));
    let flow = FlowSpec::new(transport).extra_delay(Span::from_millis(40)).traffic(traffic);
    Network::new(vec![link], vec![flow], Span::from_secs(10)).expect("a network")
}

fn capture(network: &Network) -> (Report, Vec<Written>) {
    let mut capture = Capture::new(Vec::new(), network, "test").expect("a vector");
    let report = run_observed(network, 1, &mut capture);
    let file = capture.finish().expect("a vector");
    let mut reader = Reader::new(&file[..], "c").expect("a capture");
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_packet().expect("a capture") {
        packets.push((packet.at, packet.bytes.to_vec(), packet.original_length));
    }
    (report, packets)
}

/// How many of `packets` are of this protocol, from such an address.
fn count(packets: &[Written], protocol: u8, from: [u8; 2]) -> u64 {
    let is = |bytes: &[u8]| bytes[9] == protocol && bytes[12..14] == from;
    packets.iter().filter(|(_, bytes, _)| is(bytes)).count() as u64
}

#[test]
fn every_packet_and_every_ack_is_written_once_in_order() {
    let (report, packets) =
        capture(&network(Host::Tcp.transport(controller("cubic")), OnOff::always()));
    let flow = &report.flows[0];
    // A handshake besides, of which the sender sends two.
    assert_eq!(count(&packets, 6, [10, 0]), flow.sent + 2);
    assert_eq!(count(&packets, 6, [10, 128]), flow.arrived + 1);
    let lost = flow.lost + flow.dropped[0];
    assert!(lost > 10 && flow.retransmitted > 10);
    assert_eq!(count(&packets, 1, [172, 16]), lost);
    assert!(packets.is_sorted_by_key(|packet| packet.0));
    assert_eq!((packets[0].0, packets[1].0), (START - 1, START));
    let data = packets.iter().filter(|(_, bytes, _)| bytes[9] == 6 && bytes[13] == 0).nth(2);
    assert_eq!(data.map(|(_, bytes, length)| (bytes.len(), *length)), Some((52, 1500)));
    for (_, bytes, length) in &packets {
        let headers = LinkType::RAW.headers(bytes).expect("an IP packet");
        assert_eq!(headers.length, Some(*length));
    }
}

#[test]
fn each_on_period_is_a_connection() {
    let on = OnFor::Packets(Distribution::Fixed(50.0));
    let traffic = OnOff { on, off: Distribution::Fixed(0.2) };
    let (report, packets) = capture(&network(Host::Tcp.transport(controller("reno")), traffic));
    let flows = report.flows[0].completion.count();
    assert!(flows > 5);
    let syn = |bytes: &[u8]| bytes[9] == 6 && bytes[33] == flags::SYN;
    let syns: Vec<u16> = packets
        .iter()
        .filter(|(_, bytes, _)| syn(bytes))
        .map(|(_, bytes, _)| u16::from_be_bytes([bytes[20], bytes[21]]))
        .collect();
    assert!((flows..=flows + 1).contains(&(syns.len() as u64)));
    assert!(syns.iter().zip(10_000..).all(|(port, expected)| *port == expected), "{syns:?}");
}

#[test]
fn a_simulated_handshake_takes_its_time() {
    let settings = exm_tcp::Settings { handshake: true, ..exm_tcp::Settings::default() };
    let transport = Transport::Tcp { controller: controller("cubic"), settings };
    let (_, packets) = capture(&network(transport, OnOff::always()));
    let begin: Vec<(u64, u8)> =
        packets[..3].iter().map(|(at, bytes, _)| (*at - START, bytes[33])).collect();
    let answered = 40_000_000 + 52 * 8 * 100;
    let ack = flags::ACK;
    assert_eq!(begin, [(0, flags::SYN), (answered, flags::SYN | ack), (answered, ack)]);
}

#[test]
fn senders_without_tcp_appear_as_udp() {
    let (report, packets) =
        capture(&network(Host::Bare.transport(controller("aimd")), OnOff::always()));
    let flow = &report.flows[0];
    assert_eq!(count(&packets, 17, [10, 0]), flow.sent);
    assert_eq!(count(&packets, 17, [10, 128]), flow.arrived);
    assert_eq!(packets[1].1[28..36], 1u64.to_be_bytes());
    let sprout = Transport::Sprout(exm_sprout::Settings::default());
    let (report, packets) = capture(&network(sprout, OnOff::always()));
    assert_eq!(count(&packets, 17, [10, 0]), report.flows[0].sent);
}

#[test]
fn a_file_that_cannot_be_written_is_reported() {
    #[derive(Debug)]
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let network = network(Host::Tcp.transport(controller("cubic")), OnOff::always());
    let mut capture = Capture::new(Full(10_000), &network, "test").expect("room for the beginning");
    run_observed(&network, 1, &mut capture);
    assert_eq!(capture.finish().expect_err("full").kind(), io::ErrorKind::StorageFull);
}
