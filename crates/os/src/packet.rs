//! [`PacketSocket`]: the frames of a network device.

use crate::tun::nonblocking;
use crate::{VNET_HEADER, sys};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendFlags, SocketFlags, SocketType, sendmsg, socket_with,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Receives all frames that arrive at a network device, whatever their destination, and sends frames through
/// it (`AF_PACKET`). A [`VnetHeader`](crate::VnetHeader) precedes each frame.
///
/// Frames that the machine itself sends are not received. The device is in promiscuous mode as long as
/// this exists.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    index: u32,
}

impl PacketSocket {
    /// Opens the device with the interface index `index`, with a receive buffer of `buffer` bytes.
    ///
    /// # Errors
    /// This process lacks `CAP_NET_RAW`, or there is no such device.
    pub fn open(index: u32, buffer: usize) -> io::Result<PacketSocket> {
        // Without a protocol nothing is received before it is bound to the device.
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
        let number = |level, option, value| sys::set_number(socket.as_fd(), level, option, value);
        number(libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
        number(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        let buffer = i32::try_from(buffer).unwrap_or(i32::MAX);
        // Beyond the system's limit if this process is privileged, otherwise up to it.
        if number(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, buffer).is_err() {
            number(libc::SOL_SOCKET, libc::SO_RCVBUF, buffer)?;
        }
        if number(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, buffer).is_err() {
            number(libc::SOL_SOCKET, libc::SO_SNDBUF, buffer)?;
        }
        sys::set_promiscuous(socket.as_fd(), index)?;
        sys::bind_packet(socket.as_fd(), index)?;
        Ok(PacketSocket { socket, index })
    }

    /// The interface index of the device.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// The number of bytes that precede each frame.
    pub fn header_len(&self) -> usize {
        VNET_HEADER
    }

    /// Reads a frame, preceded by its [`VnetHeader`](crate::VnetHeader), into `buffers` in turn. Returns its
    /// length, or `None` if no frame waits.
    ///
    /// # Errors
    /// The device is down or gone.
    #[inline]
    pub fn read_vectored(&self, buffers: &mut [IoSliceMut]) -> io::Result<Option<usize>> {
        nonblocking(rustix::io::readv(&self.socket, buffers))
    }

    /// Sends a frame that consists of `parts`, the first of them its [`VnetHeader`](crate::VnetHeader).
    /// Returns whether there was buffer space for it.
    ///
    /// # Errors
    /// The frame is invalid, or the device is down or gone.
    #[inline]
    pub fn write(&self, parts: &[IoSlice]) -> io::Result<bool> {
        let mut control = SendAncillaryBuffer::default();
        match sendmsg(&self.socket, parts, &mut control, SendFlags::DONTWAIT) {
            // The device's own queue is full.
            Err(Errno::NOBUFS) => Ok(false),
            sent => Ok(nonblocking(sent)?.is_some()),
        }
    }

    /// How many frames were dropped for lack of buffer space since the last call.
    ///
    /// # Errors
    /// The system call failed.
    pub fn take_dropped(&self) -> io::Result<u64> {
        sys::packet_statistics(self.as_fd()).map(|(_, dropped)| u64::from(dropped))
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
