//! [`Discipline`]: which packets wait, in what order they leave, and which are dropped or marked.

use crate::{
    Abc, CoDel, DropHead, DropTail, DualPi2, Ecn, FqCoDel, ImpossibleSetting, Packet, Parameters,
    Pie, Policer, Red, Service, SfqCoDel, Step, Xcp,
};
use exm_random::Stream;
use exm_trace::Trace;
use exm_units::{Bytes, Instant, Packets, Rate};
use std::fmt;
use std::sync::Arc;

/// The limit of a queue, not counting the packet in transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most so many packets.
    Packets(Packets),
    /// At most so many bytes.
    Bytes(Bytes),
    /// No limit.
    Unlimited,
}

impl Limit {
    /// Whether a packet of `size` fits into an empty queue.
    pub fn holds(self, size: Bytes) -> bool {
        match self {
            Limit::Packets(limit) => limit > Packets::ZERO,
            Limit::Bytes(limit) => limit >= size,
            Limit::Unlimited => true,
        }
    }

    /// Whether a queue of `packets` and `bytes` has no room for another packet of `size` bytes.
    #[inline]
    pub fn is_full(self, packets: usize, bytes: u64, size: u32) -> bool {
        match self {
            Limit::Packets(limit) => packets as u64 >= limit.get(),
            Limit::Bytes(limit) => bytes + u64::from(size) > limit.get(),
            Limit::Unlimited => false,
        }
    }

    /// Whether `packets` of `bytes` in total exceed the limit.
    #[inline]
    pub fn is_exceeded(self, packets: usize, bytes: u64) -> bool {
        match self {
            Limit::Packets(limit) => packets as u64 > limit.get(),
            Limit::Bytes(limit) => bytes > limit.get(),
            Limit::Unlimited => false,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Packets(packets) => write!(f, "{packets}"),
            Limit::Bytes(bytes) => write!(f, "{bytes}"),
            Limit::Unlimited => f.write_str("unlimited"),
        }
    }
}

/// The environment that a queue is built for.
#[derive(Clone, Debug)]
pub struct QueueConfig {
    /// Its limit.
    pub limit: Limit,
    /// The mean rate of its link.
    pub rate: Rate,
    /// The source of its random numbers.
    pub stream: Stream,
}

/// A queue discipline, for the packets that wait at a link, not counting the one in transmission.
///
/// To add one, write its file and add a line to the list at the end of this one.
pub trait Discipline: Clone {
    /// Its name in files.
    const NAME: &'static str;

    /// Its parameters, as a file may set them; by default as its source recommends.
    type Settings: Clone + fmt::Debug + Default + PartialEq + Parameters;

    /// Whether a queue can be built from `settings`.
    ///
    /// # Errors
    /// The impossible setting, and what is possible.
    fn check(_settings: &Self::Settings) -> Result<(), ImpossibleSetting> {
        Ok(())
    }

    /// An empty queue with this `config`. It must work with settings that pass the check, and must
    /// not panic with others.
    fn new(settings: &Self::Settings, config: QueueConfig) -> Self;

    /// `packet` arrives at `now`, which equals its `at`: it is enqueued, or it or others are dropped.
    fn enqueue(&mut self, now: Instant, packet: Packet, actions: &mut QueueActions);

    /// The link is free at `now` and takes the next packet, if any; others may be dropped first.
    fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> Option<Packet>;

    /// Limits the queue to `limit` from now on. Packets already waiting stay, even beyond it.
    fn set_limit(&mut self, limit: Limit);

    /// The link transmits at `rate` from now on. Most disciplines ignore it.
    fn set_rate(&mut self, _rate: Rate) {}

    /// The link transmits at the opportunities of `trace`, from time zero on. Most disciplines ignore it.
    fn follow(&mut self, _trace: &Arc<Trace>) {}

    /// How many packets wait.
    fn packets(&self) -> usize;

    /// How many bytes wait.
    fn bytes(&self) -> u64;

    /// Calls `visit` with each waiting packet, in the order in which they would leave if no more
    /// arrived and none were dropped.
    fn visit_waiting(&self, visit: &mut dyn FnMut(&Packet));
}

/// The packets that queue disciplines dropped and marked, until their caller takes them.
#[derive(Clone, Debug, Default)]
pub struct QueueActions {
    dropped: Vec<Packet>,
    marked: Vec<Packet>,
}

impl QueueActions {
    /// `packet` is dropped.
    #[inline]
    pub fn drop(&mut self, packet: Packet) {
        self.dropped.push(packet);
    }

    /// Marks `packet`, if it is ECN-capable; otherwise the caller must drop it. A packet that is
    /// already marked stays marked.
    #[inline]
    pub fn mark(&mut self, packet: &mut Packet) -> bool {
        if packet.ecn == Ecn::NotCapable {
            return false;
        }
        packet.ecn = Ecn::Marked;
        self.marked.push(*packet);
        true
    }

    /// Whether nothing was dropped or marked since the last time the packets were taken.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.dropped.is_empty() && self.marked.is_empty()
    }

    /// Whether `packet` is among those dropped since they were last taken.
    pub fn drops(&self, packet: &Packet) -> bool {
        let same = |dropped: &&Packet| {
            (dropped.flow, dropped.sequence, dropped.sent_at, dropped.tag)
                == (packet.flow, packet.sequence, packet.sent_at, packet.tag)
        };
        self.dropped.iter().find(same).is_some()
    }

    /// The packets dropped since they were last taken, in order.
    #[inline]
    pub fn dropped(&self) -> &[Packet] {
        &self.dropped
    }

    /// Takes the packets dropped since the last call.
    pub fn take_dropped(&mut self) -> impl Iterator<Item = Packet> {
        self.dropped.drain(..)
    }

    /// Takes the packets marked since the last call. They are in the queue, or have left it.
    pub fn take_marked(&mut self) -> impl ExactSizeIterator<Item = Packet> {
        self.marked.drain(..)
    }
}

