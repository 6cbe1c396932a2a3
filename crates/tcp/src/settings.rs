//! [`Settings`]: the parameters of a connection.

use crate::accecn::AccEcn;
use exm_cc::INITIAL_WINDOW;
use exm_units::{Instant, Packets, Span};

/// The parameters of a connection; by default as in Linux.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The initial window (RFC 6928: ten segments).
    pub initial_window: Packets,
    /// Whether a connection starts with a SYN handshake, which takes a round trip.
    pub handshake: bool,
    /// The minimum of the retransmission timer.
    pub floor: MinRto,
    /// Delayed ACKs; none for an ACK per segment.
    pub delayed_acks: Option<DelayedAcks>,
    /// Whether segments may be marked instead of dropped (RFC 3168). A controller that needs marks gets
    /// them in any case.
    pub ecn: bool,
    /// What ACKs report of the marks.
    pub accecn: AccEcn,
    /// The receive window in segments; none for no limit.
    pub receive_window: Option<Packets>,
    /// Whether to send tail loss probes (RFC 8985, section 7), so that a lost tail need not wait for
    /// the timer; on in Linux, off by default.
    pub tail_loss_probe: bool,
    /// The granularity of the timestamp clock (RFC 7323, section 5.4), with which RTTs are measured: 1
    /// ms in ns-3. None for exact measurements; Linux's are to the microsecond.
    pub timestamps: Option<Span>,
    /// Whether one connection carries all on-periods of a sender. Window, threshold, RTT estimate and
    /// scoreboard then carry over from one to the next; otherwise each is a new connection.
    pub persistent: bool,
    /// What an idle time longer than the retransmission timer does to the window of a persistent
    /// connection.
    pub idle_restart: IdleRestart,
    /// Whether a window that the application does not fill stays constant (RFC 7661; Linux), or grows
    /// with every ACK, as in ns-2.
    pub window_validation: bool,
    /// Whether the response to a spurious retransmission is undone (Eifel, RFC 3522 and RFC 4015), as
    /// in Linux; ns-2 does not undo it.
    pub eifel: bool,
    /// How losses are detected and repaired.
    pub recovery: Recovery,
}

/// How losses are detected and repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// As in TCP: by segments that arrive beyond a gap, and the retransmission timer.
    #[default]
    Tcp,
    /// As in QUIC (RFC 9002): by the numbers and times of packets, and probe timeouts. `floor`, `tail_loss_probe`, `eifel` and `accecn`
    /// have no effect then: its ACKs have exact counters of their own.
    Quic,
}

/// What an idle time longer than the retransmission timer does to the window of a persistent
/// connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdleRestart {
    /// The window does not change.
    #[default]
    None,
    /// It falls to the initial window (RFC 5681, section 4.1).
    Rfc5681,
    /// It halves for each such time, down to the initial window (RFC 2861, section 3.1), as in Linux.
    Rfc2861,
}

/// The lower bound of the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinRto {
    /// The whole timer has this minimum (RFC 6298, rule 2.4: a second; ns-3 and BSD: less).
    Timer(Span),
    /// The margin added to the smoothed RTT has this minimum. Linux adds at least 200 ms, so that a
    /// steady RTT, however long, does not bring the timer down to itself.
    Margin(Span),
}

/// Delayed ACKs (RFC 5681, section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAcks {
    /// The most segments that one ACK may cover: 2.
    pub segments: u32,
    /// The longest delay: at most half a second, 40 ms in Linux.
    pub wait: Span,
    /// Whether the ACK carries the send time of the last segment that it covers, by which QUIC measures the RTT, instead of
    /// the first (RFC 7323, section 4.3).
    pub latest: bool,
}

impl Settings {
    /// Those of QUIC: its recovery (RFC 9002), and ACKs of two packets at a time, delayed by at most 25 ms (RFC 9000, sections 13.2.2
    /// and 18.2).
    pub fn quic() -> Settings {
        let wait = Span::from_millis(25);
        let delayed_acks = Some(DelayedAcks { segments: 2, wait, latest: true });
        Settings { delayed_acks, recovery: Recovery::Quic, ..Settings::default() }
    }

    /// The same with QUIC's recovery and delayed ACKs, unless they are settings of QUIC already.
    #[must_use]
    pub fn over_quic(self) -> Settings {
        match self.recovery {
            Recovery::Tcp => {
                let Settings { recovery, delayed_acks, .. } = Settings::quic();
                Settings { recovery, delayed_acks, ..self }
            }
            Recovery::Quic => self,
        }
    }

    /// The RTT of a segment sent at `sent_at` and acknowledged at `now`, as measured with its
    /// timestamps: at least one tick.
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
            floor: MinRto::default(),
            delayed_acks: None,
            ecn: false,
            accecn: AccEcn::Option,
            receive_window: None,
            tail_loss_probe: false,
            timestamps: None,
            persistent: false,
            idle_restart: IdleRestart::None,
            window_validation: true,
            eifel: true,
            recovery: Recovery::Tcp,
        }
    }
}

impl Default for MinRto {
    fn default() -> MinRto {
        MinRto::Margin(Span::from_millis(200))
    }
}

impl Default for DelayedAcks {
    fn default() -> DelayedAcks {
        DelayedAcks { segments: 2, wait: Span::from_millis(40), latest: false }
    }
}
