//! The only unsafe code: system calls for which rustix has no safe wrapper.
//!
//! Each function is safe to call with any arguments, for one of three reasons: the call takes a pointer to a
//! value that outlives it, with the size of that value; or it takes no pointer; or, in [`before_exec`], the
//! work is safe between `fork` and `exec`.
#![expect(unsafe_code, reason = "no safe wrapper has these system calls")]

pub(crate) mod bpf;

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions};
use rustix::thread::UnshareFlags;
use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};

/// The size of a device name in bytes, including the terminating zero.
pub(crate) const NAME_SIZE: usize = libc::IFNAMSIZ;

/// Removes the variable `name` from the environment, erases its value there, and returns it. If this process has
/// other threads, which may be reading the environment, the variable stays.
pub(crate) fn take_variable(name: &str) -> Option<OsString> {
    let value = std::env::var_os(name)?;
    let threads = std::fs::read_dir("/proc/self/task").map_or(usize::MAX, Iterator::count);
    let name = CString::new(name).ok()?;
    if threads == 1 {
        // SAFETY: this is the only thread, so none reads or changes the environment meanwhile. The
        // variable is set, so its value is a string that ends with a zero, in memory that belongs to the
        // environment and may be written (getenv(3)); what is written are its bytes before that zero.
        unsafe {
            let mut byte = libc::getenv(name.as_ptr());
            while !byte.is_null() && byte.read() != 0 {
                byte.write_volatile(0);
                byte = byte.add(1);
            }
        }
        let name = name.to_str().expect("it was text");
        // SAFETY: again, this is the only thread; and the name is that of a variable that is set, so it
        // has no '=' or zero in it.
        unsafe { std::env::remove_var(name) };
    }
    Some(value)
}

/// Drops the pages of code, and of constants before it, that this process has mapped from files: they are read again
/// when they are needed, which those of the start are not.
pub(crate) fn release_code() -> io::Result<()> {
    for mapping in std::fs::read_to_string("/proc/self/maps")?.lines() {
        let words: Vec<&str> = mapping.split_whitespace().collect();
        let &[range, rights, offset, _, inode, ..] = &words[..] else { continue };
        // What the linker has written to, to make it read-only afterwards, does not begin a file.
        let is_unchanged = rights == "r-xp" || (rights == "r--p" && offset == "00000000");
        let address = |text: &str| usize::from_str_radix(text, 16).ok();
        let ends = range.split_once('-').and_then(|(from, to)| address(from).zip(address(to)));
        if let Some((from, to)) = ends.filter(|_| is_unchanged && inode != "0") {
            // SAFETY: the range is a mapping of this process whose pages are those of a file, were never
            // written and cannot be, so that they come back with the same contents. Programs that run
            // cannot be changed (ETXTBSY), and libraries are replaced as a whole.
            checked(unsafe {
                libc::madvise(from as *mut libc::c_void, to - from, libc::MADV_DONTNEED)
            })?;
        }
    }
    Ok(())
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Makes `tun`, an open `/dev/net/tun`, a queue of the device called `name` (or a pattern such as `exm%d`)
/// with `flags`, and returns the name of the device.
pub(crate) fn attach_tun(
    tun: BorrowedFd<'_>,
    name: &str,
    flags: libc::c_int,
) -> io::Result<String> {
    if name.len() >= NAME_SIZE || name.contains('\0') {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: ifreq is plain data, for which zeros are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: the request is an ifreq, as TUNSETIFF takes it, and outlives the call.
    checked(unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
    let name = request.ifr_name.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
    String::from_utf8(name).map_err(io::Error::other)
}

/// Sets the offloads of a TUN device, a combination of `TUN_F_` flags.
pub(crate) fn set_tun_offload(tun: BorrowedFd<'_>, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: TUNSETOFFLOAD takes its flags by value.
    let set =
        unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(flags)) };
    checked(set).map(drop)
}

/// Binds a packet socket to all protocols of the device with the interface index `index`.
pub(crate) fn bind_packet(socket: BorrowedFd<'_>, index: u32) -> io::Result<()> {
    // SAFETY: sockaddr_ll is plain data, for which zeros are a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index as libc::c_int;
    let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the size is that of the address, which outlives the call.
    let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size) };
    checked(bound).map(drop)
}

/// Puts the device with the interface index `index` in promiscuous mode while `socket` is open.
pub(crate) fn set_promiscuous(socket: BorrowedFd<'_>, index: u32) -> io::Result<()> {
    let request = libc::packet_mreq {
        mr_ifindex: index as libc::c_int,
        mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set_option(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
}

/// Sets a socket option whose value is an integer.
pub(crate) fn set_number(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    set_option(socket, level, option, &value)
}

fn set_option<T>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let size = size_of::<T>() as libc::socklen_t;
    // SAFETY: the size is that of the value, which outlives the call.
    let set = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, std::ptr::from_ref(value).cast(), size)
    };
    checked(set).map(drop)
}

