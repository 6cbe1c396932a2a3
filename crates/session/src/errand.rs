//! [`Errand`]: what a program does with a session; and [`drive`], the loop around both.

use crate::session::Session;
use crate::traffic::{Sink, Source};
use exm_os::Waiter;
use exm_units::{Instant, Span};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Something to do with a session: a source and a sink of datagrams, with a life of its own beside
/// it.
pub trait Errand: Source + Sink {
    /// Does what there is to do beside the session: reads what is to be sent, above all.
    ///
    /// # Errors
    /// The errand cannot go on.
    fn work(&mut self, session: &mut Session) -> io::Result<()>;

    /// A file that can be read when there is something to do, if there is need to wait for one now.
    fn file(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// When there is something to do, unless before.
    fn next_wake(&self) -> Instant {
        Instant::MAX
    }

    /// Whether it has been done.
    fn is_done(&self, _now: Instant) -> bool {
        false
    }
}

/// What somebody who looks on wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The loop goes on, and is looked at again by then.
    Again(Instant),
    /// The loop ends.
    Stop,
}

/// Carries on with `errand` over `session` until it is done or `look` says stop. That is asked after
/// each round, of which there is one at least when `alarm` can be read, and then told of it.
///
/// # Errors
/// The errand cannot go on, or the system cannot wait.
pub fn drive<E: Errand>(
    session: &mut Session,
    errand: &mut E,
    alarm: BorrowedFd<'_>,
    mut look: impl FnMut(&Session, &E, bool) -> Look,
) -> io::Result<()> {
    let clock = session.clock();
    let waiter = Waiter::new(clock, Span::ZERO);
    let mut alarmed = true;
    while !errand.is_done(clock.now()) {
        errand.work(session)?;
        session.service(errand);
        let Look::Again(again) = look(session, errand, alarmed) else { break };
        let wake = session.next_wake().min(errand.next_wake()).min(again);
        alarmed = match errand.file() {
            Some(file) => waiter.wait([alarm, session.as_fd(), file], wake)?[0],
            None => waiter.wait([alarm, session.as_fd()], wake)?[0],
        };
    }
    Ok(())
}
