//! [`Connection`]: the headers of a flow's packets.

use super::{Bytes, signed};
use crate::engine::{AckContents, PacketId, ReceivedAck};
use crate::network::{FlowSpec, TCP_HEADER, Transport, codepoint};
use exm_cc::Controller as _;
use exm_link::Ecn;
use exm_packet::build::{Ipv4, Tcp, flags};
use exm_tcp::{Acknowledgement, Recovery};
use exm_units::Instant;
use std::net::Ipv4Addr;

/// The addresses before that of the first sender and of the first receiver.
const SENDERS: u32 = 0x0a00_0000;
const RECEIVERS: u32 = 0x0a80_0000;
/// The port of a flow's first connection, how many follow before they start again, and the receivers' port, one
/// above which they then go on.
const FIRST_PORT: u16 = 10_000;
const PORTS: u32 = 50_000;
const RECEIVER_PORT: u16 = 5001;
/// The sequence number of a SYN in events.
const SYN: u64 = u64::MAX;
/// The headers of IPv4 and UDP.
const UDP_HEADERS: u32 = 28;
/// The largest window scale (RFC 7323, section 2.3).
const LARGEST_SCALE: u8 = 14;

/// A flow's connection: over TCP one at a time.
#[derive(Debug)]
pub(super) struct Connection {
    /// The sender's address and the receiver's.
    ends: [Ipv4Addr; 2],
    /// The identification of the last packet of either.
    ids: [u16; 2],
    /// The ECN bits of the sender's packets.
    ecn: u8,
    /// TCP's settings; none for UDP.
    tcp: Option<TcpShape>,
    /// The last on-period that a packet was sent in.
    period: u32,
    /// The receiver's latest timestamp.
    echo: u32,
    /// The marks that it has reported.
    marked: u64,
    bytes: Bytes,
}

/// What a TCP connection looks like, whatever happens to it.
#[derive(Clone, Copy, Debug)]
struct TcpShape {
    /// The payload of a segment.
    mss: u32,
    /// The receive window, scaled, and its scale.
    window: (u16, u8),
    handshake: bool,
    persistent: bool,
}

impl Connection {
    /// That of flow number `flow`.
    pub(super) fn new(flow: usize, spec: &FlowSpec) -> Connection {
        let mss = u32::try_from(spec.transport.payload(spec.packet_size).get()).unwrap_or(u32::MAX);
        let shape = |settings: &exm_tcp::Settings| TcpShape {
            mss,
            window: scaled(settings.receive_window.map(|w| w.get().saturating_mul(mss.into()))),
            handshake: settings.handshake,
            persistent: settings.persistent,
        };
        let (tcp, ecn) = match &spec.transport {
            Transport::Tcp { controller, settings } if settings.recovery == Recovery::Quic => {
                (None, codepoint(controller.needs(), settings.ecn))
            }
            Transport::Tcp { controller, settings } => {
                (Some(shape(settings)), codepoint(controller.needs(), settings.ecn))
            }
            Transport::Bare { controller, .. } => (None, codepoint(controller.needs(), false)),
            Transport::Sprout(_) => (None, Ecn::NotCapable),
        };
        let end = |first: u32| Ipv4Addr::from_bits(first.wrapping_add(flow as u32 + 1));
        Connection {
            ends: [end(SENDERS), end(RECEIVERS)],
            ids: [0; 2],
            ecn: bits(ecn),
            tcp,
            period: 0,
            echo: 0,
            marked: 0,
            bytes: Bytes::default(),
        }
    }

    /// `packet` is sent `at` that time: calls `write` with it, and before the first of a connection whose handshake is
    /// not simulated, with one. It takes a nanosecond: within so much time as a handshake took, Wireshark takes
    /// retransmissions for packets out of order, and within 3 ms if it took none.
    pub(super) fn send(
        &mut self,
        at: Instant,
        packet: &PacketId,
        mut write: impl FnMut(i64, &Bytes),
    ) {
        let now = signed(at);
        let Some(shape) = self.tcp else { return write(now, self.datagram(packet)) };
        let is_new = packet.period != self.period && !(shape.persistent && self.period > 0);
        self.period = packet.period;
        if is_new {
            (self.echo, self.marked) = (0, 0);
        }
        if packet.sequence == SYN {
            return write(now, self.syn(at, packet.period));
        }
        if is_new && !shape.handshake {
            write(now - 1, self.syn(at, packet.period));
            write(now, self.syn_ack(at, at, packet.period));
            write(now, self.bare_ack(at, packet.period));
        }
        let segment = Tcp {
            sequence: sequence(packet.sequence, shape.mss),
            flags: flags::ACK | flags::PSH,
            ..self.header(0, packet.period, [stamp(at), self.echo])
        };
        let payload = (packet.size.get() as u32).saturating_sub(TCP_HEADER.get() as u32);
        write(now, self.tcp_packet(0, &segment, payload));
    }

