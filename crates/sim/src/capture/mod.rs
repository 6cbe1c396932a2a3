//! Captures of simulated packets, in the format pcapng of Wireshark and tcpdump.
//!
//! A [`Capture`] is an observer of the engine. It writes what a capture at the senders would show while the
//! simulation runs: each packet when it is sent, each ACK when it reaches its sender. Memory does not grow with the
//! simulation; of each packet the headers are stored.
//!
//! Flow number n is between 10.0.0.0 + n + 1 and 10.128.0.0 + n + 1. Over TCP each on-period is a connection of its own,
//! with a port of its own, unless connections persist; sequence numbers begin at 0, so the data at 1. A connection without
//! a simulated handshake begins with one of a nanosecond. Senders without TCP appear as UDP, each datagram beginning
//! with its number. Packets that are dropped or lost are told of on a second interface, by an ICMP message from the router
//! 172.16.0.0 + link + 1 with a comment.

mod connection;
mod drops;

use crate::engine::{Event, EventKind, Observer, PacketId, ReceivedAck};
use crate::network::Network;
use connection::Connection;
use drops::{Drop, Drops};
use exm_capture::{Frame, Interface, InterfaceId, Writer};
use exm_units::Instant;
use std::io::{self, Write};

/// The start of a simulation in its capture, in nanoseconds since 1970: midnight in UTC on 1 January 2000.
const START: u64 = 946_684_800_000_000_000;

/// `time` in nanoseconds.
fn signed(time: Instant) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// Writes what the senders of a simulation send and receive as pcapng.
///
/// ```
/// use exm_sim::capture::Capture;
/// use exm_sim::controllers::AnyController;
/// use exm_sim::engine;
/// use exm_sim::network::{FlowSpec, Host, LinkSpec, Network};
/// use exm_link::Service;
/// use exm_units::{Rate, Span};
///
/// let cubic = Host::Tcp.transport(AnyController::named("cubic").unwrap());
/// let flow = FlowSpec::new(cubic).extra_delay(Span::from_millis(50));
/// let link = LinkSpec::new(Service::Fixed(Rate::from_mbps(10.0)));
/// let network = Network::new(vec![link], vec![flow], Span::from_secs(1))?;
///
/// let mut capture = Capture::new(Vec::new(), &network, "example")?;
/// engine::run_observed(&network, 1, &mut capture);
/// let file = capture.finish()?;
/// assert!(file.len() > 100_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Capture<W> {
    out: Output<W>,
    connections: Vec<Connection>,
    drops: Drops,
}

/// The file, and the interfaces in it.
#[derive(Debug)]
struct Output<W> {
    writer: Writer<W>,
    senders: InterfaceId,
    drops: InterfaceId,
    error: Option<io::Error>,
}

/// A packet as it is to be written: its headers, and its length with its payload.
#[derive(Debug, Default)]
struct Bytes {
    headers: Vec<u8>,
    length: u32,
}

impl<W: Write> Output<W> {
    fn write(&mut self, interface: InterfaceId, at: i64, bytes: &Bytes, comment: Option<&str>) {
        if self.error.is_none() {
            let frame = Frame { bytes: &bytes.headers, length: bytes.length, comment };
            let at = START.saturating_add_signed(at);
            let written = self.writer.packet(interface, at, &frame);
            self.error = written.err();
        }
    }

    fn sender(&mut self, at: i64, bytes: &Bytes) {
        self.write(self.senders, at, bytes, None);
    }
}

impl<W: Write> Capture<W> {
    /// Begins a capture of the senders of `network`, which `program` writes to `out`. Each packet is written at once:
    /// hand it a buffered writer.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn new(out: W, network: &Network, program: &str) -> io::Result<Capture<W>> {
        let mut writer = Writer::new(out, program)?;
        let senders = Interface::new("senders", "what the senders send and receive");
        let drops =
            Interface::new("drops", "packets dropped or lost, each told of when that happens");
        let (senders, drops) = (writer.interface(&senders)?, writer.interface(&drops)?);
        let flows = network.flows().iter().enumerate();
        Ok(Capture {
            out: Output { writer, senders, drops, error: None },
            connections: flows.map(|(flow, spec)| Connection::new(flow, spec)).collect(),
            drops: Drops::new(network),
        })
    }

    /// Completes the capture, and hands back what it was written to.
    ///
    /// # Errors
    /// The first error in writing since the start; nothing after it was written.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_drops(Instant::MAX);
        self.out.error.map_or(Ok(()), Err)?;
        self.out.writer.finish()
    }

    /// Writes the packets lost until `now`.
    fn write_drops(&mut self, now: Instant) {
        while let Some(drop) = self.drops.take_until(now) {
            let headers = self.connections[drop.flow].header_of(&drop.packet);
            let (bytes, comment) = self.drops.message(&drop, headers);
            self.out.write(self.out.drops, signed(drop.at), bytes, Some(comment));
        }
    }
}

impl<W: Write> Observer for Capture<W> {
    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, event: &Event) {
        let &Event { at, flow, kind } = event;
        let mut lost = |packet: PacketId, link, by_queue| {
            self.drops.add(Drop { at, flow, packet, link, by_queue });
        };
        match kind {
            EventKind::Sent { packet, .. } if !packet.is_ack => {
                self.write_drops(at);
                let out = &mut self.out;
                self.connections[flow].send(at, &packet, |at, bytes| out.sender(at, bytes));
            }
            EventKind::Dropped { packet, link } => lost(packet, link, true),
            EventKind::Lost { packet, link } => lost(packet, link, false),
            _ => {}
        }
    }

    fn wants_acks(&self) -> bool {
        true
    }

    fn ack(&mut self, ack: &ReceivedAck) {
        self.write_drops(ack.at);
        let out = &mut self.out;
        self.connections[ack.flow].receive(ack, |bytes| out.sender(signed(ack.at), bytes));
    }
}

#[cfg(test)]
mod tests;
