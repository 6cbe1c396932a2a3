//! [`Sender`]: decides what a connection sends, and when.

mod on_periods;
mod probes;
mod quic;
mod recovery;

use crate::accecn::{AceReader, ace_field};
use crate::delivery::Sampler;
use crate::packets::InFlight;
use crate::probe::Probe;
use crate::prr::Prr;
use crate::scoreboard::Scoreboard;
use crate::segment::{Acknowledgement, Segment};
use crate::settings::{Recovery, Settings};
use crate::timer::Timer;
use alloc::boxed::Box;
use exm_cc::{
    Ack, Congestion, Controller, DEFAULT_MTU, Decision, Delivery, Gate, Needs, Sent, Start, Wakeup,
};
use exm_units::{Bytes, Instant, Packets, Span};
use recovery::{AckSummary, EifelDetection, Phase};

/// The sending end of one connection at a time.
#[derive(Clone, Debug)]
pub struct Sender {
    settings: Settings,
    needs: Needs,
    mtu: Bytes,
    setup: Setup,
    /// The total number of segments to send.
    end: u64,
    board: Scoreboard,
    timer: Timer,
    gate: Gate,
    wakeup: Wakeup,
    phase: Phase,
    /// The phase ends when everything below this is acknowledged: `RecoveryPoint`.
    point: u64,
    prr: Prr,
    eifel: EifelDetection,
    /// Whether this recovery has sent its rescue retransmission (RFC 6675, section 4: `RescueRxt`).
    rescued: bool,
    probe: Probe,
    /// The packets in flight, where QUIC's recovery is set.
    quic: Option<Box<InFlight>>,
    /// Marks reported so far.
    marked: u64,
    /// How it reads them, where ACKs lack the AccECN option.
    ace: Option<AceReader>,
    sampler: Option<Sampler>,
    /// When the controller last started: ACKs of segments sent before that are stale to it.
    started_at: Instant,
}

/// What a connection is to transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Segments to send; none if unbounded.
    pub data: Option<Packets>,
    /// The RTT measured in the handshake, if the connection starts established.
    pub rtt: Option<Span>,
    /// The size of a full segment with its headers; the controller is given it as the MTU.
    pub mtu: Bytes,
}

/// Unbounded, in segments of Ethernet's MTU.
impl Default for Transfer {
    fn default() -> Transfer {
        Transfer { data: None, rtt: None, mtu: DEFAULT_MTU }
    }
}

/// The progress of connection establishment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setup {
    /// There is no connection.
    Closed,
    /// A SYN is to be sent, after this many were sent before.
    Request(u32),
    /// A SYN is in flight, after this many were sent in all.
    Requested(u32),
    /// Data flows.
    Established,
}

/// What an ACK reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Segments that it newly acknowledged in order.
    pub in_order: u64,
    /// Segments that it reported for the first time, in order or not.
    pub delivered: u64,
    /// Whether everything there was to send has arrived.
    pub finished: bool,
}

/// What an ACK reported, for its event.
struct Report {
    delivered: u64,
    marked: u64,
    /// The highest segment acknowledged before.
    highest: Option<u64>,
    delivery: Option<Delivery>,
    /// In flight after it.
    in_flight: Packets,
}

/// What reads the marks of a connection that can have some, where ACKs lack the AccECN option.
fn ace_reader(settings: &Settings, needs: Needs) -> Option<AceReader> {
    if settings.ecn || needs.marks { AceReader::new(settings.accecn) } else { None }
}

/// RFC 9002, section 7.2: `kMinimumWindow`.
const MIN_QUIC_WINDOW: Packets = Packets::new(2);

