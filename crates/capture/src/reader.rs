//! [`Reader`]: a capture being read.

use crate::{
    BYTE_ORDER, ENHANCED_PACKET, IF_TSOFFSET, IF_TSRESOL, INTERFACE, LinkType, OLD_PACKET, SECTION,
    SIMPLE_PACKET,
};
use std::io::{self, BufRead, Read as _};

/// The magic numbers of pcap files in microseconds and in nanoseconds.
const MICROS: u32 = 0xa1b2_c3d4;
const NANOS: u32 = 0xa1b2_3c4d;

/// The most bytes of a packet that are kept.
const KEPT: u32 = 256;
/// The most interfaces that a section may describe.
const MAX_INTERFACES: usize = 65_536;
/// The most bytes of a block that describes an interface.
const MAX_DESCRIPTION: u32 = 1 << 20;
/// The largest packet: what tcpdump reads at most.
const MAX_PACKET: u32 = 1 << 28;

/// Why a capture cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The system could not read it.
    #[error("cannot read the capture {file}: {source}")]
    Read {
        /// The file.
        file: String,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not a capture, or is damaged.
    #[error("{file}, byte {offset}: {problem}")]
    Format {
        /// The file.
        file: String,
        /// Where in the file the problem is, in bytes from its start.
        offset: u64,
        /// The problem, and the way out.
        problem: String,
    },
}

/// A captured packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Packet<'a> {
    /// When it was captured, in nanoseconds since the start of 1970; none if the file does not tell.
    pub time: Option<u64>,
    /// As `time`, zero if the file does not tell.
    pub at: u64,
    /// The type of the link on which it was captured.
    pub link_type: LinkType,
    /// Its length on the link.
    pub original_length: u32,
    /// Its first bytes: at most 256, and fewer if the capture has fewer.
    pub bytes: &'a [u8],
    /// Where in the file its block begins, in bytes from the file's start.
    pub offset: u64,
}

/// The unit of a clock.
#[derive(Clone, Copy, Debug)]
enum Unit {
    /// So many nanoseconds.
    Nanos(u64),
    /// So many to a nanosecond.
    PerNano(u64),
    /// 2 to the power of so many to a second.
    PerSecond(u32),
}

impl Unit {
    /// That of an `if_tsresol` option (section 4.2 of the draft), if its clock ticks at most 2^64 times a
    /// second.
    fn new(resolution: u8) -> Option<Unit> {
        let power = u32::from(resolution & 0x7f);
        match (resolution & 0x80 != 0, power) {
            (true, 0..=63) => Some(Unit::PerSecond(power)),
            (false, 0..=9) => Some(Unit::Nanos(10u64.pow(9 - power))),
            (false, 10..=19) => Some(Unit::PerNano(10u64.pow(power - 9))),
            _ => None,
        }
    }

    /// `count` of it, in nanoseconds.
    fn nanos(self, count: u64) -> u128 {
        let count = u128::from(count);
        match self {
            Unit::Nanos(nanos) => count * u128::from(nanos),
            Unit::PerNano(units) => count / u128::from(units),
            Unit::PerSecond(power) => (count * 1_000_000_000) >> power,
        }
    }
}

/// An interface that a file describes.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link_type: LinkType,
    snaplen: u32,
    unit: Unit,
    /// What is added to its times, in seconds.
    offset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Classic,
    Next,
}

/// Reads a capture packet by packet.
#[derive(Debug)]
pub struct Reader<R> {
    reader: R,
    file: String,
    /// The bytes read so far.
    offset: u64,
    format: Format,
    is_big_endian: bool,
    interfaces: Vec<Interface>,
    kept: Vec<u8>,
}

impl<R: BufRead> Reader<R> {
    /// Begins to read a capture, which errors call `file`.
    ///
    /// # Errors
    /// It cannot be read, or is no capture.
    pub fn new(reader: R, file: &str) -> Result<Reader<R>, CaptureError> {
        let mut reader = Reader {
            reader,
            file: file.to_owned(),
            offset: 0,
            format: Format::Classic,
            is_big_endian: false,
            interfaces: Vec::new(),
            kept: Vec::new(),
        };
        let magic = reader.array::<4>("the file's first four bytes")?;
        let magic = u32::from_le_bytes(magic);
        if magic == SECTION {
            reader.format = Format::Next;
            reader.section(0)?;
        } else {
            reader.classic_header(magic)?;
        }
        Ok(reader)
    }

