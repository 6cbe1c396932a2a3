//! A connection that outlives the on-periods of its application.

use super::{Sender, Setup};
use crate::settings::IdleRestart;
use exm_cc::{Congestion, CongestionKind, Controller};
use exm_units::{Instant, Packets, Span};

impl Sender {
    /// The application has more to send on the existing connection: `data` segments, or unlimited. No
    /// state is reset, except what the controller requests ([`restart`](exm_cc::Needs::restart)) and what
    /// [`idle_restart`](crate::Settings::idle_restart) sets.
    pub fn resume<C: Controller>(&mut self, now: Instant, data: Option<Packets>, cc: &mut C) {
        self.end = data.map_or(u64::MAX, |data| self.end.saturating_add(data.get()));
        if self.setup != Setup::Established {
            return;
        }
        if self.needs.restart {
            let srtt = Some(self.srtt()).filter(|srtt| !srtt.is_zero());
            self.start_controller(now, srtt, self.settings.initial_window, cc);
        } else if self.board.outstanding() == 0 {
            self.restart_after_idle(now, cc);
        }
    }

    /// The application, which was never idle, has `data` segments more to send: no state is reset.
    pub fn offer(&mut self, data: Packets) {
        self.end = self.end.saturating_add(data.get());
    }

    /// Segments that the application has offered so far, on this connection; `u64::MAX` if without end.
    pub fn offered(&self) -> u64 {
        self.end
    }

    /// The application has no more to send for now. Lost segments are still retransmitted.
    pub fn pause(&mut self) {
        self.end = self.end.min(self.board.next());
    }

    /// Whether there is a connection, including one being set up.
    pub fn is_open(&self) -> bool {
        self.setup != Setup::Closed
    }

    #[cold]
    fn restart_after_idle<C: Controller>(&mut self, now: Instant, cc: &mut C) {
        let idle = self.gate.last_send().map_or(Span::ZERO, |at| now.saturating_since(at));
        let timeouts = idle.as_nanos() / self.timer.rto().as_nanos().max(1);
        if timeouts == 0 {
            return;
        }
        let cwnd = self.gate.cwnd().get();
        let decayed = match self.settings.idle_restart {
            IdleRestart::None => return,
            IdleRestart::Rfc5681 => 0,
            IdleRestart::Rfc2861 => cwnd >> timeouts.min(63),
        };
        let restart = decayed.max(self.settings.initial_window.get().min(cwnd));
        let mut idle = Congestion::new(CongestionKind::Idle, now, now);
        idle.packets = Packets::new(restart);
        let decision = self.notify(idle, cc);
        self.adopt_within(decision, self.is_governed());
    }
}
