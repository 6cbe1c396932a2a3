//! Measures a session: one end or both send as fast as the forecast allows, or at a fixed rate, and both
//! count arrivals.
//!
//! The client decides on the measurement ([`Plan`]); a server that serves benchmarks ([`BenchServer`]) takes
//! part and reports. Both timestamp datagrams with their machine's clock. On one machine delays are therefore
//! absolute; between machines, whose clocks differ, only the excess over the least delay is known, which is
//! the queueing delay.

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

/// A measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Whether the client sends.
    pub up: bool,
    /// Whether the server sends.
    pub down: bool,
    /// The duration of sending.
    pub duration: Span,
    /// The time at the beginning that is not scored, in which the forecast finds the link's rate.
    pub skip: Span,
    /// The rate of packets, headers included; as fast as the window allows if `None`.
    pub rate: Option<Rate>,
}

/// The result of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirectionReport {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that arrived.
    pub received: u64,
    /// The throughput of IPv4 packets in the scored time.
    pub throughput: Rate,
    /// The median of the end-to-end delay (thesis, section 2.4.1), or of its excess over the least delay, see
    /// [`Outcome::one_clock`].
    pub delay_50: Option<Span>,
    /// The 95th percentile of the same.
    pub delay_95: Option<Span>,
}

impl DirectionReport {
    /// The loss rate.
    pub fn loss(&self) -> f64 {
        let lost = self.sent.saturating_sub(self.received);
        if self.sent == 0 { 0.0 } else { lost as f64 / self.sent as f64 }
    }
}

/// The result of a measurement.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The plan.
    pub plan: Plan,
    /// From the client to the server.
    pub up: Option<DirectionReport>,
    /// From the server to the client.
    pub down: Option<DirectionReport>,
    /// Whether both ends are on one machine, so that delays are absolute; otherwise they are relative to the
    /// least.
    pub one_clock: bool,
    /// The median RTT, measured by the client.
    pub rtt_50: Option<Span>,
    /// The 95th percentile of the RTT.
    pub rtt_95: Option<Span>,
    /// The CPU time of the client's and the server's thread, as a share of one CPU.
    pub processor: [f64; 2],
}

/// The size of the packet that carries `payload` bytes.
fn packet(payload: usize) -> Bytes {
    exm_session::Settings::packet_size(payload)
}

/// The CPU time of this thread.
fn processor_time() -> Span {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = Span::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
    seconds + Span::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// An identifier of this machine in the given run, which cannot be linked to other runs: a keyed hash
/// (BLAKE2s, RFC 7693) of the run with the boot ID as the key. 0 if the machine has none.
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

/// Whether `machine` identifies this machine in `run`.
fn is_ours(run: u32, machine: u128) -> bool {
    machine != 0 && machine == self::machine(run)
}

#[cfg(test)]
mod tests;
