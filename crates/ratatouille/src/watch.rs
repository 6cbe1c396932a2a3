//! [`Watch`]: observes a lane for somebody who looks on.

use exm_remy::Point;
use exm_sim::engine::{Event, EventKind, FlowSample, Limited, Observer, Pace};
use exm_units::{Instant, Packets, Span};

/// Records beyond this number replace the oldest: nobody reads more of them at once.
const MOST_RECORDS: usize = 20_000;

/// Observes a lane: what happens to its packets, what held each send back, and more of one flow that is watched.
///
/// What it recorded is taken by [`Watch::take`]; counters stay.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    watched: Option<usize>,
    gates: Vec<Gates>,
    links: Vec<LinkCounts>,
    sent: u64,
    records: Records,
}

/// What a [`Watch`] recorded.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Records {
    /// What happened to flows and their packets.
    pub events: Vec<FlowEvent>,
    /// The sends of the watched flow.
    pub sends: Vec<Send>,
    /// The ACKs of the watched flow, if it is a RemyCC.
    pub acks: Vec<RuleUse>,
}

/// Something that happened to a flow or one of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlowEvent {
    /// The time.
    pub at: Instant,
    /// The flow.
    pub flow: usize,
    /// What happened.
    pub kind: FlowEventKind,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEventKind {
    /// A queue dropped a packet.
    Dropped,
    /// A packet was lost at random.
    Lost,
    /// A queue marked a packet.
    Marked,
    /// The flow started.
    Started,
    /// The flow stopped.
    Stopped,
    /// A packet was retransmitted.
    Retransmitted,
}

/// What held a send back until it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldBy {
    /// The window was full until an ACK arrived.
    Window,
    /// The time between sends had not passed.
    Pace,
    /// There was nothing to send before.
    Data,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Send {
    /// The time.
    pub at: Instant,
    /// What had held it back.
    pub held_by: HeldBy,
}

/// An ACK at which a RemyCC applied a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RuleUse {
    /// The time.
    pub at: Instant,
    /// The number of the rule.
    pub rule: usize,
    /// The window after it.
    pub cwnd: Packets,
    /// The minimum time between sends after it.
    pub intersend: Span,
    /// The signals that it was chosen by.
    pub signals: Point,
}

/// How many packets of a flow were sent, by what had held them back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gates {
    limited: Limited,
    /// Held by the window.
    pub window: u64,
    /// Held by the pace.
    pub pace: u64,
    /// Held by nothing but a want of data.
    pub data: u64,
}

impl Default for Gates {
    fn default() -> Gates {
        Gates { limited: Limited::Off, window: 0, pace: 0, data: 0 }
    }
}

/// What became of packets at a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkCounts {
    /// Packets that its queue dropped.
    pub dropped: u64,
    /// Packets that its queue marked.
    pub marked: u64,
}

impl Watch {
    /// Watches `flow` from now on, or none.
    pub fn watch(&mut self, flow: Option<usize>) {
        self.watched = flow;
        self.records.sends.clear();
        self.records.acks.clear();
    }

    /// The sends of `flow` so far.
    pub fn gates(&self, flow: usize) -> Gates {
        self.gates.get(flow).copied().unwrap_or_default()
    }

    /// The packets at `link` so far.
    pub fn link_counts(&self, link: usize) -> LinkCounts {
        self.links.get(link).copied().unwrap_or_default()
    }

    /// How many packets have been sent, by all flows.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// What was recorded since it was last taken: the latest 20 000 records of each kind.
    pub fn take(&mut self) -> Records {
        std::mem::take(&mut self.records)
    }

    fn on_sent(&mut self, at: Instant, flow: usize) {
        self.sent += 1;
        let gates = entry(&mut self.gates, flow);
        let (held_by, count) = match gates.limited {
            Limited::Window => (HeldBy::Window, &mut gates.window),
            Limited::Pace => (HeldBy::Pace, &mut gates.pace),
            _ => (HeldBy::Data, &mut gates.data),
        };
        *count += 1;
        if self.watched == Some(flow) {
            push(&mut self.records.sends, Send { at, held_by });
        }
    }
}

/// The entry of `index`, with those before it.
fn entry<T: Default + Clone>(entries: &mut Vec<T>, index: usize) -> &mut T {
    if entries.len() <= index {
        entries.resize(index + 1, T::default());
    }
    &mut entries[index]
}

/// Adds a record. Where there are too many, the older half goes at once, so that it costs little.
fn push<T>(records: &mut Vec<T>, record: T) {
    if records.len() >= 2 * MOST_RECORDS {
        records.drain(..MOST_RECORDS);
    }
    records.push(record);
}

impl Observer for Watch {
    fn pace(&self) -> Pace {
        Pace::EachEvent
    }

    #[inline]
    fn flow(&mut self, sample: &FlowSample) {
        if self.watched != Some(sample.flow) {
            return;
        }
        if let (Some(signals), Some(rule)) = (sample.signals, sample.rule) {
            let &FlowSample { at, cwnd, intersend, .. } = sample;
            push(&mut self.records.acks, RuleUse { at, rule, cwnd, intersend, signals });
        }
    }

    fn wants_events(&self) -> bool {
        true
    }

    #[inline]
    fn event(&mut self, event: &Event) {
        let &Event { at, flow, kind, .. } = event;
        let kind = match kind {
            EventKind::Limited(limited) => {
                entry(&mut self.gates, flow).limited = limited;
                return;
            }
            EventKind::Sent { packet, retransmission } if !packet.is_ack => {
                self.on_sent(at, flow);
                if !retransmission {
                    return;
                }
                FlowEventKind::Retransmitted
            }
            EventKind::Dropped { link, .. } => {
                entry(&mut self.links, link).dropped += 1;
                FlowEventKind::Dropped
            }
            EventKind::Marked { link, .. } => {
                entry(&mut self.links, link).marked += 1;
                FlowEventKind::Marked
            }
            EventKind::Lost { .. } => FlowEventKind::Lost,
            EventKind::Started => FlowEventKind::Started,
            EventKind::Stopped => FlowEventKind::Stopped,
            _ => return,
        };
        push(&mut self.records.events, FlowEvent { at, flow, kind });
    }
}
