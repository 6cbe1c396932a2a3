//! The only unsafe code: system calls for which there is no safe wrapper.
//!
//! Each function is safe to call with any arguments. The reasons are of three kinds: a call takes a
//! pointer to something that lives until it returns, and a length that is its size; or the call has
//! no pointer at all; or, in [`before_exec`], the work is safe between `fork` and `exec`.
#![expect(unsafe_code, reason = "no safe wrapper has these system calls")]

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};

/// What a device's name may have in bytes, its terminating zero among them.
pub(crate) const NAME_SIZE: usize = libc::IFNAMSIZ;

/// Takes the variable `name` out of the environment. Where this process has other threads, which may
/// be reading it, the variable stays.
pub(crate) fn take_variable(name: &str) -> Option<OsString> {
    let value = std::env::var_os(name)?;
    let threads = std::fs::read_dir("/proc/self/task").map_or(usize::MAX, Iterator::count);
    if threads == 1 {
        // SAFETY: this is the only thread, so none reads the environment meanwhile; and `name` is
        // that of a variable that is set, so it has no '=' or zero in it.
        unsafe { std::env::remove_var(name) };
    }
    Some(value)
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Makes `tun`, an open `/dev/net/tun`, the queue of a device called `name` (or a pattern such as
/// `exm%d`) with `flags`, and returns what it is called.
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

/// Tells a TUN device what its reader does itself: a sum of `TUN_F_` flags.
pub(crate) fn set_tun_offload(tun: BorrowedFd<'_>, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: TUNSETOFFLOAD takes its flags by value.
    let set =
        unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(flags)) };
    checked(set).map(drop)
}

/// Binds a packet socket to what comes in by the device of number `index`, of all protocols.
pub(crate) fn bind_packet(socket: BorrowedFd<'_>, index: u32) -> io::Result<()> {
    // SAFETY: sockaddr_ll is plain data, for which zeros are a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index as libc::c_int;
    let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address is as long as is said, and outlives the call.
    let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size) };
    checked(bound).map(drop)
}

/// Puts the device of number `index` in promiscuous mode as long as `socket` is open.
pub(crate) fn be_promiscuous(socket: BorrowedFd<'_>, index: u32) -> io::Result<()> {
    let request = libc::packet_mreq {
        mr_ifindex: index as libc::c_int,
        mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set_option(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
}

/// Sets an option of a socket that is a whole number.
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
    // SAFETY: the value is as long as is said, and outlives the call.
    let set = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, std::ptr::from_ref(value).cast(), size)
    };
    checked(set).map(drop)
}

/// What a packet socket received and dropped since it was last asked.
pub(crate) fn packet_statistics(socket: BorrowedFd<'_>) -> io::Result<(u32, u32)> {
    let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut size = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    // SAFETY: the place is as long as is said, and outlives the call.
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

/// Lets the calling thread run before all that are not so urgent (`SCHED_FIFO`), at `priority`.
/// What it starts is as urgent as others.
pub(crate) fn be_urgent(priority: libc::c_int) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: priority };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the parameter outlives the call.
    checked(unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) }).map(drop)
}

/// Sets the nice value of the calling thread.
pub(crate) fn be_nice(value: libc::c_int) -> io::Result<()> {
    // SAFETY: no pointer is passed. 0 is the calling thread.
    checked(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, value) }).map(drop)
}

/// Closes all file descriptors of the process but one.
///
/// Only for a process that does nothing more with any of them but wait for another.
fn close_all_but(held: Option<OwnedFd>) {
    let close = |first, last| {
        // SAFETY: no pointer is passed. No one else in this process, which is a fork, uses them.
        unsafe { libc::close_range(first, last, 0) };
    };
    // It is closed with the process.
    let held = held.map_or(-1, IntoRawFd::into_raw_fd);
    if held > 0 {
        close(0, held as libc::c_uint - 1);
    }
    close((held + 1) as libc::c_uint, libc::c_uint::MAX);
}

/// Has `command`, once it is forked and before it is executed, do `work`.
///
/// `work` must keep to what may be done between the two: no allocation, no lock, nothing that other
/// threads of the process might have held when it was forked.
pub(crate) fn before_exec(
    command: &mut Command,
    work: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: the callers in this crate pass work that only makes system calls.
    unsafe { command.pre_exec(work) };
}

/// Which of the two processes one is in after a fork.
pub(crate) enum Fork {
    /// The new one.
    Child,
    /// The one that was there before, and the new one's number.
    Parent(nix::unistd::Pid),
}

/// Forks a process that is itself between `fork` and `exec`, so has a single thread.
pub(crate) fn fork_again() -> io::Result<Fork> {
    // SAFETY: the process has a single thread, and goes on with system calls alone.
    match unsafe { nix::unistd::fork() }? {
        nix::unistd::ForkResult::Child => Ok(Fork::Child),
        nix::unistd::ForkResult::Parent { child } => Ok(Fork::Parent(child)),
    }
}

/// Waits, as the first of a namespace of processes or for it, until `child` has ended, and ends as it
/// did. Others that end meanwhile are none of its business, but must be waited for.
/// `held` is closed when it ends, and not before.
pub(crate) fn end_with(child: nix::unistd::Pid, held: Option<OwnedFd>) -> ! {
    pass_signals_on(child);
    close_all_but(held);
    loop {
        let mut status = 0;
        // SAFETY: the status outlives the call.
        let ended = unsafe { libc::waitpid(-1, &raw mut status, 0) };
        let code = if ended == child.as_raw() && libc::WIFEXITED(status) {
            libc::WEXITSTATUS(status)
        } else if ended == child.as_raw() && libc::WIFSIGNALED(status) {
            128 + libc::WTERMSIG(status)
        } else if ended < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            1
        } else {
            continue;
        };
        // SAFETY: it does not return, and runs nothing of what was there before the fork.
        unsafe { libc::_exit(code) };
    }
}

/// Whom this process, which only waits for it, passes SIGTERM on to.
static PROGRAM: AtomicI32 = AtomicI32::new(0);

/// Ignores the signals that a terminal sends to all processes of a command, and passes SIGTERM, which
/// only this one gets, on to `child`.
fn pass_signals_on(child: nix::unistd::Pid) {
    extern "C" fn pass_on(signal: libc::c_int) {
        // SAFETY: no pointer is passed, and kill may be called in handlers.
        unsafe { libc::kill(PROGRAM.load(Ordering::Relaxed), signal) };
    }
    PROGRAM.store(child.as_raw(), Ordering::Relaxed);
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
        // SAFETY: ignoring runs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    let handler: extern "C" fn(libc::c_int) = pass_on;
    // SAFETY: the handler only does what may be done in one.
    unsafe { libc::signal(libc::SIGTERM, handler as libc::sighandler_t) };
}

/// Sets whether reads and writes of `file` return at once where there is nothing to do.
pub(crate) fn set_nonblocking(file: impl AsFd) -> io::Result<()> {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    let flags = OFlag::from_bits_retain(fcntl(&file, FcntlArg::F_GETFL)?);
    fcntl(&file, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}