    /// `ack` reaches the sender: calls `write` with it and, if it completes a handshake, with the sender's answer.
    pub(super) fn receive(&mut self, ack: &ReceivedAck, mut write: impl FnMut(&Bytes)) {
        match (ack.contents, self.tcp) {
            (AckContents::Tcp(contents), Some(_)) if contents.syn => {
                write(self.syn_ack(contents.sent_at, contents.received_at, ack.period));
                write(self.bare_ack(ack.at, ack.period));
            }
            (AckContents::Tcp(contents), Some(shape)) => {
                write(self.acknowledgement(&contents, shape, ack.period));
            }
            (AckContents::Tcp(contents), None) => {
                write(self.answer(&contents.sequence.to_be_bytes(), TCP_HEADER.get() as u32));
            }
            (AckContents::Bare { sequence, .. }, _) => {
                write(self.answer(&sequence.to_be_bytes(), TCP_HEADER.get() as u32));
            }
            (AckContents::Sprout { size }, _) => write(self.answer(&[], size.get() as u32)),
        }
    }

    /// The first bytes of `packet`, for a router that drops it.
    pub(super) fn header_of(&mut self, packet: &PacketId) -> &[u8] {
        let from = usize::from(packet.is_ack);
        let ids = self.ids;
        match self.tcp {
            None if packet.is_ack => {
                self.answer(&[], packet.size.get() as u32);
            }
            None => {
                self.datagram(packet);
            }
            Some(shape) => {
                let at = packet.sent_at;
                let mut segment = self.header(from, packet.period, [stamp(at), self.echo]);
                if !packet.is_ack && packet.sequence != SYN {
                    segment.sequence = sequence(packet.sequence, shape.mss);
                }
                let payload = (packet.size.get() as u32).saturating_sub(TCP_HEADER.get() as u32);
                self.tcp_packet(from, &segment, payload);
            }
        }
        self.ids = ids;
        &self.bytes.headers
    }

    fn syn(&mut self, at: Instant, period: u32) -> &Bytes {
        let ecn = if self.ecn > 0 { flags::ECE | flags::CWR } else { 0 };
        let header = self.header(0, period, [stamp(at), 0]);
        let syn = Tcp { sequence: 0, acknowledgement: 0, flags: flags::SYN | ecn, ..header };
        self.tcp_packet(0, &Tcp { offer: self.offer(), ..syn }, 0)
    }

    /// The answer to a SYN sent `at` that time.
    fn syn_ack(&mut self, at: Instant, answered_at: Instant, period: u32) -> &Bytes {
        let ecn = if self.ecn > 0 { flags::ECE } else { 0 };
        self.echo = stamp(answered_at);
        let header = self.header(1, period, [self.echo, stamp(at)]);
        let flags = flags::SYN | flags::ACK | ecn;
        self.tcp_packet(1, &Tcp { sequence: 0, flags, offer: self.offer(), ..header }, 0)
    }

    /// The ACK that ends a handshake.
    fn bare_ack(&mut self, at: Instant, period: u32) -> &Bytes {
        let header = self.header(0, period, [stamp(at), self.echo]);
        self.tcp_packet(0, &header, 0)
    }

    fn acknowledgement(&mut self, ack: &Acknowledgement, shape: TcpShape, period: u32) -> &Bytes {
        // A duplicate is reported first (RFC 2883).
        let duplicate = ack.duplicate.then(|| (ack.sequence, ack.sequence.saturating_add(1)));
        let full = ack.blocks.iter().copied().filter(|(from, to)| to > from);
        let mut blocks = [(0, 0); 3];
        let mut count = 0;
        for (slot, (from, to)) in blocks.iter_mut().zip(duplicate.into_iter().chain(full)) {
            *slot = (sequence(from, shape.mss), sequence(to, shape.mss));
            count += 1;
        }
        let is_current = shape.persistent || period == self.period;
        let mut marks = 0;
        let mut now = stamp(ack.received_at);
        if is_current {
            marks = ack.marked.saturating_sub(self.marked);
            self.marked = self.marked.max(ack.marked);
            now = now.max(self.echo);
            self.echo = now;
        }
        let header = self.header(1, period, [now, stamp(ack.sent_at)]);
        let segment = Tcp {
            acknowledgement: sequence(ack.cumulative, shape.mss),
            flags: flags::ACK | if marks > 0 { flags::ECE } else { 0 },
            blocks: &blocks[..count],
            ..header
        };
        self.tcp_packet(1, &segment, 0)
    }

