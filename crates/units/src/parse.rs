//! Reading and printing a number with its unit.

use alloc::format;
use alloc::string::String;
use core::fmt;

/// A text that is not the expected quantity. The message names the quantity and its units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseUnitError {
    text: String,
    expected: &'static str,
    units: &'static [&'static str],
}

impl ParseUnitError {
    /// `text` is not the quantity `expected`: a number with one of `units`, if there are any.
    pub(crate) fn new(
        text: &str,
        expected: &'static str,
        units: &'static [&'static str],
    ) -> ParseUnitError {
        ParseUnitError { text: text.chars().take(60).collect(), expected, units }
    }
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is not {}", self.text, self.expected)?;
        match self.units {
            [] => Ok(()),
            units => write!(f, ": give a number from 0 up and one of {}", units.join(", ")),
        }
    }
}

impl core::error::Error for ParseUnitError {}

/// The names from a list of units and their sizes.
pub(crate) const fn names<const N: usize>(units: &[(&'static str, f64); N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut index = 0;
    while index < N {
        names[index] = units[index].0;
        index += 1;
    }
    names
}

/// Reads "NUMBER UNIT", where the unit is one of `names`, into a whole number of the smallest unit.
/// Rejects numbers that are negative, not finite, or too large for 64 bits.
pub(crate) fn parse_scaled(
    text: &str,
    error: impl Fn() -> ParseUnitError,
    names: &[(&str, f64)],
) -> Result<u64, ParseUnitError> {
    let trimmed = text.trim();
    let (number, scale) = names
        .iter()
        .filter_map(|&(name, scale)| Some((trimmed.strip_suffix(name)?, scale, name.len())))
        .max_by_key(|&(_, _, length)| length)
        .map(|(number, scale, _)| (number.trim_end(), scale))
        .ok_or_else(&error)?;
    let value = number.parse::<f64>().map_err(|_| error())? * scale;
    // 2^63 keeps sums of two quantities from overflowing.
    if !(0.0..9.2e18).contains(&value) {
        return Err(error());
    }
    Ok(exact(number, scale as u64).unwrap_or(rounded(value)))
}

/// Rounds `value` to the nearest whole number, halves away from zero. Negative values and NaN become
/// zero; values that are too large become the maximum. Equivalent to `value.round() as u64`, which
/// `core` does not have.
pub(crate) fn rounded(value: f64) -> u64 {
    let whole = value as u64;
    // Exact: from 2^53 on there are no fractions left.
    if value - whole as f64 >= 0.5 { whole.saturating_add(1) } else { whole }
}

/// `number` times `scale`, to the nearest whole number, for a plain decimal number: a double would
/// lose the last digits of numbers above 2^53.
fn exact(number: &str, scale: u64) -> Option<u64> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{decimals}");
    // The number of digits whose product with the largest scale still fits in 128 bits.
    if digits.len() > 24 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let parts = 10_u128.pow(u32::try_from(decimals.len()).ok()?);
    let scaled = digits.parse::<u128>().ok()? * u128::from(scale);
    u64::try_from((scaled + parts / 2) / parts).ok()
}

/// Prints `value` in the largest of `units` (from large to small) that needs no more than three
/// decimals, so that nothing is lost; the smallest unit otherwise.
pub(crate) fn display_scaled(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    units: &[(&str, f64)],
) -> fmt::Result {
    let exact = |&&(_, scale): &&(&str, f64)| {
        let scale = scale as u64;
        value >= scale && (u128::from(value) * 1000).is_multiple_of(u128::from(scale))
    };
    let &(name, scale) = units.iter().find(exact).unwrap_or(&units[units.len() - 1]);
    let scale = scale as u64;
    let (whole, thousandths) = (value / scale, (value % scale) as u128 * 1000 / scale as u128);
    if thousandths == 0 {
        return write!(f, "{whole} {name}");
    }
    let decimals = format!("{thousandths:03}");
    write!(f, "{whole}.{} {name}", decimals.trim_end_matches('0'))
}

/// Serde by text, with the feature `serde`: written as printed, read as parsed.
macro_rules! text_serde {
    ($type:ident) => {
        #[cfg(feature = "serde")]
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<$type, D::Error> {
                let text =
                    <alloc::string::String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use text_serde;

#[cfg(test)]
mod tests {
    use super::rounded;
    use proptest::prelude::*;

    #[test]
    fn rounding_saturates_at_the_limits() {
        let edges =
            [0.0, -0.0, 0.5, 0.49999999999999994, 1.5, 2.5, 4503599627370495.5, 9007199254740993.0];
        let wild =
            [-0.5, -1e9, 1.8446744073709552e19, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        for value in edges.into_iter().chain(wild) {
            assert_eq!(rounded(value), value.round() as u64, "{value}");
        }
    }

    proptest! {
        #[test]
        fn rounding_agrees_with_std(value in prop::num::f64::ANY, small in -3.0..1e7) {
            prop_assert_eq!(rounded(value), value.round() as u64);
            prop_assert_eq!(rounded(small), f64::round(small) as u64);
        }
    }
}
