//! [`Xcp`]: a router that gives senders explicit feedback.

use crate::backlog::{Backlog, holds_packets_in};
use crate::parameters::parameters;
use crate::{Discipline, ImpossibleSetting, Packet, QueueActions, QueueConfig};
use exm_units::{Instant, Probability, Rate, Span};

/// The least control interval; not in the paper, but an RTT estimate of zero would give no
/// interval.
const SHORTEST: f64 = 1e-6;

/// The largest control interval, whatever RTT the packets claim.
const LONGEST: f64 = 10.0;

/// The router of XCP (Katabi, Handley & Rohrs, "Congestion Control for High Bandwidth-Delay Product
/// Networks", SIGCOMM 2002, section 3.5), over a drop-tail queue.
///
/// Once per control interval, the mean RTT of the flows, it computes by how much their traffic as a
/// whole should change (the efficiency controller), and divides that among the packets of the next
/// interval (the fairness controller), so that all flows increase equally and decrease in
/// proportion. Packets get their share as they leave.
///
/// Packets without a header count in the measured traffic and pass unchanged. The rate of the link
/// is assumed known; for a link that follows a trace it is the mean rate.
#[derive(Clone, Debug)]
pub struct Xcp {
    settings: XcpSettings,
    /// The rate of the link in bytes a second.
    capacity: f64,
    backlog: Backlog,
    /// The control interval in seconds: the mean RTT, as far as it is known.
    interval: f64,
    /// When the interval began; none before the first packet with an RTT estimate.
    began: Option<Instant>,
    /// When it ends.
    ends: Instant,
    traffic: Traffic,
    grants: Grants,
    queue: PersistentQueue,
}

/// The parameters of [`Xcp`], by default the paper's (section 3.5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct XcpSettings {
    /// The share of the spare bandwidth that is granted in an interval: 0.4.
    pub alpha: f64,
    /// The share of the standing queue that is taken back in an interval: 0.226. The loop is stable
    /// for 0 < alpha < 0.555 and beta = 1.414 alpha^2 (section 4).
    pub beta: f64,
    /// The least share of the traffic that is taken from all flows and redistributed, so that they
    /// become equal: 0.1.
    pub shuffle: Probability,
}

parameters!(XcpSettings { alpha, beta, shuffle });

impl Default for XcpSettings {
    fn default() -> XcpSettings {
        let shuffle = Probability::new(0.1).unwrap_or_default();
        XcpSettings { alpha: 0.4, beta: 0.226, shuffle }
    }
}

/// The arrivals of an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    /// All bytes.
    bytes: f64,
    /// The bytes of packets with an RTT estimate; the sums below are over these.
    governed: f64,
    /// The sum of rtt s / cwnd, in seconds: the packet's size over the window in bytes is one over
    /// the window in packets.
    rtt: f64,
    /// The sum of rtt^2 s / cwnd.
    rtt_squared: f64,
}

/// What may still be granted in an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Grants {
    /// The rise of a packet's flow, per rtt^2 / cwnd: the paper's xi_p.
    rise: f64,
    /// The decrease per rtt s of a packet's flow: the paper's xi_n.
    fall: f64,
    /// The remaining increase of the traffic, in bytes a second.
    left_to_rise: f64,
    /// The remaining decrease of the traffic, in bytes a second.
    left_to_fall: f64,
}

/// The persistent queue, which does not drain in a propagation delay (section 3.5): the shortest
/// queue that an arriving packet found.
#[derive(Clone, Copy, Debug)]
struct PersistentQueue {
    bytes: u64,
    shortest: u64,
    ends: Instant,
}

impl Xcp {
    /// Measures the arrival of `packet` at `now`.
    fn measure(&mut self, now: Instant, packet: &Packet) {
        let header = packet.header;
        let (rtt, cwnd) = (f64::from(header.rtt), f64::from(header.cwnd));
        let governed = rtt > 0.0 && cwnd > 0.0 && rtt.is_finite() && cwnd.is_finite();
        if self.began.is_none() {
            if !governed {
                return;
            }
            self.interval = rtt.clamp(SHORTEST, LONGEST);
            self.begin(now);
            self.queue.ends = self.ends;
        }
        self.queue.shortest = self.queue.shortest.min(self.backlog.bytes());
        let size = f64::from(packet.size);
        self.traffic.bytes += size;
        if governed {
            let rtt = rtt.min(LONGEST);
            self.traffic.governed += size;
            self.traffic.rtt += rtt / cwnd;
            self.traffic.rtt_squared += rtt * rtt / cwnd;
        }
    }

