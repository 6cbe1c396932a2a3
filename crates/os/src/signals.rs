//! [`Signals`]: being asked to end, as a file that can be waited for.

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{pipe, unregister};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// A way of being asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// From the keyboard: SIGINT.
    Interrupt,
    /// From another program: SIGTERM.
    Terminate,
    /// The terminal is gone: SIGHUP.
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

    /// What a program ends with that was ended by it: 128 and its number.
    pub fn exit_code(self) -> u8 {
        128 + self.number() as u8
    }
}

/// SIGINT, SIGTERM and SIGHUP, which as long as this is there do not end the process: a file that can
/// be waited for is readable once one came. Other handlers of the process see them as well.
#[derive(Debug)]
pub struct Signals {
    /// Each of the signals, with its end of a pipe.
    received: [(Signal, UnixStream); 3],
    /// Readable once any came.
    any: UnixStream,
    handlers: Vec<SigId>,
}

impl Signals {
    /// Catches them from now on.
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

    /// Which came since it was last asked, if one did.
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

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::{Signal as Kind, raise};

    #[test]
    fn a_signal_is_told_once_and_kills_nobody() {
        let signals = Signals::catch().unwrap();
        assert_eq!(signals.take(), None);
        raise(Kind::SIGTERM).unwrap();
        raise(Kind::SIGTERM).unwrap();
        assert_eq!(signals.take(), Some(Signal::Terminate));
        assert_eq!(signals.take(), None);
        assert_eq!(Signal::Terminate.exit_code(), 143);
    }
}
