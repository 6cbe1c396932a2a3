//! Logs of simulated links in mahimahi's format, as the emulator writes them.
//!
//! A [`MahimahiLog`] is an observer of the engine: it writes what happens at the queue of one link, from which mahimahi's
//! scripts draw graphs of throughput and queueing delay. Packets of all senders are in it, ACKs as well if they cross the
//! link.
//!
//! - A packet that is dropped when it arrives is an arrival and a drop, as in the emulator.
//! - A link with a trace loses packets before its queue, as the emulator does: such a loss is a drop without an arrival. A link
//!   of fixed rate loses them after transmission: such a packet is a departure like any other, as in mahimahi, where another
//!   program loses packets.
//! - Opportunities of a link of fixed rate are those of the rate that it begins with.

use crate::engine::{Event, EventKind, Observer, PacketId};
use crate::network::Network;
use exm_link::{MahimahiWriter, Service};
use exm_units::Instant;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Writes what happens at a link of a simulation.
///
/// ```
/// use exm_sim::controllers::AnyController;
/// use exm_sim::engine;
/// use exm_sim::mahimahi::MahimahiLog;
/// use exm_sim::network::{FlowSpec, Host, LinkSpec, Network};
/// use exm_link::Service;
/// use exm_units::{Rate, Span};
///
/// let cubic = Host::Tcp.transport(AnyController::named("cubic").unwrap());
/// let flow = FlowSpec::new(cubic).extra_delay(Span::from_millis(50));
/// let link = LinkSpec::new(Service::Fixed(Rate::from_mbps(10.0)));
/// let network = Network::new(vec![link], vec![flow], Span::from_secs(1))?;
///
/// let mut log = MahimahiLog::new(Vec::new(), &network, 0, "example")?;
/// engine::run_observed(&network, 1, &mut log);
/// let file = String::from_utf8(log.finish()?)?;
/// assert!(file.contains("\n0 + 1500\n") && file.contains("\n2 - 1500 2\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MahimahiLog<W> {
    writer: MahimahiWriter<W>,
    link: usize,
    /// Whether it loses packets before its queue.
    loses_first: bool,
    end: Instant,
    /// When the packets that wait or are transmitted arrived.
    inside: BTreeMap<Key, Instant>,
    /// Departures that are known already, by time, then in the order in which they were reported.
    coming: BTreeMap<(Instant, u64), Departure>,
    reported: u64,
    error: Option<io::Error>,
}

/// What distinguishes a packet: its sender, the direction, its number, the time it was sent at.
type Key = (usize, bool, u64, Instant);

/// A packet that leaves the link.
#[derive(Clone, Copy, Debug)]
struct Departure {
    queued_at: Instant,
    size: u32,
}

impl<W: Write> MahimahiLog<W> {
    /// Begins a log of link number `link` of `network`, which `program` writes to `out`. Each line is written at once: hand
    /// it a buffered writer.
    ///
    /// # Errors
    /// `out` cannot be written; [`io::ErrorKind::InvalidInput`] if there is no such link.
    pub fn new(
        out: W,
        network: &Network,
        link: usize,
        program: &str,
    ) -> io::Result<MahimahiLog<W>> {
        let Some(spec) = network.links().get(link) else {
            let count = network.links().len();
            let problem = format!("there is no link {link}: {count} are numbered from 0");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        };
        let head = [
            format!("{program} (link {link}) [{}]", spec.name),
            format!("queue: {}", spec.queue.name()),
            "base timestamp: 0".to_owned(),
        ];
        Ok(MahimahiLog {
            writer: MahimahiWriter::new(out, &head, &spec.service)?,
            link,
            loses_first: matches!(spec.service, Service::Trace(_)),
            end: Instant::ZERO + network.duration(),
            inside: BTreeMap::new(),
            coming: BTreeMap::new(),
            reported: 0,
            error: None,
        })
    }

    /// Completes the log, and hands back what it was written to.
    ///
    /// # Errors
    /// The first error in writing since the start; nothing after it was written.
    pub fn finish(mut self) -> io::Result<W> {
        let end = self.end;
        self.attempt(|log| {
            log.depart_until(end)?;
            log.writer.finish(end)
        });
        self.error.map_or(Ok(()), Err)?;
        Ok(self.writer.into_inner())
    }

    /// Writes by `write`, unless there was an error before.
    fn attempt(&mut self, write: impl FnOnce(&mut MahimahiLog<W>) -> io::Result<()>) {
        if self.error.is_none() {
            self.error = write(self).err();
        }
    }

    /// Writes the departures until `now`.
    fn depart_until(&mut self, now: Instant) -> io::Result<()> {
        while let Some(first) = self.coming.first_entry().filter(|first| first.key().0 <= now) {
            let ((at, _), Departure { queued_at, size }) = first.remove_entry();
            self.writer.delivered(at, queued_at, size)?;
        }
        Ok(())
    }

    fn queued(&mut self, at: Instant, key: Key, size: u32) -> io::Result<()> {
        self.depart_until(at)?;
        self.inside.insert(key, at);
        self.writer.queued(at, size)
    }

