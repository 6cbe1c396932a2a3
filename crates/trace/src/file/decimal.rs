//! Times as decimal numbers, exact to the nanosecond.

use std::fmt::Write as _;

/// The whole number of nanoseconds in `text`, which has digits and at most `decimals` decimals, in
/// a unit of 10^`decimals` nanoseconds.
pub(super) fn parse_decimal(text: &[u8], decimals: u32) -> Option<u64> {
    let point = text.iter().position(|&byte| byte == b'.');
    let (whole, parts) = point.map_or((text, &[][..]), |at| (&text[..at], &text[at + 1..]));
    let given = u32::try_from(parts.len()).ok()?;
    if whole.is_empty() || given > decimals || point.is_some_and(|at| at + 1 == text.len()) {
        return None;
    }
    let mut nanos = 0u64;
    for &digit in whole.iter().chain(parts) {
        if !digit.is_ascii_digit() {
            return None;
        }
        nanos = nanos.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    nanos.checked_mul(10_u64.pow(decimals - given))
}

/// Writes `nanos` in units of 10^`decimals` nanoseconds, with no more decimals than needed.
pub(super) fn write_decimal(text: &mut String, nanos: u64, decimals: u32) {
    let unit = 10_u64.pow(decimals);
    let (whole, parts) = (nanos / unit, nanos % unit);
    let written = match parts {
        0 => write!(text, "{whole}"),
        _ => write!(text, "{whole}.{parts:0width$}", width = decimals as usize),
    };
    written.expect("writing to a string succeeds");
    if parts > 0 {
        text.truncate(text.trim_end_matches('0').len());
    }
}
