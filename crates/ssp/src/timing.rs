//! When an end sends: constants, and what the caller sets and measures.

use exm_units::Span;

/// An idle end sends an empty acknowledgement this often, which also tells its peer where it is.
pub const ACK_INTERVAL: Span = Span::from_millis(3000);
/// How long an acknowledgement of data waits for data to go along with. Also added to the timeout, since
/// the peer waits as long.
pub const ACK_DELAY: Span = Span::from_millis(100);
/// An end retransmits only if it received something within this time; afterwards the empty
/// acknowledgements suffice to find out that the peer is back.
pub const ACTIVE_RETRY: Span = Span::from_millis(10_000);
/// The bounds of [`send_interval`].
const SHORTEST_INTERVAL: Span = Span::from_millis(20);
const LONGEST_INTERVAL: Span = Span::from_millis(250);
/// How long changes of the state are collected before they are sent. A server's program writes
/// its output in several steps; a user's keys come one at a time.
const SERVER_MIN_DELAY: Span = Span::from_millis(8);
/// A program that has written nothing for so long is likely to be done.
const SERVER_PAUSE: Span = Span::from_micros(1500);
const CLIENT_MIN_DELAY: Span = Span::from_millis(1);

/// The payload of a datagram that is not fragmented on a path over IPv4 with an MTU of 1280 bytes,
/// less the overhead of encryption.
pub const PAYLOAD_IPV4: usize = 1280 - 28 - 28;
/// The same over IPv6.
pub const PAYLOAD_IPV6: usize = 1280 - 64 - 28;
/// The smallest limit that is obeyed: the longest instruction has 2^15 fragments of 128 bytes.
const SMALLEST_PAYLOAD: usize = crate::HEADER + 128;

/// The shortest time between two instructions that the budget lets go before the interval is over. A shell's prompt follows within this time
/// after the echo of Ctrl-C.
pub(crate) const SHORTEST_GAP: Span = Span::from_millis(3);
/// On a path that loses datagrams, a small instruction that is not acknowledged is repeated after this, then after twice as long, and so on.
pub(crate) const FIRST_REPEAT: Span = Span::from_millis(20);
/// After a timeout, the path is considered to lose datagrams for this long.
pub(crate) const LOSS_MEMORY: Span = Span::from_millis(10_000);
/// The bytes a second of [`Settings::budget`]: 32 kbit/s, which quick typing on a lossy path needs.
const BUDGET: u32 = 4000;

/// What the layer below has measured of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rtt {
    /// The smoothed round-trip time.
    pub srtt: Span,
    /// The retransmission timeout.
    pub timeout: Span,
}

impl Default for Rtt {
    /// The values before the first sample: one second both.
    fn default() -> Rtt {
        Rtt { srtt: Span::from_millis(1000), timeout: Span::from_millis(1000) }
    }
}

/// The shortest time between two states sent: half the RTT in whole milliseconds, rounded up, between 20
/// and 250 ms. So about one instruction is on its way at a time.
pub fn send_interval(rtt: &Rtt) -> Span {
    const MILLI: u64 = 1_000_000;
    let millis = rtt.srtt.as_nanos().div_ceil(2 * MILLI);
    Span::from_nanos(millis.saturating_mul(MILLI)).clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL)
}

/// What can be set of a [`Transport`](crate::Transport).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// How long changes of the local state are collected before they are sent.
    pub min_delay: Span,
    /// They are sent sooner once there was none for this long.
    pub pause: Span,
    /// How many bytes a second, headers included, may be sent before the interval of [`send_interval`] is over. What is sent in any case
    /// counts too, so that large differences keep to the interval. Each time the RTT shows a queue, the rate is halved, down to a quarter; it recovers
    /// within two minutes. 0: the interval is always kept, and nothing is repeated
    /// before the timeout, as in mosh.
    pub budget: u32,
    /// The longest payload in bytes; values below 138 count as 138. See
    /// [`Transport::set_payload_limit`](crate::Transport::set_payload_limit).
    pub payload_limit: usize,
    /// The seed of the chaff, which must be unpredictable to whoever observes the datagrams.
    pub seed: u64,
}

impl Settings {
    /// Those of a client: changes are sent after 1 ms.
    pub fn client(seed: u64) -> Settings {
        Settings {
            min_delay: CLIENT_MIN_DELAY,
            pause: CLIENT_MIN_DELAY,
            budget: BUDGET,
            payload_limit: PAYLOAD_IPV6,
            seed,
        }
    }

    /// Those of a server: changes are sent once there was none for 1.5 ms, and after 8 ms at the latest.
    pub fn server(seed: u64) -> Settings {
        Settings { min_delay: SERVER_MIN_DELAY, pause: SERVER_PAUSE, ..Settings::client(seed) }
    }
}

/// The data of a fragment in payloads of at most `limit` bytes.
pub(crate) fn fragment_capacity(limit: usize) -> usize {
    limit.max(SMALLEST_PAYLOAD) - crate::HEADER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_half_the_rtt() {
        let interval =
            |micros| send_interval(&Rtt { srtt: Span::from_micros(micros), ..Rtt::default() });
        let expected = [(0, 20), (40_000, 20), (40_001, 21), (101_000, 51), (500_000, 250)];
        for (micros, millis) in expected {
            assert_eq!(interval(micros), Span::from_millis(millis), "{micros} us");
        }
        assert_eq!(send_interval(&Rtt { srtt: Span::MAX, ..Rtt::default() }), LONGEST_INTERVAL);
    }

    #[test]
    fn a_datagram_has_room_for_1214_bytes_over_ipv4() {
        assert_eq!(fragment_capacity(PAYLOAD_IPV4), 1214);
        assert_eq!(fragment_capacity(0), 128);
    }
}
