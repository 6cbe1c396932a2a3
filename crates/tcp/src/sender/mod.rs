//! [`Sender`]: keeps a connection's data flowing.

mod on_periods;
mod probes;

use crate::delivery::Sampler;
use crate::probe::Probe;
use crate::prr::Prr;
use crate::scoreboard::Scoreboard;
use crate::segment::{Acknowledgement, Segment};
use crate::settings::Settings;
use crate::timer::Timer;
use exm_cc::{Ack, Congestion, CongestionKind, Controller, Decision, Gate, Needs, Start, Wakeup};
use exm_units::{Instant, Packets, Span};

/// What may be sent once the timer has run out, until something comes back: `LW`, RFC 5681, section
/// 3.1.
const LOSS_WINDOW: Packets = Packets::new(1);

/// The sending end of one connection at a time.
#[derive(Clone, Debug)]
pub struct Sender {
    settings: Settings,
    needs: Needs,
    setup: Setup,
    /// Segments that there are to send in all.
    end: u64,
    board: Scoreboard,
    timer: Timer,
    gate: Gate,
    wakeup: Wakeup,
    phase: Phase,
    /// The phase ends when all below this is acknowledged: `RecoveryPoint`.
    point: u64,
    prr: Prr,
    alarm: Alarm,
    /// Whether this recovery has had its rescue (RFC 6675, section 4: `RescueRxt`).
    rescued: bool,
    probe: Probe,
    /// Marks told of so far.
    marked: u64,
    sampler: Option<Sampler>,
    /// When the controller started last: ACKs of segments sent before that are stale to it.
    started_at: Instant,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// Segments to send; nothing for no end of them.
    pub data: Option<Packets>,
    /// The round-trip time that the handshake measured, of a connection that starts established.
    pub rtt: Option<Span>,
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setup {
    /// There is none.
    Closed,
    /// A SYN is to be sent; so many were before.
    Request(u32),
    /// One was sent and is not answered; so many were sent in all.
    Requested(u32),
    /// Data flows.
    Established,
}

/// What the sender is about, in the names of RFC 6582 and Linux's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing is wrong.
    Open,
    /// A mark is being answered.
    Reduction,
    /// Losses are being repaired.
    Recovery,
    /// The timer ran out; what was in flight then is sent again.
    Loss,
}

/// Whether losses were a false alarm: what the first segment tells that was sent again since all was
/// well (RFC 3522, section 3.2). Later ones say nothing of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alarm {
    /// Nothing was sent again yet.
    Quiet,
    /// This segment was, at this time; its fate is not known: `RetransmitTS`.
    Raised(u64, Instant),
    /// It had been lost.
    Justified,
}

/// What an acknowledgement brought, for looking into what it means.
struct News {
    delivered: u64,
    marked: u64,
    /// Segments in flight before it.
    flight: Packets,
    /// Whether the oldest missing segment arrived.
    advanced: bool,
}

/// What an acknowledgement brought, for whoever asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Segments acknowledged in order by it.
    pub in_order: u64,
    /// Segments it told of for the first time, in order or not.
    pub delivered: u64,
    /// Whether all there was to send has arrived.
    pub finished: bool,
}

impl Sender {
    /// A sender without a connection, for a controller with these needs.
    pub fn new(settings: Settings, needs: Needs) -> Sender {
        let closed = Decision { cwnd: Packets::ZERO, intersend: Span::ZERO, wake_at: None };
        Sender {
            settings,
            needs,
            setup: Setup::Closed,
            end: 0,
            board: Scoreboard::default(),
            timer: Timer::new(settings.floor),
            gate: Gate::new(closed),
            wakeup: Wakeup::NONE,
            phase: Phase::Open,
            point: 0,
            prr: Prr::default(),
            alarm: Alarm::Quiet,
            rescued: false,
            probe: Probe::default(),
            marked: 0,
            sampler: None,
            started_at: Instant::ZERO,
        }
    }

    /// A connection starts with `job` to do.
    pub fn start<C: Controller>(&mut self, now: Instant, job: Job, cc: &mut C) {
        *self = Sender::new(self.settings, self.needs);
        self.end = job.data.map_or(u64::MAX, Packets::get);
        self.sampler = self.needs.delivery.then(Sampler::default);
        if self.settings.handshake {
            self.setup = Setup::Request(0);
        } else {
            self.establish(now, job.rtt, cc);
        }
    }

