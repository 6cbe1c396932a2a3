//! [`Signal`]: the axes of a RemyCC's memory, [`Point`]: a value on each, and [`SignalSet`]: the set that a
//! table uses.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

/// A value of each signal, indexed as [`Signal::ALL`].
pub type Point = [f64; Signal::COUNT];

/// One of the signals in a RemyCC's memory. The first six are Remy's, in the order of the axes in its `.dna`
/// files; the others are *extended*: those files have no place for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signal {
    /// Moving average of the time between sends of acknowledged packets, ms, weight 1/8.
    SendEwma,
    /// Moving average of the time between their arrivals, ms, weight 1/8.
    AckEwma,
    /// The latest RTT over the minimum RTT of the flow.
    RttRatio,
    /// As [`Signal::AckEwma`] with weight 1/256.
    SlowAckEwma,
    /// The latest RTT minus the minimum RTT of the flow, ms.
    RttDiff,
    /// [`Signal::AckEwma`] times the gap in sequence numbers, ms.
    QueueingDelay,
    /// Share of delivered packets that arrived marked congestion experienced (RFC 3168): moving average,
    /// weight 1/16 a packet, 0 to 1.
    Ecn,
    /// Share of packets that were lost: moving average, weight 1/16 a packet, 0 to 1.
    Loss,
    /// The rate at which packets reached the receiver in the last full round trip, packets per ms.
    ReceiveRate,
}

impl Signal {
    /// How many there are.
    pub const COUNT: usize = 9;

    /// All of them, in order.
    pub const ALL: [Signal; Signal::COUNT] = [
        Signal::SendEwma,
        Signal::AckEwma,
        Signal::RttRatio,
        Signal::SlowAckEwma,
        Signal::RttDiff,
        Signal::QueueingDelay,
        Signal::Ecn,
        Signal::Loss,
        Signal::ReceiveRate,
    ];

    /// How many of them Remy has: the first.
    pub const REMYS: usize = 6;

    /// Its index in [`Signal::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Its name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Signal::SendEwma => "send_ewma",
            Signal::AckEwma => "ack_ewma",
            Signal::RttRatio => "rtt_ratio",
            Signal::SlowAckEwma => "slow_ack_ewma",
            Signal::RttDiff => "rtt_diff",
            Signal::QueueingDelay => "queueing_delay",
            Signal::Ecn => "ecn",
            Signal::Loss => "loss",
            Signal::ReceiveRate => "receive_rate",
        }
    }

    /// Its unit; empty where it has none.
    pub const fn unit(self) -> &'static str {
        match self {
            Signal::RttRatio | Signal::Ecn | Signal::Loss => "",
            Signal::ReceiveRate => "packets/ms",
            _ => "ms",
        }
    }

    /// Whether it is none of Remy's six.
    pub const fn is_extended(self) -> bool {
        self.index() >= Signal::REMYS
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Signal {
    type Err = UnknownSignal;
    fn from_str(name: &str) -> Result<Signal, UnknownSignal> {
        Signal::ALL
            .into_iter()
            .find(|signal| signal.name() == name)
            .ok_or_else(|| UnknownSignal(name.to_owned()))
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Signal {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Signal {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Signal, D::Error> {
        let name = <String as serde::Deserialize>::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

/// A name that is not a signal's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is not a signal; the signals are send_ewma, ack_ewma, rtt_ratio, slow_ack_ewma, \
     rtt_diff, queueing_delay, ecn, loss and receive_rate"
)]
pub struct UnknownSignal(String);

/// The signals that a table uses, in order; never empty. It also says whether a table that uses [`Signal::Ecn`] is for
/// L4S: see [`SignalSet::for_l4s`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalSet(u16);

/// The bit of [`SignalSet::for_l4s`], and those of the signals.
const L4S: u16 = 1 << 15;
const SIGNALS: u16 = (1 << Signal::COUNT) - 1;

impl SignalSet {
    /// The set of `signals`; `None` if it would be empty.
    pub fn new(signals: impl IntoIterator<Item = Signal>) -> Option<SignalSet> {
        let bits = signals.into_iter().fold(0, |bits, signal| bits | 1 << signal.index());
        (bits != 0).then_some(SignalSet(bits))
    }

    /// The first four signals: those of the tables published with SIGCOMM 2014 and later, and the
    /// default of files that name none.
    pub const FIRST_FOUR: SignalSet = SignalSet(0b1111);

    /// The same signals of a sender whose packets are ECT(1): queues with low latency mark them early, and expect a response
    /// to each mark (RFC 9331, section 4). Without [`Signal::Ecn`] the table could not respond: `None`.
    pub const fn for_l4s(self) -> Option<SignalSet> {
        if self.contains(Signal::Ecn) { Some(SignalSet(self.0 | L4S)) } else { None }
    }

    /// Whether they are of a sender whose packets are ECT(1).
    pub const fn is_for_l4s(self) -> bool {
        self.0 & L4S != 0
    }

    /// Whether `signal` is one of them.
    pub const fn contains(self, signal: Signal) -> bool {
        self.0 & 1 << signal.index() != 0
    }

    /// The signals, in order.
    pub fn iter(self) -> impl Iterator<Item = Signal> {
        Signal::ALL.into_iter().filter(move |&signal| self.contains(signal))
    }

    /// Whether any of them is extended: see [`Signal::is_extended`].
    pub const fn is_extended(self) -> bool {
        (self.0 & SIGNALS) >> Signal::REMYS != 0
    }

    /// How many there are: 1 to [`Signal::COUNT`].
    pub const fn len(self) -> usize {
        (self.0 & SIGNALS).count_ones() as usize
    }

    /// Never: a set holds at least one signal.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_sees_marks_can_be_for_l4s() {
        assert_eq!(SignalSet::FIRST_FOUR.for_l4s(), None);
        let seeing = SignalSet::new([Signal::RttRatio, Signal::Ecn]).expect("two signals");
        let l4s = seeing.for_l4s().expect("it sees marks");
        assert!(l4s.is_for_l4s() && !seeing.is_for_l4s());
        assert!(l4s.iter().eq(seeing.iter()));
        assert_eq!((l4s.len(), l4s.is_extended()), (2, true));
    }
}
