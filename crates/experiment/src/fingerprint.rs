//! [`Fingerprint`]: a short number that tells configurations apart.

use std::fmt;

/// FNV-1a of 64 bits (Fowler, Noll & Vo), over whatever is written to it. It tells apart what
/// differs by accident, not what somebody makes alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    pub(crate) const fn new() -> Fingerprint {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }

    /// That of `text` alone.
    pub(crate) fn of(text: &str) -> Fingerprint {
        let mut fingerprint = Fingerprint::new();
        fingerprint.add(text.as_bytes());
        fingerprint
    }

    /// Adds `bytes` and an end, so that "ab" and "c" are not "a" and "bc".
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes.iter().chain(&[0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

impl fmt::Write for Fingerprint {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text.as_bytes());
        Ok(())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_together() {
        let of = |parts: [&str; 2]| {
            let mut fingerprint = Fingerprint::new();
            parts.iter().for_each(|part| fingerprint.add(part.as_bytes()));
            fingerprint
        };
        assert_ne!(of(["ab", "c"]), of(["a", "bc"]));
        assert_eq!(of(["ab", "c"]).to_string().len(), 16);
    }
}