    /// The connection is given up: nothing more is sent.
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

    fn start_controller<C: Controller>(
        &mut self,
        now: Instant,
        rtt: Option<Span>,
        initial_window: Packets,
        cc: &mut C,
    ) {
        let mut start = Start::new(now);
        (start.rtt, start.initial_window) = (rtt, initial_window);
        self.started_at = now;
        let decision = cc.on_start(&start);
        self.gate = Gate::new(decision);
        self.adopt(decision);
    }

    /// When the next segment may leave, from `now` on; [`Instant::MAX`] where none may.
    #[inline]
    pub fn next_send(&self, now: Instant) -> Instant {
        match self.setup {
            Setup::Established => {}
            Setup::Request(_) => return now,
            Setup::Requested(_) | Setup::Closed => return Instant::MAX,
        }
        if self.probe.is_due() {
            return now;
        }
        if self.next_segment().is_none() && self.rescue().is_none() {
            return Instant::MAX;
        }
        self.gate.next_send(now, self.in_flight()).unwrap_or(Instant::MAX)
    }

    /// The segment to send next: one lost, or a new one, or where recovery has neither, one that
    /// may be lost (`NextSeg`, RFC 6675, section 4, rules 1 to 3).
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

    /// The segment to send where recovery has none at all, once: the last one, so that an answer to
    /// it tells of the tail (rule 4). Only once no gap is left before what has arrived: while there is
    /// one, answers are still to come.
    #[cold]
    fn rescue(&self) -> Option<u64> {
        let may = self.phase == Phase::Recovery && !self.rescued && !self.board.any_sacked();
        if may { self.board.last_missing() } else { None }
    }

    /// Whether no new segment may be sent, whatever the window: there is none, or no room for it.
    #[inline]
    fn is_blocked(&self) -> bool {
        let next = self.board.next();
        let room = |window: Packets| self.board.una().saturating_add(window.get());
        next >= self.end || self.settings.receive_window.is_some_and(|window| next >= room(window))
    }

    /// Sends the next segment.
    ///
    /// # Panics
    /// If none may be sent: [`Sender::next_send`] says.
    #[inline]
    pub fn send(&mut self, now: Instant) -> Segment {
        self.timer.sent(now);
        if let Setup::Request(before) = self.setup {
            self.setup = Setup::Requested(before + 1);
            return Segment::Syn;
        }
        let segment = if self.probe.is_due() { self.send_probe(now) } else { self.send_next(now) };
        self.gate.sent(now);
        if self.is_governed() {
            self.prr.sent();
        }
        if let Some(sampler) = &mut self.sampler {
            sampler.send(now, segment, self.board.pipe());
        }
        if self.settings.tail_loss_probe {
            self.schedule_probe(now);
        }
        Segment::Data(segment)
    }

    /// Notes the segment that is sent by the rules, and returns it.
    #[inline]
    fn send_next(&mut self, now: Instant) -> u64 {
        let Some(segment) = self.next_segment() else {
            self.rescued = true;
            return self.board.last_missing().expect("a segment is sent only where there is one");
        };
        if segment < self.board.next() {
            if self.alarm == Alarm::Quiet {
                self.alarm = Alarm::Raised(segment, now);
            }
            // The timer runs for the oldest segment: it starts again with it, as in Linux and BSD, lest
            // it run out while an answer to a retransmission is on its way.
            if segment == self.board.una() {
                self.timer.start(now);
            }
        }
        self.board.send(segment);
        segment
    }

