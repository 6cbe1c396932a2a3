//! [`Metrics`]: what a controller shows of itself.

/// The state of a [`Controller`](crate::Controller), for logs and observers. What a controller does not
/// have, or does not show, is absent.
///
/// ```
/// use exm_cc::{Controller, Cubic};
///
/// let metrics = Cubic::new().metrics();
/// assert_eq!(metrics.cwnd, Some(10.0));
/// assert_eq!((metrics.ssthresh, metrics.state), (None, Some("slow start")));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Metrics {
    /// Its window, in packets: with the fraction that a [`Decision`](crate::Decision) rounds off.
    pub cwnd: Option<f64>,
    /// Its slow start threshold, in packets; absent before the first congestion event.
    pub ssthresh: Option<f64>,
    /// Its pacing rate, in packets a second.
    pub pacing_rate: Option<f64>,
    /// The rate that it asks an encoder of media for, in packets a second; packets of a frame may be sent faster.
    pub media_rate: Option<f64>,
    /// The name of its state, such as `"slow start"`.
    pub state: Option<&'static str>,
}

impl Metrics {
    /// Nothing is shown.
    pub const NONE: Metrics =
        Metrics { cwnd: None, ssthresh: None, pacing_rate: None, media_rate: None, state: None };

    /// A window of `cwnd` packets.
    pub const fn new(cwnd: f64) -> Metrics {
        Metrics { cwnd: Some(cwnd), ..Metrics::NONE }
    }

    /// Sets the slow start threshold, in packets; an infinite one is absent.
    #[must_use]
    pub const fn ssthresh(self, packets: f64) -> Metrics {
        let ssthresh = if packets.is_finite() { Some(packets) } else { None };
        Metrics { ssthresh, ..self }
    }

    /// Sets the pacing rate, in packets a second.
    #[must_use]
    pub const fn pacing_rate(self, packets_per_second: f64) -> Metrics {
        Metrics { pacing_rate: Some(packets_per_second), ..self }
    }

    /// Sets the rate for an encoder of media, in packets a second.
    #[must_use]
    pub const fn media_rate(self, packets_per_second: f64) -> Metrics {
        Metrics { media_rate: Some(packets_per_second), ..self }
    }

    /// Sets the name of the state.
    #[must_use]
    pub const fn state(self, name: &'static str) -> Metrics {
        Metrics { state: Some(name), ..self }
    }
}