    /// Begins an interval at `now`.
    fn begin(&mut self, now: Instant) {
        self.traffic = Traffic::default();
        self.began = Some(now);
        self.ends = now.saturating_add(Span::from_secs_f64(self.interval));
    }

    /// Ends the intervals that are over at `now`.
    #[inline]
    fn update_to(&mut self, now: Instant) {
        if now >= self.queue.ends {
            self.update_queue(now);
        }
        if now >= self.ends {
            self.control(now);
        }
    }

    /// A propagation delay has passed: the control interval less the queueing delay here.
    #[cold]
    fn update_queue(&mut self, now: Instant) {
        let bytes = self.backlog.bytes();
        self.queue.bytes = self.queue.shortest.min(bytes);
        self.queue.shortest = bytes;
        let queueing = bytes as f64 / self.capacity;
        // At least a quarter: the queue may just have grown beyond what the packets' RTTs reflect.
        let propagation = (self.interval - queueing).max(self.interval / 4.0);
        self.queue.ends = now.saturating_add(Span::from_secs_f64(propagation));
    }

    /// The interval is over: computes the grants of the next (section 3.5).
    ///
    /// The first packet that arrives or leaves after its time ends it. Its sums are scaled to its
    /// nominal length, so that a pause does not look like more traffic.
    #[cold]
    fn control(&mut self, now: Instant) {
        let Traffic { bytes, governed, rtt, rtt_squared } = self.traffic;
        let elapsed = self.began.map_or(self.interval, |at| now.saturating_since(at).as_secs_f64());
        if rtt > 0.0 {
            self.interval = (rtt_squared / rtt).clamp(SHORTEST, LONGEST);
        }
        let scale = self.interval / elapsed.max(SHORTEST);
        let input = bytes * scale;
        let XcpSettings { alpha, beta, shuffle } = self.settings;
        let spare = self.capacity * self.interval - input;
        let change = alpha * spare - beta * self.queue.bytes as f64;
        let shuffled = (shuffle.get() * input - change.abs()).max(0.0);
        let (rise, fall) = (shuffled + change.max(0.0), shuffled + (-change).max(0.0));
        self.grants = if governed > 0.0 {
            Grants {
                rise: rise / (self.interval * rtt * scale),
                fall: fall / (self.interval * governed * scale),
                left_to_rise: rise / self.interval,
                left_to_fall: fall / self.interval,
            }
        } else {
            Grants::default()
        };
        self.begin(now);
    }

    /// Grants `packet`, which leaves, its flow's change.
    fn grant(&mut self, packet: &mut Packet) {
        let header = &mut packet.header;
        let (rtt, cwnd) = (f64::from(header.rtt), f64::from(header.cwnd));
        if cwnd <= 0.0 {
            return;
        }
        if rtt <= 0.0 {
            // Without an RTT estimate its share is unknown too.
            header.feedback = header.feedback.min(0.0);
            return;
        }
        let (rise, fall) = self.grants.share(rtt, cwnd, f64::from(packet.size));
        let granted = ((rise - fall) / f64::from(packet.size).max(1.0)) as f32;
        if header.feedback > granted {
            header.feedback = granted;
            self.grants.spend(rise / rtt, fall / rtt);
        } else {
            // Another router, or the sender, set a lower value.
            let change = f64::from(header.feedback) * f64::from(packet.size) / rtt;
            self.grants.spend(change.max(0.0), (-change).max(0.0));
        }
    }
}

impl Grants {
    /// The increase and the decrease of a packet's flow, in bytes of window: p_i and n_i.
    fn share(&self, rtt: f64, cwnd: f64, size: f64) -> (f64, f64) {
        (self.rise * rtt * rtt / cwnd, self.fall * rtt * size)
    }

    /// Subtracts a grant, in bytes a second, from what remains; once nothing remains, nothing more
    /// is granted.
    fn spend(&mut self, rise: f64, fall: f64) {
        self.left_to_rise -= rise;
        self.left_to_fall -= fall;
        if self.left_to_rise <= 0.0 {
            self.rise = 0.0;
        }
        if self.left_to_fall <= 0.0 {
            self.fall = 0.0;
        }
    }
}

