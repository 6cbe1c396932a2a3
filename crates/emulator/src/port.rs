//! [`Port`]: a device that packets are read from and written to.

use crate::frame::Framing;
use exm_os::{MAX_PACKET, PacketSocket, Tun, VNET_HEADER};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd};

/// The largest frame: the largest IP packet with the headers of Ethernet and of the kernel.
pub(crate) const ROOM: usize = VNET_HEADER + 22 + MAX_PACKET;

/// A device that packets are read from and written to.
#[derive(Debug)]
pub enum Port {
    /// A TUN device with offloads, in one of the networks that the link connects.
    Tun(Tun),
    /// All frames of a network device, for a bridge.
    Device(PacketSocket),
}

impl Port {
    /// The number of frames dropped before they could be read since the last call; for a TUN device its own
    /// counters have it.
    ///
    /// # Errors
    /// The system call failed.
    pub fn take_missed(&self) -> io::Result<u64> {
        match self {
            Port::Tun(_) => Ok(0),
            Port::Device(socket) => socket.take_dropped(),
        }
    }

    pub(crate) fn framing(&self) -> Framing {
        match self {
            Port::Tun(_) => Framing::Ip,
            Port::Device(_) => Framing::Ethernet,
        }
    }

    /// Reads a frame, preceded by the kernel's header; `None` if no frame waits.
    #[inline]
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Port::Tun(tun) => tun.read(buffer),
            Port::Device(socket) => match socket.read_vectored(&mut [IoSliceMut::new(buffer)]) {
                // The device went down; it may come up again.
                Err(error) if error.kind() == io::ErrorKind::NetworkDown => Ok(None),
                result => result,
            },
        }
    }

    /// Writes a frame, the kernel's header first. Returns whether it was accepted: a device that is down,
    /// full or rejects the frame loses it, as a link does.
    #[inline]
    pub(crate) fn write(&self, parts: &[IoSlice]) -> bool {
        match self {
            Port::Tun(tun) => tun.write(parts).unwrap_or(false),
            Port::Device(socket) => socket.write(parts).unwrap_or(false),
        }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Port::Tun(tun) => tun.as_fd(),
            Port::Device(socket) => socket.as_fd(),
        }
    }
}