impl Sender {
    /// A sender without a connection, for a controller with these needs.
    pub fn new(settings: Settings, needs: Needs) -> Sender {
        let closed = Decision { cwnd: Packets::ZERO, intersend: Span::ZERO, wake_at: None };
        Sender {
            settings,
            needs,
            mtu: DEFAULT_MTU,
            setup: Setup::Closed,
            end: 0,
            board: Scoreboard::default(),
            timer: Timer::new(settings.floor),
            gate: Gate::new(closed),
            wakeup: Wakeup::NONE,
            phase: Phase::Open,
            point: 0,
            prr: Prr::default(),
            eifel: EifelDetection::Idle,
            rescued: false,
            probe: Probe::default(),
            quic: (settings.recovery == Recovery::Quic).then(|| {
                let delay = settings.delayed_acks.map_or(Span::ZERO, |delayed| delayed.wait);
                Box::new(InFlight::new(delay))
            }),
            marked: 0,
            ace: ace_reader(&settings, needs),
            sampler: None,
            started_at: Instant::ZERO,
        }
    }

    /// A connection starts, for `transfer`.
    pub fn start<C: Controller>(&mut self, now: Instant, transfer: Transfer, cc: &mut C) {
        *self = Sender::new(self.settings, self.needs);
        self.mtu = transfer.mtu;
        self.end = transfer.data.map_or(u64::MAX, Packets::get);
        self.sampler = self.needs.delivery.then(Sampler::default);
        if self.settings.handshake {
            self.setup = Setup::Request(0);
        } else {
            self.establish(now, transfer.rtt, cc);
        }
    }

    /// The connection is closed: nothing more is sent.
    pub fn stop(&mut self) {
        self.setup = Setup::Closed;
        self.wakeup.ask(None);
        self.timer.stop();
        self.probe = Probe::default();
    }

    fn establish<C: Controller>(&mut self, now: Instant, rtt: Option<Span>, cc: &mut C) {
        let retried = matches!(self.setup, Setup::Requested(2..));
        self.setup = Setup::Established;
        self.timer.stop();
        if let Some(rtt) = rtt {
            self.timer.measure(rtt);
        }
        // RFC 5681, section 3.1: a lost SYN leaves a window of one segment.
        let initial = if retried { Packets::new(1) } else { self.settings.initial_window };
        self.start_controller(now, rtt, initial, cc);
    }

    /// `cc` takes over the connection from the controller before it. Packets in flight stay in flight; ACKs of
    /// segments sent before now are stale to `cc`.
    pub fn replace_controller<C: Controller>(&mut self, now: Instant, cc: &mut C) {
        self.needs = cc.needs();
        self.ace = self.ace.take().or_else(|| ace_reader(&self.settings, self.needs));
        let sampler = self.sampler.take();
        self.sampler = self
            .needs
            .delivery
            .then(|| sampler.unwrap_or_else(|| Sampler::from_segment(self.board.next())));
        if self.setup == Setup::Established {
            let srtt = Some(self.srtt()).filter(|srtt| !srtt.is_zero());
            self.start_controller(now, srtt, self.settings.initial_window, cc);
        }
    }

    fn start_controller<C: Controller>(
        &mut self,
        now: Instant,
        rtt: Option<Span>,
        initial_window: Packets,
        cc: &mut C,
    ) {
        let mut start = Start::new(now);
        (start.rtt, start.initial_window, start.mtu) = (rtt, initial_window, self.mtu);
        self.started_at = now;
        let decision = cc.on_start(&start);
        self.gate = Gate::new(decision);
        self.adopt(decision);
    }

    /// When the next segment may be sent, from `now` on; [`Instant::MAX`] where none may.
    #[inline(always)]
    pub fn next_send(&self, now: Instant) -> Instant {
        match self.setup {
            Setup::Established => {}
            Setup::Request(_) => return now,
            Setup::Requested(_) | Setup::Closed => return Instant::MAX,
        }
        if self.probe.is_due() {
            return now;
        }
        if self.quic.is_some() {
            return self.next_quic_send(now);
        }
        if self.next_segment().is_none() && self.rescue().is_none() {
            return Instant::MAX;
        }
        self.gate.next_send(now, self.pipe()).unwrap_or(Instant::MAX)
    }

