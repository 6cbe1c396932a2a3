//! The quantities of networks that only models have, and how all of them are written.

use super::choice::{Choice, Quantity, Steps};
use exm_link::Limit;
use exm_units::{Bytes, Packets, Probability, Rate, Span};
use std::fmt;

/// A number of senders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Senders(pub(crate) u64);

/// How much may wait at the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Buffer {
    Unlimited,
    /// So many packets.
    Packets(u64),
    /// So many times the product of the link's rate and the round-trip propagation delay.
    Bdp(f64),
}

impl Buffer {
    /// `written`, bytes as whole packets of `packet`, as many as fit.
    pub(super) fn of(written: exm_grammar::Buffer, packet: Bytes) -> Buffer {
        match written {
            exm_grammar::Buffer::Limit(Limit::Unlimited) => Buffer::Unlimited,
            exm_grammar::Buffer::Limit(Limit::Packets(count)) => Buffer::Packets(count.get()),
            exm_grammar::Buffer::Limit(Limit::Bytes(size)) => {
                Buffer::Packets(size.get() / packet.get())
            }
            exm_grammar::Buffer::Bdp(times) => Buffer::Bdp(times),
        }
    }

    /// The limit in packets on a link of `rate` whose round trip is `rtt`.
    pub(crate) fn limit(self, rate: Rate, rtt: Span, packet: Bytes) -> Option<Packets> {
        match self {
            Buffer::Unlimited => None,
            Buffer::Packets(packets) => Some(Packets::new(packets)),
            Buffer::Bdp(times) => Some(rate.bandwidth_delay(rtt, times, packet)),
        }
    }
}

impl Quantity for Senders {
    fn number(self) -> f64 {
        self.0 as f64
    }
    fn with(self, number: f64) -> Senders {
        Senders(number as u64)
    }
    fn is_whole(self) -> bool {
        true
    }
}

impl Quantity for Probability {
    fn number(self) -> f64 {
        self.get()
    }
    fn with(self, number: f64) -> Probability {
        Probability::new(number).unwrap_or(self)
    }
    fn is_whole(self) -> bool {
        false
    }
}

impl Quantity for Buffer {
    fn number(self) -> f64 {
        match self {
            Buffer::Unlimited => f64::INFINITY,
            Buffer::Packets(count) => count as f64,
            Buffer::Bdp(times) => times,
        }
    }
    fn with(self, number: f64) -> Buffer {
        match self {
            Buffer::Unlimited => Buffer::Unlimited,
            Buffer::Packets(_) => Buffer::Packets(number as u64),
            Buffer::Bdp(_) => Buffer::Bdp(number),
        }
    }
    fn is_whole(self) -> bool {
        matches!(self, Buffer::Packets(_))
    }
    fn is_like(self, other: Buffer) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

impl fmt::Display for Senders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Buffer::Unlimited => f.write_str("unlimited"),
            Buffer::Packets(count) => write!(f, "{}", Packets::new(*count)),
            Buffer::Bdp(times) => write!(f, "{times} BDP"),
        }
    }
}

/// As a file has it.
impl<T: Quantity> fmt::Display for Choice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::List(values) if values.len() == 1 => f.write_str(&written(values[0])),
            Choice::List(values) => {
                let values: Vec<_> = values.iter().map(|&value| written(value)).collect();
                write!(f, "[{}]", values.join(", "))
            }
            Choice::Uniform(low, high) => write!(f, "\"{low}..{high}\""),
            Choice::LogUniform(low, high) => write!(f, "\"log {low}..{high}\""),
            Choice::Steps(Steps { low, high, is_log, count }) => {
                let word = if *is_log { "log " } else { "" };
                write!(f, "\"{word}{low}..{high}, {count} steps\"")
            }
        }
    }
}

/// A quantity as a file has it: in quotes unless it is a mere number.
fn written(value: impl Quantity) -> String {
    let text = value.to_string();
    if text.parse::<f64>().is_ok() { text } else { format!("\"{text}\"") }
}