    /// The next packet; none after the last.
    ///
    /// # Errors
    /// The file cannot be read, ends within a packet, or is damaged.
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        match self.format {
            Format::Classic => self.classic_packet(),
            Format::Next => self.next_block(),
        }
    }

    /// The rest of a pcap file's header.
    fn classic_header(&mut self, magic: u32) -> Result<(), CaptureError> {
        self.is_big_endian = matches!(magic.swap_bytes(), MICROS | NANOS);
        let unit = match if self.is_big_endian { magic.swap_bytes() } else { magic } {
            MICROS => Unit::Nanos(1000),
            NANOS => Unit::Nanos(1),
            _ => {
                let problem = "this is no capture: it begins like neither pcap nor pcapng; give a file \
                               that tcpdump -w or Wireshark wrote, uncompressed";
                return Err(self.failed(0, problem));
            }
        };
        // Version, two unused words, the length of the longest packet, and the type of the link.
        let header = self.array::<20>("the file's header")?;
        let snaplen = self.number(&header[12..]);
        let link_type = LinkType(self.number(&header[16..]) & 0xffff);
        self.interfaces.push(Interface { link_type, snaplen, unit, offset: 0 });
        Ok(())
    }

    fn classic_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        let begin = self.offset;
        if self.is_at_end()? {
            return Ok(None);
        }
        let header = self.array::<16>("the header of a packet")?;
        let (seconds, parts) = (self.number(&header), self.number(&header[4..]));
        let (captured, original_length) = (self.number(&header[8..]), self.number(&header[12..]));
        let interface = self.interfaces[0];
        // Less than 2^62 nanoseconds.
        let time = u64::from(seconds) * 1_000_000_000
            + interface.unit.nanos(u64::from(parts)).min(u128::from(u32::MAX) * 1000) as u64;
        self.keep(begin, captured)?;
        let link_type = interface.link_type;
        Ok(Some(Packet {
            time: Some(time),
            at: time,
            link_type,
            original_length,
            bytes: &self.kept,
            offset: begin,
        }))
    }

    /// Reads blocks until one is a packet.
    fn next_block(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        loop {
            let begin = self.offset;
            if self.is_at_end()? {
                return Ok(None);
            }
            let kind = self.array::<4>("the type of a block")?;
            if u32::from_le_bytes(kind) == SECTION {
                self.section(begin)?;
                continue;
            }
            let kind = self.number(&kind);
            let length = self.array::<4>("the length of a block")?;
            let length = self.number(&length);
            if length < 12 || !length.is_multiple_of(4) {
                let problem = format!(
                    "a block of {length} bytes is impossible: the capture is damaged; read it with \
                     Wireshark and save what it shows"
                );
                return Err(self.failed(begin, problem));
            }
            let body = length - 12;
            let packet = match kind {
                INTERFACE => {
                    self.describe(begin, body)?;
                    None
                }
                ENHANCED_PACKET | OLD_PACKET => Some(self.block_packet(begin, kind, body)?),
                SIMPLE_PACKET => Some(self.simple_packet(begin, body)?),
                _ => {
                    self.skip(u64::from(body), "a block")?;
                    None
                }
            };
            self.close(begin, length)?;
            if let Some((interface, time, original_length)) = packet {
                let link_type = self.interfaces[interface].link_type;
                let at = time.unwrap_or(0);
                let bytes = &self.kept;
                let offset = begin;
                return Ok(Some(Packet { time, at, link_type, original_length, bytes, offset }));
            }
        }
    }

    /// A section's header, after its type: it forgets the interfaces of the section before.
    fn section(&mut self, begin: u64) -> Result<(), CaptureError> {
        let header = self.array::<8>("the header of a section")?;
        self.is_big_endian = match u32::from_le_bytes([header[4], header[5], header[6], header[7]])
        {
            BYTE_ORDER => false,
            order if order.swap_bytes() == BYTE_ORDER => true,
            _ => {
                let problem = "the section has no byte order that pcapng knows: the capture is damaged; \
                               read it with Wireshark and save what it shows";
                return Err(self.failed(begin, problem));
            }
        };
        let length = self.number(&header);
        if length < 28 || !length.is_multiple_of(4) {
            let problem = format!(
                "a section header of {length} bytes is impossible: the capture is damaged; read it with \
                 Wireshark and save what it shows"
            );
            return Err(self.failed(begin, problem));
        }
        let version = self.array::<4>("the header of a section")?;
        let major = self.half(&version);
        if major != 1 {
            let problem = format!(
                "version {major} of pcapng is not known: convert the file with editcap -F pcap"
            );
            return Err(self.failed(begin, problem));
        }
        self.interfaces.clear();
        self.skip(u64::from(length) - 20, "the header of a section")?;
        self.close(begin, length)
    }

    /// The body of a block that describes an interface.
    fn describe(&mut self, begin: u64, body: u32) -> Result<(), CaptureError> {
        if !(8..=MAX_DESCRIPTION).contains(&body) || self.interfaces.len() == MAX_INTERFACES {
            let problem = format!(
                "an interface described in {body} bytes, after {} others, is not believable: the capture is \
                 damaged; read it with Wireshark and save what it shows",
                self.interfaces.len()
            );
            return Err(self.failed(begin, problem));
        }
        let mut block = vec![0; body as usize];
        self.fill(&mut block, "the description of an interface")?;
        let mut interface = Interface {
            link_type: LinkType(u32::from(self.half(&block))),
            snaplen: self.number(&block[4..]),
            unit: Unit::Nanos(1000),
            offset: 0,
        };
        let mut rest = &block[8..];
        while let Some((header, after)) = rest.split_at_checked(4) {
            let (kind, length) = (self.half(header), usize::from(self.half(&header[2..])));
            let Some(value) = after.get(..length).filter(|_| kind != 0) else { break };
            match (kind, value) {
                (IF_TSRESOL, &[resolution]) => {
                    interface.unit = Unit::new(resolution).ok_or_else(|| {
                        let problem = format!(
                            "the times of an interface have the resolution {resolution:#x}, which is finer \
                             than is known: convert the file with editcap -F pcap"
                        );
                        self.failed(begin, problem)
                    })?;
                }
                (IF_TSOFFSET, value) if length == 8 => {
                    let words = [self.number(value), self.number(&value[4..])].map(u64::from);
                    let [first, second] =
                        if self.is_big_endian { words } else { [words[1], words[0]] };
                    interface.offset = (first << 32 | second) as i64;
                }
                _ => {}
            }
            rest = after.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        self.interfaces.push(interface);
        Ok(())
    }

    /// The body of an enhanced packet block, or of the packet block that it replaced: the packet's interface,
    /// time and length.
    fn block_packet(
        &mut self,
        begin: u64,
        kind: u32,
        body: u32,
    ) -> Result<(usize, Option<u64>, u32), CaptureError> {
        if body < 20 {
            return Err(self.impossible(begin, body));
        }
        let header = self.array::<20>("the header of a packet")?;
        let index = match kind {
            OLD_PACKET => u32::from(self.half(&header)),
            _ => self.number(&header),
        };
        let (high, low) = (self.number(&header[4..]), self.number(&header[8..]));
        let (captured, original) = (self.number(&header[12..]), self.number(&header[16..]));
        let interface = self.interface(begin, index)?;
        let ticks = u64::from(high) << 32 | u64::from(low);
        let nanos = i128::try_from(interface.unit.nanos(ticks)).unwrap_or(i128::MAX);
        let nanos = nanos.saturating_add(i128::from(interface.offset) * 1_000_000_000);
        let time = u64::try_from(nanos).map_err(|_| {
            let problem = "the time of the packet is before 1970 or after 2554: the clock of the capture was \
                           wrong; shift it with editcap -t";
            self.failed(begin, problem)
        })?;
        let padded = u64::from(captured).next_multiple_of(4);
        let Some(rest) = u64::from(body - 20).checked_sub(padded) else {
            return Err(self.impossible(begin, captured));
        };
        self.keep(begin, captured)?;
        self.skip(padded - u64::from(captured) + rest, "a packet")?;
        Ok((index as usize, Some(time), original))
    }

    /// The body of a simple packet block, which has no time.
    fn simple_packet(
        &mut self,
        begin: u64,
        body: u32,
    ) -> Result<(usize, Option<u64>, u32), CaptureError> {
        if body < 4 {
            return Err(self.impossible(begin, body));
        }
        let header = self.array::<4>("the header of a packet")?;
        let original = self.number(&header);
        let interface = self.interface(begin, 0)?;
        let most = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
        let captured = original.min(most).min(body - 4);
        self.keep(begin, captured)?;
        self.skip(u64::from(body - 4 - captured), "a packet")?;
        Ok((0, None, original))
    }

    fn interface(&self, begin: u64, index: u32) -> Result<Interface, CaptureError> {
        self.interfaces.get(index as usize).copied().ok_or_else(|| {
            let problem = format!(
                "the packet was captured on interface {index}, which the file does not describe: the capture \
                 is damaged; read it with Wireshark and save what it shows"
            );
            self.failed(begin, problem)
        })
    }

    fn impossible(&self, begin: u64, length: u32) -> CaptureError {
        let problem = format!(
            "a packet of {length} bytes does not fit its block: the capture is damaged; read it with \
             Wireshark and save what it shows"
        );
        self.failed(begin, problem)
    }

    /// The length of a block, which stands at its end again.
    fn close(&mut self, begin: u64, length: u32) -> Result<(), CaptureError> {
        let again = self.array::<4>("a block")?;
        let again = self.number(&again);
        if again == length {
            return Ok(());
        }
        let problem = format!(
            "the block begins with a length of {length} bytes and ends with one of {again}: the capture is \
             damaged; read it with Wireshark and save what it shows"
        );
        Err(self.failed(begin, problem))
    }

    /// Reads `captured` bytes of a packet whose block begins at `begin`, and keeps the first.
    fn keep(&mut self, begin: u64, captured: u32) -> Result<(), CaptureError> {
        if captured > MAX_PACKET {
            let problem = format!(
                "a packet of {captured} bytes is not believable: the capture is damaged; read it with \
                 Wireshark and save what it shows"
            );
            return Err(self.failed(begin, problem));
        }
        let mut kept = std::mem::take(&mut self.kept);
        kept.resize(captured.min(KEPT) as usize, 0);
        let filled = self.fill(&mut kept, "a packet");
        self.kept = kept;
        filled?;
        self.skip(u64::from(captured.saturating_sub(KEPT)), "a packet")
    }

    fn is_at_end(&mut self) -> Result<bool, CaptureError> {
        match self.reader.fill_buf() {
            Ok(bytes) => Ok(bytes.is_empty()),
            Err(source) => Err(CaptureError::Read { file: self.file.clone(), source }),
        }
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], CaptureError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, what)?;
        Ok(bytes)
    }

    /// Fills `bytes`, which are part of `what`.
    fn fill(&mut self, bytes: &mut [u8], what: &str) -> Result<(), CaptureError> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.reader.read(&mut bytes[filled..]) {
                Ok(0) => return Err(self.truncated(filled as u64, what)),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(CaptureError::Read { file: self.file.clone(), source }),
            }
        }
        self.offset += filled as u64;
        Ok(())
    }

    /// Skips `count` bytes of `what`.
    fn skip(&mut self, count: u64, what: &str) -> Result<(), CaptureError> {
        let skipped = io::copy(&mut (&mut self.reader).take(count), &mut io::sink());
        match skipped {
            Ok(skipped) if skipped < count => Err(self.truncated(skipped, what)),
            Ok(skipped) => {
                self.offset += skipped;
                Ok(())
            }
            Err(source) => Err(CaptureError::Read { file: self.file.clone(), source }),
        }
    }

    /// The file ends `further` bytes after the last whole field.
    fn truncated(&self, further: u64, what: &str) -> CaptureError {
        let problem = format!(
            "the file ends within {what}: it was cut, or is still being written; editcap of Wireshark writes \
             the whole packets before that to another file"
        );
        self.failed(self.offset + further, problem)
    }

    fn failed(&self, offset: u64, problem: impl Into<String>) -> CaptureError {
        CaptureError::Format { file: self.file.clone(), offset, problem: problem.into() }
    }

    /// The number in the first four of `bytes`, in the file's byte order.
    fn number(&self, bytes: &[u8]) -> u32 {
        let bytes = bytes.first_chunk().copied().unwrap_or_default();
        if self.is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    fn half(&self, bytes: &[u8]) -> u16 {
        let bytes = bytes.first_chunk().copied().unwrap_or_default();
        if self.is_big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }
}