/// In bytes a second.
fn capacity(rate: Rate) -> f64 {
    rate.as_bps().max(1) as f64 / 8.0
}

impl Discipline for Xcp {
    const NAME: &'static str = "xcp";

    type Settings = XcpSettings;

    fn check(settings: &XcpSettings) -> Result<(), ImpossibleSetting> {
        let XcpSettings { alpha, beta, .. } = *settings;
        for (name, gain, usual) in [("alpha", alpha, 0.4), ("beta", beta, 0.226)] {
            ImpossibleSetting::unless_positive(name, gain, usual)?;
        }
        Ok(())
    }

    fn new(settings: &XcpSettings, config: QueueConfig) -> Xcp {
        Xcp {
            settings: *settings,
            capacity: capacity(config.rate),
            backlog: Backlog::new(config.limit),
            interval: LONGEST,
            began: None,
            ends: Instant::MAX,
            traffic: Traffic::default(),
            grants: Grants::default(),
            queue: PersistentQueue { bytes: 0, shortest: 0, ends: Instant::MAX },
        }
    }

    #[inline]
    fn enqueue(&mut self, now: Instant, packet: Packet, actions: &mut QueueActions) {
        self.update_to(now);
        self.measure(now, &packet);
        self.backlog.push_or_drop(packet, actions);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, _actions: &mut QueueActions) -> Option<Packet> {
        self.update_to(now);
        let mut packet = self.backlog.pop()?;
        self.grant(&mut packet);
        Some(packet)
    }

    fn set_rate(&mut self, rate: Rate) {
        self.capacity = capacity(rate);
    }

    holds_packets_in!(backlog);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::config;
    use crate::{Limit, XcpHeader};
    use exm_units::Packets;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    /// 10 Mbps, 1500-byte packets.
    const SERVICE: u64 = 1_200_000;

    struct Sender {
        cwnd: f64,
        rtt: f64,
        in_flight: u64,
        /// The round trip without queueing, in nanoseconds.
        path: u64,
        start: u64,
        received: u64,
    }