    /// The segment to send next: a lost one, or a new one, or if there is neither, one that may be lost
    /// (`NextSeg`, RFC 6675, section 4, rules 1 to 3).
    #[inline]
    fn next_segment(&self) -> Option<u64> {
        if let Some(lost) = self.board.next_lost() {
            return Some(lost);
        }
        if !self.is_blocked() {
            return Some(self.board.next());
        }
        if self.phase == Phase::Recovery { self.board.next_doubtful() } else { None }
    }

    /// The rescue retransmission, once per recovery that has nothing else to send: the last segment, so that
    /// its ACK reports the tail (rule 4). It waits until no gap is left before what has arrived: while there is
    /// a gap, more ACKs will come.
    #[cold]
    fn rescue(&self) -> Option<u64> {
        let may = self.phase == Phase::Recovery && !self.rescued && !self.board.any_sacked();
        if may { self.board.last_missing() } else { None }
    }

    /// Whether no new segment may be sent, regardless of the congestion window: there is none, or the receive
    /// window is full.
    #[inline]
    fn is_blocked(&self) -> bool {
        let next = self.board.next();
        let room = |window: Packets| self.board.una().saturating_add(window.get());
        next >= self.end || self.settings.receive_window.is_some_and(|window| next >= room(window))
    }

    /// Sends the next segment.
    ///
    /// # Panics
    /// If none may be sent, by [`Sender::next_send`].
    #[inline]
    pub fn send<C: Controller>(&mut self, now: Instant, cc: &mut C) -> Segment {
        if let Setup::Request(before) = self.setup {
            self.timer.sent(now);
            self.setup = Setup::Requested(before + 1);
            return Segment::Syn;
        }
        let next = self.board.next();
        let segment = if self.quic.is_some() {
            self.send_quic(now)
        } else {
            self.timer.sent(now);
            if self.probe.is_due() { self.send_probe(now) } else { self.send_next(now) }
        };
        self.gate.sent(now);
        if self.is_governed() {
            self.prr.sent();
        }
        if self.sampler.is_some() {
            let in_flight = self.in_flight().get();
            let sampler = self.sampler.iter_mut();
            sampler.for_each(|sampler| sampler.send(now, segment, in_flight));
        }
        if self.settings.tail_loss_probe && self.quic.is_none() {
            self.schedule_probe(now);
        }
        if self.needs.sent {
            self.report_sent(now, segment, segment < next, cc);
        }
        Segment::Data(segment)
    }

    #[cold]
    fn report_sent<C: Controller>(
        &mut self,
        now: Instant,
        segment: u64,
        retransmission: bool,
        cc: &mut C,
    ) {
        let mut sent = Sent::new(segment, now);
        (sent.bytes, sent.retransmission) = (self.mtu, retransmission);
        (sent.in_flight, sent.in_flight_bytes) = (self.in_flight(), self.bytes(self.in_flight()));
        if let Some(decision) = cc.on_sent(&sent) {
            self.adopt_within(decision, self.is_governed());
        }
    }

    /// The path's MTU has become `mtu`: full segments are of that size from now on.
    pub fn set_mtu<C: Controller>(&mut self, mtu: Bytes, cc: &mut C) {
        self.mtu = mtu;
        cc.on_mtu(mtu);
    }

    /// The size of `packets` full segments.
    #[inline]
    fn bytes(&self, packets: Packets) -> Bytes {
        Bytes::new(packets.get().saturating_mul(self.mtu.get()))
    }

    /// Notifies the controller of `congestion` with the bytes filled in.
    fn notify<C: Controller>(&self, mut congestion: Congestion, cc: &mut C) -> Decision {
        congestion.bytes = self.bytes(congestion.packets);
        congestion.in_flight_bytes = self.bytes(congestion.in_flight);
        cc.on_congestion(&congestion)
    }

