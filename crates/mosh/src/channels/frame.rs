//! [`Frame`]: what ends say to each other in the stream: a kind, a length, and a body.

use super::opening::{Opening, Reason};
use super::wire::{Body, Malformed, put_bytes, put_number, take_number};

/// The longest body of a frame that is accepted.
const LONGEST: u64 = 16 << 10;

/// A frame. Those of unknown kinds are skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// The first one of each direction.
    Hello {
        version: u64,
        extensions: u64,
    },
    /// A new channel; no opening if its kind is not known.
    Open {
        id: u32,
        opening: Option<Opening>,
    },
    Accept {
        id: u32,
    },
    Refuse {
        id: u32,
        reason: Reason,
    },
    Data {
        id: u32,
        bytes: Vec<u8>,
    },
    /// No more data follows in this direction.
    End {
        id: u32,
    },
    /// Nothing follows in this direction. The other end answers with the same.
    Close {
        id: u32,
        reason: Reason,
    },
    /// So many more bytes of data may be sent.
    Credit {
        id: u32,
        bytes: u32,
    },
    /// The sender has given up: nothing follows on any channel.
    Abort,
}

impl Frame {
    /// Appends its encoding.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let mut body = Vec::new();
        let mut begin = |id: u32| put_number(&mut body, id.into());
        let kind = match self {
            Frame::Hello { version, extensions } => {
                put_number(&mut body, *version);
                put_number(&mut body, *extensions);
                0
            }
            Frame::Open { id, opening } => {
                begin(*id);
                match opening {
                    Some(opening) => opening.put(&mut body),
                    None => put_number(&mut body, 0),
                }
                1
            }
            Frame::Accept { id } => {
                begin(*id);
                2
            }
            Frame::Refuse { id, reason } => {
                begin(*id);
                reason.put(&mut body);
                3
            }
            Frame::Data { id, bytes } => {
                begin(*id);
                body.extend_from_slice(bytes);
                4
            }
            Frame::End { id } => {
                begin(*id);
                5
            }
            Frame::Close { id, reason } => {
                begin(*id);
                reason.put(&mut body);
                6
            }
            Frame::Credit { id, bytes } => {
                begin(*id);
                put_number(&mut body, (*bytes).into());
                7
            }
            Frame::Abort => 8,
        };
        out.push(kind);
        put_bytes(out, &body);
    }

    /// The frame of `kind` with `body`; none if the kind is not known.
    fn decode(kind: u8, body: &[u8]) -> Result<Option<Frame>, Malformed> {
        let mut body = Body(body);
        Ok(Some(match kind {
            0 => Frame::Hello { version: body.number()?, extensions: body.number()? },
            1 => Frame::Open { id: body.number32()?, opening: Opening::take(&mut body)? },
            2 => Frame::Accept { id: body.number32()? },
            3 => Frame::Refuse { id: body.number32()?, reason: Reason::take(&mut body)? },
            4 => Frame::Data { id: body.number32()?, bytes: body.0.to_vec() },
            5 => Frame::End { id: body.number32()? },
            6 => Frame::Close { id: body.number32()?, reason: Reason::take(&mut body)? },
            7 => Frame::Credit { id: body.number32()?, bytes: body.number32()? },
            8 => Frame::Abort,
            _ => return Ok(None),
        }))
    }
}

/// Finds frames in a stream that may be cut anywhere. It holds less than one frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decoder {
    partial: Vec<u8>,
}

impl Decoder {
    /// Adds `bytes`, and hands each frame that is complete to `accept`.
    pub(crate) fn add(
        &mut self,
        bytes: &[u8],
        mut accept: impl FnMut(Frame) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        self.partial.extend_from_slice(bytes);
        let whole = std::mem::take(&mut self.partial);
        let mut rest = &whole[..];
        while let Some((kind, body)) = next(&mut rest)? {
            if let Some(frame) = Frame::decode(kind, body)? {
                accept(frame)?;
            }
        }
        self.partial = rest.to_vec();
        Ok(())
    }
}

/// Takes the kind and the body of a frame off the front of `bytes`; none if its end is missing.
fn next<'a>(bytes: &mut &'a [u8]) -> Result<Option<(u8, &'a [u8])>, Malformed> {
    let Some((kind, mut rest)) = bytes.split_first() else { return Ok(None) };
    let Some(length) = take_number(&mut rest)? else { return Ok(None) };
    if length > LONGEST {
        return Err(Malformed("a frame is too long"));
    }
    let Some((body, after)) = rest.split_at_checked(length as usize) else { return Ok(None) };
    *bytes = after;
    Ok(Some((*kind, body)))
}
