//! A bound that is proven for a table without simulation: the largest RTT with a standing queue.
//!
//! Equal senders keep a fluid link busy. Each receives an ACK every `spacing` ms, to which its averages of the time
//! between ACKs converge. Nothing is assumed about the other signals, not even that the sender has ever seen the link
//! without a queue. A rule that paces more slowly than that drains the queue. Any other rule keeps at most its resting
//! window in flight. Delivering that window takes one `spacing` per packet, which is the RTT; the maximum over
//! these rules is the bound.

use crate::harden::resting_window;
use exm_remy::{MAX_WINDOW, Rule, RuleTable, Signal};
use std::fmt;

/// An upper bound on the RTT with a standing queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FluidBound {
    /// This many ms, or the propagation delay, if that is longer.
    Ms {
        /// The RTT.
        rtt: f64,
        /// The rule with this bound.
        rule: usize,
    },
    /// Unbounded: the window of a rule grows without limit, and the rule paces faster than ACKs arrive.
    Unbounded {
        /// The rule.
        rule: usize,
    },
}

impl fmt::Display for FluidBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FluidBound::Ms { rtt, rule } => {
                write!(
                    f,
                    "any queue drains until the RTT is at most {rtt:.0} ms (limited by rule {rule})"
                )
            }
            FluidBound::Unbounded { rule } => {
                write!(
                    f,
                    "the queue may grow without limit (rule {rule} always enlarges the window)"
                )
            }
        }
    }
}

/// The bound for senders that each get an ACK every `spacing_ms`.
pub fn fluid_bound(table: &RuleTable, spacing_ms: f64) -> FluidBound {
    let domain = table.domain();
    let at = |rule: &Rule, signal: Signal, value: f64| {
        let axis = signal.index();
        let value = value.clamp(domain.lower[axis], domain.upper[axis].next_down());
        !table.signals().contains(signal)
            || (rule.domain.lower[axis] <= value && value < rule.domain.upper[axis])
    };
    let applies = |rule: &Rule| {
        at(rule, Signal::AckEwma, spacing_ms)
            && at(rule, Signal::SlowAckEwma, spacing_ms)
            && rule.domain.upper[Signal::RttRatio.index()] > 1.0
            && rule.action.intersend_ms < spacing_ms
    };
    // Where no rule fills the queue, one packet of each sender is there.
    let mut even = [0.0; Signal::COUNT];
    (even[0], even[1], even[2], even[3]) = (spacing_ms, spacing_ms, 1.0, spacing_ms);
    let mut worst = (1.0, table.find(&even));
    for (index, rule) in table.rules().iter().enumerate().filter(|(_, rule)| applies(rule)) {
        let window = resting_window(&rule.action);
        if window > worst.0 {
            worst = (window, index);
        }
    }
    let (window, rule) = worst;
    if window >= f64::from(MAX_WINDOW) {
        return FluidBound::Unbounded { rule };
    }
    FluidBound::Ms { rtt: window * spacing_ms, rule }
}
