//! Traces from captured packets.

use super::{Times, TraceError, load};
use crate::{MAX_TIME, OPPORTUNITY, Trace};
use exm_capture::{Headers, LinkType, Packet, Reader};
use exm_units::{Bytes, Instant, Span};
use std::collections::BTreeMap;
use std::io::BufRead;
use std::net::IpAddr;
use std::path::Path;

/// The most sources that are told apart, which limits the memory.
const MAX_SOURCES: usize = 1000;
/// How far a packet may be from its place in the order of time: systems with several queues write captures so.
const DISORDER: u64 = 1_000_000_000;

/// Which packets of a capture a trace is made of, and how many bytes an opportunity carries.
///
/// The capture is that of a receiver whose link was saturated: whenever the link could deliver something, a packet
/// arrived. Each [`mtu`](Import::mtu) bytes of IP packets that arrived are an opportunity, at the arrival of the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Import {
    /// The source of the packets; any if none.
    pub from: Option<IpAddr>,
    /// Their destination; any if none.
    pub to: Option<IpAddr>,
    /// Their source's port or their destination's; any if none.
    pub port: Option<u16>,
    /// The bytes of an opportunity.
    pub mtu: Bytes,
}

impl Default for Import {
    /// All IP packets, and [`OPPORTUNITY`] bytes.
    fn default() -> Import {
        Import { from: None, to: None, port: None, mtu: OPPORTUNITY }
    }
}

/// A trace that was made from a capture.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Imported {
    /// The trace.
    pub trace: Trace,
    /// The IP packets that it was made of.
    pub packets: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// The other packets of the capture.
    pub left_out: u64,
    /// The sources of the packets that it was made of with the bytes of each, most bytes first; at most 1000.
    pub sources: Vec<(IpAddr, Bytes)>,
}

impl Trace {
    /// Makes a trace of the packets in `file`, a capture in pcap or pcapng, by `import`. Its time is counted from the
    /// first of them.
    ///
    /// # Errors
    /// The file cannot be read, is no capture, or too few of its packets are those of `import`.
    pub fn import(file: &Path, import: &Import) -> Result<Imported, TraceError> {
        load(file, |reader, file| Trace::import_from(reader, file, import))
    }

    /// As [`Trace::import`], but from `reader`, which errors call `file`.
    ///
    /// ```
    /// use exm_capture::{Frame, Interface, Writer};
    /// use exm_trace::{Import, Trace};
    ///
    /// let mut capture = Writer::new(Vec::new(), "example")?;
    /// let link = capture.interface(&Interface::new("link", "a saturated link"))?;
    /// for millisecond in 0..10 {
    ///     // The header of a packet of 750 bytes.
    ///     let mut packet = [0; 20];
    ///     (packet[0], packet[2], packet[3]) = (0x45, 2, 238);
    ///     let frame = Frame { bytes: &packet, length: 750, comment: None };
    ///     capture.packet(link, millisecond * 1_000_000, &frame)?;
    /// }
    /// let file = capture.finish()?;
    /// let imported = Trace::import_from(&file[..], "example.pcapng", &Import::default())?;
    /// assert_eq!(imported.trace.to_text(), "1\n3\n5\n7\n9\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Trace::import`].
    pub fn import_from(
        reader: impl BufRead,
        file: &str,
        import: &Import,
    ) -> Result<Imported, TraceError> {
        let mut reader = Reader::new(reader, file)?;
        let (mut counts, mut times) = (Counts::default(), Times::new(file));
        let mut span: Option<(u64, u64)> = None;
        let mut carried = 0u64;
        let mtu = import.mtu.get().max(1);
        while let Some(packet) = reader.next_packet()? {
            let Some((headers, length)) = accepted(import, &packet, file)? else {
                counts.left_out += 1;
                continue;
            };
            counts.add(headers.flow.from.0, length);
            let Some(time) = packet.time else {
                let problem = "the packet has no time: capture anew, in a format with times";
                return Err(failed(file, packet.offset, problem));
            };
            let (first, last) = *span.get_or_insert((time, time));
            if time.saturating_add(DISORDER) < last {
                let problem = "the packet was captured more than a second before those ahead of it: sort \
                               the capture, as by reordercap of Wireshark";
                return Err(failed(file, packet.offset, problem));
            }
            let now = time.max(last);
            span = Some((first, now));
            carried += u64::from(length);
            let since = Span::from_nanos(now - first).min(MAX_TIME - Instant::ZERO);
            while carried >= mtu {
                carried -= mtu;
                times.push(Instant::ZERO + since, || format!("byte {}", packet.offset))?;
            }
        }
        if times.is_empty() {
            return Err(counts.too_few(file, import));
        }
        counts.finish(times.finish()?)
    }

