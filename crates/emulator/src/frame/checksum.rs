//! The Internet's checksum (RFC 1071).

/// The sum of 16-bit words, not yet folded.
pub(crate) fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(2);
    let last = words.remainder().first().map_or(0, |&byte| u32::from(byte) << 8);
    words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum::<u32>() + last
}

/// The sum in 16 bits, carries added.
pub(crate) fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Writes the checksum of an IPv4 header.
pub(crate) fn write_ipv4(header: &mut [u8]) {
    header[10..12].fill(0);
    let check = !fold(sum(header));
    header[10..12].copy_from_slice(&check.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(sum(&[1, 2, 3]), 0x0102 + 0x0300);
    }
}
