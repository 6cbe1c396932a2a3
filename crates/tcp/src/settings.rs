//! [`Settings`]: what hosts may set about a connection.

use exm_cc::INITIAL_WINDOW;
use exm_units::{Instant, Packets, Span};

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
    /// Whether a probe follows two round trips of silence (RFC 8985, section 7), so that a lost tail
    /// need not wait for the timer; as in Linux, but not by default.
    pub tail_loss_probe: bool,
    /// The tick of the clock that timestamps are taken from (RFC 7323, section 5.4), by which round
    /// trips are measured: 1 ms in ns-3. Nothing for exact measurements; Linux's are to the
    /// microsecond.
    pub timestamps: Option<Span>,
    /// Whether one connection carries all on-periods of a sender. Window, threshold, RTT estimate and
    /// scoreboard then carry over from one to the next; otherwise each is a new connection.
    pub persistent: bool,
    /// What an idle time longer than the retransmission timer does to the window of a persistent
    /// connection.
    pub idle_restart: IdleRestart,
    /// Whether a window that the application does not fill stays as it is (RFC 7661; Linux), or grows
    /// with every acknowledgement, used or not, as in ns-2.
    pub window_validation: bool,
    /// Whether a retransmission that turns out to have been spurious is undone (Eifel, RFC 3522 and RFC
    /// 4015), as in Linux; ns-2 does not.
    pub eifel: bool,
}

/// What an idle time longer than the retransmission timer does to the window of a persistent
/// connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdleRestart {
    /// The window stays as it was.
    #[default]
    None,
    /// It falls to the initial window (RFC 5681, section 4.1).
    Rfc5681,
    /// It falls by half for each such time, down to the initial window (RFC 2861, section 3.1), as in
    /// Linux.
    Rfc2861,
}

/// How short the retransmission timer may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floor {
    /// The whole of it is never less (RFC 6298, rule 2.4: a second; ns-3 and BSD: less).
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

impl Settings {
    /// The round-trip time of a segment sent at `sent_at` and acknowledged at `now`, as its timestamps
    /// measure it: no shorter than a tick.
    #[inline]
    pub(crate) fn round_trip(&self, sent_at: Instant, now: Instant) -> Span {
        let exact = now.saturating_since(sent_at);
        let Some(tick) = self.timestamps.map(Span::as_nanos).filter(|&tick| tick > 0) else {
            return exact;
        };
        let ticks = (now.as_nanos() / tick).saturating_sub(sent_at.as_nanos() / tick);
        Span::from_nanos(ticks.max(1).saturating_mul(tick))
    }
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
            tail_loss_probe: false,
            timestamps: None,
            persistent: false,
            idle_restart: IdleRestart::None,
            window_validation: true,
            eifel: true,
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