    /// The header of a pure ACK of nothing, from the sender (0) or the receiver (1).
    fn header(&self, from: usize, period: u32, timestamps: [u32; 2]) -> Tcp<'static> {
        let mut ports = self.ports(period);
        if from == 1 {
            ports.reverse();
        }
        Tcp {
            ports,
            sequence: 1,
            acknowledgement: 1,
            flags: flags::ACK,
            window: self.tcp.map_or(0, |shape| shape.window.0),
            offer: None,
            timestamps,
            blocks: &[],
        }
    }

    fn offer(&self) -> Option<(u16, u8)> {
        self.tcp.map(|shape| (u16::try_from(shape.mss).unwrap_or(u16::MAX), shape.window.1))
    }

    fn tcp_packet(&mut self, from: usize, segment: &Tcp<'_>, payload: u32) -> &Bytes {
        let ip = self.ip(from, payload > 0);
        self.bytes.length = ip.tcp(segment, payload, &mut self.bytes.headers);
        &self.bytes
    }

    fn datagram(&mut self, packet: &PacketId) -> &Bytes {
        let (ip, ports) = (self.ip(0, true), self.ports(1));
        let payload = (packet.size.get() as u32).saturating_sub(UDP_HEADERS);
        let head = packet.sequence.to_be_bytes();
        self.bytes.length = ip.udp(ports, &head, payload, &mut self.bytes.headers);
        &self.bytes
    }

    /// A datagram of the receiver.
    fn answer(&mut self, head: &[u8], size: u32) -> &Bytes {
        let (ip, [from, to]) = (self.ip(1, false), self.ports(1));
        let payload = size.saturating_sub(UDP_HEADERS);
        self.bytes.length = ip.udp([to, from], head, payload, &mut self.bytes.headers);
        &self.bytes
    }

    /// The IP header of the next packet of an end. Only data is ECN-capable (RFC 3168, section 6.1).
    fn ip(&mut self, from: usize, is_data: bool) -> Ipv4 {
        self.ids[from] = self.ids[from].wrapping_add(1);
        let ecn = if is_data { self.ecn } else { 0 };
        Ipv4 { from: self.ends[from], to: self.ends[1 - from], ecn, id: self.ids[from] }
    }

    /// The ports in on-period `period`, the sender's first.
    fn ports(&self, period: u32) -> [u16; 2] {
        let before = match self.tcp {
            Some(TcpShape { persistent: false, .. }) => period.saturating_sub(1),
            _ => 0,
        };
        let further = (before / PORTS) as u16;
        [FIRST_PORT + (before % PORTS) as u16, RECEIVER_PORT.wrapping_add(further)]
    }
}

/// The two bits of a codepoint in the IP header (RFC 3168, section 5).
fn bits(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotCapable => 0,
        Ecn::LowLatency => 1,
        Ecn::Capable => 2,
        Ecn::Marked => 3,
    }
}

/// The number of the first byte of `segment`.
fn sequence(segment: u64, mss: u32) -> u32 {
    (segment.wrapping_mul(mss.into()) as u32).wrapping_add(1)
}

/// The timestamp of `time`, of a clock of a millisecond.
fn stamp(time: Instant) -> u32 {
    ((time.as_nanos() / 1_000_000) as u32).wrapping_add(1)
}

/// The window field for so many bytes, or for as many as possible, and its scale.
fn scaled(bytes: Option<u64>) -> (u16, u8) {
    let Some(bytes) = bytes else { return (u16::MAX, LARGEST_SCALE) };
    let scale = (0..LARGEST_SCALE).find(|scale| bytes >> scale <= u64::from(u16::MAX));
    let scale = scale.unwrap_or(LARGEST_SCALE);
    (u16::try_from(bytes >> scale).unwrap_or(u16::MAX).max(1), scale)
}
