//! The fast path: RemyCCs that share one FIFO link of fixed rate, simulated without events.
//!
//! It relies on two facts. A fixed-rate FIFO needs no events of its own: a packet's departure, drop
//! and arrival are known when it is enqueued. And the ACK of a packet sent now arrives no sooner
//! than one propagation delay later, so up to that horizon all ACKs are already known and senders
//! do not influence each other. Time therefore advances in *epochs* of one propagation delay. In an
//! epoch each sender separately (1) folds its ACKs into its memory and looks up their rules, and
//! (2) turns them into windows and send times; then (3) the sends of all senders are merged by time
//! and (4) pushed through the link, which yields the arrivals of later epochs. Each step is a tight
//! loop over contiguous data.
//!
//! The event engine gives bit-identical results, which the tests of both check. Only it knows the extended
//! signals: tables that use them are simulated there.

mod link;
mod merge;
mod sender;
mod share;

use crate::active::MeasuredOver;
use crate::traffic::{OnOff, TrafficSource};
use exm_random::{Losses, Purpose, Stream};
use exm_remy::{CompiledAction, Grid, GridVisitor, Lookup, Point};
use exm_units::{Bytes, Instant, Packets, Probability, Rate, Span};
use link::Fifo;
use merge::Merger;
use sender::Sender;

/// Senders that share one bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub struct Dumbbell {
    /// The link's rate.
    pub rate: Rate,
    /// The size of every packet.
    pub packet: Bytes,
    /// How many packets may wait, not counting the one in service; none for no limit.
    pub buffer: Option<Packets>,
    /// The probability that a packet is lost after the link.
    pub loss: Probability,
    /// Each sender's round-trip propagation delay, all of it after the link. Its length is the
    /// number of senders.
    pub delays: Vec<Span>,
    /// When senders are on, and how much they send.
    pub traffic: OnOff,
    /// The simulated time.
    pub duration: Span,
}

/// A rule table in the simulator's form: candidates that differ only in actions share the grid.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// Looks up the rule of a memory.
    pub grid: &'a Grid,
    /// The rules' actions.
    pub actions: &'a [CompiledAction],
}

/// The results of one sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Packets it sent.
    pub sent: u64,
    /// Packets that were acknowledged.
    pub delivered: u64,
    /// The part of each packet that is headers: 0 on the bare host, where a packet is entirely data.
    pub headers: f64,
    /// Packets that the queue dropped or that were lost at random. Those sent and neither delivered
    /// nor lost are in flight at the end.
    pub lost: u64,
    /// The sum of their round-trip times.
    pub rtt_sum: Span,
    /// How long it was on.
    pub on_time: Span,
    /// The integral of 1 / (senders on) over its on-time, in seconds.
    pub share_time: f64,
    /// From the start of each of its on-periods until its end or its last packet's arrival, whichever is
    /// later: see [`MeasuredOver::Arrivals`].
    pub active_time: Span,
    /// The integral of 1 / (senders active) over that time, in seconds.
    pub active_share_time: f64,
}

impl Outcome {
    /// The time that its throughput is measured `over`, and the integral of its equal share over that
    /// time, in seconds.
    pub fn measured(&self, over: MeasuredOver) -> (Span, f64) {
        match over {
            MeasuredOver::Arrivals => (self.active_time, self.active_share_time),
            MeasuredOver::Papers => (self.on_time, self.share_time),
        }
    }
}

/// Is notified of every rule that fires.
pub trait Observer {
    /// A sender applied rule `rule` to the memory `signals`.
    fn fired(&mut self, rule: usize, signals: &Point);
}

/// Observes nothing, at no cost.
impl Observer for () {
    #[inline]
    fn fired(&mut self, _rule: usize, _signals: &Point) {}
}

/// Simulates `network` with every sender run by `rules`; `seed` is the random seed.
///
/// # Panics
/// If the link's rate is zero: a model refuses such networks when it is read. If the table uses an extended
/// signal ([`SignalSet::is_extended`](exm_remy::SignalSet::is_extended)): only the event engine has them.
pub fn run(network: &Dumbbell, rules: Rules<'_>, seed: u64) -> Vec<Outcome> {
    run_observed(network, rules, seed, &mut ())
}

/// As [`run`], with `observer` notified of every rule that fires.
pub fn run_observed(
    network: &Dumbbell,
    rules: Rules<'_>,
    seed: u64,
    observer: &mut impl Observer,
) -> Vec<Outcome> {
    assert!(!rules.grid.is_extended(), "the fast path has Remy's six signals only");
    rules.grid.visit(Run { network, actions: rules.actions, seed, observer })
}

/// A run, generic in the kind of lookup.
struct Run<'a, O> {
    network: &'a Dumbbell,
    actions: &'a [CompiledAction],
    seed: u64,
    observer: &'a mut O,
}

/// [`Rules`] of a known kind.
#[derive(Debug)]
struct Ready<'a, L> {
    lookup: &'a L,
    actions: &'a [CompiledAction],
}

// Not derived: a reference can be copied whatever its target is.
impl<L> Clone for Ready<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Ready<'_, L> {}

impl<O: Observer> GridVisitor for Run<'_, O> {
    type Output = Vec<Outcome>;

    fn visit(self, lookup: &impl Lookup) -> Vec<Outcome> {
        let Run { network, actions, seed, observer } = self;
        let rules = Ready { lookup, actions };
        let end = network.duration.as_nanos() as i64;
        let service = network.rate.service_time(network.packet).as_nanos() as i64;
        assert!(service < i64::MAX, "a link of rate zero delivers nothing");
        let least = network.delays.iter().map(|d| d.as_nanos() as i64).min().unwrap_or(0);
        let mut senders = senders(network, seed);
        let losses = Losses::new(network.loss.get(), Stream::new(seed, Purpose::Loss, 0));
        let mut fifo = Fifo::new(service, network.buffer, losses, end);
        let mut merger = Merger::default();
        let mut now = senders.iter().map(Sender::next_event).min().unwrap_or(end);
        while now < end {
            let horizon = (now + service + least).min(end);
            for (index, sender) in senders.iter_mut().enumerate() {
                if sender.next_event() < horizon {
                    sender.advance(horizon, rules, &mut merger.run(now, index), observer);
                }
            }
            fifo.carry(now, merger.merged(), &mut senders);
            merger.clear();
            let next = senders.iter().map(Sender::next_event).min().unwrap_or(end);
            now = horizon.max(next);
        }
        share::outcomes(&senders, Instant::from_nanos(end as u64))
    }
}

fn senders(network: &Dumbbell, seed: u64) -> Vec<Sender> {
    let stream = |i| Stream::new(seed, Purpose::Traffic, i);
    let source = |i| TrafficSource::new(network.traffic.clone(), stream(i), network.packet);
    network.delays.iter().enumerate().map(|(i, &delay)| Sender::new(delay, source(i))).collect()
}
