//! Logs of simulated senders in qlog, which viewers of QUIC connections read.
//!
//! A [`Qlog`] is an observer of the engine. It writes a log for each of some senders while the simulation runs, as a QUIC
//! sender would write it; memory grows with the packets in flight only.
//!
//! - Each transmission has a number of its own, counted up. A packet of TCP carries the offset of its data in the stream, so
//!   a retransmission is another packet with the same offset. Packets of the bare host and of Sprout carry datagrams.
//! - A received ACK tells which transmissions it acknowledges first. Where TCP's ACK does not tell which transmission of a
//!   segment arrived, it is the last. Sprout's packets do not tell.
//! - The bare host deems a packet lost when a later one is acknowledged, and after a timeout all in flight: that is when
//!   `packet_lost` is written. TCP's losses are written when the segment is retransmitted, for its previous transmission, whatever
//!   the reason is: losses that were detected, timeouts, probes. Sprout does not count single losses.
//! - Window, bytes in flight and RTT are those at the end of each instant, as is the controller's state.

mod in_flight;

use crate::engine::{AckContents, Event, EventKind, FlowSample, Observer, PacketId, ReceivedAck};
use crate::network::{FlowSpec, Network, SPROUT_EMPTY, SPROUT_HEADER, TCP_HEADER, Transport};
use exm_qlog::{Event as Entry, Form, Frame, Header, Metrics, Packet, Trigger, Vantage, Writer};
use exm_tcp::Acknowledgement;
use exm_units::{Bytes, Instant, Packets, Rate, Span};
use in_flight::InFlight;
use std::io::{self, Write};

/// The number of a SYN's segment in events.
const SYN: u64 = u64::MAX;

/// Writes logs of the senders of a simulation.
///
/// ```
/// use exm_qlog::Form;
/// use exm_sim::controllers::AnyController;
/// use exm_sim::engine;
/// use exm_sim::network::{FlowSpec, Host, LinkSpec, Network};
/// use exm_sim::qlog::Qlog;
/// use exm_link::Service;
/// use exm_units::{Rate, Span};
///
/// let cubic = Host::Tcp.transport(AnyController::named("cubic").unwrap());
/// let flow = FlowSpec::new(cubic).extra_delay(Span::from_millis(50));
/// let link = LinkSpec::new(Service::Fixed(Rate::from_mbps(10.0)));
/// let network = Network::new(vec![link], vec![flow], Span::from_secs(1))?;
///
/// let mut qlog = Qlog::new(&network, Form::Current, "example", [(0, Vec::new())])?;
/// engine::run_observed(&network, 1, &mut qlog);
/// let files = qlog.finish()?;
/// assert!(files[0].len() > 100_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Qlog<W> {
    /// By the number of the sender; none for those without a log.
    logs: Vec<Option<Log<W>>>,
}

/// The log of a sender.
#[derive(Debug)]
struct Log<W> {
    writer: Writer<W>,
    shape: Shape,
    packet_size: Bytes,
    in_flight: InFlight,
    /// Packets sent and received so far.
    sent: u64,
    received: u64,
    min_rtt: Option<Span>,
    /// The sender's state at the end of this instant, as far as is known.
    pending: Option<Pending>,
}

/// The transport of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Bare,
    Tcp {
        /// The payload of a segment, bytes.
        mss: u64,
        persistent: bool,
    },
    Sprout,
}

/// What is written as soon as time moves on.
#[derive(Clone, Copy, Debug)]
struct Pending {
    at: Instant,
    metrics: Metrics,
    state: Option<&'static str>,
}

