//! [`Waiter`]: waits for a readable file or a time, to the microsecond; [`AnyOf`]: several files as one.

use crate::{Clock, sys};
use exm_units::{Instant, Span};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::cell::Cell;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// The steps by which the expected wake-up latency grows after a late wake-up and shrinks after a
/// punctual one. Their ratio makes one wake-up in fifty later than expected.
const LATER: Span = Span::from_micros(5);
const SOONER: Span = Span::from_nanos(100);
/// The processor time that a thread asks for at a time, in nanoseconds: the least that the kernel grants.
const SLICE: u64 = 100_000;
/// The longest single sleep: the kernel's timeout type is limited.
const MAX_SLEEP: Duration = Duration::from_secs(86_400);

/// Waits until a file is readable or until a time, whichever comes first.
///
/// The kernel wakes a sleeping thread some tens of microseconds late, and later under load. Therefore the
/// waiter sleeps until shortly before the time and polls actively for the rest, for as long as the
/// wake-up latency that it has measured so far.
#[derive(Clone, Debug)]
pub struct Waiter {
    clock: Clock,
    spin: Span,
    /// The wake-up latency that is exceeded one time in fifty.
    lateness: Cell<Span>,
}

impl Waiter {
    /// A waiter for the calling thread, with times of `clock`. It polls actively for at most the last `spin`
    /// of each wait, and at most half of it, which costs CPU time for precision.
    pub fn new(clock: Clock, spin: Span) -> Waiter {
        // Keeps the kernel from delaying wake-ups to coalesce them (by 50 us unless this is set).
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        // On a busy computer, a thread that asks for little at a time runs sooner (from Linux 6.12 on).
        let _ = sys::set_slice(SLICE);
        Waiter { clock, spin, lateness: Cell::new(Span::ZERO) }
    }

    /// Waits until one of `files` is readable, or until `time`. Returns which are readable.
    ///
    /// # Errors
    /// The kernel cannot poll one of them.
    pub fn wait<const N: usize>(
        &self,
        files: [BorrowedFd; N],
        time: Instant,
    ) -> io::Result<[bool; N]> {
        let mut polled = files.map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN));
        let mut left = time.saturating_since(self.clock.now());
        let spin = self.lateness.get().min(left / 2);
        loop {
            let sleep = left.saturating_sub(spin);
            let any = poll_for(&mut polled, sleep)?;
            let now = self.clock.now();
            if any || time <= now {
                if !any && !sleep.is_zero() {
                    self.learn(now.saturating_since(time) + spin);
                }
                return Ok(polled.each_ref().map(|file| !file.revents().is_empty()));
            }
            left = time - now;
            if !sleep.is_zero() {
                self.learn(spin.saturating_sub(left));
            }
            std::hint::spin_loop();
        }
    }

    /// Updates the expected wake-up latency after a wake-up that was `late`.
    fn learn(&self, late: Span) {
        let expected = self.lateness.get();
        let next = if late > expected { expected + LATER } else { expected.saturating_sub(SOONER) };
        self.lateness.set(next.min(self.spin));
    }
}

/// Several files as one that is readable if any of them is. A file that is closed leaves the set.
#[derive(Debug)]
pub struct AnyOf(OwnedFd);

impl AnyOf {
    /// The set of `files`.
    ///
    /// # Errors
    /// The process is out of file descriptors, or one of the files cannot be polled.
    pub fn new(files: &[BorrowedFd]) -> io::Result<AnyOf> {
        let set = epoll::create(CreateFlags::CLOEXEC)?;
        let set = AnyOf(set);
        files.iter().try_for_each(|file| set.add(*file))?;
        Ok(set)
    }

    /// Adds `file`, which counts while it is readable.
    ///
    /// # Errors
    /// The file cannot be polled, or is in the set already.
    pub fn add(&self, file: BorrowedFd) -> io::Result<()> {
        Ok(epoll::add(&self.0, file, EventData::new_u64(0), EventFlags::IN)?)
    }

    /// From now on `file`, which is in the set, counts while it takes output, instead of while it is readable.
    ///
    /// # Errors
    /// The file is not in the set.
    pub fn await_room(&self, file: BorrowedFd) -> io::Result<()> {
        Ok(epoll::modify(&self.0, file, EventData::new_u64(0), EventFlags::OUT)?)
    }
}

impl AsFd for AnyOf {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Whether any file becomes readable within `time`.
fn poll_for(polled: &mut [PollFd], time: Span) -> io::Result<bool> {
    let time = Duration::from_nanos(time.as_nanos()).min(MAX_SLEEP);
    let timeout = Timespec::try_from(time).map_err(io::Error::other)?;
    match poll(polled, Some(&timeout)) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn it_waits_for_files_and_for_times() {
        let clock = Clock::start();
        let waiter = Waiter::new(clock, Span::from_micros(20));
        let (mut a, b) = UnixStream::pair().unwrap();
        let time = clock.now() + Span::from_millis(3);
        assert_eq!(waiter.wait([a.as_fd(), b.as_fd()], time).unwrap(), [false, false]);
        assert!(clock.now() >= time);
        a.write_all(b"x").unwrap();
        assert_eq!(waiter.wait([a.as_fd(), b.as_fd()], Instant::MAX).unwrap(), [false, true]);
        // Readable files are reported even if the time has already passed.
        assert_eq!(waiter.wait([a.as_fd(), b.as_fd()], Instant::ZERO).unwrap(), [false, true]);
        let any_of = |files: &[BorrowedFd]| {
            let any = AnyOf::new(files).unwrap();
            waiter.wait([any.as_fd()], Instant::ZERO).unwrap()
        };
        assert_eq!(any_of(&[a.as_fd(), b.as_fd()]), [true]);
        assert_eq!(any_of(&[a.as_fd()]), [false]);
        let any = AnyOf::new(&[a.as_fd()]).unwrap();
        any.await_room(a.as_fd()).unwrap();
        assert_eq!(waiter.wait([any.as_fd()], Instant::ZERO).unwrap(), [true]);
    }

    #[test]
    fn it_learns_how_late_it_is_woken() {
        let waiter = Waiter::new(Clock::start(), Span::from_micros(100));
        (0..8).for_each(|_| waiter.learn(Span::from_micros(31)));
        assert_eq!(waiter.lateness.get(), Span::from_nanos(34_900));
        (0..100).for_each(|_| waiter.learn(Span::ZERO));
        assert_eq!(waiter.lateness.get(), Span::from_nanos(24_900));
        (0..100).for_each(|_| waiter.learn(Span::from_millis(9)));
        assert_eq!(waiter.lateness.get(), Span::from_micros(100));
    }
}
