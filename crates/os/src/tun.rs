//! [`Tun`]: a network device at whose other end is this process.

use crate::{VNET_HEADER, sys};
use libc::{TUN_F_CSUM, TUN_F_TSO_ECN, TUN_F_TSO4, TUN_F_TSO6, TUN_F_USO4, TUN_F_USO6};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// The largest packet that one read returns, in bytes: with offloads, one that is not yet segmented.
pub const MAX_PACKET: usize = 65_535;

/// The work that a device leaves to its reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offload {
    /// None: packets have checksums and are no larger than the MTU.
    #[default]
    None,
    /// Checksums and TCP segmentation.
    Tcp,
    /// UDP segmentation as well (Linux 6.2).
    TcpUdp,
}

/// Options of a new TUN device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunOptions<'a> {
    /// Its name; `%d` in it becomes the first free number.
    pub name: &'a str,
    /// The offloads to ask for; an older kernel may have fewer, see [`Tun::offload`].
    pub offload: Offload,
    /// Whether further queues may be opened with [`Tun::another_queue`].
    pub multi_queue: bool,
}

impl Default for TunOptions<'_> {
    fn default() -> Self {
        TunOptions { name: "exm%d", offload: Offload::None, multi_queue: false }
    }
}

/// A TUN device in the network namespace of the thread that created it: packets that the kernel sends to
/// the device are read here, and packets written here are received by the kernel. It carries IP packets
/// without a link-layer header.
///
/// The kernel removes the device with its addresses and routes when this is dropped or the process ends.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
    offload: Offload,
    flags: i32,
}

impl Tun {
    /// Creates a device in the network namespace of the calling thread. It is down and has no address.
    ///
    /// # Errors
    /// `/dev/net/tun` cannot be opened, or this process lacks `CAP_NET_ADMIN`.
    pub fn new(options: &TunOptions) -> io::Result<Tun> {
        let mut flags = libc::IFF_TUN | libc::IFF_NO_PI;
        flags |= if options.multi_queue { libc::IFF_MULTI_QUEUE } else { 0 };
        flags |= if options.offload == Offload::None { 0 } else { libc::IFF_VNET_HDR };
        let (file, name) = attach(options.name, flags)?;
        let offload = set_offload(&file, options.offload)?;
        Ok(Tun { file, name, offload, flags })
    }

    /// Opens another queue of the same device: the kernel spreads flows over the queues.
    ///
    /// # Errors
    /// The device was created without `multi_queue`, or has the most queues already.
    pub fn another_queue(&self) -> io::Result<Tun> {
        let (file, name) = attach(&self.name, self.flags)?;
        Ok(Tun { file, name, ..*self })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The offloads in use. With any, a [`VnetHeader`] precedes each packet.
    ///
    /// [`VnetHeader`]: crate::VnetHeader
    pub fn offload(&self) -> Offload {
        self.offload
    }

    /// The number of bytes that precede each packet.
    pub fn header_len(&self) -> usize {
        if self.offload == Offload::None { 0 } else { VNET_HEADER }
    }

    /// Reads a packet, preceded by its [`VnetHeader`](crate::VnetHeader) if there are offloads, into
    /// `buffer`; what does not fit is lost. Returns its length, or `None` if no packet waits.
    ///
    /// # Errors
    /// The device is down or gone.
    #[inline]
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        nonblocking(rustix::io::read(&self.file, buffer))
    }

    /// Like [`Tun::read`], into several buffers in turn.
    ///
    /// # Errors
    /// The device is down or gone.
    #[inline]
    pub fn read_vectored(&self, buffers: &mut [IoSliceMut]) -> io::Result<Option<usize>> {
        nonblocking(rustix::io::readv(&self.file, buffers))
    }

    /// Writes a packet that consists of `parts`, the first of them its [`VnetHeader`](crate::VnetHeader) if
    /// there are offloads. Returns whether the kernel accepted it.
    ///
    /// # Errors
    /// The packet is invalid, or the device is down or gone.
    #[inline]
    pub fn write(&self, parts: &[IoSlice]) -> io::Result<bool> {
        Ok(nonblocking(rustix::io::writev(&self.file, parts))?.is_some())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn attach(name: &str, flags: i32) -> io::Result<(File, String)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
    let file = options.open("/dev/net/tun")?;
    let name = sys::attach_tun(file.as_fd(), name, flags)?;
    Ok((file, name))
}

/// Asks for the offloads `wanted`, or those that an older kernel has; returns which it has set.
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

/// `None` if the call would block or was interrupted by a signal.
pub(crate) fn nonblocking<T>(result: rustix::io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
