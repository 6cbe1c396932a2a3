//! [`Application`]: the program above a session; and [`drive`], the event loop around both.

use crate::session::Session;
use crate::traffic::{Sink, Source};
use exm_os::Waiter;
use exm_units::{Instant, Span};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// A program that uses a session: a source and a sink of datagrams that may also wait for a file and a
/// time of its own.
pub trait Application: Source + Sink {
    /// Does the work beside the session, above all reading the data to send.
    ///
    /// # Errors
    /// The application cannot continue, which ends the loop.
    fn work(&mut self, session: &mut Session) -> io::Result<()>;

    /// A file that becomes readable when there is work, if the application waits for one now.
    fn file(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// The time at which there is work even if the file is not readable by then.
    fn next_wake(&self) -> Instant {
        Instant::MAX
    }

    /// Whether the application has finished, which ends the loop.
    fn is_done(&self, _now: Instant) -> bool {
        false
    }
}

/// Whether [`drive`] continues, as decided after each of its rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopControl {
    /// Continue, and decide again no later than this.
    WakeAt(Instant),
    /// End the loop.
    Stop,
}

/// Runs `application` over `session` until it is done or `monitor` returns [`LoopControl::Stop`].
///
/// `monitor` is called after each round, with true if `alarm` is readable; a readable `alarm` always
/// causes a round.
///
/// # Errors
/// The application cannot continue, or waiting for files failed.
pub fn drive<E: Application>(
    session: &mut Session,
    application: &mut E,
    alarm: BorrowedFd<'_>,
    mut monitor: impl FnMut(&Session, &E, bool) -> LoopControl,
) -> io::Result<()> {
    let clock = session.clock();
    let waiter = Waiter::new(clock, Span::ZERO);
    let mut alarmed = true;
    while !application.is_done(clock.now()) {
        application.work(session)?;
        session.service(application);
        let LoopControl::WakeAt(again) = monitor(session, application, alarmed) else { break };
        let wake = session.next_wake().min(application.next_wake()).min(again);
        alarmed = match application.file() {
            Some(file) => waiter.wait([alarm, session.as_fd(), file], wake)?[0],
            None => waiter.wait([alarm, session.as_fd()], wake)?[0],
        };
    }
    Ok(())
}