    /// Records the segment that the rules select, and returns it.
    #[inline]
    fn send_next(&mut self, now: Instant) -> u64 {
        let Some(segment) = self.next_segment() else {
            self.rescued = true;
            return self.board.last_missing().expect("a segment is sent only where there is one");
        };
        if segment < self.board.next() {
            if self.eifel == EifelDetection::Idle {
                self.eifel = EifelDetection::Pending(segment, now);
            }
            // The timer runs for the oldest segment and restarts with its retransmission, as in Linux and BSD;
            // otherwise it might expire while the ACK of the retransmission is on its way.
            if segment == self.board.una() {
                self.timer.start(now);
            }
        }
        self.board.send(segment);
        segment
    }

    /// An ACK arrives.
    #[inline]
    pub fn on_ack<C: Controller>(
        &mut self,
        now: Instant,
        ack: &Acknowledgement,
        cc: &mut C,
    ) -> Progress {
        if ack.syn {
            if let Setup::Requested(_) = self.setup {
                let rtt = self.settings.round_trip(ack.sent_at, now);
                self.establish(now, Some(rtt), cc);
            }
            return Progress::default();
        }
        if self.setup != Setup::Established {
            return Progress::default();
        }
        if self.quic.is_some() {
            return self.on_quic_ack(now, ack, cc);
        }
        let (una, highest) = (self.board.una(), self.board.highest());
        let (flight, blocked) = (self.pipe(), self.is_blocked());
        let (delivered, delivery) = self.update_scoreboard(now, ack);
        let in_order = self.board.una() - una;
        let rtt = self.settings.round_trip(ack.sent_at, now);
        // An ACK that reports nothing new may be that of a late copy; its timestamp is not valid (RFC 7323,
        // 4.1).
        if delivered > 0 {
            self.timer.measure(rtt);
        }
        if self.probe.out().is_some() {
            self.process_probe_ack(now, ack, cc);
        }
        if in_order > 0 {
            if self.board.una() == self.board.next() {
                self.timer.stop();
            } else {
                self.timer.start(now);
            }
        }
        let marked = match &mut self.ace {
            None => ack.marked.saturating_sub(self.marked),
            Some(reader) => {
                reader.read(ace_field(ack.marked), self.marked, delivered, ack.received_at)
            }
        };
        self.marked += marked;
        if self.phase != Phase::Open || marked > 0 || self.board.any_sacked() {
            let summary = AckSummary { delivered, marked, flight, advanced: in_order > 0 };
            self.detect_congestion(now, ack, &summary, cc);
        }
        if delivered == 0 && marked == 0 {
            return Progress::default();
        }
        let sent_at = Instant::from_nanos(now.as_nanos().saturating_sub(rtt.as_nanos()));
        let in_flight = self.pipe();
        let report = Report { delivered, marked, highest, delivery, in_flight };
        let mut event = Ack::new(ack.sequence, sent_at, now);
        self.tell(&mut event, ack, &report);
        let governed = self.is_governed();
        // Arrivals beyond a gap must not grow the window (RFC 5681, section 3.1).
        event.recovering = governed || in_order == 0;
        event.app_limited = self.settings.window_validation && blocked && flight < self.gate.cwnd();
        let decision = cc.on_ack(&event);
        self.adopt_within(decision, governed);
        if self.settings.tail_loss_probe {
            self.schedule_probe(now);
        }
        let finished = self.board.una() >= self.end;
        Progress { in_order, delivered, finished }
    }

    /// Tells `event`, for the controller, of `ack`, but for what depends on recovery.
    #[inline(always)]
    fn tell(&self, event: &mut Ack, ack: &Acknowledgement, report: &Report) {
        event.received_at = Some(ack.received_at);
        event.largest_acked = report.highest;
        event.acked = Packets::new(report.delivered);
        event.acked_bytes = self.bytes(event.acked);
        event.marked = Packets::new(report.marked);
        event.in_flight = report.in_flight;
        event.in_flight_bytes = self.bytes(event.in_flight);
        event.stale = ack.sent_at < self.started_at;
        event.delivery = report.delivery;
        event.feedback = ack.feedback;
    }

