//! [`Discipline`]: which packets wait, in what order they leave, and which are dropped or marked.

use crate::{
    CoDel, DropHead, DropTail, Ecn, FqCoDel, ImpossibleSetting, Packet, Parameters, Pie, Red,
    SfqCoDel, Step, Xcp,
};
use exm_random::Stream;
use exm_units::{Bytes, Instant, Packets, Rate};
use std::fmt;

/// How much may wait in a queue, besides the packet that the link is transmitting.
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
    /// Whether a packet of `size` may wait at all, in an empty queue.
    pub fn holds(self, size: Bytes) -> bool {
        match self {
            Limit::Packets(limit) => limit > Packets::ZERO,
            Limit::Bytes(limit) => limit >= size,
            Limit::Unlimited => true,
        }
    }

    /// Whether a queue of `packets` and `bytes` has no room for one packet more, of `size` bytes.
    #[inline]
    pub fn is_full(self, packets: usize, bytes: u64, size: u32) -> bool {
        match self {
            Limit::Packets(limit) => packets as u64 >= limit.get(),
            Limit::Bytes(limit) => bytes + u64::from(size) > limit.get(),
            Limit::Unlimited => false,
        }
    }

    /// Whether `packets` of `bytes` together are more than may wait.
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

/// What a queue is built for.
#[derive(Clone, Debug)]
pub struct QueueConfig {
    /// How much it may hold.
    pub limit: Limit,
    /// The rate of its link, on long average.
    pub rate: Rate,
    /// The source of its random numbers.
    pub stream: Stream,
}

/// A queue discipline: the packets that wait at a link, besides the one it is transmitting.
///
/// To add one, write its file and add its line to the list at the end of this one.
pub trait Discipline: Clone {
    /// Its name in files.
    const NAME: &'static str;

    /// Its parameters, as a file may give them; by default as its source recommends.
    type Settings: Clone + fmt::Debug + Default + PartialEq + Parameters;

    /// Whether a queue can be built from `settings`.
    ///
    /// # Errors
    /// Names the setting that cannot be, and what could be.
    fn check(_settings: &Self::Settings) -> Result<(), ImpossibleSetting> {
        Ok(())
    }

    /// An empty queue as `config` says. It must work with settings that pass the check, and must not
    /// panic with others.
    fn new(settings: &Self::Settings, config: QueueConfig) -> Self;

    /// `packet` arrives at `now`, which is what its `at` says: it is taken in, or it or others are
    /// dropped.
    fn enqueue(&mut self, now: Instant, packet: Packet, actions: &mut QueueActions);

    /// The link is free at `now` and takes the next packet, if there is one; others may be dropped
    /// on the way.
    fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> Option<Packet>;

    /// From now on at most `limit` may wait. What waits already stays, even where it is more.
    fn set_limit(&mut self, limit: Limit);

    /// From now on its link transmits at `rate`. Most disciplines do not depend on it.
    fn set_rate(&mut self, _rate: Rate) {}

    /// How many packets wait.
    fn packets(&self) -> usize;

    /// How many bytes wait.
    fn bytes(&self) -> u64;
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

    /// Marks `packet`, if it may be; otherwise it is the caller's to drop. A packet that was marked
    /// before stays so.
    #[inline]
    pub fn mark(&mut self, packet: &mut Packet) -> bool {
        if packet.ecn == Ecn::NotCapable {
            return false;
        }
        packet.ecn = Ecn::Marked;
        self.marked.push(*packet);
        true
    }

    /// Whether nothing was dropped or marked since it was last asked.
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

    /// The packets dropped since it was last asked.
    pub fn take_dropped(&mut self) -> impl Iterator<Item = Packet> {
        self.dropped.drain(..)
    }

    /// The packets marked since it was last asked. They are in the queue, or have left it.
    pub fn take_marked(&mut self) -> impl ExactSizeIterator<Item = Packet> {
        self.marked.drain(..)
    }
}

macro_rules! queues {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Any of the queue disciplines, with its parameters.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum QueueKind {
            $($(#[$doc])* $name(<$name as Discipline>::Settings),)*
        }

        /// A queue of any of the disciplines.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum Queue {
            $($(#[$doc])* $name($name),)*
        }

        impl Default for QueueKind {
            fn default() -> QueueKind {
                QueueKind::DropTail(Default::default())
            }
        }

        impl QueueKind {
            /// The names of all disciplines.
            pub const NAMES: &'static [&'static str] = &[$($name::NAME),*];

            /// The discipline called `name`, its parameters as its source recommends; nothing where
            /// none is called that.
            pub fn named(name: &str) -> Option<QueueKind> {
                match name {
                    $($name::NAME => Some(QueueKind::$name(Default::default())),)*
                    _ => None,
                }
            }

            /// Its parameters, all of them.
            pub fn settings(&self) -> &dyn Parameters {
                match self { $(QueueKind::$name(settings) => settings,)* }
            }

            /// The same, to be changed.
            pub(crate) fn settings_mut(&mut self) -> &mut dyn Parameters {
                match self { $(QueueKind::$name(settings) => settings,)* }
            }

            /// Whether a queue can be built of it.
            ///
            /// # Errors
            /// Names the setting that cannot be, and what could be.
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

            /// An empty queue as `config` says.
            pub fn build(&self, config: QueueConfig) -> Queue {
                match self {
                    $(QueueKind::$name(settings) => Queue::$name($name::new(settings, config)),)*
                }
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

            /// From now on at most `limit` may wait. What waits already stays, even where it is more.
            pub fn set_limit(&mut self, limit: Limit) {
                match self { $(Queue::$name(queue) => queue.set_limit(limit),)* }
            }

            /// From now on its link transmits at `rate`.
            pub fn set_rate(&mut self, rate: Rate) {
                match self { $(Queue::$name(queue) => queue.set_rate(rate),)* }
            }

            /// `packet` arrives at `now`: it is taken in, or it or others are dropped.
            #[inline]
            pub fn enqueue(&mut self, now: Instant, packet: Packet, actions: &mut QueueActions) {
                match self { $(Queue::$name(queue) => queue.enqueue(now, packet, actions),)* }
            }

            /// The link is free at `now` and takes the next packet, if there is one.
            #[inline]
            pub fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> Option<Packet> {
                match self { $(Queue::$name(queue) => queue.dequeue(now, actions),)* }
            }
        }
    };
}

queues! {
    /// First in, first out; what does not fit is dropped.
    DropTail,
    /// First in, first out; the oldest make room for what does not fit.
    DropHead,
    /// One queue whose sojourn times are held near a target (RFC 8289).
    CoDel,
    /// A queue for each flow, those that send little first, each of them under CoDel (RFC 8290).
    FqCoDel,
    /// A queue for each flow, in turn, each of them under CoDel.
    SfqCoDel,
    /// Drops or marks at random, the more the longer the queue is on average.
    Red,
    /// Marks what finds more than a threshold waiting, as DCTCP needs it.
    Step,
    /// Drops or marks at random, so that the queueing delay nears a target (RFC 8033).
    Pie,
    /// Drop-tail, and tells XCP's senders by how much to change their windows.
    Xcp,
}
