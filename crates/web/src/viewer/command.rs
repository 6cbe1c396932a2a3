//! [`Command`]: what the page may ask for, as JSON.

use serde::Deserialize;

/// A command of this crate's description.
#[derive(Debug, Deserialize)]
#[serde(tag = "command", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Command {
    Open { scene: String, at: Option<f64> },
    Change { change: String },
    Lanes { lanes: Vec<Vec<String>> },
    Watch { lane: usize, flow: usize },
    Seek { time: f64 },
    Step { by: By },
    Import { name: String, text: Option<String>, base64: Option<String> },
    Describe,
    Table { lane: usize, flow: usize },
    Save { lane: usize, flow: usize },
    Names,
    Lessons,
    Report,
}

/// How far to step.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum By {
    /// To the next event.
    Event,
    /// To the next ACK of the watched flow.
    Ack,
    /// For an RTT of the watched flow.
    Rtt,
}