    /// Updates the scoreboard. Returns how many segments are reported for the first time, and the delivery rate
    /// sample, if one is taken.
    #[inline(always)]
    fn update_scoreboard(
        &mut self,
        now: Instant,
        ack: &Acknowledgement,
    ) -> (u64, Option<exm_cc::Delivery>) {
        let Some(sampler) = &mut self.sampler else {
            let mut delivered = self.board.acknowledge(ack.cumulative, |_, _| {});
            for block in ack.blocks.iter().filter(|block| block.0 < block.1) {
                delivered += self.board.sack(*block, |_, _| {});
            }
            return (delivered, None);
        };
        let mut latest = None;
        let mut arrived = |from, to| latest = sampler.latest(latest, from, to);
        let mut delivered = self.board.acknowledge(ack.cumulative, &mut arrived);
        for block in ack.blocks.iter().filter(|block| block.0 < block.1) {
            delivered += self.board.sack(*block, &mut arrived);
        }
        (delivered, sampler.deliver(now, delivered, latest, self.board.una()))
    }

    /// Puts `decision` in force, as if its controller had just made it.
    pub fn set_decision(&mut self, decision: Decision) {
        self.adopt_within(decision, self.is_governed());
    }

    /// Puts `decision` in force; while the host governs the window, only its pacing.
    #[inline]
    fn adopt_within(&mut self, decision: Decision, governed: bool) {
        if governed && !self.needs.own_recovery {
            let cwnd = self.gate.cwnd();
            self.adopt(Decision { cwnd, ..decision });
        } else {
            self.adopt(decision);
        }
    }

    #[inline]
    fn adopt(&mut self, decision: Decision) {
        // With a window of zero no further ACK would arrive.
        let least = if self.quic.is_some() { MIN_QUIC_WINDOW } else { Packets::new(1) };
        self.gate.decide(Decision { cwnd: decision.cwnd.max(least), ..decision });
        self.wakeup.ask(decision.wake_at);
        if self.sampler.is_some()
            && self.setup == Setup::Established
            && self.board.next() >= self.end
        {
            let pipe = self.in_flight();
            let is_limited = pipe < decision.cwnd;
            let sampler = self.sampler.iter_mut().filter(|_| is_limited);
            sampler.for_each(|sampler| sampler.limit(pipe.get()));
        }
    }

    /// When its next timer expires; [`Instant::MAX`] for never.
    #[inline]
    pub fn deadline(&self) -> Instant {
        let timer = if self.quic.is_some() { self.quic_deadline() } else { Instant::MAX };
        self.timer.due().min(self.wakeup.due()).min(self.probe.at()).min(timer)
    }

    /// The time of [`Sender::deadline`] has come. Returns whether the retransmission timer expired.
    pub fn on_timer<C: Controller>(&mut self, now: Instant, cc: &mut C) -> bool {
        if now >= self.probe.at() {
            // The timer restarts whether or not it has expired too (RFC 8985, section 7.3).
            self.probe.fall_due();
            self.timer.start(now);
        }
        let mut timed_out = now >= self.timer.due();
        if timed_out {
            self.time_out(now, cc);
        } else if self.quic.is_some() && now >= self.quic_deadline() {
            timed_out = self.on_quic_timer(now, cc);
        }
        if self.wakeup.take(now) {
            let decision = cc.on_tick(now);
            self.adopt_within(decision, self.is_governed());
        }
        timed_out
    }

    /// The sender's estimate of segments in flight.
    pub fn in_flight(&self) -> Packets {
        self.quic.as_ref().map_or_else(|| self.pipe(), |quic| Packets::new(quic.count()))
    }

    /// TCP's estimate of segments in flight.
    #[inline]
    fn pipe(&self) -> Packets {
        Packets::new(self.board.pipe())
    }

    /// The window in force.
    pub fn cwnd(&self) -> Packets {
        self.gate.cwnd()
    }

    /// The least time between two sends in force.
    pub fn intersend(&self) -> Span {
        self.gate.intersend()
    }

    /// The smoothed round-trip time; zero before the first measurement.
    pub fn srtt(&self) -> Span {
        self.timer.srtt()
    }

    /// The oldest segment not yet acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.board.una()
    }
}
