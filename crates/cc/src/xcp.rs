//! [`Xcp`]: a window that the routers set (Katabi, Handley & Rohrs).

use crate::controller::{Ack, Congestion, Controller, Decision, Needs, Start};
use crate::reno;
use crate::window::{Window, follows_window};

/// The sender of XCP (Katabi, Handley & Rohrs, SIGCOMM 2002, section 3.3): each ACK carries the
/// change of the window that the routers of the path allow. A loss, which is rare, is handled as
/// Reno handles it. Without feedback from routers the window stays constant.
#[derive(Clone, Debug, Default)]
pub struct Xcp {
    window: Window,
}

impl Xcp {
    /// A sender before its first flow.
    pub fn new() -> Xcp {
        Xcp::default()
    }
}

impl crate::Parameters for Xcp {}

impl Controller for Xcp {
    fn on_start(&mut self, start: &Start) -> Decision {
        self.window = Window::new(start);
        self.window.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        let may_grow = self.window.may_grow(ack);
        let feedback = ack.feedback.filter(|feedback| feedback.is_finite() && !ack.stale);
        if let Some(feedback) = feedback.filter(|&feedback| feedback < 0.0 || may_grow) {
            self.window.set(self.window.cwnd + feedback);
        }
        self.window.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        reno::on_congestion(&mut self.window, congestion);
        self.window.decision()
    }

    follows_window!();

    fn needs(&self) -> Needs {
        Needs { feedback: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_units::Instant;

    fn granted(cc: &mut Xcp, feedback: f64, recovering: bool) -> u64 {
        let mut ack = Ack::new(0, Instant::ZERO, Instant::ZERO);
        (ack.feedback, ack.recovering) = (Some(feedback), recovering);
        cc.on_ack(&ack).cwnd.get()
    }

    #[test]
    fn obeys_the_routers() {
        let mut cc = Xcp::new();
        assert_eq!(cc.on_start(&Start::new(Instant::ZERO)).cwnd.get(), 10);
        assert_eq!(granted(&mut cc, 2.5, false), 12);
        assert_eq!(granted(&mut cc, 0.5, false), 13, "fractions add up");
        assert_eq!(granted(&mut cc, -4.0, false), 9);
        assert_eq!(granted(&mut cc, -400.0, false), 1, "at least one packet");
        assert_eq!(granted(&mut cc, 5.0, true), 1, "no growth in recovery");
        assert_eq!(granted(&mut cc, f64::NAN, false), 1);
        assert_eq!(granted(&mut cc, f64::INFINITY, false), 1);
        assert_eq!(cc.on_ack(&Ack::new(0, Instant::ZERO, Instant::ZERO)).cwnd.get(), 1);
    }
}
