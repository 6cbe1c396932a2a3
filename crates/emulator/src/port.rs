//! [`Port`]: where packets come from and go to.

use crate::frame::Framing;
use exm_os::{MAX_PACKET, PacketSocket, Tun, VNET_HEADER};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd};

/// Frames as long as this are read: IP's largest packet with Ethernet's headers and the kernel's.
pub(crate) const ROOM: usize = VNET_HEADER + 22 + MAX_PACKET;

/// A device that packets come from and go to.
#[derive(Debug)]
pub enum Port {
    /// A TUN device with offloads, in the network of the programs that use the link.
    Tun(Tun),
    /// All frames of a network device, where two are bridged.
    Device(PacketSocket),
}

impl Port {
    /// How many frames found no room to wait to be read since it was last asked; of a TUN device its
    /// own counters tell.
    ///
    /// # Errors
    /// The kernel cannot be asked.
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

    /// Reads a frame, the kernel's header before it; nothing where none is there.
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

    /// Writes a frame, the kernel's header first. Returns whether it was taken: a device that is
    /// down, has no room or finds fault with the frame loses it, as a link does.
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
