#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! [`Reader`] reads the classic pcap format (draft-ietf-opsawg-pcap), in either byte order and with times in
//! microseconds or nanoseconds, and pcapng (draft-ietf-opsawg-pcapng). [`Writer`] writes pcapng. A [`LinkType`] finds the
//! IP packet in a frame.

mod frame;
mod reader;
mod writer;

pub use frame::{Headers, LinkType};
pub use reader::{CaptureError, Packet, Reader};
pub use writer::{Frame, Interface, InterfaceId, SNAPLEN, Writer};

/// The type of pcapng's section header block, which reads the same in either byte order.
const SECTION: u32 = 0x0a0d_0d0a;
/// Its magic number, which tells the byte order.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// The types of further blocks (sections 4.2 to 4.4 of the draft, and the obsolete packet block).
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
/// The options of an interface: the resolution of its times, and what is added to them, in seconds.
const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;

#[cfg(test)]
mod tests;
