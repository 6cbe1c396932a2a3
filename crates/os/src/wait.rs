//! [`Waiter`]: waiting until something can be read, or until a time, to the microsecond; [`AnyOf`]:
//! several files as one.

use crate::Clock;
use exm_units::{Instant, Span};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::time::TimeSpec;
use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// By how much later the kernel is expected to wake this one after each time it was later than
/// expected, and by how much sooner after each time it was not: one in fifty is later.
const LATER: Span = Span::from_micros(5);
const SOONER: Span = Span::from_nanos(100);

/// Waits until something can be read or until a time, whichever comes first.
///
/// The kernel wakes a sleeper some tens of microseconds late, the later the more others have to do. So
/// this sleeps until shortly before the time, and then stays awake and asks again and again. For how
/// long, it learns from how late it is woken.
#[derive(Clone, Debug)]
pub struct Waiter {
    clock: Clock,
    spin: Span,
    /// How late the kernel wakes this one, but for one time in fifty.
    lateness: Cell<Span>,
}

impl Waiter {
    /// A waiter by `clock`, for the calling thread, that stays awake for the last `spin` of each wait
    /// at most, and for half of it at most, so that others get to run: precision that costs as much
    /// of a processor.
    pub fn new(clock: Clock, spin: Span) -> Waiter {
        // So that the kernel puts no wake-up off to join it with others; where that is refused,
        // they are up to 50 us later.
        let _ = nix::sys::prctl::set_timerslack(1);
        Waiter { clock, spin, lateness: Cell::new(Span::ZERO) }
    }

    /// Waits until one of `files` can be read, or until `time`. Returns which can.
    ///
    /// # Errors
    /// The kernel cannot wait for one of them.
    pub fn wait<const N: usize>(
        &self,
        files: [BorrowedFd; N],
        time: Instant,
    ) -> io::Result<[bool; N]> {
        let mut polled = files.map(|file| PollFd::new(file, PollFlags::POLLIN));
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
                return Ok(polled.each_ref().map(|file| file.any().unwrap_or(false)));
            }
            left = time - now;
            if !sleep.is_zero() {
                self.learn(spin.saturating_sub(left));
            }
            std::hint::spin_loop();
        }
    }

    /// The kernel woke this one by `late` later than it should have.
    fn learn(&self, late: Span) {
        let expected = self.lateness.get();
        let next = if late > expected { expected + LATER } else { expected.saturating_sub(SOONER) };
        self.lateness.set(next.min(self.spin));
    }
}

/// Several files as one, which can be read where one of them can. A file that is closed is out of it.
#[derive(Debug)]
pub struct AnyOf(Epoll);

impl AnyOf {
    /// Of `files`.
    ///
    /// # Errors
    /// The process has no more file descriptors, or one of the files cannot be waited for.
    pub fn new(files: &[BorrowedFd]) -> io::Result<AnyOf> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        for file in files {
            epoll.add(file, EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
        }
        Ok(AnyOf(epoll))
    }
}

impl AsFd for AnyOf {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.0.as_fd()
    }
}

/// Whether any can be read within `time`.
fn poll_for(polled: &mut [PollFd], time: Span) -> io::Result<bool> {
    // A wait for ever is one of a day: the kernel takes no more seconds than fit its own type.
    let time = Duration::from_nanos(time.as_nanos()).min(Duration::from_secs(86_400));
    match ppoll(polled, Some(TimeSpec::from_duration(time)), None) {
        Ok(count) => Ok(count > 0),
        Err(Errno::EINTR) => Ok(false),
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
        // What can be read is told of even where the time has come already.
        assert_eq!(waiter.wait([a.as_fd(), b.as_fd()], Instant::ZERO).unwrap(), [false, true]);
        let any_of = |files: &[BorrowedFd]| {
            let any = AnyOf::new(files).unwrap();
            waiter.wait([any.as_fd()], Instant::ZERO).unwrap()
        };
        assert_eq!(any_of(&[a.as_fd(), b.as_fd()]), [true]);
        assert_eq!(any_of(&[a.as_fd()]), [false]);
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
