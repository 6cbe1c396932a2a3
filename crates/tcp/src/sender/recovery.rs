//! Loss and ECN recovery: how ACKs and timeouts indicate congestion, and what the window does then.

use super::{Sender, Setup};
use crate::probe::Probe;
use crate::prr::Prr;
use crate::segment::Acknowledgement;
use exm_cc::{Congestion, CongestionKind, Controller, Decision};
use exm_units::{Instant, Packets};

/// The window after a timeout, until an ACK arrives: `LW`, RFC 5681, section 3.1.
const LOSS_WINDOW: Packets = Packets::new(1);

/// The state of loss and ECN recovery, in the terms of RFC 6582 and Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No loss or ECN recovery is in progress.
    Open,
    /// The window is being reduced after an ECN mark.
    Reduction,
    /// Lost segments are being retransmitted.
    Recovery,
    /// The timer expired; everything in flight then is retransmitted.
    Loss,
}

/// Eifel detection (RFC 3522, section 3.2) of the first segment retransmitted since the last recovery.
/// Later retransmissions are not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EifelDetection {
    /// Nothing has been retransmitted yet.
    Idle,
    /// This segment was, at this time (`RetransmitTS`); whether it had been lost is not yet known.
    Pending(u64, Instant),
    /// It had been lost.
    Genuine,
}

/// What an ACK reported that recovery needs.
pub(super) struct AckSummary {
    pub(super) delivered: u64,
    pub(super) marked: u64,
    /// Segments in flight before it.
    pub(super) flight: Packets,
    /// Whether the oldest missing segment arrived.
    pub(super) advanced: bool,
}

impl Sender {
    /// Detects spurious retransmissions, the end of a phase, losses and marks, in this order, and notifies
    /// the controller; then sets the window while the host governs it.
    #[inline(never)]
    pub(super) fn detect_congestion<C: Controller>(
        &mut self,
        now: Instant,
        ack: &Acknowledgement,
        summary: &AckSummary,
        cc: &mut C,
    ) {
        let &AckSummary { delivered, marked, flight, advanced } = summary;
        self.detect_spurious_retransmission(now, ack, cc);
        if self.phase != Phase::Open && self.board.una() >= self.point {
            (self.phase, self.eifel) = (Phase::Open, EifelDetection::Idle);
        }
        let newly_lost = self.board.detect_losses();
        if let Some(sampler) = &mut self.sampler {
            sampler.lose(newly_lost);
        }
        let mut congestion = Congestion::new(CongestionKind::Lost, ack.sent_at, now);
        congestion.in_flight = flight;
        let before = self.phase;
        if self.board.lost() > 0 && matches!(before, Phase::Open | Phase::Reduction) {
            congestion.packets = Packets::new(self.board.lost());
            self.enter(Phase::Recovery);
            // A window already reduced for a mark is not reduced again for a loss in the same window.
            if before == Phase::Open {
                self.reduce(congestion, delivered, cc);
            }
        } else if marked > 0 && before == Phase::Open {
            congestion.kind = CongestionKind::Marked;
            congestion.packets = Packets::new(marked);
            self.enter(Phase::Reduction);
            self.reduce(congestion, delivered, cc);
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

    pub(super) fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.point = self.board.next();
        self.rescued = false;
    }

    /// Notifies the controller of `congestion`, and starts to lower the window to its decision.
    pub(super) fn reduce<C: Controller>(
        &mut self,
        congestion: Congestion,
        delivered: u64,
        cc: &mut C,
    ) {
        let decision = self.notify(congestion, cc);
        self.prr = Prr::new(self.board.outstanding() + delivered, decision.cwnd.get());
        self.adopt_within(decision, true);
    }

    /// RFC 3522: if the first segment retransmitted is acknowledged with a timestamp from before its
    /// retransmission, it had not been lost.
    pub(super) fn detect_spurious_retransmission<C: Controller>(
        &mut self,
        now: Instant,
        ack: &Acknowledgement,
        cc: &mut C,
    ) {
        let EifelDetection::Pending(segment, at) = self.eifel else { return };
        if !self.settings.eifel {
            return;
        }
        if self.board.una() <= segment {
            return;
        }
        self.eifel = EifelDetection::Genuine;
        if ack.sent_at < at && matches!(self.phase, Phase::Recovery | Phase::Loss) {
            (self.phase, self.eifel) = (Phase::Open, EifelDetection::Idle);
            self.board.unmark_losses();
            let congestion = Congestion::new(CongestionKind::Spurious, ack.sent_at, now);
            let decision = self.notify(congestion, cc);
            self.adopt(decision);
        }
    }

    /// Whether the host is lowering the window step by step.
    #[inline]
    pub(super) fn is_governed(&self) -> bool {
        matches!(self.phase, Phase::Recovery | Phase::Reduction)
    }

    pub(super) fn time_out<C: Controller>(&mut self, now: Instant, cc: &mut C) {
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
        let mut congestion = Congestion::new(CongestionKind::Timeout, now, now);
        congestion.packets = Packets::new(self.board.lost());
        congestion.in_flight = flight;
        let decision = self.notify(congestion, cc);
        // Regardless of the controller: a RemyCC ignores timeouts, and would send its whole window again
        // when ACKs had only been late.
        let cwnd = decision.cwnd.min(LOSS_WINDOW);
        self.adopt(Decision { cwnd, ..decision });
    }
}
