//! [`VnetHeader`]: the kernel's metadata of a packet that is not yet segmented or checksummed.

/// The size of `struct virtio_net_hdr` in bytes.
pub const VNET_HEADER: usize = 10;

const NEEDS_CSUM: u8 = 1;
const DATA_VALID: u8 = 2;
const GSO_ECN: u8 = 0x80;

/// The kind of segmentation that a packet needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Segmentation {
    /// None.
    #[default]
    None,
    /// A TCP segment over IPv4.
    Tcp4,
    /// A TCP segment over IPv6.
    Tcp6,
    /// UDP datagrams of one flow, over IPv4 or IPv6.
    Udp,
    /// One that this crate does not ask for, such as UDP fragmentation.
    Other(u8),
}

/// The header of virtio network devices (`struct virtio_net_hdr`, `include/uapi/linux/virtio_net.h`), which precedes
/// each packet on TUN devices and packet sockets with offloads: it describes the segmentation and the checksum that
/// the kernel leaves to the reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VnetHeader {
    /// Whether the checksum must be completed: the sum from `csum_start` to the end belongs `csum_offset` bytes
    /// after `csum_start`, where the sum of the pseudo-header is.
    pub needs_csum: bool,
    /// Whether the checksum was verified.
    pub data_valid: bool,
    /// The segmentation that it needs.
    pub segmentation: Segmentation,
    /// Whether only the first segment carries the CWR flag of TCP.
    pub ecn: bool,
    /// The bytes of its headers.
    pub header_len: u16,
    /// The payload of a segment in bytes.
    pub gso_size: u16,
    /// Where the checksummed part begins.
    pub csum_start: u16,
    /// The offset of the checksum from there.
    pub csum_offset: u16,
}

impl VnetHeader {
    /// Parses it in host byte order, the default of devices.
    #[inline]
    pub fn read(bytes: &[u8; VNET_HEADER]) -> VnetHeader {
        let number = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        VnetHeader {
            needs_csum: bytes[0] & NEEDS_CSUM != 0,
            data_valid: bytes[0] & DATA_VALID != 0,
            segmentation: match bytes[1] & !GSO_ECN {
                0 => Segmentation::None,
                1 => Segmentation::Tcp4,
                4 => Segmentation::Tcp6,
                5 => Segmentation::Udp,
                other => Segmentation::Other(other),
            },
            ecn: bytes[1] & GSO_ECN != 0,
            header_len: number(2),
            gso_size: number(4),
            csum_start: number(6),
            csum_offset: number(8),
        }
    }

    /// Encodes it.
    #[inline]
    pub fn write(&self) -> [u8; VNET_HEADER] {
        let mut bytes = [0; VNET_HEADER];
        bytes[0] = if self.needs_csum { NEEDS_CSUM } else { 0 }
            | if self.data_valid { DATA_VALID } else { 0 };
        bytes[1] = match self.segmentation {
            Segmentation::None => 0,
            Segmentation::Tcp4 => 1,
            Segmentation::Tcp6 => 4,
            Segmentation::Udp => 5,
            Segmentation::Other(other) => other,
        } | if self.ecn { GSO_ECN } else { 0 };
        for (at, value) in
            [(2, self.header_len), (4, self.gso_size), (6, self.csum_start), (8, self.csum_offset)]
        {
            bytes[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for (kind, segmentation) in [
            (0, Segmentation::None),
            (1, Segmentation::Tcp4),
            (4, Segmentation::Tcp6),
            (5, Segmentation::Udp),
            (3, Segmentation::Other(3)),
        ] {
            let header = VnetHeader {
                needs_csum: true,
                data_valid: false,
                segmentation,
                ecn: kind == 1,
                header_len: 54,
                gso_size: 1448,
                csum_start: 20,
                csum_offset: 16,
            };
            let bytes = header.write();
            assert_eq!(bytes[1] & 0x7f, kind);
            assert_eq!(VnetHeader::read(&bytes), header);
        }
    }
}
