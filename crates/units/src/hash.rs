//! [`Fnv1a`]: the hash that identifies configurations and files.

use core::fmt;

/// The 64-bit FNV-1a hash of the bytes written to it (G. Fowler, L. Noll, K.-P. Vo; draft-eastlake-fnv). It is
/// not a cryptographic hash: it detects accidental differences, not forgeries.
///
/// Stored hashes are computed over text with a documented grammar, never over `{:?}` output, so no compiler or
/// library changes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fnv1a(u64);

impl Fnv1a {
    /// The hash of no bytes.
    pub const fn new() -> Fnv1a {
        Fnv1a(0xcbf2_9ce4_8422_2325)
    }

    /// The hash of `bytes`.
    pub fn of(bytes: impl AsRef<[u8]>) -> Fnv1a {
        let mut hash = Fnv1a::new();
        hash.add(bytes.as_ref());
        hash
    }

    /// Adds `bytes`.
    pub fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The hash as a number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Default for Fnv1a {
    fn default() -> Fnv1a {
        Fnv1a::new()
    }
}

impl fmt::Write for Fnv1a {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text.as_bytes());
        Ok(())
    }
}

/// Prints 16 hexadecimal digits.
impl fmt::Display for Fnv1a {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::fmt::Write;

    /// The authors' test vectors.
    #[test]
    fn it_is_fnv_1a() {
        let of = |text: &str| Fnv1a::of(text).get();
        assert_eq!(of(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(of("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(of("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn splitting_the_input_does_not_change_the_hash() {
        let mut hash = Fnv1a::new();
        hash.add(b"foo");
        hash.write_str("bar").expect("a hash takes any text");
        assert_eq!(hash.to_string(), "85944171f73967e8");
    }
}