    /// Reads the packets in `file`, a capture in pcap or pcapng: each is an opportunity, whatever its length. Time is
    /// counted from the first.
    ///
    /// # Errors
    /// The file cannot be read, or has no packets.
    pub fn load_pcap(file: &Path) -> Result<Trace, TraceError> {
        load(file, Trace::read_pcap)
    }

    /// As [`Trace::load_pcap`], but from `reader`, which errors call `file`.
    ///
    /// # Errors
    /// It cannot be read, or has no packets.
    pub fn read_pcap(reader: impl BufRead, file: &str) -> Result<Trace, TraceError> {
        let mut reader = Reader::new(reader, file)?;
        let mut times = Times::new(file);
        let mut first = None;
        while let Some(packet) = reader.next_packet()? {
            let time = packet.at;
            let Some(since) = time.checked_sub(*first.get_or_insert(time)) else {
                let problem = "the packet came before the first: sort the capture, as by reordercap of \
                               Wireshark";
                return Err(failed(file, packet.offset, problem));
            };
            let since = Instant::ZERO + Span::from_nanos(since).min(MAX_TIME - Instant::ZERO);
            times.push(since, || format!("byte {}", packet.offset))?;
        }
        times.finish()
    }
}

/// The headers of `packet`, and the length of its IP packet, if `import` accepts it.
fn accepted(
    import: &Import,
    packet: &Packet<'_>,
    file: &str,
) -> Result<Option<(Headers, u32)>, TraceError> {
    let link_type = packet.link_type;
    if !link_type.is_known() {
        let LinkType(number) = link_type;
        let problem = format!(
            "the packet was captured on a link of the type {number}, in which IP packets are not found: capture \
             on an interface of Ethernet or IP, or with tcpdump -i any"
        );
        return Err(failed(file, packet.offset, problem));
    }
    let Some(headers) = link_type.headers(packet.bytes) else { return Ok(None) };
    let flow = headers.flow;
    let is_wanted = import.from.is_none_or(|from| from == flow.from.0)
        && import.to.is_none_or(|to| to == flow.to.0)
        && import.port.is_none_or(|port| port == flow.from.1 || port == flow.to.1);
    let on_link = packet.original_length.saturating_sub(headers.begins_at as u32);
    Ok(is_wanted.then(|| (headers, headers.length.unwrap_or(on_link))))
}

/// What a capture held.
#[derive(Default)]
struct Counts {
    packets: u64,
    bytes: u64,
    left_out: u64,
    sources: BTreeMap<IpAddr, u64>,
}

impl Counts {
    fn add(&mut self, from: IpAddr, length: u32) {
        self.packets += 1;
        self.bytes += u64::from(length);
        if self.sources.len() < MAX_SOURCES || self.sources.contains_key(&from) {
            *self.sources.entry(from).or_default() += u64::from(length);
        }
    }

    fn finish(self, trace: Trace) -> Result<Imported, TraceError> {
        let mut sources: Vec<(IpAddr, Bytes)> =
            self.sources.into_iter().map(|(from, bytes)| (from, Bytes::new(bytes))).collect();
        sources.sort_by_key(|&(from, bytes)| (std::cmp::Reverse(bytes), from));
        let (packets, bytes, left_out) = (self.packets, Bytes::new(self.bytes), self.left_out);
        Ok(Imported { trace, packets, bytes, left_out, sources })
    }

    fn too_few(&self, file: &str, import: &Import) -> TraceError {
        let problem = if self.packets > 0 {
            let (bytes, mtu) = (self.bytes, import.mtu.get());
            format!(
                "its packets have {bytes} bytes, less than one opportunity of {mtu}: capture for longer"
            )
        } else if self.left_out > 0 {
            let left_out = self.left_out;
            format!(
                "none of its {left_out} packets is an IP packet of these addresses and ports: name others"
            )
        } else {
            "the capture has no packets: capture while the link is saturated".to_owned()
        };
        TraceError::Capture { file: file.to_owned(), problem }
    }
}