/// The numbers of packets that a packet socket received and dropped since the last call.
pub(crate) fn packet_statistics(socket: BorrowedFd<'_>) -> io::Result<(u32, u32)> {
    let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut size = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    // SAFETY: the size is that of the statistics, which outlive the call.
    checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut statistics).cast(),
            &raw mut size,
        )
    })?;
    Ok((statistics.tp_packets, statistics.tp_drops))
}

/// What the kernel says of a TCP connection: `struct tcp_info` of linux/tcp.h, as far as `info` has room and the kernel
/// knows it. Returns how many bytes that is.
pub(crate) fn tcp_info(socket: BorrowedFd<'_>, info: &mut [u8]) -> io::Result<usize> {
    let mut size = libc::socklen_t::try_from(info.len()).unwrap_or(libc::socklen_t::MAX);
    // SAFETY: the size is at most that of the buffer, which outlives the call.
    checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut size,
        )
    })?;
    Ok(size as usize)
}

/// Gives the calling thread the real-time policy `SCHED_FIFO` with `priority`, which child processes do not
/// inherit.
pub(crate) fn set_fifo_priority(priority: libc::c_int) -> io::Result<()> {
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // The call itself: musl's function refuses, and its parameter has fields that the kernel's has not.
    // SAFETY: the kernel's `struct sched_param` is one integer, the priority, which outlives the call.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Asks for slices of `nanos` of processor time for the calling thread, with its scheduling policy and niceness as they are.
pub(crate) fn set_slice(nanos: u64) -> io::Result<()> {
    /// `struct sched_attr` of linux/sched/types.h, in its first version.
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    /// `SCHED_FLAG_KEEP_POLICY`.
    const KEEP_POLICY: u64 = 8;
    let nice = rustix::process::getpriority_process(None)?;
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: 0,
        flags: KEEP_POLICY,
        nice,
        priority: 0,
        runtime: nanos,
        deadline: 0,
        period: 0,
    };
    // SAFETY: the attributes have the size that they say, and outlive the call.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Moves the calling thread into new namespaces of the kinds in `flags`.
pub(crate) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: only an unshared table of file descriptors could invalidate what other code holds, and
    // that flag is removed.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags.difference(UnshareFlags::FILES)) }?)
}

/// Closes all file descriptors of the process except `held`.
///
/// Only for a process that from now on does nothing but wait for another.
fn close_all_but(held: Option<OwnedFd>) {
    let close = |first: libc::c_uint, last: libc::c_uint| {
        // The call itself: musl has no function for it.
        // SAFETY: no pointer is passed. Nothing else in this forked process uses the descriptors.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    };
    // It is closed with the process.
    let held = held.map_or(-1, IntoRawFd::into_raw_fd);
    if held > 0 {
        close(0, held as libc::c_uint - 1);
    }
    close((held + 1) as libc::c_uint, libc::c_uint::MAX);
}

/// Has `command` do `work` between `fork` and `exec`.
///
/// `work` must be async-signal-safe: no allocation, no lock that another thread could have held at the fork.
pub(crate) fn before_exec(
    command: &mut Command,
    work: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: the callers in this crate pass work that makes system calls only.
    unsafe { command.pre_exec(work) };
}

/// The process in which a fork returns.
pub(crate) enum Fork {
    /// The new one.
    Child,
    /// The forking one, with the PID of the new one.
    Parent(Pid),
}

/// Forks a process that is itself between `fork` and `exec`, and so has a single thread.
pub(crate) fn fork_again() -> io::Result<Fork> {
    // SAFETY: the process has a single thread, and continues with system calls only.
    let child = checked(unsafe { libc::fork() })?;
    Ok(Pid::from_raw(child).map_or(Fork::Child, Fork::Parent))
}

/// Waits until `child` has ended, and exits with its status. It reaps all other children too, as the init
/// process of a PID namespace must. `held` is closed when this process exits, and not before.
pub(crate) fn exit_with(child: Pid, held: Option<OwnedFd>) -> ! {
    forward_signals(child);
    close_all_but(held);
    let code = loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if ended == child => {
                let signal = status.terminating_signal().map(|signal| 128 + signal);
                if let Some(code) = status.exit_status().or(signal) {
                    break code;
                }
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break 1,
        }
    };
    // SAFETY: it does not return, and runs no code of the forked program.
    unsafe { libc::_exit(code) }
}

/// The PID to which this process forwards SIGTERM.
static PROGRAM: AtomicI32 = AtomicI32::new(0);

/// Ignores the signals that a terminal sends to all processes of a command, and forwards SIGTERM, which only
/// this one receives, to `child`.
fn forward_signals(child: Pid) {
    extern "C" fn forward(signal: libc::c_int) {
        // SAFETY: no pointer is passed, and kill is async-signal-safe.
        unsafe { libc::kill(PROGRAM.load(Ordering::Relaxed), signal) };
    }
    PROGRAM.store(child.as_raw_pid(), Ordering::Relaxed);
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
        // SAFETY: ignoring runs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    let handler: extern "C" fn(libc::c_int) = forward;
    // SAFETY: the handler is async-signal-safe.
    unsafe { libc::signal(libc::SIGTERM, handler as libc::sighandler_t) };
}
