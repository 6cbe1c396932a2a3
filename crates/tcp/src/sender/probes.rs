//! Tail loss probes (RFC 8985, section 7).

use super::Sender;
use super::recovery::Phase;
use crate::probe::Out;
use crate::segment::Acknowledgement;
use exm_cc::{Congestion, CongestionKind, Controller};
use exm_units::{Instant, Span};

impl Sender {
    /// Sends a probe: a new segment if there is one, otherwise the last one again (RFC 8985,
    /// section 7.3). Returns its number.
    #[cold]
    pub(super) fn send_probe(&mut self, now: Instant) -> u64 {
        let again = self.is_blocked();
        let segment = self.board.next() - u64::from(again);
        if !again {
            self.board.send(segment);
        }
        self.probe.sent(Out { segment, at: now, end: self.board.next(), again });
        segment
    }

    /// Schedules a probe if no recovery is in progress and segments are in flight.
    pub(super) fn schedule_probe(&mut self, now: Instant) {
        let calm = matches!(self.phase, Phase::Open | Phase::Reduction) && !self.board.any_sacked();
        let outstanding = self.board.outstanding();
        if !calm || outstanding == 0 {
            self.probe.cancel();
            return;
        }
        // The ACK of a single segment may be delayed.
        let delay = self.settings.delayed_acks.filter(|_| outstanding == 1);
        let delay = delay.map_or(Span::ZERO, |delayed| delayed.wait);
        self.probe.schedule(now, self.timer.srtt(), delay, self.timer.due());
    }

    /// Evaluates the ACK of the probe in flight. If the probe arrived before segments sent long
    /// before it, those are lost; if it repaired a loss that nothing else will report, the
    /// controller is notified (RFC 8985, section 7.4).
    #[cold]
    pub(super) fn process_probe_ack<C: Controller>(
        &mut self,
        now: Instant,
        ack: &Acknowledgement,
        cc: &mut C,
    ) {
        let Some(out) = self.probe.out() else { return };
        let acknowledged = ack.sent_at >= out.at;
        if self.board.una() >= out.end {
            self.probe.settle();
            if out.again && acknowledged && !ack.duplicate {
                let mut congestion = Congestion::new(CongestionKind::Lost, out.at, now);
                congestion.in_flight = self.in_flight();
                let decision = self.notify(congestion, cc);
                self.adopt(decision);
            }
        } else if acknowledged && ack.sequence == out.segment && self.board.any_sacked() {
            self.probe.settle();
            let lost = self.board.lose_below(out.segment);
            if let Some(sampler) = &mut self.sampler {
                sampler.lose(lost);
            }
        }
    }
}
