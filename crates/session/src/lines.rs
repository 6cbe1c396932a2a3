//! [`Lines`]: carries lines of text over a session.

use crate::application::Application;
use crate::session::Session;
use crate::traffic::{Queue, Sink, Source, WhenFull};
use exm_units::{Bytes, Instant, Span};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

/// The size of the queue; while it is full, no input is read.
const BOUND: Bytes = Bytes::new(65_536);
/// How long an end that stops at the end of its input waits for datagrams in flight.
const LINGER: Span = Span::from_millis(500);

/// Sends each line of an input as a datagram, and writes each received datagram as a line to an output.
#[derive(Debug)]
pub struct Lines<I, O> {
    input: I,
    output: O,
    ends_with_input: bool,
    queue: Queue,
    /// The beginning of a line whose end has not been read yet.
    part: Vec<u8>,
    /// When the last of the input was sent.
    ended_at: Option<Instant>,
    is_open: bool,
    failed: Option<io::Error>,
}

impl<I: Read + AsFd, O: Write> Lines<I, O> {
    /// Sends the lines of `input` and writes to `output`. If `ends_with_input` is set, it is done half a
    /// second after the last line was sent.
    pub fn new(input: I, output: O, ends_with_input: bool) -> Lines<I, O> {
        Lines {
            input,
            output,
            ends_with_input,
            queue: Queue::new(BOUND, WhenFull::Refuse),
            part: Vec::new(),
            ended_at: None,
            is_open: true,
            failed: None,
        }
    }

    fn wants_input(&self) -> bool {
        self.is_open && self.queue.bytes() < BOUND
    }

    /// Queues the complete lines of `read`.
    fn split(&mut self, read: &[u8]) {
        let mut lines = read.split(|&byte| byte == b'\n');
        let last = lines.next_back().unwrap_or_default();
        for line in lines {
            let mut whole = std::mem::take(&mut self.part);
            whole.extend_from_slice(line);
            self.send(whole);
        }
        self.part.extend_from_slice(last);
        // It fits no packet: the session drops and counts it.
        if self.part.len() as u64 > BOUND.get() {
            let whole = std::mem::take(&mut self.part);
            self.send(whole);
        }
    }

    /// Queues a line; empty ones are skipped. Input is read only while the queue has room, but one read may
    /// exceed its bound.
    fn send(&mut self, line: Vec<u8>) {
        if !line.is_empty() {
            self.queue.push(line);
        }
    }
}

impl<I: Read + AsFd, O: Write> Application for Lines<I, O> {
    fn work(&mut self, session: &mut Session) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if !self.is_open && self.queue.is_empty() && self.ended_at.is_none() {
            self.ended_at = Some(session.clock().now());
        }
        if !self.wants_input() || !is_readable(&self.input)? {
            return Ok(());
        }
        let mut buffer = [0; 16_384];
        match self.input.read(&mut buffer) {
            Ok(0) => {
                self.is_open = false;
                let last = std::mem::take(&mut self.part);
                self.send(last);
                Ok(())
            }
            Ok(length) => {
                self.split(&buffer[..length]);
                Ok(())
            }
            Err(error) if is_transient(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn file(&self) -> Option<BorrowedFd<'_>> {
        self.wants_input().then(|| self.input.as_fd())
    }

    fn next_wake(&self) -> Instant {
        let ended = self.ended_at.filter(|_| self.ends_with_input);
        ended.map_or(Instant::MAX, |at| at.saturating_add(LINGER))
    }

    fn is_done(&self, now: Instant) -> bool {
        now >= self.next_wake()
    }
}

impl<I, O> Source for Lines<I, O> {
    fn waiting(&mut self, now: Instant) -> Option<usize> {
        self.queue.waiting(now)
    }

    fn pull(&mut self, now: Instant, payload: &mut Vec<u8>) {
        self.queue.pull(now, payload);
    }
}

impl<I, O: Write> Sink for Lines<I, O> {
    fn deliver(&mut self, _now: Instant, payload: &[u8]) {
        let written = self.output.write_all(payload).and_then(|()| self.output.write_all(b"\n"));
        if let Err(error) = written.and_then(|()| self.output.flush()) {
            self.failed = Some(error);
        }
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Whether reading from `file` would not block.
fn is_readable(file: &impl AsFd) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut polled = [PollFd::new(file, PollFlags::IN)];
    Ok(poll(&mut polled, Some(&Timespec::default()))? > 0)
}
