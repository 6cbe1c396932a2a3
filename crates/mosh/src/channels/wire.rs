//! Numbers and strings of frames.

/// Why the peer's bytes are not those of an honest peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Malformed(pub(crate) &'static str);

/// Appends a number: seven bits a byte, the lowest first.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends `bytes` with their length.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Takes a number off the front of `rest`; none if its end is missing.
pub(crate) fn take_number(rest: &mut &[u8]) -> Result<Option<u64>, Malformed> {
    let mut number = 0;
    for (place, byte) in rest.iter().enumerate().take(10) {
        let bits = u64::from(byte & 0x7f);
        let shift = 7 * place;
        if bits << shift >> shift != bits {
            break;
        }
        number |= bits << shift;
        if *byte < 0x80 {
            *rest = &rest[place + 1..];
            return Ok(Some(number));
        }
    }
    if rest.len() < 10 { Ok(None) } else { Err(Malformed("a number is too long")) }
}

/// The body of a frame.
pub(crate) struct Body<'a>(pub(crate) &'a [u8]);

impl<'a> Body<'a> {
    pub(crate) fn number(&mut self) -> Result<u64, Malformed> {
        take_number(&mut self.0)?.ok_or(Malformed("a frame ends within a number"))
    }

    /// A number of 32 bits.
    pub(crate) fn number32(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.number()?).map_err(|_| Malformed("a number is out of range"))
    }

    /// A TCP port.
    pub(crate) fn port(&mut self) -> Result<u16, Malformed> {
        u16::try_from(self.number()?).map_err(|_| Malformed("a port is out of range"))
    }

    /// Bytes with their length.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        let (bytes, rest) =
            self.0.split_at_checked(length).ok_or(Malformed("a frame ends within a string"))?;
        self.0 = rest;
        Ok(bytes)
    }

    /// A string.
    pub(crate) fn text(&mut self) -> Result<String, Malformed> {
        let text =
            std::str::from_utf8(self.bytes()?).map_err(|_| Malformed("a string is not UTF-8"))?;
        Ok(text.to_owned())
    }
}