impl<W: Write> Qlog<W> {
    /// Begins logs of the senders with these numbers in `network`, in this form, each written to what stands beside the
    /// number. Their titles are `title` and the sender. Each record is written at once: hand it buffered writers.
    ///
    /// # Errors
    /// The first that cannot be written; [`io::ErrorKind::InvalidInput`] where there is no such sender.
    pub fn new(
        network: &Network,
        form: Form,
        title: &str,
        outs: impl IntoIterator<Item = (usize, W)>,
    ) -> io::Result<Qlog<W>> {
        let flows = network.flows();
        let mut logs: Vec<Option<Log<W>>> = flows.iter().map(|_| None).collect();
        for (flow, out) in outs {
            let Some(spec) = flows.get(flow) else {
                let problem =
                    format!("there is no sender {flow}: {} are numbered from 0", flows.len());
                return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
            };
            let title = format!("{title}: sender {flow}, {}", spec.name);
            let name = format!("sender {flow}");
            let header = Header { title: &title, vantage: Vantage::Client, name: &name };
            logs[flow] = Some(Log::new(Writer::new(out, form, &header)?, spec));
        }
        Ok(Qlog { logs })
    }

    /// Completes the logs, and hands back what they were written to, in the order of the senders.
    ///
    /// # Errors
    /// The first error in writing since the start, of the first log that had one; nothing after it was written to that.
    pub fn finish(self) -> io::Result<Vec<W>> {
        self.logs.into_iter().flatten().map(Log::finish).collect()
    }
}

impl<W: Write> Observer for Qlog<W> {
    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, event: &Event) {
        let Some(log) = &mut self.logs[event.flow] else { return };
        match event.kind {
            EventKind::Sent { packet, .. } if !packet.is_ack => log.send(event.at, &packet),
            EventKind::Started => log.start(),
            _ => {}
        }
    }

    fn wants_acks(&self) -> bool {
        true
    }

    fn ack(&mut self, ack: &ReceivedAck) {
        if let Some(log) = &mut self.logs[ack.flow] {
            log.receive(ack);
        }
    }

    fn wants_updates(&self) -> bool {
        true
    }

    fn update(&mut self, sample: &FlowSample) {
        if let Some(log) = &mut self.logs[sample.flow] {
            log.update(sample);
        }
    }
}

impl<W: Write> Log<W> {
    fn new(writer: Writer<W>, spec: &FlowSpec) -> Log<W> {
        let shape = match &spec.transport {
            Transport::Bare { .. } => Shape::Bare,
            Transport::Tcp { settings, .. } => Shape::Tcp {
                mss: spec.transport.payload(spec.packet_size).get(),
                persistent: settings.persistent,
            },
            Transport::Sprout(_) => Shape::Sprout,
        };
        Log {
            writer,
            shape,
            packet_size: spec.packet_size,
            in_flight: InFlight::default(),
            sent: 0,
            received: 0,
            min_rtt: None,
            pending: None,
        }
    }

    fn finish(mut self) -> io::Result<W> {
        self.settle(Instant::MAX);
        self.writer.finish()
    }

    /// Writes what was true at the end of the last instant, if `now` is later.
    #[inline]
    fn settle(&mut self, now: Instant) {
        if let Some(Pending { at, metrics, state }) = self.pending.filter(|last| last.at < now) {
            self.pending = None;
            self.writer.event(at, &Entry::Metrics(&metrics));
            if let Some(state) = state {
                self.writer.event(at, &Entry::State(state));
            }
        }
    }

    /// The bare sender does not count packets of earlier on-periods as in flight.
    fn start(&mut self) {
        if self.shape == Shape::Bare {
            self.in_flight.clear();
        }
    }

    /// The number of the connection in on-period `period`.
    fn connection(&self, period: u32) -> u32 {
        match self.shape {
            Shape::Tcp { persistent: false, .. } => period,
            _ => 0,
        }
    }

    fn send(&mut self, at: Instant, packet: &PacketId) {
        self.settle(at);
        let number = self.sent;
        self.sent += 1;
        let length = |headers: Bytes| packet.size.get().saturating_sub(headers.get());
        let mut before = None;
        if self.shape != Shape::Sprout {
            let key = (self.connection(packet.period), packet.sequence);
            before = self.in_flight.send(key, number, packet.sent_at);
        }
        let frame = match self.shape {
            Shape::Tcp { .. } if packet.sequence == SYN => Frame::Ping,
            Shape::Tcp { mss, .. } => Frame::Stream {
                offset: packet.sequence.saturating_mul(mss),
                length: length(TCP_HEADER),
            },
            Shape::Bare => Frame::Datagram { length: packet.size.get() },
            Shape::Sprout => sprout(packet.size),
        };
        if let Some(number) = before {
            self.lose(at, number, None);
        }
        self.writer.event(at, &Entry::PacketSent(&Packet::new(number, packet.size, frame)));
    }