    fn dropped(&mut self, at: Instant, key: Key, size: u32) -> io::Result<()> {
        self.depart_until(at)?;
        // One that was dropped on arrival did not join the queue.
        if self.inside.remove(&key).is_none() {
            self.writer.queued(at, size)?;
        }
        self.writer.dropped(at, size)
    }

    fn transmitted(&mut self, at: Instant, key: Key, size: u32) {
        let queued_at = self.inside.remove(&key).unwrap_or(at);
        self.coming.insert((at, self.reported), Departure { queued_at, size });
        self.reported += 1;
    }

    /// A loss before the queue; one after transmission is a departure.
    fn lost(&mut self, at: Instant, size: u32) -> io::Result<()> {
        self.depart_until(at)?;
        self.writer.dropped(at, size)
    }
}

impl<W: Write> Observer for MahimahiLog<W> {
    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, event: &Event) {
        let (at, flow) = (event.at, event.flow);
        let described = |packet: PacketId| {
            let size = u32::try_from(packet.size.get()).unwrap_or(u32::MAX);
            ((flow, packet.is_ack, packet.sequence, packet.sent_at), size)
        };
        match event.kind {
            EventKind::Enqueued { packet, link } if link == self.link => {
                let (key, size) = described(packet);
                self.attempt(|log| log.queued(at, key, size));
            }
            EventKind::Dropped { packet, link } if link == self.link => {
                let (key, size) = described(packet);
                self.attempt(|log| log.dropped(at, key, size));
            }
            EventKind::Transmitted { packet, link } if link == self.link => {
                let (key, size) = described(packet);
                self.transmitted(at, key, size);
            }
            EventKind::Lost { packet, link } if link == self.link && self.loses_first => {
                let (_, size) = described(packet);
                self.attempt(|log| log.lost(at, size));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::AnyController;
    use crate::engine::run_observed;
    use crate::metrics::Report;
    use crate::network::{FlowSpec, Host, LinkSpec};
    use exm_link::Limit;
    use exm_trace::Trace;
    use exm_units::{Packets, Probability, Rate, Span};
    use std::sync::Arc;

    fn log(link: LinkSpec) -> (Report, String) {
        let controller = AnyController::named("cubic").expect("is built in");
        let link = link.buffer(Limit::Packets(Packets::new(20)));
        let flow =
            FlowSpec::new(Host::Tcp.transport(controller)).extra_delay(Span::from_millis(40));
        let network = Network::new(vec![link], vec![flow], Span::from_secs(10)).expect("a network");
        let mut log = MahimahiLog::new(Vec::new(), &network, 0, "test").expect("a vector");
        let report = run_observed(&network, 1, &mut log);
        let file = log.finish().expect("a vector");
        (report, String::from_utf8(file).expect("a text"))
    }

    /// How many lines tell of this.
    fn count(log: &str, sign: &str) -> u64 {
        let lines = log.lines().filter(|line| !line.starts_with('#'));
        lines.filter(|line| line.split(' ').nth(1) == Some(sign)).count() as u64
    }

    fn check(link: LinkSpec, losses: f64) -> (Report, String) {
        let (report, log) = log(link.loss(Probability::new(losses).expect("a probability")));
        let times = log.lines().filter_map(|line| line.split(' ').next()?.parse::<u64>().ok());
        assert!(times.is_sorted());
        let of = &report.links[0];
        assert_eq!(count(&log, "-"), of.transmitted);
        assert!(of.dropped > 0);
        (report, log)
    }

    #[test]
    fn a_link_of_fixed_rate_tells_what_its_queue_did() {
        let link = LinkSpec::new(Service::Fixed(Rate::from_mbps(12.0)));
        let (report, log) = check(link, 0.001);
        let of = &report.links[0];
        assert!(of.lost > 0);
        assert_eq!((count(&log, "+"), count(&log, "d")), (of.arrived, of.dropped));
        assert_eq!(count(&log, "#"), 9_999 + u64::from(log.contains("\n10000 #")));
        assert!(log.starts_with(
            "# test (link 0) [bottleneck]\n# queue: drop-tail\n# base timestamp: 0\n0 + 1500\n"
        ));
    }

    #[test]
    fn a_link_with_a_trace_loses_before_its_queue() {
        let times = (1..=1000).map(|millis| Instant::ZERO + Span::from_millis(millis));
        let trace = Trace::new(times.collect()).expect("a trace");
        let (report, log) = check(LinkSpec::new(Service::Trace(Arc::new(trace))), 0.001);
        let of = &report.links[0];
        assert!(of.lost > 0);
        assert_eq!(count(&log, "+"), of.arrived - of.lost);
        assert_eq!(count(&log, "d"), of.dropped + of.lost);
    }

    #[test]
    fn a_link_that_is_not_there_is_named() {
        let link = LinkSpec::new(Service::Fixed(Rate::from_mbps(12.0)));
        let flow = FlowSpec::new(Host::Bare.transport(AnyController::named("aimd").expect("one")));
        let network = Network::new(vec![link], vec![flow], Span::from_secs(1)).expect("a network");
        let error = MahimahiLog::new(Vec::new(), &network, 1, "test").expect_err("one");
        assert_eq!(error.to_string(), "there is no link 1: 1 are numbered from 0");
    }
}
