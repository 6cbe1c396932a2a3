//! The events that controllers written in Python receive: times in seconds, sizes in bytes, windows in packets.

use exmachina::cc;
use exmachina::units::{Instant, Span};
use pyo3::prelude::*;

/// The start of a flow.
#[pyclass(frozen, module = "tcpexmachina")]
pub(crate) struct Start(pub(crate) cc::Start);

#[pymethods]
impl Start {
    /// When it starts, s.
    #[getter]
    fn now(&self) -> f64 {
        self.0.now.as_secs_f64()
    }

    /// The window that its host lets a flow start with, packets.
    #[getter]
    fn initial_window(&self) -> u64 {
        self.0.initial_window.get()
    }

    /// The round-trip time of the handshake, s; none without one.
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.0.rtt.map(Span::as_secs_f64)
    }

    /// The size of a full packet with its headers.
    #[getter]
    fn mtu(&self) -> u64 {
        self.0.mtu.get()
    }
}

/// An acknowledgement.
#[pyclass(frozen, module = "tcpexmachina")]
pub(crate) struct Ack(pub(crate) cc::Ack);

#[pymethods]
impl Ack {
    /// When it reached the sender, s.
    #[getter]
    fn now(&self) -> f64 {
        self.0.now.as_secs_f64()
    }

    /// When the packet that it acknowledges was sent, s.
    #[getter]
    fn sent_at(&self) -> f64 {
        self.0.sent_at.as_secs_f64()
    }

    /// When that packet reached the receiver, by the receiver's clock, s.
    #[getter]
    fn received_at(&self) -> Option<f64> {
        self.0.received_at.map(Instant::as_secs_f64)
    }

    /// The round-trip time of the packet, s.
    #[getter]
    fn rtt(&self) -> f64 {
        self.0.rtt().as_secs_f64()
    }

    /// The number of the packet, counted from the sender's first.
    #[getter]
    fn sequence(&self) -> u64 {
        self.0.sequence
    }

    /// How many packets it acknowledges for the first time.
    #[getter]
    fn acked(&self) -> u64 {
        self.0.acked.get()
    }

    /// Their size with headers.
    #[getter]
    fn acked_bytes(&self) -> u64 {
        self.0.acked_bytes.get()
    }

    /// How many of them arrived marked congestion experienced.
    #[getter]
    fn marked(&self) -> u64 {
        self.0.marked.get()
    }

    /// Packets in flight after it.
    #[getter]
    fn in_flight(&self) -> u64 {
        self.0.in_flight.get()
    }

    /// Bytes in flight after it.
    #[getter]
    fn in_flight_bytes(&self) -> u64 {
        self.0.in_flight_bytes.get()
    }

    /// Whether the packet belongs to an earlier flow of the same sender.
    #[getter]
    fn stale(&self) -> bool {
        self.0.stale
    }

    /// Whether the host recovers from losses: the window must not grow meanwhile.
    #[getter]
    fn recovering(&self) -> bool {
        self.0.recovering
    }

    /// Whether the sender had less to send than its window allowed.
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.app_limited
    }

    /// The delivery rate, packets/s, where the controller's `needs` asks for it.
    #[getter]
    fn delivery_rate(&self) -> Option<f64> {
        self.0.delivery.as_ref().and_then(cc::Delivery::rate)
    }
}

/// A congestion event.
#[pyclass(frozen, module = "tcpexmachina")]
pub(crate) struct Congestion(pub(crate) cc::Congestion);

#[pymethods]
impl Congestion {
    /// When the host detected it, s.
    #[getter]
    fn now(&self) -> f64 {
        self.0.now.as_secs_f64()
    }

    /// What it is: `"lost"`, `"marked"`, `"timeout"`, `"spurious"` or `"idle"`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind.name()
    }

    /// When the affected packet was sent, s.
    #[getter]
    fn sent_at(&self) -> f64 {
        self.0.sent_at.as_secs_f64()
    }

    /// How many packets are affected; of `"idle"`, the window to restart with.
    #[getter]
    fn packets(&self) -> u64 {
        self.0.packets.get()
    }

    /// Packets in flight when the host detected it.
    #[getter]
    fn in_flight(&self) -> u64 {
        self.0.in_flight.get()
    }
}
