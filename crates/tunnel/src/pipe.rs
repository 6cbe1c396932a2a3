//! [`Pipe`]: connects a TUN device to a session.

use crate::device::Device;
use crate::error::TunnelError;
use crate::flows::{FlowQueues, Tally};
use crate::ledger::Ledger;
use exm_os::Tun;
use exm_packet::{Packet, clamp_mss, too_big};
use exm_session::Settings;
use exm_units::{Bytes, Instant};
use std::io::IoSlice;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// The largest IP packet.
pub(crate) const ROOM: usize = 65_535;
/// The most packets read in one call.
const MAX_READS: usize = 64;

/// Counters of a tunnel besides those of its queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Packets received from the session and accepted by this machine.
    pub received: Tally,
    /// Packets received from the session that this machine did not accept.
    pub refused: u64,
    /// Packets received from the session whose source the other end may not use, or whose destination is not
    /// this end.
    pub foreign: u64,
    /// What is not an IP packet, from either side.
    pub malformed: u64,
    /// Packets of this machine that exceeded the MTU, for which an ICMP error was sent.
    pub too_big: u64,
    /// TCP SYN packets whose maximum segment size was clamped.
    pub clamped: u64,
}

/// The packets of one session: those queued for it, and those received from it.
#[derive(Debug)]
pub(crate) struct Carrier {
    pub(crate) queues: FlowQueues,
    pub(crate) ledger: Ledger,
    pub(crate) counters: Counters,
}

impl Carrier {
    /// For a session that carries datagrams of up to `largest` bytes.
    pub(crate) fn new(largest: usize) -> Carrier {
        let queues = FlowQueues::new(Bytes::new(largest as u64), Settings::OVERHEAD);
        Carrier { queues, ledger: Ledger::default(), counters: Counters::default() }
    }

    /// Queues `bytes`, a packet of this machine that was parsed as `packet`, for a session whose other end has an
    /// MTU of `mtu` bytes. If it is larger, the ICMP error from `from` is returned, if there should be one.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        (packet, bytes): (&Packet, &mut [u8]),
        mtu: u16,
        from: Option<IpAddr>,
    ) -> Option<Vec<u8>> {
        if bytes.len() > usize::from(mtu) {
            self.counters.too_big += 1;
            return too_big(bytes, packet, mtu, from?);
        }
        if clamp_mss(bytes, packet, mtu) {
            self.counters.clamped += 1;
        }
        self.queues.push(now, packet, bytes.to_vec());
        None
    }

    /// Passes `bytes`, received from the session and parsed as `packet`, to the machine by `tun`.
    pub(crate) fn write(&mut self, now: Instant, (packet, bytes): (&Packet, &[u8]), tun: &Tun) {
        let cost = bytes.len() as u64 + Settings::OVERHEAD.get();
        if tun.write(&[IoSlice::new(bytes)]).unwrap_or(false) {
            self.counters.received.add(cost);
            self.ledger.record(now, packet.flow, cost);
        } else {
            self.counters.refused += 1;
        }
    }
}

/// Carries packets between a TUN device and a session.
#[derive(Debug)]
pub struct Pipe {
    device: Device,
    carrier: Carrier,
    buffer: Vec<u8>,
}

impl Pipe {
    /// Connects `device` to a session that carries datagrams of up to `largest` bytes.
    pub(crate) fn new(device: Device, largest: usize) -> Pipe {
        Pipe { device, carrier: Carrier::new(largest), buffer: vec![0; ROOM] }
    }

    /// The name of its device.
    pub fn device_name(&self) -> &str {
        self.device.tun().name()
    }

    /// Its MTU in bytes.
    pub fn mtu(&self) -> u16 {
        self.device.mtu()
    }

    /// Whether it carries IPv6.
    pub fn has_ipv6(&self) -> bool {
        self.device.address(IpAddr::from([0; 16])).is_some()
    }

    /// The queues of packets to send.
    pub fn queues(&self) -> &FlowQueues {
        &self.carrier.queues
    }

    /// The packets received, by flow.
    pub fn ledger(&self) -> &Ledger {
        &self.carrier.ledger
    }

    /// Its counters.
    pub fn counters(&self) -> Counters {
        self.carrier.counters
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    pub(crate) fn device_mut(&mut self) -> &mut Device {
        &mut self.device
    }

    pub(crate) fn queues_mut(&mut self) -> &mut FlowQueues {
        &mut self.carrier.queues
    }

    pub(crate) fn count_malformed(&mut self) {
        self.carrier.counters.malformed += 1;
    }

    pub(crate) fn count_foreign(&mut self) {
        self.carrier.counters.foreign += 1;
    }

    /// Reads packets of the machine into the queues, which hold no more than `deliverable`.
    ///
    /// # Errors
    /// The device is gone.
    pub(crate) fn read(&mut self, now: Instant, deliverable: Bytes) -> Result<(), TunnelError> {
        self.carrier.queues.set_bound(deliverable);
        for _ in 0..MAX_READS {
            let read = self.device.tun().read(&mut self.buffer).map_err(TunnelError::Gone)?;
            let Some(length) = read else { break };
            self.send(now, length);
        }
        Ok(())
    }

    /// Queues the first `length` bytes of the buffer.
    fn send(&mut self, now: Instant, length: usize) {
        let (mtu, bytes) = (self.device.mtu(), &mut self.buffer[..length]);
        let Ok(packet) = Packet::parse(bytes) else {
            self.carrier.counters.malformed += 1;
            return;
        };
        let from = self.device.address(packet.flow.from.0);
        if let Some(error) = self.carrier.send(now, (&packet, bytes), mtu, from) {
            // If it is lost, the next packet causes another one.
            let _ = self.device.tun().write(&[IoSlice::new(&error)]);
        }
    }

    /// Passes `bytes`, received from the session and parsed as `packet`, to the machine.
    pub(crate) fn write(&mut self, now: Instant, packet: &Packet, bytes: &[u8]) {
        self.carrier.write(now, (packet, bytes), self.device.tun());
    }
}

impl AsFd for Pipe {
    /// A file that is readable when the machine sends a packet.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.tun().as_fd()
    }
}
