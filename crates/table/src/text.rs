//! The text form of numbers, boxes and rules, for people and in JSON.

use exm_remy::{Action, Cuboid, Rule, Signal};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// A double that may be infinite or NaN; JSON cannot represent those, so they are strings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number(pub(crate) f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            finite if finite.is_finite() => serializer.serialize_f64(finite),
            other if other.is_nan() => serializer.serialize_str("nan"),
            infinite if infinite > 0.0 => serializer.serialize_str("inf"),
            _ => serializer.serialize_str("-inf"),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Number;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a number, \"inf\" or \"-inf\"")
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Number, E> {
                Ok(Number(value))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
                match text {
                    "inf" => Ok(Number(f64::INFINITY)),
                    "-inf" => Ok(Number(f64::NEG_INFINITY)),
                    "nan" => Ok(Number(f64::NAN)),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// A double as a [`Number`] within a structure.
pub(crate) mod number {
    use super::*;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    pub(crate) fn serialize<S: Serializer>(value: &f64, s: S) -> Result<S::Ok, S::Error> {
        Number(*value).serialize(s)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
        Number::deserialize(d).map(|Number(value)| value)
    }
}

type Bounds = Option<[Number; 2]>;

/// A box: the bounds of each signal that has any.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a box")]
pub(crate) struct BoxText {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    send_ewma: Bounds,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ack_ewma: Bounds,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rtt_ratio: Bounds,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slow_ack_ewma: Bounds,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rtt_diff: Bounds,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    queueing_delay: Bounds,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ecn: Bounds,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loss: Bounds,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    receive_rate: Bounds,
}

/// The bounds of each signal, in order.
type AllBounds = [Bounds; Signal::COUNT];

impl From<&Cuboid> for BoxText {
    fn from(domain: &Cuboid) -> BoxText {
        let bounds: AllBounds = std::array::from_fn(|i| match (domain.lower[i], domain.upper[i]) {
            (f64::NEG_INFINITY, f64::INFINITY) => None,
            (lower, upper) => Some([Number(lower), Number(upper)]),
        });
        let [send_ewma, ack_ewma, rtt_ratio, slow_ack_ewma, rtt_diff, queueing_delay, ..] = bounds;
        let [.., ecn, loss, receive_rate] = bounds;
        BoxText {
            send_ewma,
            ack_ewma,
            rtt_ratio,
            slow_ack_ewma,
            rtt_diff,
            queueing_delay,
            ecn,
            loss,
            receive_rate,
        }
    }
}

impl From<&BoxText> for Cuboid {
    fn from(text: &BoxText) -> Cuboid {
        let bounds: AllBounds = [
            text.send_ewma,
            text.ack_ewma,
            text.rtt_ratio,
            text.slow_ack_ewma,
            text.rtt_diff,
            text.queueing_delay,
            text.ecn,
            text.loss,
            text.receive_rate,
        ];
        let side = |side: usize, open: f64| bounds.map(|b| b.map_or(open, |b| b[side].0));
        Cuboid { lower: side(0, f64::NEG_INFINITY), upper: side(1, f64::INFINITY) }
    }
}

/// A rule and its number.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a rule")]
pub(crate) struct RuleText {
    pub(crate) rule: usize,
    r#box: BoxText,
    multiple: f64,
    increment: i32,
    intersend_ms: f64,
}

impl RuleText {
    pub(crate) fn new(number: usize, rule: &Rule) -> RuleText {
        let Action { multiple, increment, intersend_ms } = rule.action;
        RuleText { rule: number, r#box: (&rule.domain).into(), multiple, increment, intersend_ms }
    }
}

impl From<&RuleText> for Rule {
    fn from(text: &RuleText) -> Rule {
        let RuleText { multiple, increment, intersend_ms, .. } = *text;
        let action = Action { multiple, increment, intersend_ms };
        Rule { domain: Cuboid::from(&text.r#box), action }
    }
}

/// Serialises a box as in a table's file.
pub(crate) fn cuboid<S: Serializer>(domain: &Cuboid, serializer: S) -> Result<S::Ok, S::Error> {
    BoxText::from(domain).serialize(serializer)
}

/// Serialises an action with the field names of a table's file.
pub(crate) fn action<S: Serializer>(action: &Action, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Text {
        multiple: f64,
        increment: i32,
        intersend_ms: f64,
    }
    let Action { multiple, increment, intersend_ms } = *action;
    Text { multiple, increment, intersend_ms }.serialize(serializer)
}

/// An action as short text: "window := 0.5·window + 3, at least 0.25 ms between packets".
pub(crate) fn action_words(action: &Action) -> String {
    let interval = short(action.intersend_ms);
    format!("window := {}, at least {interval} ms between packets", window_words(action))
}

/// The window after an ACK, in packets: "0.5·window + 3".
pub(crate) fn window_words(action: &Action) -> String {
    let Action { multiple, increment, .. } = *action;
    let sign = if increment < 0 { '-' } else { '+' };
    format!("{}·window {sign} {}", short(multiple), increment.unsigned_abs())
}

/// A number with at most six significant digits.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    if !(1e-4..1e9).contains(&size) {
        return format!("{value:.3e}");
    }
    let above = [1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5];
    let decimals = 9 - above.iter().filter(|&&power| size >= power).count();
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Why some results need no error handling.
pub(crate) const INFALLIBLE: &str = "writing plain data to memory cannot fail";

/// JSON in one line, with a space after commas and colons.
pub(crate) fn spaced(value: &impl Serialize) -> String {
    struct Spaced;
    impl serde_json::ser::Formatter for Spaced {
        fn begin_array_value<W: ?Sized + std::io::Write>(
            &mut self,
            writer: &mut W,
            first: bool,
        ) -> std::io::Result<()> {
            writer.write_all(if first { b"" } else { b", " })
        }

        fn begin_object_key<W: ?Sized + std::io::Write>(
            &mut self,
            writer: &mut W,
            first: bool,
        ) -> std::io::Result<()> {
            writer.write_all(if first { b"" } else { b", " })
        }

        fn begin_object_value<W: ?Sized + std::io::Write>(
            &mut self,
            writer: &mut W,
        ) -> std::io::Result<()> {
            writer.write_all(b": ")
        }
    }
    let mut out = Vec::new();
    value
        .serialize(&mut serde_json::Serializer::with_formatter(&mut out, Spaced))
        .expect(INFALLIBLE);
    String::from_utf8(out).expect("JSON is UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_keep_six_digits() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (16384.0, "16384"),
            (163_840.0, "163840"),
            (1.160962094056849, "1.16096"),
            (0.9498000000000001, "0.9498"),
            (0.00123456789, "0.00123457"),
            (-2.5, "-2.5"),
            (1e6, "1000000"),
            (1.897437221079326e-11, "1.897e-11"),
            (f64::INFINITY, "inf"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
    }
}