fn failed(file: &str, offset: u64, problem: impl Into<String>) -> TraceError {
    let (file, problem) = (file.to_owned(), problem.into());
    TraceError::Capture { file: format!("{file}, byte {offset}"), problem }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_capture::{Frame, Interface, Writer};
    use proptest::prelude::*;

    /// A capture of packets of such lengths, at these times in milliseconds, from 10.0.0.`from`, port 7, to 10.0.0.9.
    fn capture(packets: &[(u64, u16, u8)]) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), "test").expect("a vector");
        let link = writer.interface(&Interface::new("a", "b")).expect("a vector");
        for &(millisecond, length, from) in packets {
            let mut bytes = [0; 28];
            (bytes[0], bytes[9]) = (0x45, 17);
            bytes[2..4].copy_from_slice(&length.to_be_bytes());
            bytes[12..16].copy_from_slice(&[10, 0, 0, from]);
            bytes[16..20].copy_from_slice(&[10, 0, 0, 9]);
            bytes[21] = 7;
            let at = 1_700_000_000_000_000_000 + millisecond * 1_000_000;
            let frame = Frame { bytes: &bytes, length: length.into(), comment: None };
            writer.packet(link, at, &frame).expect("a vector");
        }
        writer.finish().expect("a vector")
    }

    fn import(file: &[u8], import: &Import) -> Result<Imported, TraceError> {
        Trace::import_from(file, "c.pcapng", import)
    }

    #[test]
    fn each_mtu_of_bytes_is_an_opportunity() {
        let file = capture(&[(0, 1500, 1), (1, 1000, 1), (3, 1000, 1), (7, 4500, 1), (9, 499, 1)]);
        let imported = import(&file, &Import::default()).expect("a trace");
        assert_eq!(imported.trace.to_text(), "0\n3\n7\n7\n7\n");
        assert_eq!((imported.packets, imported.bytes.get(), imported.left_out), (5, 8499, 0));
        let mtu = Bytes::new(3000);
        let imported = import(&file, &Import { mtu, ..Import::default() }).expect("a trace");
        assert_eq!(imported.trace.to_text(), "3\n7\n");
        assert_eq!(Trace::read_pcap(&file[..], "c").expect("a trace").to_text(), "0\n1\n3\n7\n9\n");
    }

    #[test]
    fn only_the_packets_asked_for_count() {
        let file = capture(&[(0, 1500, 2), (5, 1500, 1), (6, 1500, 2), (8, 1500, 1)]);
        let from = |last: u8| Import { from: Some([10, 0, 0, last].into()), ..Import::default() };
        let imported = import(&file, &from(1)).expect("a trace");
        assert_eq!((imported.trace.to_text(), imported.left_out), ("0\n3\n".to_owned(), 2));
        let all = import(&file, &Import { port: Some(7), ..Import::default() }).expect("a trace");
        let sources: Vec<String> = all.sources.iter().map(|(from, _)| from.to_string()).collect();
        assert_eq!((all.packets, sources.join(" ")), (4, "10.0.0.1 10.0.0.2".to_owned()));
        let none = |import: &Import| {
            Trace::import_from(&file[..], "c.pcapng", import).expect_err("none").to_string()
        };
        assert!(none(&from(3)).contains("none of its 4 packets"));
        assert!(
            none(&Import { to: Some([10, 0, 0, 1].into()), ..from(1) }).contains("name others")
        );
        assert!(
            none(&Import { mtu: Bytes::new(9000), ..from(1) }).contains("3000 bytes, less than")
        );
    }

    #[test]
    fn packets_slightly_out_of_order_are_taken_in_their_place() {
        let file = capture(&[(0, 1500, 1), (900, 1500, 1), (100, 1500, 1), (950, 1500, 1)]);
        let imported = import(&file, &Import::default()).expect("a trace");
        assert_eq!(imported.trace.to_text(), "0\n900\n900\n950\n");
        let file = capture(&[(0, 1500, 1), (1900, 1500, 1), (100, 1500, 1)]);
        let error = import(&file, &Import::default()).expect_err("disorder").to_string();
        assert!(error.starts_with("c.pcapng, byte ") && error.contains("reordercap"), "{error}");
        let error = Trace::read_pcap(&file[..], "c").expect_err("disorder").to_string();
        assert!(error.contains("time goes backwards"), "{error}");
    }

    #[test]
    fn invalid_captures_are_rejected() {
        let error = |file: &[u8]| import(file, &Import::default()).expect_err("none").to_string();
        assert!(error(b"1\n2\n3\n").starts_with("c.pcapng, byte 0: this is no capture"));
        let whole = capture(&[(5, 1500, 1), (6, 1500, 1)]);
        assert!(error(&whole[..whole.len() - 1]).contains("ends within"));
        assert!(error(&capture(&[])).contains("no packets"));
        assert!(error(&capture(&[(5, 1500, 1)])).contains("cannot be repeated"));
    }

    proptest! {
        #[test]
        fn opportunities_are_the_bytes_over_the_mtu(
            packets in prop::collection::vec((0u64..50, 20u16..3000), 2..60),
            mtu in 100u64..4000,
        ) {
            let mut now = 0;
            let packets: Vec<_> = packets.iter().map(|&(gap, length)| { now += gap; (now, length, 1) }).collect();
            let total: u64 = packets.iter().map(|packet| u64::from(packet.1)).sum();
            let imported = import(&capture(&packets), &Import { mtu: Bytes::new(mtu), ..Import::default() });
            if let Ok(imported) = imported {
                prop_assert_eq!(imported.trace.times().len() as u64, total / mtu);
            }
        }
    }
}
