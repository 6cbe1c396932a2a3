//! [`Guards`]: changes to a table that bound its senders' packets in flight on any network.

use exm_remy::{Action, Cuboid, MAX_WINDOW, Node, Rule, RuleTable, Signal, TableError};
use std::fmt;

/// How much longer the time between ACKs is at the upper end of a rung than at its lower end.
const RUNG: f64 = 2.0;
/// The brake's last rung begins here, in ms between ACKs.
const LAST_RUNG_MS: f64 = 2048.0;
/// The largest multiple of a window that should reach its limit quickly.
const SLOWEST_APPROACH: f64 = 0.9;
/// The minimum increment of such a window: windows are whole packets, so a window with increment b stops growing at
/// (b - 1) / b of the limit.
const LEAST_INCREMENT: f64 = 4.0;
/// A flow is new while its slow average of times between ACKs is less than this fraction of the fast one: the slow
/// average rises from 0 in 256 ACKs.
const YOUNG: f64 = 0.1;
/// An RTT ratio that no flow has.
const KNOWS_NOTHING: f64 = 0.5;
/// The shortest pacing interval with which a window is compared, ms.
const LEAST_PACE_MS: f64 = 1e-6;

/// Bounds on the packets that senders of a table keep in flight.
///
/// A window is safe on every network if it is at most what is delivered in a bounded time. Then any number of senders
/// together queue at most that time's worth of the link's capacity, even if they overestimate the minimum RTT.
/// The published tables have small windows throughout; these guards allow large ones
/// if ACKs arrive fast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guards {
    /// The maximum window of a flow before its first measurements, in packets.
    pub start_window: f64,
    /// The maximum number of packets that one ACK adds to a window.
    pub growth: f64,
    /// A resting window is at most what the rule's pacing sends, or its ACKs deliver, in this time, ms.
    pub horizon_ms: f64,
    /// The time between ACKs at which the horizon has that value, ms.
    pub reference_ms: f64,
    /// The horizon grows with this power of the time between ACKs. Above 0, slower senders have a longer horizon, so that
    /// shares become equal.
    pub equality: f64,
    /// The minimum to which the horizon limits a window, in packets.
    pub least_window: f64,
    /// The fraction of the horizon that a new flow may use. Its averages rise from 0, so its ACKs seem to arrive faster than
    /// they do.
    pub youth: f64,
    /// The brakes, in ascending order of their RTT ratios.
    pub brakes: [Brake; 3],
}

/// The behaviour of senders above an RTT ratio, whether the queue is theirs or that of others.
///
/// Only windows brake: a sender with a constant window sends as its ACKs arrive, however slowly. If pacing followed the
/// time between ACKs, foreign delay would start a vicious circle: slower sending slows down ACKs, which slow down sending.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Brake {
    /// The RTT ratio.
    pub ratio: f64,
    /// Only senders whose ACKs are at least this far apart brake, ms. Senders with at least the share that they would have on
    /// the model's networks use the table's own rules.
    pub from_ms: f64,
    /// A braking sender keeps in flight what its ACKs deliver in this time, ms, plus [`Brake::window`].
    pub horizon_ms: f64,
    /// Additional packets in flight. They keep a sender from starving if others cause a long RTT, and give
    /// equal senders equal shares: a standing queue holds equally many packets of each.
    pub window: f64,
    /// It paces at the shortest time between ACKs of its rung, multiplied by this factor, which is at most 1.
    pub pace: f64,
}

/// As people write it: "start at most 16, growth at most 8, horizon 300 ms, least window 3, young flows 0.8 of
/// it, brakes at RTT ratio 1.5 and 2".
impl fmt::Display for Guards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Guards { start_window, growth, horizon_ms, least_window, youth, brakes, .. } = self;
        write!(
            f,
            "start at most {:.0}, growth at most {:.0}, horizon {horizon_ms:.0} ms, least window {:.0}",
            start_window.floor().max(1.0),
            growth.floor().max(1.0),
            least_window.floor().max(1.0)
        )?;
        if *youth < 1.0 {
            write!(f, ", {youth:.2} of it for young flows")?;
        }
        let [a, b, c] = brakes.map(|brake| brake.ratio);
        write!(f, ", brakes at RTT ratios {a:.2}, {b:.2} and {c:.2}")
    }
}

/// The window to which repeated use of `action` converges: b / (1 - m) packets, or the
/// maximum if it grows without limit.
pub fn resting_window(action: &Action) -> f64 {
    let (multiple, increment) = (action.multiple, f64::from(action.increment));
    let limit = f64::from(MAX_WINDOW);
    if multiple < 1.0 {
        (increment / (1.0 - multiple)).clamp(0.0, limit)
    } else if increment > 0.0 || multiple > 1.0 {
        limit
    } else {
        0.0
    }
}

