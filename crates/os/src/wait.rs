//! [`Waiter`]: waiting until something can be read, or until a time, to the microsecond.

use crate::Clock;
use exm_units::{Instant, Span};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Waits until something can be read or until a time, whichever comes first.
///
/// The kernel wakes a sleeper some tens of microseconds late. So this sleeps until a short while
/// before the time, and then stays awake and asks again and again.
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    clock: Clock,
    spin: Span,
}

impl Waiter {
    /// A waiter by `clock`, for the calling thread, that stays awake for the last `spin` of each
    /// wait, which costs as much of a processor.
    pub fn new(clock: Clock, spin: Span) -> Waiter {
        // So that the kernel puts no wake-up off to join it with others; where that is refused,
        // they are up to 50 us later.
        let _ = nix::sys::prctl::set_timerslack(1);
        Waiter { clock, spin }
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
        loop {
            let left = time.saturating_since(self.clock.now());
            let any = poll_for(&mut polled, left.saturating_sub(self.spin))?;
            if any || time <= self.clock.now() {
                return Ok(polled.each_ref().map(|file| file.any().unwrap_or(false)));
            }
            std::hint::spin_loop();
        }
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
    use std::os::fd::AsFd;
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
    }
}
