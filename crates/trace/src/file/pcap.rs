//! Traces from captured packets: each arrival is an opportunity.
//!
//! The format is libpcap's classic one (draft-ietf-opsawg-pcap), in either byte order, with times
//! in microseconds or nanoseconds.

use super::{MAX_FILE, Times, TraceError, load};
use crate::{MAX_TIME, Trace};
use exm_units::{Instant, Span};
use std::io::{BufRead, ErrorKind, Read as _};
use std::path::Path;

/// The magic numbers of files in microseconds and in nanoseconds, and of the newer format.
const MICROS: u32 = 0xa1b2_c3d4;
const NANOS: u32 = 0xa1b2_3c4d;
const NEWER: u32 = 0x0a0d_0d0a;

/// The lengths of the rest of the file header and of a packet header, in bytes.
const HEADER: usize = 20;
const RECORD: usize = 16;

impl Trace {
    /// Reads the packet arrivals in `file`, counted from the first: the capture of a receiver whose
    /// link was saturated.
    ///
    /// # Errors
    /// The file cannot be read, is too large, or has no packets.
    pub fn load_pcap(file: &Path) -> Result<Trace, TraceError> {
        load(file, Trace::read_pcap)
    }

    /// As [`Trace::load_pcap`], but from `reader`, which errors call `file`.
    ///
    /// # Errors
    /// It cannot be read, is too large, or has no packets.
    pub fn read_pcap(reader: impl BufRead, file: &str) -> Result<Trace, TraceError> {
        let mut bytes = Capture { reader: reader.take(MAX_FILE + 1), file };
        let format = bytes.format()?;
        let mut times = Times::new(file);
        let mut first = None;
        for number in 1u64.. {
            let Some(time) = bytes.packet(format, number)? else { break };
            let zero = *first.get_or_insert(time);
            let Some(since) = time.checked_sub(zero) else {
                let problem = format!("packet {number} came before the first: sort the capture");
                return Err(bytes.failed(problem));
            };
            let since = Instant::ZERO + Span::from_nanos(since).min(MAX_TIME - Instant::ZERO);
            times.push(since, || format!("packet {number}"))?;
        }
        times.finish()
    }
}

/// The encoding of a file's numbers.
#[derive(Clone, Copy)]
struct Format {
    is_swapped: bool,
    /// The fractional part of a time in units of this many nanoseconds.
    part: u64,
}

impl Format {
    /// The number in the first four of `bytes`.
    fn number(self, bytes: &[u8]) -> u64 {
        let number = bytes.iter().take(4).fold(0u32, |number, &byte| number << 8 | u32::from(byte));
        u64::from(if self.is_swapped { number.swap_bytes() } else { number })
    }
}

struct Capture<'a, R> {
    reader: std::io::Take<R>,
    file: &'a str,
}

impl<R: BufRead> Capture<'_, R> {
    fn format(&mut self) -> Result<Format, TraceError> {
        let mut magic = [0; 4];
        let is_whole = self.fill(&mut magic)?;
        let number = u32::from_be_bytes(magic);
        if number == NEWER {
            let problem = "this is a pcapng file: convert it to pcap, as by editcap -F pcap";
            return Err(self.failed(problem));
        }
        let is_swapped = matches!(number.swap_bytes(), MICROS | NANOS);
        let part = match if is_swapped { number.swap_bytes() } else { number } {
            MICROS => 1000,
            NANOS => 1,
            _ => return Err(self.failed("this is not a pcap capture")),
        };
        if !is_whole || !self.fill(&mut [0; HEADER])? {
            return Err(self.failed("the capture ends within its header"));
        }
        Ok(Format { is_swapped, part })
    }

    /// The time of the next captured packet, in nanoseconds; none after the last.
    fn packet(&mut self, format: Format, number: u64) -> Result<Option<u64>, TraceError> {
        let mut header = [0; RECORD];
        if !self.fill(&mut header)? {
            return Ok(None);
        }
        let (seconds, parts) = (format.number(&header), format.number(&header[4..]));
        let length = format.number(&header[8..]);
        let failed = |source| TraceError::Read { file: self.file.to_owned(), source };
        let skipped = std::io::copy(&mut self.reader.by_ref().take(length), &mut std::io::sink())
            .map_err(failed)?;
        if self.reader.limit() == 0 {
            return Err(TraceError::TooLarge { file: self.file.to_owned() });
        }
        if skipped < length {
            return Err(self.failed(format!("the capture ends within packet {number}")));
        }
        // At most 2^32 seconds and as many microseconds.
        Ok(Some(seconds * 1_000_000_000 + parts * format.part))
    }

    /// Fills `bytes`; false at the end of the file.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<bool, TraceError> {
        let failed = |source| TraceError::Read { file: self.file.to_owned(), source };
        if self.reader.fill_buf().map_err(failed)?.is_empty() {
            return Ok(false);
        }
        match self.reader.read_exact(bytes) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(self.failed("the capture ends within a header"))
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn failed(&self, problem: impl Into<String>) -> TraceError {
        TraceError::Capture { file: self.file.to_owned(), problem: problem.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A capture of packets of three bytes at these seconds and fractional parts.
    fn capture(magic: u32, packets: &[(u32, u32)], bytes: fn(u32) -> [u8; 4]) -> Vec<u8> {
        let mut file = bytes(magic).to_vec();
        file.extend([0; HEADER]);
        for &(seconds, parts) in packets {
            for number in [seconds, parts, 3, 1500] {
                file.extend(bytes(number));
            }
            file.extend(b"abc");
        }
        file
    }

    #[test]
    fn arrivals_count_from_the_first() {
        let packets =
            [(1_700_000_000, 500_000), (1_700_000_000, 500_000), (1_700_000_001, 250_017)];
        for bytes in [u32::to_le_bytes, u32::to_be_bytes] {
            let trace = |magic| {
                let file = capture(magic, &packets, bytes);
                Trace::read_pcap(&file[..], "c.pcap").expect("a trace").to_text()
            };
            assert_eq!(trace(MICROS), "0\n0\n750.017\n");
            assert_eq!(trace(NANOS), "0\n0\n999.750017\n");
        }
    }

    #[test]
    fn invalid_captures_are_rejected() {
        let error = |file: &[u8]| Trace::read_pcap(file, "c.pcap").expect_err("none").to_string();
        assert_eq!(error(b"1\n2\n3\n"), "c.pcap: this is not a pcap capture");
        assert!(error(&NEWER.to_be_bytes()).contains("editcap -F pcap"));
        let whole = capture(MICROS, &[(5, 0), (6, 0)], u32::to_le_bytes);
        assert!(error(&whole[..10]).contains("ends within"));
        assert!(error(&whole[..24]).contains("is empty"));
        assert!(error(&whole[..30]).contains("ends within a header"));
        assert!(error(&whole[..whole.len() - 1]).contains("ends within packet 2"));
        let back = capture(MICROS, &[(5, 0), (6, 0), (5, 5)], u32::to_le_bytes);
        assert!(error(&back).contains("packet 3: time goes backwards"));
        let before = capture(MICROS, &[(5, 0), (4, 0)], u32::to_le_bytes);
        assert!(error(&before).contains("packet 2 came before the first"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_rejected(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            is_begun in any::<bool>(),
        ) {
            let mut file = if is_begun { capture(MICROS, &[(1, 0)], u32::to_le_bytes) } else { vec![] };
            file.extend(bytes);
            let _ = Trace::read_pcap(&file[..], "c.pcap");
        }
    }
}