    /// An event: a packet of this sender arrives at the link or back at the sender, or the link
    /// becomes free.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Event {
        Arrive(usize),
        Free,
        Acknowledge(usize, u64, i64),
    }

    struct Outcome {
        rates: Vec<f64>,
        queueing: Span,
        drops: usize,
    }

    /// Senders (start in seconds, RTT in milliseconds) share a link; returns the throughput of each
    /// from `from` to `to` seconds, in packets a second.
    fn run(senders: &[(u64, u64)], from: u64, to: u64) -> Outcome {
        let mut queue =
            Xcp::new(&XcpSettings::default(), config(Limit::Packets(Packets::new(200))));
        let new = |&(start, path): &(u64, u64)| Sender {
            cwnd: 2.0,
            rtt: 0.0,
            in_flight: 0,
            path: path * 1_000_000,
            start: start * 1_000_000_000,
            received: 0,
        };
        let mut senders: Vec<Sender> = senders.iter().map(new).collect();
        let mut agenda = BinaryHeap::new();
        for (index, sender) in senders.iter_mut().enumerate() {
            sender.in_flight = 2;
            (0..2).for_each(|_| agenda.push(Reverse((sender.start, Event::Arrive(index)))));
        }
        let (mut busy, mut actions) = (false, QueueActions::default());
        let (mut waited, mut served) = (Span::ZERO, 0);
        while let Some(Reverse((time, event))) = agenda.pop() {
            if time > to * 1_000_000_000 {
                break;
            }
            let now = Instant::from_nanos(time);
            let counted = time > from * 1_000_000_000;
            match event {
                Event::Arrive(index) => {
                    let Sender { cwnd, rtt, .. } = senders[index];
                    let mut packet = Packet::new(index as u32, 0, 1500, now);
                    packet.header = XcpHeader { cwnd: cwnd as f32, rtt: rtt as f32, feedback: 1e9 };
                    queue.enqueue(now, packet, &mut actions);
                    if !busy {
                        busy = true;
                        agenda.push(Reverse((time, Event::Free)));
                    }
                }
                Event::Free => {
                    busy = false;
                    if let Some(packet) = queue.dequeue(now, &mut actions) {
                        busy = true;
                        let index = packet.flow as usize;
                        let feedback = (packet.header.feedback * 1e6) as i64;
                        let back = time + SERVICE + senders[index].path;
                        let sent = packet.sent_at.as_nanos();
                        agenda.push(Reverse((back, Event::Acknowledge(index, sent, feedback))));
                        agenda.push(Reverse((time + SERVICE, Event::Free)));
                        if counted {
                            waited += now - packet.at;
                            served += 1;
                        }
                    }
                }
                Event::Acknowledge(index, sent, feedback) => {
                    let sender = &mut senders[index];
                    sender.in_flight -= 1;
                    sender.received += u64::from(counted);
                    sender.rtt = (time - sent) as f64 * 1e-9;
                    sender.cwnd = (sender.cwnd + feedback as f64 * 1e-6).max(1.0);
                    while (sender.in_flight as f64) < sender.cwnd.floor() {
                        sender.in_flight += 1;
                        agenda.push(Reverse((time, Event::Arrive(index))));
                    }
                }
            }
        }
        let seconds = (to - from) as f64;
        Outcome {
            rates: senders.iter().map(|sender| sender.received as f64 / seconds).collect(),
            queueing: waited / served,
            drops: actions.take_dropped().count(),
        }
    }

    /// All of the link (833 packets a second) in equal shares, with almost no queue and no loss,
    /// although the senders start at different times.
    #[test]
    fn senders_share_the_whole_link_equally_without_a_queue() {
        let Outcome { rates, queueing, drops } =
            run(&[(0, 80), (0, 80), (5, 80), (10, 80)], 20, 40);
        let total: f64 = rates.iter().sum();
        assert!(total > 0.97 * 833.3, "{rates:?}");
        assert!(rates.iter().all(|rate| (rate / total - 0.25).abs() < 0.02), "{rates:?}");
        assert!(queueing < Span::from_millis(10), "{queueing}");
        assert_eq!(drops, 0);
    }

    /// Regardless of their RTTs (the paper's figure 8 has 40 to 330 ms).
    #[test]
    fn shares_do_not_depend_on_rtts() {
        let Outcome { rates, drops, .. } = run(&[(0, 40), (0, 100), (0, 160), (0, 220)], 30, 60);
        let total: f64 = rates.iter().sum();
        assert!(total > 0.95 * 833.3, "{rates:?}");
        assert!(rates.iter().all(|rate| (rate / total - 0.25).abs() < 0.05), "{rates:?}");
        assert_eq!(drops, 0);
    }

    /// By hand: 10 Mbps, of which a flow with a window of 10 packets and an RTT of 100 ms uses 1.2
    /// Mbps.
    #[test]
    fn an_interval_grants_its_share_of_the_spare_bandwidth() {
        let mut queue = Xcp::new(&XcpSettings::default(), config(Limit::Unlimited));
        let mut actions = QueueActions::default();
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        let header = XcpHeader { cwnd: 10.0, rtt: 0.1, feedback: 1e9 };
        let mut feedback = 0.0;
        for millis in (0..=200).step_by(10) {
            let packet = Packet { header, ..Packet::new(0, 0, 1500, at(millis)) };
            queue.enqueue(at(millis), packet, &mut actions);
            let packet = queue.dequeue(at(millis), &mut actions).expect("it waits");
            assert_eq!(packet.header.feedback == 0.0, millis <= 100);
            feedback += packet.header.feedback;
        }
        // The interval ends a little after 100 ms, since header fields have low precision. In the
        // next one: 0.4 of the spare 8.8 Mbps, for 0.1 s: 44 000 bytes.
        assert!((feedback * 1500.0 - 44_000.0).abs() < 1.0, "{feedback}");
        let plain = Packet::new(0, 0, 1500, at(205));
        queue.enqueue(at(205), plain, &mut actions);
        let plain = queue.dequeue(at(205), &mut actions).expect("it waits");
        assert_eq!(plain.header, XcpHeader::default());
        let unknown = XcpHeader { rtt: 0.0, ..header };
        queue.enqueue(at(206), Packet { header: unknown, ..plain }, &mut actions);
        let unknown = queue.dequeue(at(206), &mut actions).expect("it waits");
        assert_eq!(unknown.header.feedback, 0.0);
    }
}
