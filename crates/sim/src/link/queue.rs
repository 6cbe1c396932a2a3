//! [`Discipline`]: which packets wait, in what order they leave, and which are dropped.

use super::{DropTail, Limit, Packet};
use exm_units::Instant;

/// A queue discipline: the packets that wait at a link, besides the one it is transmitting.
///
/// To add one, write its file and add its line to the list at the end of this one.
pub trait Discipline: Clone {
    /// Its name in files.
    const NAME: &'static str;

    /// An empty queue that holds at most `limit`, its other parameters as its source recommends.
    fn new(limit: Limit) -> Self;

    /// What it holds at most.
    fn limit(&self) -> Limit;

    /// `packet` arrives at `now`: it is taken in, or it or others go to `dropped`.
    fn enqueue(&mut self, now: Instant, packet: Packet, dropped: &mut Dropped);

    /// The link is free at `now` and takes the next packet, if there is one; those that the
    /// discipline drops on the way go to `dropped`.
    fn dequeue(&mut self, now: Instant, dropped: &mut Dropped) -> Option<Packet>;

    /// How many packets wait.
    fn packets(&self) -> usize;

    /// How many bytes wait.
    fn bytes(&self) -> u64;
}

/// The packets a discipline dropped during one call.
#[derive(Clone, Debug, Default)]
pub struct Dropped(Vec<Packet>);

impl Dropped {
    /// `packet` is dropped.
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        self.0.push(packet);
    }

    /// Whether nothing was dropped.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Packet> {
        self.0.drain(..)
    }
}

macro_rules! queues {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Any of the queue disciplines.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum Queue {
            $($(#[$doc])* $name($name),)*
        }

        $(impl From<$name> for Queue {
            fn from(queue: $name) -> Queue {
                Queue::$name(queue)
            }
        })*

        impl Queue {
            /// The names of all disciplines.
            pub const NAMES: &'static [&'static str] = &[$($name::NAME),*];

            /// An empty queue of the discipline called `name` that holds at most `limit`; nothing
            /// where none is called that.
            pub fn named(name: &str, limit: Limit) -> Option<Queue> {
                match name {
                    $($name::NAME => Some(Queue::$name($name::new(limit))),)*
                    _ => None,
                }
            }

            /// An empty queue of the same discipline that holds at most `limit`.
            pub fn limited(&self, limit: Limit) -> Queue {
                match self { $(Queue::$name(_) => Queue::$name($name::new(limit)),)* }
            }

            /// What it holds at most.
            pub fn limit(&self) -> Limit {
                match self { $(Queue::$name(queue) => queue.limit(),)* }
            }

            /// How many packets wait.
            #[inline]
            pub fn packets(&self) -> usize {
                match self { $(Queue::$name(queue) => queue.packets(),)* }
            }

            /// How many bytes wait.
            pub fn bytes(&self) -> u64 {
                match self { $(Queue::$name(queue) => queue.bytes(),)* }
            }

            #[inline]
            pub(crate) fn enqueue(&mut self, now: Instant, packet: Packet, dropped: &mut Dropped) {
                match self { $(Queue::$name(queue) => queue.enqueue(now, packet, dropped),)* }
            }

            #[inline]
            pub(crate) fn dequeue(&mut self, now: Instant, dropped: &mut Dropped) -> Option<Packet> {
                match self { $(Queue::$name(queue) => queue.dequeue(now, dropped),)* }
            }
        }
    };
}

queues! {
    /// First in, first out; what does not fit is dropped.
    DropTail,
}
