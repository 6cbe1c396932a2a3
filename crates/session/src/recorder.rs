//! [`Recorder`]: is told each datagram of a session, for logs.

use exm_units::{Bytes, Instant};

/// A datagram of a session. Handshakes are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedDatagram {
    /// The number of the session since this end was opened, from 1; a new handshake begins another one.
    pub session: u64,
    /// Its sequence number: those of an end count up in a session.
    pub sequence: u64,
    /// Its UDP payload.
    pub size: Bytes,
    /// The application datagram in it; zero if there is none.
    pub payload: Bytes,
}

impl RecordedDatagram {
    /// Datagram `sequence` of that session, with `size` bytes, `payload` of which are an application datagram.
    pub fn new(session: u64, sequence: u64, size: Bytes, payload: Bytes) -> RecordedDatagram {
        RecordedDatagram { session, sequence, size, payload }
    }
}

/// Is told each datagram of a session, for logs. Times never go back.
pub trait Recorder: Send {
    /// A datagram is sent.
    fn sent(&mut self, at: Instant, datagram: &RecordedDatagram);
    /// An authentic datagram was received.
    fn received(&mut self, at: Instant, datagram: &RecordedDatagram);
}