    /// An acknowledgement arrives.
    #[inline]
    pub fn on_ack<C: Controller>(
        &mut self,
        now: Instant,
        answer: &Acknowledgement,
        cc: &mut C,
    ) -> Progress {
        if answer.syn {
            if let Setup::Requested(_) = self.setup {
                let rtt = self.settings.round_trip(answer.sent_at, now);
                self.establish(now, Some(rtt), cc);
            }
            return Progress::default();
        }
        if self.setup != Setup::Established {
            return Progress::default();
        }
        let (una, highest) = (self.board.una(), self.board.highest());
        let (flight, blocked) = (self.in_flight(), self.is_blocked());
        let (delivered, delivery) = self.take_in(now, answer);
        let in_order = self.board.una() - una;
        let rtt = self.settings.round_trip(answer.sent_at, now);
        // What tells of nothing new may be a late copy, whose time says nothing (RFC 7323, 4.1).
        if delivered > 0 {
            self.timer.measure(rtt);
        }
        if self.probe.out().is_some() {
            self.judge_probe(now, answer, cc);
        }
        if in_order > 0 {
            if self.board.una() == self.board.next() {
                self.timer.stop();
            } else {
                self.timer.start(now);
            }
        }
        let marked = answer.marked.saturating_sub(self.marked);
        self.marked += marked;
        if self.phase != Phase::Open || marked > 0 || self.board.any_sacked() {
            let news = News { delivered, marked, flight, advanced: in_order > 0 };
            self.consider(now, answer, &news, cc);
        }
        if delivered == 0 && marked == 0 {
            return Progress::default();
        }
        let sent_at = Instant::from_nanos(now.as_nanos().saturating_sub(rtt.as_nanos()));
        let mut ack = Ack::new(answer.sequence, sent_at, now);
        ack.received_at = Some(answer.received_at);
        ack.largest_acked = highest;
        ack.acked = Packets::new(delivered);
        ack.marked = Packets::new(marked);
        ack.in_flight = self.in_flight();
        let governed = self.is_governed();
        // What arrives beyond a gap lets no window grow (RFC 5681, section 3.1).
        ack.recovering = governed || in_order == 0;
        ack.app_limited = self.settings.window_validation && blocked && flight < self.gate.cwnd();
        ack.stale = answer.sent_at < self.started_at;
        ack.delivery = delivery;
        ack.feedback = answer.feedback;
        let decision = cc.on_ack(&ack);
        self.adopt_within(decision, governed);
        if self.settings.tail_loss_probe {
            self.schedule_probe(now);
        }
        let finished = self.board.una() >= self.end;
        Progress { in_order, delivered, finished }
    }

    /// Brings the scoreboard up to date. Returns how many segments are told of for the first time,
    /// and the delivery rate sample, where one is taken.
    #[inline]
    fn take_in(
        &mut self,
        now: Instant,
        answer: &Acknowledgement,
    ) -> (u64, Option<exm_cc::Delivery>) {
        let Some(sampler) = &mut self.sampler else {
            let mut delivered = self.board.acknowledge(answer.cumulative, |_, _| {});
            for block in answer.blocks.iter().filter(|block| block.0 < block.1) {
                delivered += self.board.sack(*block, |_, _| {});
            }
            return (delivered, None);
        };
        let mut latest = None;
        let mut arrived = |from, to| latest = sampler.latest(latest, from, to);
        let mut delivered = self.board.acknowledge(answer.cumulative, &mut arrived);
        for block in answer.blocks.iter().filter(|block| block.0 < block.1) {
            delivered += self.board.sack(*block, &mut arrived);
        }
        (delivered, sampler.deliver(now, delivered, latest, self.board.una()))
    }

    /// Looks for false alarms, the end of a phase, losses and marks, in this order, and tells the
    /// controller; then, while the host governs it, sets the window.
    #[inline(never)]
    fn consider<C: Controller>(
        &mut self,
        now: Instant,
        answer: &Acknowledgement,
        news: &News,
        cc: &mut C,
    ) {
        let &News { delivered, marked, flight, advanced } = news;
        self.look_for_false_alarm(now, answer, cc);
        if self.phase != Phase::Open && self.board.una() >= self.point {
            (self.phase, self.alarm) = (Phase::Open, Alarm::Quiet);
        }
        let newly_lost = self.board.detect_losses();
        if let Some(sampler) = &mut self.sampler {
            sampler.lose(newly_lost);
        }
        let mut sign = Congestion::new(CongestionKind::Lost, answer.sent_at, now);
        sign.in_flight = flight;
        let before = self.phase;
        if self.board.lost() > 0 && matches!(before, Phase::Open | Phase::Reduction) {
            sign.packets = Packets::new(self.board.lost());
            self.enter(Phase::Recovery);
            // What a mark brought down already, a loss in the same window does not again.
            if before == Phase::Open {
                self.reduce(&sign, delivered, cc);
            }
        } else if marked > 0 && before == Phase::Open {
            sign.kind = CongestionKind::Marked;
            sign.packets = Packets::new(marked);
            self.enter(Phase::Reduction);
            self.reduce(&sign, delivered, cc);
        }
        if self.is_governed() && !self.needs.own_recovery && delivered > 0 {
            let safe = advanced && newly_lost == 0;
            let window = self.prr.window(delivered, self.board.pipe(), safe);
            self.gate.decide(Decision {
                cwnd: Packets::new(window.max(1)),
                intersend: self.gate.intersend(),
                wake_at: None,
            });
        }
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.point = self.board.next();
        self.rescued = false;
    }

