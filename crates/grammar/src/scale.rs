//! [`Unit`]: the units of times and of amounts of data, and how numbers are converted to them.

use crate::error::GrammarError;
use exm_units::{Bytes, Packets, Span};
use std::fmt;

/// The largest value: in nanoseconds or bytes it does not overflow.
pub(crate) const MOST: f64 = 1e18;

/// The unit of the numbers in [`crate::Amounts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes of data.
    Bytes,
    /// Packets of data.
    Packets,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::Seconds => "s",
            Unit::Bytes => "B",
            Unit::Packets => "packets",
        })
    }
}

/// The units of times and amounts, for error messages: "ns, us, ms, s, ...".
pub const UNITS: [&[&str]; 3] = [Span::UNITS, Bytes::UNITS, Packets::UNITS];

pub(crate) fn number(text: &str) -> Result<f64, GrammarError> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| GrammarError::new(format!("\"{text}\" is no number")))
}

/// The factor and divisor that convert a number from some unit to a [`Unit`].
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    times: f64,
    per: f64,
    pub(crate) unit: Unit,
}

impl Scale {
    pub(crate) fn of(unit: &str) -> Option<Scale> {
        let one = format!("1 {unit}");
        if let Ok(span) = one.parse::<Span>() {
            return Some(Scale { times: span.as_nanos() as f64, per: 1e9, unit: Unit::Seconds });
        }
        if let Ok(bytes) = one.parse::<Bytes>() {
            return Some(Scale { times: bytes.get() as f64, per: 1.0, unit: Unit::Bytes });
        }
        one.parse::<Packets>().ok().map(|_| Scale { times: 1.0, per: 1.0, unit: Unit::Packets })
    }

    pub(crate) fn apply(self, number: f64) -> f64 {
        number * self.times / self.per
    }
}
