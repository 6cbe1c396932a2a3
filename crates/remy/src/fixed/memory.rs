//! [`FixedMemory`]: what a RemyCC remembers of its flow, in integers.

use crate::fixed::{RATIO_BITS, TIME_BITS};
use crate::signal::Signal;

/// The longest time between two packets that is told from longer ones, ns: ten hours.
const LONGEST_APART: i64 = 1 << 45;
/// The longest RTT that is told from longer ones, ns: 36 minutes.
const LONGEST_RTT: u64 = 1 << 41;
/// The largest ratio of RTTs that is told from larger ones.
const LARGEST_RATIO: u64 = 1 << 16;
/// The largest gap in sequence numbers that is told from larger ones, and the largest average that it multiplies.
const LARGEST_GAP: u32 = (1 << 16) - 1;
const LARGEST_AVERAGE: i64 = (1 << 47) - 1;

/// Remy's six signals of a flow, as [`Memory`](crate::Memory), in fixed point: times in 2^-16 ns, the ratio in 2^-46.
#[derive(Clone, Debug, Default)]
pub struct FixedMemory {
    send: i64,
    ack: i64,
    slow: i64,
    queueing: i64,
    /// Of the last two ACKs, ns; zero before the second.
    rtt: u64,
    /// Zero until the first ACK.
    min_rtt: u64,
    last_sent: i64,
    last_received: i64,
}

impl FixedMemory {
    /// The signals, in the order of [`Signal::ALL`].
    pub fn signals(&self) -> [i64; Signal::REMYS] {
        let diff = self.rtt.saturating_sub(self.min_rtt) << TIME_BITS;
        [self.send, self.ack, self.ratio(), self.slow, diff as i64, self.queueing]
    }

    /// The latest RTT over the least: by long division, 23 bits at a time, since 64 bits hold no more.
    fn ratio(&self) -> i64 {
        const DIGIT: u32 = RATIO_BITS / 2;
        if self.rtt == 0 {
            return 0;
        }
        let least = self.min_rtt;
        let whole = (self.rtt / least).min(LARGEST_RATIO);
        let rest = (self.rtt % least) << DIGIT;
        let (high, low) = (rest / least, ((rest % least) << DIGIT) / least);
        (whole << RATIO_BITS | high << DIGIT | low) as i64
    }

    /// Updates the signals with an ACK, as [`Memory::on_ack`](crate::Memory::on_ack): all times in ns.
    pub fn on_ack(&mut self, sent: i64, received: i64, rtt: u64, gap: u32) {
        let rtt = rtt.clamp(1, LONGEST_RTT);
        if self.min_rtt == 0 {
            self.min_rtt = rtt;
        } else {
            let (sent_apart, received_apart) =
                (apart(sent, self.last_sent), apart(received, self.last_received));
            self.min_rtt = self.min_rtt.min(rtt);
            self.rtt = rtt;
            self.send = averaged(self.send, sent_apart, 3);
            self.ack = averaged(self.ack, received_apart, 3);
            self.slow = averaged(self.slow, received_apart, 8);
            let gap = i64::from(gap.clamp(1, LARGEST_GAP));
            self.queueing = self.ack.clamp(-LARGEST_AVERAGE, LARGEST_AVERAGE) * gap;
        }
        self.last_sent = sent;
        self.last_received = received;
    }
}

/// The time from `before` to `after`, both in ns.
fn apart(after: i64, before: i64) -> i64 {
    after.wrapping_sub(before).clamp(-LONGEST_APART, LONGEST_APART) << TIME_BITS
}

/// The moving average after one more sample, of weight 2^-`bits`.
fn averaged(average: i64, sample: i64, bits: u32) -> i64 {
    average + ((sample - average + (1 << (bits - 1))) >> bits)
}