macro_rules! queues {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// Any of the queue disciplines, with its parameters.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum QueueKind {
            $($(#[doc = $doc])* $name(<$name as Discipline>::Settings),)*
        }

        /// A queue of any discipline.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum Queue {
            $($(#[doc = $doc])* $name($name),)*
        }

        impl Default for QueueKind {
            fn default() -> QueueKind {
                QueueKind::DropTail(Default::default())
            }
        }

        impl QueueKind {
            /// The names of all disciplines.
            pub const NAMES: &'static [&'static str] = &[$($name::NAME),*];

            /// The names of all disciplines, and a line in Markdown about each.
            pub const DESCRIPTIONS: &'static [(&'static str, &'static str)] =
                &[$(($name::NAME, concat!($($doc),*))),*];

            /// The discipline called `name`, with the parameters that its source recommends; none if
            /// there is no such discipline.
            pub fn named(name: &str) -> Option<QueueKind> {
                match name {
                    $($name::NAME => Some(QueueKind::$name(Default::default())),)*
                    _ => None,
                }
            }

            /// All its parameters.
            pub fn settings(&self) -> &dyn Parameters {
                match self { $(QueueKind::$name(settings) => settings,)* }
            }

            /// The same, mutably.
            pub(crate) fn settings_mut(&mut self) -> &mut dyn Parameters {
                match self { $(QueueKind::$name(settings) => settings,)* }
            }

            /// Whether a queue can be built from it.
            ///
            /// # Errors
            /// The impossible setting, and what is possible.
            pub fn check(&self) -> Result<(), ImpossibleSetting> {
                let checked = match self {
                    $(QueueKind::$name(settings) => $name::check(settings),)*
                };
                checked.map_err(|error| error.of(self.name()))
            }

            /// The discipline's name in files.
            pub fn name(&self) -> &'static str {
                match self { $(QueueKind::$name(_) => $name::NAME,)* }
            }

            /// An empty queue with this `config`.
            pub fn build(&self, config: QueueConfig) -> Queue {
                match self {
                    $(QueueKind::$name(settings) => Queue::$name($name::new(settings, config)),)*
                }
            }

            /// An empty queue for a link with this `service`, which is limited to `limit` and draws random numbers
            /// from `stream`.
            pub fn build_for(&self, service: &Service, limit: Limit, stream: Stream) -> Queue {
                let mut queue = self.build(QueueConfig { limit, rate: service.rate(), stream });
                if let Service::Trace(trace) = service {
                    queue.follow(trace);
                }
                queue
            }
        }

        impl Queue {
            /// How many packets wait.
            #[inline]
            pub fn packets(&self) -> usize {
                match self { $(Queue::$name(queue) => queue.packets(),)* }
            }

            /// How many bytes wait.
            #[inline]
            pub fn bytes(&self) -> u64 {
                match self { $(Queue::$name(queue) => queue.bytes(),)* }
            }

            /// Calls `visit` with each waiting packet, in the order in which they would leave if no
            /// more arrived and none were dropped.
            pub fn visit_waiting(&self, visit: &mut dyn FnMut(&Packet)) {
                match self { $(Queue::$name(queue) => queue.visit_waiting(visit),)* }
            }

            /// Limits the queue to `limit` from now on. Packets already waiting stay, even beyond it.
            pub fn set_limit(&mut self, limit: Limit) {
                match self { $(Queue::$name(queue) => queue.set_limit(limit),)* }
            }

            /// The link transmits at `rate` from now on.
            pub fn set_rate(&mut self, rate: Rate) {
                match self { $(Queue::$name(queue) => queue.set_rate(rate),)* }
            }

            /// The link transmits at the opportunities of `trace`, from time zero on.
            pub fn follow(&mut self, trace: &Arc<Trace>) {
                match self { $(Queue::$name(queue) => queue.follow(trace),)* }
            }

            /// `packet` arrives at `now`: it is enqueued, or it or others are dropped.
            #[inline]
            pub fn enqueue(&mut self, now: Instant, packet: Packet, actions: &mut QueueActions) {
                match self { $(Queue::$name(queue) => queue.enqueue(now, packet, actions),)* }
            }

            /// The link is free at `now` and takes the next packet, if any.
            #[inline]
            pub fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> Option<Packet> {
                match self { $(Queue::$name(queue) => queue.dequeue(now, actions),)* }
            }
        }
    };
}

queues! {
    /// FIFO; packets that do not fit are dropped.
    DropTail,
    /// FIFO; the oldest packets are dropped to make room.
    DropHead,
    /// One queue that keeps sojourn times near a target (RFC 8289).
    CoDel,
    /// Per-flow queues, sparse flows first, each under CoDel (RFC 8290).
    FqCoDel,
    /// Per-flow queues served in turn, each under CoDel.
    SfqCoDel,
    /// Drops or marks at random, with a probability that grows with the average queue length.
    Red,
    /// Marks packets that find more than a threshold waiting, as DCTCP needs it.
    Step,
    /// Drops or marks at random, to keep the queueing delay near a target (RFC 8033).
    Pie,
    /// Drops what exceeds a rate, as operators' policers do, instead of letting it wait.
    Policer,
    /// Two coupled queues, one of them for L4S: low latency beside classic flows (RFC 9332).
    DualPi2,
    /// Drop-tail, with feedback to XCP senders.
    Xcp,
    /// Drop-tail; tells ABC senders by a mark on each packet to accelerate or to brake.
    Abc,
}