impl Guards {
    /// `table` with these guards.
    ///
    /// # Errors
    /// [`TableError`] if the table would have too many rules or too deep a tree.
    pub fn apply(&self, table: &RuleTable) -> Result<RuleTable, TableError> {
        let mut table = table.clone();
        self.guard_start(&mut table);
        self.slow_growth(&mut table);
        self.tie_to_pace(&mut table);
        self.tie_to_delivery(&mut table);
        if table.signals().contains(Signal::RttRatio) {
            for brake in &self.brakes {
                table = self.braked(&table, brake)?;
            }
        }
        Ok(table)
    }

    /// The maximum packets in flight of a sender that receives an ACK every `interval_ms`.
    fn limit(&self, horizon_ms: f64, equality: f64, interval_ms: f64) -> f64 {
        let interval_ms = interval_ms.max(LEAST_PACE_MS);
        let most = horizon_ms / interval_ms * self.longer(equality, interval_ms);
        most.max(self.least_window).max(1.0)
    }

    /// The factor by which the horizon is longer for a sender that receives an ACK every `interval_ms`.
    fn longer(&self, equality: f64, interval_ms: f64) -> f64 {
        libm::pow(interval_ms / self.reference_ms, equality)
    }

    /// The time between ACKs at which the horizon allows exactly a window of `packets`.
    fn interval_of(&self, packets: f64) -> f64 {
        let proportion = self.horizon_ms / packets / self.reference_ms;
        self.reference_ms * libm::pow(proportion, 1.0 / (1.0 - self.equality))
    }

    /// A flow without measurements gets its own rule, with a limited window.
    fn guard_start(&self, table: &mut RuleTable) {
        let start = start_rule(table);
        // The ratio is 0 until the second ACK, and 1 or more from then on.
        table.split(start, Signal::RttRatio, KNOWS_NOTHING);
        let action = table.rules()[start].action;
        let increment = action.increment.clamp(1, (self.start_window as i32).max(1));
        table.set_action(start, Action { multiple: 0.0, increment, ..action });
    }

    /// Resting windows do not change, but windows approach them by steps of at most the limit. Since windows are whole
    /// packets, a step below one has no effect: hence the subtraction of 1.
    fn slow_growth(&self, table: &mut RuleTable) {
        let growth = self.growth.floor().max(1.0);
        let start = start_rule(table);
        for index in (0..table.rules().len()).filter(|&index| index != start) {
            let action = table.rules()[index].action;
            let rest = resting_window(&action);
            if f64::from(action.increment) > growth && rest > growth {
                let multiple = 1.0 - (growth - 1.0) / rest;
                let action = Action { multiple, increment: growth as i32, ..action };
                table.set_action(index, action);
            }
        }
    }

    fn tie_to_pace(&self, table: &mut RuleTable) {
        for index in 0..table.rules().len() {
            let action = table.rules()[index].action;
            let limit = self.limit(self.horizon_ms, self.equality, action.intersend_ms);
            table.set_action(index, gently_limited(action, limit));
        }
    }

    /// Cuts the rules whose window exceeds what their ACKs deliver in the horizon into rungs, each with a window
    /// for its own time between ACKs.
    fn tie_to_delivery(&self, table: &mut RuleTable) {
        let Some(signal) = delivery_signal(table) else { return };
        let mut rungs = Vec::new();
        // New rules come last, and are cut in their turn.
        let mut index = 0;
        while index < table.rules().len() {
            let Rule { domain, action } = table.rules()[index];
            let (low, high) = (domain.lower[signal.index()], domain.upper[signal.index()]);
            let window = resting_window(&action);
            let enough = self.interval_of(window);
            if window > self.least_window.max(1.0) && high > enough {
                if low < enough {
                    table.split(index, signal, enough);
                } else {
                    table.split(index, signal, (RUNG * low).min(high));
                    let limit = self.limit(self.horizon_ms, self.equality, low);
                    table.set_action(index, limited(action, limit));
                    rungs.push(index);
                }
            }
            index += 1;
        }
        if signal == Signal::AckEwma {
            rungs.into_iter().for_each(|rung| self.guard_young(table, rung));
        }
    }

    /// Cuts the part for new flows off a rung of the fast average.
    fn guard_young(&self, table: &mut RuleTable, rung: usize) {
        let Rule { domain, action } = table.rules()[rung];
        let grown = YOUNG * domain.lower[Signal::AckEwma.index()];
        let limit = (self.youth * resting_window(&action)).max(self.least_window).max(1.0);
        let smaller = limited(action, limit);
        let differs = smaller != action && domain.lower[Signal::SlowAckEwma.index()] < grown;
        if differs && table.split(rung, Signal::SlowAckEwma, grown) {
            table.set_action(rung, smaller);
        }
    }