    fn lose(&mut self, at: Instant, number: u64, trigger: Option<Trigger>) {
        self.writer.event(at, &Entry::PacketLost { number, trigger });
    }

    fn receive(&mut self, ack: &ReceivedAck) {
        self.settle(ack.at);
        let number = self.received;
        self.received += 1;
        let mut acked = Vec::new();
        let mut lost = Vec::new();
        let (size, is_ack) = match &ack.contents {
            AckContents::Tcp(contents) => {
                acked = self.acknowledge(self.connection(ack.period), contents);
                (TCP_HEADER, true)
            }
            &AckContents::Bare { sequence, .. } => {
                lost = self.in_flight.take_below((0, sequence));
                self.in_flight.take((0, sequence), None);
                acked.push((sequence, sequence));
                (TCP_HEADER, true)
            }
            AckContents::Sprout { size } => (*size, false),
        };
        let frame = if is_ack { Frame::Ack { acked: &acked } } else { sprout(size) };
        self.writer.event(ack.at, &Entry::PacketReceived(&Packet::new(number, size, frame)));
        for number in lost {
            self.lose(ack.at, number, Some(Trigger::ReorderingThreshold));
        }
    }

    /// The transmissions that `ack` acknowledges first, as ranges of numbers.
    fn acknowledge(&mut self, connection: u32, ack: &Acknowledgement) -> Vec<(u64, u64)> {
        // Packets of earlier connections have arrived before, or are lost.
        self.in_flight.take_below((connection, 0));
        let mut numbers = Vec::new();
        let sent_at = Some(ack.sent_at);
        if ack.syn {
            numbers.extend(self.in_flight.take((connection, SYN), sent_at));
        }
        self.in_flight.take_range(
            (connection, 0)..(connection, ack.cumulative),
            sent_at,
            &mut numbers,
        );
        for (from, to) in ack.blocks.into_iter().filter(|(from, to)| to > from) {
            let range = (connection, from)..(connection, to);
            self.in_flight.take_range(range, sent_at, &mut numbers);
        }
        ranges(numbers)
    }

    fn update(&mut self, sample: &FlowSample) {
        self.settle(sample.at);
        if self.shape == Shape::Bare && sample.in_flight == Packets::ZERO {
            // After a timeout.
            for number in self.in_flight.clear() {
                self.lose(sample.at, number, Some(Trigger::Timeout));
            }
        }
        self.min_rtt = self.min_rtt.into_iter().chain(sample.rtt).min();
        let size = self.packet_size.get();
        let bytes = |packets: Packets| packets.get().checked_mul(size).map(Bytes::new);
        let paced = (!sample.intersend.is_zero()).then(|| 1.0 / sample.intersend.as_secs_f64());
        let rate = |packets: f64| Rate::from_bps((packets * size as f64 * 8.0) as u64);
        let metrics = Metrics {
            latest_rtt: sample.rtt,
            smoothed_rtt: None,
            min_rtt: self.min_rtt,
            congestion_window: bytes(sample.cwnd),
            bytes_in_flight: bytes(sample.in_flight),
            packets_in_flight: Some(sample.in_flight.get()),
            ssthresh: sample
                .metrics
                .ssthresh
                .map(|packets| Bytes::new((packets * size as f64) as u64)),
            pacing_rate: sample.metrics.pacing_rate.or(paced).map(rate),
        };
        self.pending = Some(Pending { at: sample.at, metrics, state: sample.metrics.state });
    }
}

/// What a packet of Sprout carries.
fn sprout(size: Bytes) -> Frame<'static> {
    if size <= SPROUT_EMPTY {
        return Frame::Ping;
    }
    Frame::Datagram { length: size.get().saturating_sub(SPROUT_HEADER.get()) }
}

/// The ranges of `numbers`, each from its first to its last.
fn ranges(mut numbers: Vec<u64>) -> Vec<(u64, u64)> {
    numbers.sort_unstable();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests;