    /// Tells the controller of `sign`, and starts to bring the window down to what it decides.
    fn reduce<C: Controller>(&mut self, sign: &Congestion, delivered: u64, cc: &mut C) {
        let decision = cc.on_congestion(sign);
        self.prr = Prr::new(self.board.outstanding() + delivered, decision.cwnd.get());
        self.adopt_within(decision, true);
    }

    /// RFC 3522: where the segment first sent again is acknowledged by what was sent before that,
    /// it had not been lost.
    fn look_for_false_alarm<C: Controller>(
        &mut self,
        now: Instant,
        answer: &Acknowledgement,
        cc: &mut C,
    ) {
        let Alarm::Raised(segment, at) = self.alarm else { return };
        if !self.settings.eifel {
            return;
        }
        if self.board.una() <= segment {
            return;
        }
        self.alarm = Alarm::Justified;
        if answer.sent_at < at && matches!(self.phase, Phase::Recovery | Phase::Loss) {
            (self.phase, self.alarm) = (Phase::Open, Alarm::Quiet);
            self.board.forgive();
            let sign = Congestion::new(CongestionKind::Spurious, answer.sent_at, now);
            let decision = cc.on_congestion(&sign);
            self.adopt(decision);
        }
    }

    /// Whether the window is being brought down step by step.
    #[inline]
    fn is_governed(&self) -> bool {
        matches!(self.phase, Phase::Recovery | Phase::Reduction)
    }

    /// From now on `decision` holds; while the host governs the window, its pace alone.
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
        // A window of nothing would never hear of anything again.
        self.gate.decide(Decision { cwnd: decision.cwnd.max(Packets::new(1)), ..decision });
        self.wakeup.ask(decision.wake_at);
        if let Some(sampler) = &mut self.sampler
            && self.setup == Setup::Established
        {
            let (next, pipe) = (self.board.next(), self.board.pipe());
            if next >= self.end && pipe < decision.cwnd.get() {
                sampler.limit(pipe);
            }
        }
    }

    /// When it wants to be woken if nothing else happens; [`Instant::MAX`] for never.
    #[inline]
    pub fn deadline(&self) -> Instant {
        self.timer.due().min(self.wakeup.due()).min(self.probe.at())
    }

    /// It is time for what [`Sender::deadline`] told. Returns whether the retransmission timer ran
    /// out.
    pub fn on_timer<C: Controller>(&mut self, now: Instant, cc: &mut C) -> bool {
        if now >= self.probe.at() {
            // The timer starts again, whether or not it has run out with it (RFC 8985, section 7.3).
            self.probe.fall_due();
            self.timer.start(now);
        }
        let timed_out = now >= self.timer.due();
        if timed_out {
            self.time_out(now, cc);
        }
        if self.wakeup.take(now) {
            let decision = cc.on_tick(now);
            self.adopt_within(decision, self.is_governed());
        }
        timed_out
    }

    fn time_out<C: Controller>(&mut self, now: Instant, cc: &mut C) {
        if let Setup::Requested(times) = self.setup {
            self.setup = Setup::Request(times);
            self.timer.back_off(now);
            return;
        }
        let flight = self.in_flight();
        self.timer.back_off(now);
        if let Some(sampler) = &mut self.sampler {
            sampler.lose(flight.get());
        }
        self.board.lose_all();
        self.probe = Probe::default();
        self.enter(Phase::Loss);
        let mut sign = Congestion::new(CongestionKind::Timeout, now, now);
        sign.packets = Packets::new(self.board.lost());
        sign.in_flight = flight;
        let decision = cc.on_congestion(&sign);
        // Whatever the controller has in mind: a computed one knows of no timeouts, and would send
        // its whole window again where answers had only been late.
        let cwnd = decision.cwnd.min(LOSS_WINDOW);
        self.adopt(Decision { cwnd, ..decision });
    }

    /// Segments in flight, as far as it knows.
    #[inline]
    pub fn in_flight(&self) -> Packets {
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
