//! [`Settings`]: what hosts may set about a connection.

use exm_cc::INITIAL_WINDOW;
use exm_units::{Packets, Span};

/// What hosts may set about a connection; by default as Linux does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Segments that a connection may send at its start (RFC 6928: ten).
    pub initial_window: Packets,
    /// Whether a connection starts with an exchange of SYN segments, and waits a round trip for it.
    pub handshake: bool,
    /// The retransmission timer's floor.
    pub floor: Floor,
    /// Whether the receiver waits with its acknowledgements; nothing for one a segment.
    pub delayed_acks: Option<DelayedAcks>,
    /// Whether segments may be marked instead of dropped (RFC 3168). A controller that needs marks
    /// gets them in any case.
    pub ecn: bool,
    /// Segments that the receiver has room for; nothing for no limit.
    pub receive_window: Option<Packets>,
}

/// How short the retransmission timer may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floor {
    /// The whole of it is never less (RFC 6298, section 2.4: a second; ns-3 and BSD: less).
    Timer(Span),
    /// What it adds to the smoothed round-trip time is never less. Linux adds at least 200 ms, so
    /// that a steady round trip, however long, does not bring the timer down to itself.
    Margin(Span),
}

/// Acknowledgements held back (RFC 5681, section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAcks {
    /// One is sent after so many segments at the latest: 2.
    pub segments: u32,
    /// And after such a time: at most half a second, 40 ms in Linux.
    pub wait: Span,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            initial_window: INITIAL_WINDOW,
            handshake: false,
            floor: Floor::default(),
            delayed_acks: None,
            ecn: false,
            receive_window: None,
        }
    }
}

impl Default for Floor {
    fn default() -> Floor {
        Floor::Margin(Span::from_millis(200))
    }
}

impl Default for DelayedAcks {
    fn default() -> DelayedAcks {
        DelayedAcks { segments: 2, wait: Span::from_millis(40) }
    }
}
