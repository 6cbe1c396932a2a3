//! How a flow begins: plain slow start, or one that ends before it overshoots.

mod classic;
mod plus_plus;

use crate::controller::Ack;
use crate::window::{Window, acked};
use classic::Classic;
use plus_plus::PlusPlus;

/// The first slow start of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SlowStart {
    /// Until something is lost (RFC 5681, section 3.1).
    #[default]
    Plain,
    /// Until a train of ACKs as long as the minimum RTT shows that the window fills the path:
    /// HyStart (Ha & Rhee, Computer Networks 2011) without its delay test, which reacts to the
    /// queues of other flows.
    AckTrain,
    /// HyStart as Linux runs it without pacing: trains of half the minimum RTT, and the delay test.
    HyStart,
    /// Slower once the RTT rises, ending if the rise persists: HyStart++ (RFC 9406).
    HyStartPlusPlus,
}

/// A [`SlowStart`] at work.
#[derive(Clone, Debug)]
pub(crate) struct Beginning {
    kind: SlowStart,
    watch: Watch,
}

#[derive(Clone, Debug)]
enum Watch {
    Nothing,
    Classic(Classic),
    PlusPlus(PlusPlus),
}

impl Beginning {
    /// The start of a flow.
    pub(crate) fn new(kind: SlowStart) -> Beginning {
        let watch = match kind {
            SlowStart::Plain => Watch::Nothing,
            SlowStart::AckTrain => Watch::Classic(Classic::new(false)),
            SlowStart::HyStart => Watch::Classic(Classic::new(true)),
            SlowStart::HyStartPlusPlus => Watch::PlusPlus(PlusPlus::new()),
        };
        Beginning { kind, watch }
    }

    /// The same at the start of another flow.
    pub(crate) fn again(&self) -> Beginning {
        Beginning::new(self.kind)
    }
}

impl Default for Beginning {
    fn default() -> Beginning {
        Beginning::new(SlowStart::Plain)
    }
}

/// Slow start of `window`: as `beginning` has it in the first slow start of a flow, and plain
/// afterwards. Returns the acknowledged packets left over for congestion avoidance.
pub(crate) fn slow_start(window: &mut Window, beginning: &mut Beginning, ack: &Ack) -> f64 {
    if !window.in_first_slow_start() {
        return window.slow_start(acked(ack));
    }
    let grown = match &mut beginning.watch {
        Watch::Nothing => Some(acked(ack)),
        Watch::Classic(classic) => (!classic.is_over(ack, window.cwnd)).then(|| acked(ack)),
        Watch::PlusPlus(plus_plus) => plus_plus.grow(ack),
    };
    match grown {
        Some(packets) => window.slow_start(packets),
        None => {
            window.leave_slow_start();
            acked(ack)
        }
    }
}
