//! [`Pipe`]: between a device and a session.

use crate::device::Device;
use crate::error::TunnelError;
use crate::flows::{FlowQueues, Tally};
use crate::ledger::Ledger;
use exm_packet::{Packet, clamp_mss, too_big};
use exm_session::Settings;
use exm_units::{Bytes, Instant};
use std::io::IoSlice;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// The largest packet of all.
const ROOM: usize = 65_535;
/// No more packets are read before something else has its turn.
const MOST_READS: usize = 64;

/// What a tunnel did with packets, besides those that it sent and dropped in its queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// What came by the session and was given to this machine.
    pub received: Tally,
    /// Packets that came by the session and this machine did not take.
    pub refused: u64,
    /// Packets that came by the session from addresses that the other end may not send from, or to
    /// others than this end's.
    pub foreign: u64,
    /// What is no IP packet, from either side.
    pub malformed: u64,
    /// Packets of this machine that were too big, and whose senders were told so.
    pub too_big: u64,
    /// Beginnings of TCP connections that announced segments too large, and were corrected.
    pub clamped: u64,
}

/// Carries packets between a network device of this machine and a session.
#[derive(Debug)]
pub struct Pipe {
    device: Device,
    queues: FlowQueues,
    ledger: Ledger,
    counters: Counters,
    buffer: Vec<u8>,
}

impl Pipe {
    /// Between `device` and a session that carries datagrams of up to `largest` bytes.
    pub(crate) fn new(device: Device, largest: usize) -> Pipe {
        let queues = FlowQueues::new(Bytes::new(largest as u64), Settings::OVERHEAD);
        let (ledger, counters) = (Ledger::default(), Counters::default());
        Pipe { device, queues, ledger, counters, buffer: vec![0; ROOM] }
    }

    /// What its device is called.
    pub fn device_name(&self) -> &str {
        self.device.tun.name()
    }

    /// The size of the largest packets that it carries, in bytes.
    pub fn mtu(&self) -> u16 {
        self.device.mtu()
    }

    /// Whether it carries packets of IPv6.
    pub fn has_six(&self) -> bool {
        self.device.address(IpAddr::from([0; 16])).is_some()
    }

    /// What waits to be sent, by flow, and what became of the rest.
    pub fn queues(&self) -> &FlowQueues {
        &self.queues
    }

    /// What came, by flow.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What was counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    pub(crate) fn device_mut(&mut self) -> &mut Device {
        &mut self.device
    }

    pub(crate) fn queues_mut(&mut self) -> &mut FlowQueues {
        &mut self.queues
    }

    pub(crate) fn count_malformed(&mut self) {
        self.counters.malformed += 1;
    }

    pub(crate) fn count_foreign(&mut self) {
        self.counters.foreign += 1;
    }

    /// Reads what the machine sends, into the queues, which hold as much as can be delivered.
    ///
    /// # Errors
    /// The device is gone.
    pub(crate) fn read(&mut self, now: Instant, deliverable: Bytes) -> Result<(), TunnelError> {
        self.queues.set_bound(deliverable);
        for _ in 0..MOST_READS {
            let read = self.device.tun.read(&mut self.buffer).map_err(TunnelError::Gone)?;
            let Some(length) = read else { break };
            self.send(now, length);
        }
        Ok(())
    }

    /// Queues the first `length` bytes of the buffer.
    fn send(&mut self, now: Instant, length: usize) {
        let (mtu, bytes) = (self.device.mtu(), &mut self.buffer[..length]);
        let Ok(packet) = Packet::parse(bytes) else {
            self.counters.malformed += 1;
            return;
        };
        if length > usize::from(mtu) {
            self.counters.too_big += 1;
            let from = self.device.address(packet.flow.from.0);
            let answer = from.and_then(|from| too_big(bytes, &packet, mtu, from));
            if let Some(answer) = answer {
                // Whoever is not told now will be when he sends it again.
                let _ = self.device.tun.write(&[IoSlice::new(&answer)]);
            }
            return;
        }
        if clamp_mss(bytes, &packet, mtu) {
            self.counters.clamped += 1;
        }
        self.queues.push(now, &packet, bytes.to_vec());
    }

    /// Gives `bytes`, which are `packet` and came by the session, to the machine.
    pub(crate) fn write(&mut self, now: Instant, packet: &Packet, bytes: &[u8]) {
        let cost = bytes.len() as u64 + Settings::OVERHEAD.get();
        if self.device.tun.write(&[IoSlice::new(bytes)]).unwrap_or(false) {
            self.counters.received.add(cost);
            self.ledger.record(now, packet.flow, cost);
        } else {
            self.counters.refused += 1;
        }
    }
}

impl AsFd for Pipe {
    /// A file that can be read where the machine sends something.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.tun.as_fd()
    }
}
