//! [`IdealLink::balance`]: where a table comes to a balance, without following any packet.

use super::IdealLink;
use exm_remy::{Point, RuleTable, Signal};

/// The steps of the load in which a balance is looked for, by parts of the BDP.
const STEPS: u32 = 256;
/// Up to this load.
const HIGHEST: u32 = 8;

impl IdealLink {
    /// The packets in flight over the BDP at which one sender of `table` neither grows nor shrinks, by the rules that steady
    /// signals would fire; `None` if it grows at every load up to 8 BDP.
    ///
    /// At a steady load the averages of the intervals are all the same: the time of one service where the link is
    /// busy, and more below. So the loads are a line through the table's boxes. Along it, a rule lets the flow grow while it raises
    /// the window and paces packets closer than they are acknowledged. The balance is the load above which no rule does. Whether
    /// the flow gets there, rests there, or circles around, it does not say.
    pub fn balance(&self, table: &RuleTable) -> Option<f64> {
        let load = |step: u32| f64::from(step) / f64::from(STEPS);
        let highest = HIGHEST * STEPS;
        let growing = (1..=highest).rev().find(|&step| self.grows(table, load(step)));
        growing.map_or(Some(0.0), |step| (step < highest).then(|| load(step + 1)))
    }

    /// Whether a flow grows that has `load` BDPs in flight.
    fn grows(&self, table: &RuleTable, load: f64) -> bool {
        let service_ms = self.rate.service_time(self.packet).as_millis_f64();
        let rtt_ms = self.rtt.as_millis_f64() + service_ms;
        let packets = (load * self.bdp()).max(1.0);
        // With one packet in flight, the next is sent when it is acknowledged.
        let full = rtt_ms / service_ms;
        let interval = service_ms.max(rtt_ms / packets);
        let ratio = (packets / full).max(1.0);
        let action = table.rules()[table.find(&steady(interval, ratio, rtt_ms))].action.compile();
        let window = packets as u32;
        action.window(window) > window && action.intersend().as_millis_f64() < interval
    }
}

/// The signals of a flow whose packets are acknowledged every `interval` milliseconds, `ratio` times the least RTT after they
/// were sent.
fn steady(interval: f64, ratio: f64, least_rtt: f64) -> Point {
    let mut point: Point = [0.0; Signal::COUNT];
    let averages = [Signal::SendEwma, Signal::AckEwma, Signal::SlowAckEwma, Signal::QueueingDelay];
    for signal in averages {
        point[signal.index()] = interval;
    }
    point[Signal::RttRatio.index()] = ratio;
    point[Signal::RttDiff.index()] = (ratio - 1.0) * least_rtt;
    point[Signal::ReceiveRate.index()] = 1.0 / interval;
    point
}
