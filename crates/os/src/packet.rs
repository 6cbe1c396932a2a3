//! [`PacketSocket`]: all packets of a network device.

use crate::tun::would_block;
use crate::{VNET_HEADER, sys};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, SockaddrStorage};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// All frames that come in by a network device, whoever they are for, and the way to send frames out
/// of it (`AF_PACKET`). Each frame has a [`VnetHeader`](crate::VnetHeader) before it.
///
/// What the device itself sends is not seen. The device is in promiscuous mode as long as this is
/// there.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    index: u32,
}

impl PacketSocket {
    /// The frames of the device of number `index`; `buffer` bytes of them may wait to be read.
    ///
    /// # Errors
    /// This process may not (root's rights, or `CAP_NET_RAW`), or there is no such device.
    pub fn open(index: u32, buffer: usize) -> io::Result<PacketSocket> {
        // Nothing is received before the device is known: the protocol comes with it.
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = nix::sys::socket::socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
        let number = |level, option, value| sys::set_number(socket.as_fd(), level, option, value);
        number(libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
        number(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        let buffer = i32::try_from(buffer).unwrap_or(i32::MAX);
        // Beyond the system's limit where that may be; up to it otherwise.
        if number(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, buffer).is_err() {
            number(libc::SOL_SOCKET, libc::SO_RCVBUF, buffer)?;
        }
        if number(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, buffer).is_err() {
            number(libc::SOL_SOCKET, libc::SO_SNDBUF, buffer)?;
        }
        sys::be_promiscuous(socket.as_fd(), index)?;
        sys::bind_packet(socket.as_fd(), index)?;
        Ok(PacketSocket { socket, index })
    }

    /// The number of the device.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// The number of bytes before each frame.
    pub fn header_len(&self) -> usize {
        VNET_HEADER
    }

    /// Reads a frame, its [`VnetHeader`](crate::VnetHeader) before it, into `buffers`, one after the
    /// other. Returns how long it is, or nothing where none is there.
    ///
    /// # Errors
    /// The device is down or gone.
    #[inline]
    pub fn read_vectored(&self, buffers: &mut [IoSliceMut]) -> io::Result<Option<usize>> {
        would_block(nix::sys::uio::readv(&self.socket, buffers))
    }

    /// Sends a frame, which `parts` are one after the other, its
    /// [`VnetHeader`](crate::VnetHeader) first. Returns whether there was room for it.
    ///
    /// # Errors
    /// The kernel finds it wrong, or the device is down or gone.
    #[inline]
    pub fn write(&self, parts: &[IoSlice]) -> io::Result<bool> {
        let socket = self.socket.as_raw_fd();
        let none = None::<&SockaddrStorage>;
        match nix::sys::socket::sendmsg(socket, parts, &[], MsgFlags::MSG_DONTWAIT, none) {
            // The device's own queue is full.
            Err(nix::Error::ENOBUFS) => Ok(false),
            sent => Ok(would_block(sent)?.is_some()),
        }
    }

    /// How many frames found no room to wait in since it was last asked.
    ///
    /// # Errors
    /// The socket cannot be asked.
    pub fn take_dropped(&self) -> io::Result<u64> {
        sys::packet_statistics(self.as_fd()).map(|(_, dropped)| u64::from(dropped))
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
