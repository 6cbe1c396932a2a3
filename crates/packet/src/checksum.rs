//! The Internet checksum (RFC 1071).

/// The sum of 16-bit words, not yet folded.
pub fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(2);
    let last = words.remainder().first().map_or(0, |&byte| u32::from(byte) << 8);
    words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum::<u32>() + last
}

/// Folds the sum into 16 bits.
pub fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Writes the checksum of `header`, a complete IPv4 header, into it.
///
/// # Panics
/// `header` is shorter than an IPv4 header.
pub fn write_ipv4(header: &mut [u8]) {
    header[10..12].fill(0);
    let check = !fold(sum(header));
    header[10..12].copy_from_slice(&check.to_be_bytes());
}

/// Updates the checksum `check` when a word that it covers changes from `before` to `after` (RFC 1624,
/// equation 3).
pub fn updated(check: u16, before: u16, after: u16) -> u16 {
    !fold(u32::from(!check) + u32::from(!before) + u32::from(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 1624, section 4.
    #[test]
    fn a_checksum_is_updated() {
        assert_eq!(updated(0xdd2f, 0x5555, 0x3285), 0x0000);
        assert_eq!(sum(&[1, 2, 3]), 0x0102 + 0x0300);
        assert_eq!(fold(0x1_ffff), 1);
    }

    /// The header of RFC 1071's successors' usual example.
    #[test]
    fn a_header_sums_to_all_ones() {
        let mut header = [
            0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0,
            0xc7,
        ];
        write_ipv4(&mut header);
        assert_eq!(header[10..12], [0xb8, 0x61]);
        assert_eq!(fold(sum(&header)), 0xffff);
    }
}
