//! [`Tun`]: a network device whose other end is this process.

use crate::{VNET_HEADER, sys};
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd};

/// The largest packet that is read at once, in bytes: with offloads, one that is still to be cut.
pub const MAX_PACKET: usize = 65_535;

/// `include/uapi/linux/if_tun.h`; `libc` has not all of them.
const TUN_F_CSUM: u32 = 0x01;
const TUN_F_TSO4: u32 = 0x02;
const TUN_F_TSO6: u32 = 0x04;
const TUN_F_TSO_ECN: u32 = 0x08;
const TUN_F_USO4: u32 = 0x20;
const TUN_F_USO6: u32 = 0x40;

/// What a device leaves its reader to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offload {
    /// Nothing: packets are whole, summed, and no larger than the MTU.
    #[default]
    None,
    /// Checksums and the cutting of TCP into segments.
    Tcp,
    /// The cutting of UDP into datagrams as well (Linux 6.2).
    TcpUdp,
}

/// How a device is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunOptions<'a> {
    /// What it is called; `%d` in it becomes the first number that is free.
    pub name: &'a str,
    /// The most it leaves its reader to do; an older kernel may leave less, see [`Tun::offload`].
    pub offload: Offload,
    /// Whether further queues may be opened with [`Tun::another_queue`].
    pub multi_queue: bool,
}

impl Default for TunOptions<'_> {
    fn default() -> Self {
        TunOptions { name: "exm%d", offload: Offload::None, multi_queue: false }
    }
}

/// A network device of the network that the thread which made it was in: what the kernel sends
/// through it is read here, and what is written here the kernel receives from it. It carries IP
/// packets, without a header of Ethernet's.
///
/// The device is gone, with its addresses and routes, when this is dropped or the process ends.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
    offload: Offload,
    flags: i32,
}

impl Tun {
    /// A device in the network of the calling thread. It is down and has no address.
    ///
    /// # Errors
    /// `/dev/net/tun` cannot be opened, or this process may not make devices there.
    pub fn new(options: &TunOptions) -> io::Result<Tun> {
        let mut flags = libc::IFF_TUN | libc::IFF_NO_PI;
        flags |= if options.multi_queue { libc::IFF_MULTI_QUEUE } else { 0 };
        flags |= if options.offload == Offload::None { 0 } else { libc::IFF_VNET_HDR };
        let (file, name) = attach(options.name, flags)?;
        let offload = set_offload(&file, options.offload)?;
        Ok(Tun { file, name, offload, flags })
    }

    /// Another queue of the same device: the kernel spreads flows over the queues.
    ///
    /// # Errors
    /// The device was not made for several, or has as many as it may.
    pub fn another_queue(&self) -> io::Result<Tun> {
        let (file, name) = attach(&self.name, self.flags)?;
        Ok(Tun { file, name, ..*self })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it leaves its reader to do. With any, each packet has a [`VnetHeader`] before it.
    ///
    /// [`VnetHeader`]: crate::VnetHeader
    pub fn offload(&self) -> Offload {
        self.offload
    }

    /// The number of bytes before each packet.
    pub fn header_len(&self) -> usize {
        if self.offload == Offload::None { 0 } else { VNET_HEADER }
    }

    /// Reads a packet, with its [`VnetHeader`](crate::VnetHeader) where it has one, into `buffer`;
    /// what does not fit is lost. Returns how long it is, or nothing where none is there.
    ///
    /// # Errors
    /// The device is down or gone.
    #[inline]
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        would_block(nix::unistd::read(&self.file, buffer))
    }

    /// As [`Tun::read`], into several buffers one after the other.
    ///
    /// # Errors
    /// The device is down or gone.
    #[inline]
    pub fn read_vectored(&self, buffers: &mut [IoSliceMut]) -> io::Result<Option<usize>> {
        would_block(nix::sys::uio::readv(&self.file, buffers))
    }

    /// Writes a packet, which `parts` are one after the other, with its
    /// [`VnetHeader`](crate::VnetHeader) where devices have one. Returns whether the kernel took it.
    ///
    /// # Errors
    /// The kernel finds it wrong, or the device is down or gone.
    #[inline]
    pub fn write(&self, parts: &[IoSlice]) -> io::Result<bool> {
        Ok(would_block(nix::sys::uio::writev(&self.file, parts))?.is_some())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn attach(name: &str, flags: i32) -> io::Result<(File, String)> {
    let file = OpenOptions::new().read(true).write(true).open("/dev/net/tun")?;
    let name = sys::attach_tun(file.as_fd(), name, flags)?;
    sys::set_nonblocking(&file)?;
    Ok((file, name))
}

/// Asks for as much as `wanted`, or what an older kernel can; returns what it is.
fn set_offload(file: &File, wanted: Offload) -> io::Result<Offload> {
    let tcp = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
    if wanted == Offload::None {
        return Ok(wanted);
    }
    let all = sys::set_tun_offload(file.as_fd(), tcp | TUN_F_USO4 | TUN_F_USO6);
    if wanted == Offload::TcpUdp && all.is_ok() {
        return Ok(wanted);
    }
    sys::set_tun_offload(file.as_fd(), tcp)?;
    Ok(Offload::Tcp)
}

/// Nothing where it would have to be waited for, or where a signal came.
pub(crate) fn would_block<T>(result: nix::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(nix::Error::EAGAIN | nix::Error::EINTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