    /// Keeps the table below the brake's ratio and where ACKs arrive fast, and replaces the rest by rules that only brake.
    fn braked(&self, table: &RuleTable, brake: &Brake) -> Result<RuleTable, TableError> {
        let Some(signal) = delivery_signal(table) else { return Ok(table.clone()) };
        let domain = *table.domain();
        let [calm, high] = cut(&domain, Signal::RttRatio, brake.ratio);
        let [fast, slow] = cut(&high, signal, brake.from_ms);
        if slow.is_empty(table.signals()) {
            return Ok(table.clone());
        }
        let mut rules = Vec::new();
        let kept = [calm, fast].map(|part| node_within(table, table.root(), &part, &mut rules));
        let mut children = Vec::new();
        let (mut rest, mut start) = (slow, brake.from_ms);
        while !rest.is_empty(table.signals()) {
            let end = if start < LAST_RUNG_MS { RUNG * start } else { f64::INFINITY };
            let [rung, next] = cut(&rest, signal, end);
            rules.push(Rule { domain: rung, action: brake_action(brake, start) });
            children.push(Node::Leaf(rules.len() - 1));
            (rest, start) = (next, end);
        }
        let braking = Node::Split { domain: slow, children };
        let [calm, fast] = kept;
        let children = fast.into_iter().chain([braking]).collect();
        let high = Node::Split { domain: high, children };
        let root = Node::Split { domain, children: calm.into_iter().chain([high]).collect() };
        RuleTable::new(table.signals(), rules, root)
    }
}

/// The action of a sender whose ACKs are between `from_ms` and twice that apart.
fn brake_action(brake: &Brake, from_ms: f64) -> Action {
    let window = brake.window + brake.horizon_ms / (RUNG * from_ms);
    let increment = window.clamp(1.0, f64::from(MAX_WINDOW)) as i32;
    Action { multiple: 0.0, increment, intersend_ms: brake.pace * from_ms }
}

/// The rule of a flow without measurements.
fn start_rule(table: &RuleTable) -> usize {
    table.find(&[0.0; Signal::COUNT])
}

/// The table's signal of the delivery rate.
fn delivery_signal(table: &RuleTable) -> Option<Signal> {
    [Signal::AckEwma, Signal::SlowAckEwma].into_iter().find(|&s| table.signals().contains(s))
}

/// `action` with a resting window of at most `limit` packets. The increment is kept if possible, so that windows grow
/// as fast. An increment of 1 cannot be kept: a window of whole packets would never grow.
fn gently_limited(action: Action, limit: f64) -> Action {
    let increment = f64::from(action.increment);
    if resting_window(&action) <= limit {
        action
    } else if 1.0 < increment && increment < limit {
        Action { multiple: 1.0 - increment / limit, ..action }
    } else {
        limited(action, limit)
    }
}

/// `action` with a resting window of at most `limit` packets, which is reached quickly.
fn limited(action: Action, limit: f64) -> Action {
    if resting_window(&action) <= limit {
        return action;
    }
    let slowest = (1.0 - LEAST_INCREMENT / limit).clamp(0.0, SLOWEST_APPROACH);
    let multiple = action.multiple.clamp(0.0, slowest);
    let increment = (limit * (1.0 - multiple)).floor().max(1.0);
    Action { multiple, increment: increment as i32, ..action }
}

/// The tree of `node` restricted to memories in `part`. Its rules are added to `rules`, except those that become empty.
fn node_within(
    table: &RuleTable,
    node: &Node,
    part: &Cuboid,
    rules: &mut Vec<Rule>,
) -> Option<Node> {
    let domain = table.domain_of(node).intersection(part);
    if domain.is_empty(table.signals()) {
        return None;
    }
    Some(match node {
        Node::Leaf(index) => {
            rules.push(Rule { domain, action: table.rules()[*index].action });
            Node::Leaf(rules.len() - 1)
        }
        Node::Split { children, .. } => {
            let parts = children.iter();
            let parts = parts.filter_map(|child| node_within(table, child, part, rules));
            Node::Split { domain, children: parts.collect() }
        }
    })
}

/// The parts of `domain` on either side of `at`, one of which is empty where `at` lies outside.
fn cut(domain: &Cuboid, signal: Signal, at: f64) -> [Cuboid; 2] {
    let (lower, upper) = (domain.lower[signal.index()], domain.upper[signal.index()]);
    domain.split(signal, at.clamp(lower, upper))
}

#[cfg(test)]
mod tests;
