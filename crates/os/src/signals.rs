//! [`Signals`]: the signals that ask a program to end, as a file that can be polled; [`SignalWatch`]: another one.

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGWINCH};
use signal_hook::low_level::{pipe, unregister};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// A signal that asks a program to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT, from the keyboard.
    Interrupt,
    /// SIGTERM, from another program.
    Terminate,
    /// SIGHUP: the terminal was closed.
    HangUp,
}

impl Signal {
    const ALL: [Signal; 3] = [Signal::Interrupt, Signal::Terminate, Signal::HangUp];

    fn number(self) -> i32 {
        match self {
            Signal::Interrupt => SIGINT,
            Signal::Terminate => SIGTERM,
            Signal::HangUp => SIGHUP,
        }
    }

    /// The exit code of a program that it ends: 128 plus its number.
    pub fn exit_code(self) -> u8 {
        128 + self.number() as u8
    }
}

/// Catches SIGINT, SIGTERM and SIGHUP: while this exists they do not end the process, but make its file
/// readable. Other handlers of the process are called as well.
#[derive(Debug)]
pub struct Signals {
    /// Each signal with the read end of its pipe.
    received: [(Signal, UnixStream); 3],
    /// Readable once any signal has arrived.
    any: UnixStream,
    handlers: Vec<SigId>,
}

impl Signals {
    /// Starts catching them.
    ///
    /// # Errors
    /// The process has no more file descriptors.
    pub fn catch() -> io::Result<Signals> {
        let (any, to_any) = UnixStream::pair()?;
        any.set_nonblocking(true)?;
        let mut handlers = Vec::new();
        let mut catch = |signal: Signal| {
            let (here, there) = UnixStream::pair()?;
            here.set_nonblocking(true)?;
            handlers.push(pipe::register(signal.number(), there)?);
            handlers.push(pipe::register(signal.number(), to_any.try_clone()?)?);
            io::Result::Ok((signal, here))
        };
        let [first, second, third] = Signal::ALL.map(&mut catch);
        let received = [first?, second?, third?];
        Ok(Signals { received, any, handlers })
    }

    /// A signal that has arrived since the last call, if any.
    pub fn take(&self) -> Option<Signal> {
        let mut buffer = [0; 64];
        while matches!((&self.any).read(&mut buffer), Ok(count) if count == buffer.len()) {}
        let came = |(_, stream): &&(Signal, UnixStream)| {
            let mut stream: &UnixStream = stream;
            matches!(stream.read(&mut buffer), Ok(count) if count > 0)
        };
        self.received.iter().find(came).map(|&(signal, _)| signal)
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.any.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for &handler in &self.handlers {
            unregister(handler);
        }
    }
}

/// Tells when a signal that does not end programs has arrived: while this exists it only makes its file readable.
#[derive(Debug)]
pub struct SignalWatch {
    arrived: UnixStream,
    handler: SigId,
}

impl SignalWatch {
    /// SIGWINCH: the size of this process's terminal has changed.
    ///
    /// # Errors
    /// The process has no more file descriptors.
    pub fn size_changes() -> io::Result<SignalWatch> {
        SignalWatch::of(SIGWINCH)
    }

    /// SIGUSR1, of which each program makes its own use.
    ///
    /// # Errors
    /// The process has no more file descriptors.
    pub fn user_signal() -> io::Result<SignalWatch> {
        SignalWatch::of(SIGUSR1)
    }

    fn of(signal: i32) -> io::Result<SignalWatch> {
        let (arrived, handler) = UnixStream::pair()?;
        arrived.set_nonblocking(true)?;
        Ok(SignalWatch { arrived, handler: pipe::register(signal, handler)? })
    }

    /// Whether it has arrived since the last call.
    pub fn take(&self) -> bool {
        let (mut buffer, mut any) = ([0; 64], false);
        while matches!((&self.arrived).read(&mut buffer), Ok(count) if count > 0) {
            any = true;
        }
        any
    }
}

impl AsFd for SignalWatch {
    /// Readable when it has arrived.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.arrived.as_fd()
    }
}

impl Drop for SignalWatch {
    fn drop(&mut self) {
        unregister(self.handler);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use signal_hook::low_level::raise;

    #[test]
    fn a_signal_is_reported_once_and_does_not_end_the_process() {
        let signals = Signals::catch().unwrap();
        assert_eq!(signals.take(), None);
        raise(SIGTERM).unwrap();
        raise(SIGTERM).unwrap();
        assert_eq!(signals.take(), Some(Signal::Terminate));
        assert_eq!(signals.take(), None);
        assert_eq!(Signal::Terminate.exit_code(), 143);
    }
    #[test]
    fn a_watch_sees_its_signal_once() {
        let watch = SignalWatch::user_signal().unwrap();
        assert!(!watch.take());
        raise(SIGUSR1).unwrap();
        assert!(watch.take() && !watch.take());
    }
}
