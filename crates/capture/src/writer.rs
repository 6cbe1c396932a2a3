//! [`Writer`]: a capture being written.

use crate::{BYTE_ORDER, ENHANCED_PACKET, IF_TSRESOL, INTERFACE, LinkType, SECTION};
use std::io::{self, Write};

/// The most bytes of a packet that a [`Writer`] stores: the headers of IPv4 and TCP with all their options.
pub const SNAPLEN: u32 = 96;

/// The options that are written besides `if_tsresol`: the end of a list, a comment, the program that wrote
/// the section, and an interface's name and description.
const END: u16 = 0;
const COMMENT: u16 = 1;
const USER_APPLICATION: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;

/// The longest text of an option; a longer one is cut.
const LONGEST_TEXT: usize = 1024;

/// Where packets were captured. They are IP packets ([`LinkType::RAW`]), with times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it stands for.
    pub description: &'a str,
}

impl<'a> Interface<'a> {
    /// The interface `name`, with its description.
    pub fn new(name: &'a str, description: &'a str) -> Interface<'a> {
        Interface { name, description }
    }
}

/// A packet as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its first bytes.
    pub bytes: &'a [u8],
    /// Its length on the link.
    pub length: u32,
    /// A comment on it.
    pub comment: Option<&'a str>,
}

/// The number of an interface in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceId(u32);

/// Writes a capture as pcapng, little-endian. It writes each block at once: hand it a buffered writer.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    interfaces: u32,
    block: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a capture that `program` writes.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn new(out: W, program: &str) -> io::Result<Writer<W>> {
        let mut writer = Writer { out, interfaces: 0, block: Vec::new() };
        writer.begin(SECTION);
        writer.word(BYTE_ORDER);
        // Version 1.0, of a section whose length is not stated.
        writer.block.extend([1, 0, 0, 0]);
        writer.block.extend([0xff; 8]);
        writer.text(USER_APPLICATION, program);
        writer.end_options();
        writer.end()?;
        Ok(writer)
    }

    /// Adds an interface.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn interface(&mut self, interface: &Interface<'_>) -> io::Result<InterfaceId> {
        self.begin(INTERFACE);
        self.word(LinkType::RAW.0);
        self.word(SNAPLEN);
        self.text(IF_NAME, interface.name);
        self.text(IF_DESCRIPTION, interface.description);
        self.option(IF_TSRESOL, &[9]);
        self.end_options();
        self.end()?;
        self.interfaces += 1;
        Ok(InterfaceId(self.interfaces - 1))
    }

    /// Writes a packet, captured `at` nanoseconds after the start of 1970: at most the first [`SNAPLEN`] of its bytes,
    /// and its comment if it has one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn packet(&mut self, interface: InterfaceId, at: u64, frame: &Frame<'_>) -> io::Result<()> {
        let &Frame { bytes, length, comment } = frame;
        let bytes = &bytes[..bytes.len().min(SNAPLEN as usize)];
        self.begin(ENHANCED_PACKET);
        self.word(interface.0);
        self.word((at >> 32) as u32);
        self.word(at as u32);
        self.word(bytes.len() as u32);
        self.word(length.max(bytes.len() as u32));
        self.block.extend_from_slice(bytes);
        self.pad();
        if let Some(comment) = comment {
            self.text(COMMENT, comment);
            self.end_options();
        }
        self.end()
    }

    /// The end of the capture: hands back what it was written to, flushed.
    ///
    /// # Errors
    /// The last bytes cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.word(kind);
        // The length, which is known at its end.
        self.word(0);
    }

    fn end(&mut self) -> io::Result<()> {
        let length = (self.block.len() as u32 + 4).to_le_bytes();
        self.block[4..8].copy_from_slice(&length);
        self.block.extend(length);
        self.out.write_all(&self.block)
    }

    fn word(&mut self, word: u32) {
        self.block.extend(word.to_le_bytes());
    }

    fn text(&mut self, kind: u16, text: &str) {
        self.option(kind, &text.as_bytes()[..text.floor_char_boundary(LONGEST_TEXT)]);
    }

    fn option(&mut self, kind: u16, value: &[u8]) {
        self.block.extend(kind.to_le_bytes());
        self.block.extend((value.len() as u16).to_le_bytes());
        self.block.extend_from_slice(value);
        self.pad();
    }

    fn end_options(&mut self) {
        self.option(END, &[]);
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }
}
