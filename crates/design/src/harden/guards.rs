//! [`Guards`]: changes to a table that bound what its senders keep in flight, whatever network they meet.

use exm_remy::{Action, Cuboid, MAX_WINDOW, Node, Rule, RuleTable, Signal, TableError};
use std::fmt;

/// How much longer the time between ACKs is at the upper end of a rung than at its lower end.
const RUNG: f64 = 2.0;
/// The brake's last rung begins here, in ms between ACKs.
const LAST_RUNG_MS: f64 = 2048.0;
/// The largest multiple of a window that is to reach its limit soon.
const SLOWEST_APPROACH: f64 = 0.9;
/// The least increment of such a window: windows are whole packets, so one of b stops growing at (b - 1) / b of
/// the limit.
const LEAST_INCREMENT: f64 = 4.0;
/// A flow is young while its slow average of times between ACKs is less than this part of the fast one: it rises
/// from 0 in 256 ACKs.
const YOUNG: f64 = 0.1;
/// An RTT ratio that no flow has.
const KNOWS_NOTHING: f64 = 0.5;
/// The shortest pace that a window is compared with, ms.
const LEAST_PACE_MS: f64 = 1e-6;

/// What bounds the packets that senders of a table keep in flight.
///
/// A window is safe in every network if it holds no more than what is delivered in a bounded time: then no
/// number of senders keeps more than that time's worth of the link's packets in the queue, whatever RTT they
/// take for the least. The published tables have small windows throughout; these guards allow large ones
/// where ACKs come fast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guards {
    /// The most packets before anything is known of the network.
    pub start_window: f64,
    /// The most packets that one ACK adds to a window.
    pub growth: f64,
    /// A window rests at no more than what the rule's pace sends, or the rule's ACKs bring, in this time, ms.
    pub horizon_ms: f64,
    /// The time between ACKs at which that is the horizon, ms.
    pub reference_ms: f64,
    /// The horizon grows with this power of the time between ACKs. Above 0, senders that get less keep more of it in
    /// flight, and so come to equal shares.
    pub equality: f64,
    /// What the horizon leaves of a window at least, in packets.
    pub least_window: f64,
    /// The part of the horizon that counts for a young flow, whose ACKs seem to come faster than they do: its averages
    /// rise from 0.
    pub youth: f64,
    /// The RTT ratios from which senders brake, the lower one first.
    pub brakes: [Brake; 3],
}

/// What senders do above an RTT ratio, whose queue may be theirs or that of others.
///
/// Only windows brake: a sender that keeps its window sends as its ACKs come, however slowly. A pace taken from the time
/// between ACKs would feed itself where the delay is foreign: slower sending makes slower ACKs, and these slower sending.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Brake {
    /// The RTT ratio.
    pub ratio: f64,
    /// Only senders brake whose ACKs are at least so far apart, ms: those that get no less than on the model's networks do
    /// there what the table does.
    pub from_ms: f64,
    /// A braking sender keeps in flight what its ACKs bring in this time, ms, and [`Brake::window`].
    pub horizon_ms: f64,
    /// So many packets are in flight beyond that. They keep a sender alive where the RTT is long through others, and give
    /// equal senders equal shares: where a queue stands, it holds as many of each.
    pub window: f64,
    /// It paces at the shortest time between ACKs of its rung, times this: at most 1.
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

/// The window that `action` leads to when its rule fires again and again: b / (1 - m) packets, and the
/// largest there is where it grows without end.
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
    /// [`TableError`] where the table would have more rules or a deeper tree than a table may have.
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

    /// The most packets in flight of a sender that gets one every `interval_ms`.
    fn limit(&self, horizon_ms: f64, equality: f64, interval_ms: f64) -> f64 {
        let interval_ms = interval_ms.max(LEAST_PACE_MS);
        let most = horizon_ms / interval_ms * self.longer(equality, interval_ms);
        most.max(self.least_window).max(1.0)
    }

    /// How much longer a horizon is for a sender that gets a packet every `interval_ms`.
    fn longer(&self, equality: f64, interval_ms: f64) -> f64 {
        libm::pow(interval_ms / self.reference_ms, equality)
    }

    /// The time between ACKs at which a window of `packets` is all that the horizon allows.
    fn interval_of(&self, packets: f64) -> f64 {
        let proportion = self.horizon_ms / packets / self.reference_ms;
        self.reference_ms * libm::pow(proportion, 1.0 / (1.0 - self.equality))
    }

    /// A flow that knows nothing gets a rule of its own, with a limited window.
    fn guard_start(&self, table: &mut RuleTable) {
        let start = start_rule(table);
        // The ratio is 0 until the second ACK, and 1 or more from then on.
        table.split(start, Signal::RttRatio, KNOWS_NOTHING);
        let action = table.rules()[start].action;
        let increment = action.increment.clamp(1, (self.start_window as i32).max(1));
        table.set_action(start, Action { multiple: 0.0, increment, ..action });
    }

    /// Windows rest where they did, but get there by steps of at most the limit. Since windows are whole
    /// packets, a step below one is none: hence the 1 less.
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

    /// Cuts the rules whose window is more than their ACKs bring in the horizon into rungs, each of which has a window
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

    /// Cuts the part of young flows off a rung of the fast average.
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

    /// The table below the brake's ratio and where ACKs come fast, and elsewhere rules that only brake, whatever the table
    /// did there.
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

/// What a sender does whose ACKs are `from_ms` to twice as much apart.
fn brake_action(brake: &Brake, from_ms: f64) -> Action {
    let window = brake.window + brake.horizon_ms / (RUNG * from_ms);
    let increment = window.clamp(1.0, f64::from(MAX_WINDOW)) as i32;
    Action { multiple: 0.0, increment, intersend_ms: brake.pace * from_ms }
}

/// The rule of a flow that knows nothing.
fn start_rule(table: &RuleTable) -> usize {
    table.find(&[0.0; Signal::COUNT])
}

/// The signal of the delivery rate, of those that the table looks at.
fn delivery_signal(table: &RuleTable) -> Option<Signal> {
    [Signal::AckEwma, Signal::SlowAckEwma].into_iter().find(|&s| table.signals().contains(s))
}

/// `action`, its resting window at most `limit` packets: the increment stays where it can, so that windows grow
/// as fast. One of 1 cannot: a window of whole packets would never grow.
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

/// `action`, its resting window at most `limit` packets, and soon there.
fn limited(action: Action, limit: f64) -> Action {
    if resting_window(&action) <= limit {
        return action;
    }
    let slowest = (1.0 - LEAST_INCREMENT / limit).clamp(0.0, SLOWEST_APPROACH);
    let multiple = action.multiple.clamp(0.0, slowest);
    let increment = (limit * (1.0 - multiple)).floor().max(1.0);
    Action { multiple, increment: increment as i32, ..action }
}

/// The tree of `node` for memories in `part`, its rules added to `rules`; those of which nothing is left are gone.
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
