//! Measures a session: one end or both send as much as the forecast allows, or at a rate, and both
//! count what arrives.
//!
//! The client says what is to be done ([`Plan`]); a server that serves benchmarks ([`BenchServer`])
//! does its part and reports. Both stamp what they send by their machine's clock. Where both ends are
//! on one machine, that is one clock, and the delays are true. Elsewhere the clocks differ by nobody
//! knows how much, and only how far each delay exceeds the least is known: the time in queues.

mod arrivals;
mod client;
mod sending;
mod server;
mod wire;

pub use client::{Bench, BenchError};
pub use server::BenchServer;
pub use wire::Message;

use blake2::Blake2sMac;
use blake2::digest::Mac;
use blake2::digest::consts::U16;
use exm_units::{Bytes, Rate, Span};
use rustix::time::{ClockId, clock_gettime};

/// What is to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Whether the client sends.
    pub up: bool,
    /// Whether the server sends.
    pub down: bool,
    /// How long they send.
    pub duration: Span,
    /// How much of the beginning is not scored: until the forecast has found the link's rate.
    pub skip: Span,
    /// At which rate of packets they send, headers included; as much as may be sent where there is
    /// none.
    pub rate: Option<Rate>,
}

/// What became of what was sent in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Half {
    /// Datagrams sent in all.
    pub sent: u64,
    /// Datagrams that arrived in all.
    pub received: u64,
    /// The bytes of IPv4 packets that arrived in the time that is scored, over that time.
    pub throughput: Rate,
    /// The end-to-end delay (thesis, section 2.4.1) that was not exceeded half of the time, or by how
    /// much it exceeded the least delay of a packet, see [`Outcome::one_clock`].
    pub delay_50: Option<Span>,
    /// The same that was not exceeded 95 % of the time.
    pub delay_95: Option<Span>,
}

impl Half {
    /// The part of the datagrams that was lost.
    pub fn loss(&self) -> f64 {
        let lost = self.sent.saturating_sub(self.received);
        if self.sent == 0 { 0.0 } else { lost as f64 / self.sent as f64 }
    }
}

/// What was measured.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// What was to be.
    pub plan: Plan,
    /// From the client to the server.
    pub up: Option<Half>,
    /// From the server to the client.
    pub down: Option<Half>,
    /// Whether both ends are on one machine, so that delays are of one clock. Otherwise they are what
    /// they exceed the least by.
    pub one_clock: bool,
    /// The round-trip times that the client measured: the median.
    pub rtt_50: Option<Span>,
    /// The one that 95 % of them did not exceed.
    pub rtt_95: Option<Span>,
    /// How much of a processor each end took, the client's and the server's.
    pub processor: [f64; 2],
}

/// What the packet that carries `payload` bytes counts for.
fn packet(payload: usize) -> Bytes {
    crate::settings::counted(payload)
}

/// How long this thread has been at work.
fn processor_time() -> Span {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = Span::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
    seconds + Span::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// A number by which this machine knows itself again in the run of this number, and which tells
/// nobody else anything: a keyed hash (BLAKE2s, RFC 7693) of the run, by the boot ID, which stays here.
/// 0 where the machine has none.
fn machine(run: u32) -> u128 {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let hash = Blake2sMac::<U16>::new_from_slice(id.trim().replace('-', "").as_bytes());
    match hash {
        Ok(hash) if !id.is_empty() => {
            let hash = hash.chain_update(b"exm bench").chain_update(run.to_be_bytes());
            u128::from_be_bytes(hash.finalize().into_bytes().into())
        }
        _ => 0,
    }
}

/// Whether `machine` is what this one is called in `run`.
fn is_ours(run: u32, machine: u128) -> bool {
    machine != 0 && machine == self::machine(run)
}

#[cfg(test)]
mod tests;
